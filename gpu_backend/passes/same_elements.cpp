// Two trees of ops side by side.
#include "gpu_backend/passes/same_elements.h"

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/ir/tlg_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

Value withoutConversions(Value value) {
  while (auto conversion = value.getDefiningOp<tlg::ConvertLayoutOp>())
    value = conversion.getSource();
  return value;
}

/// Whether both are constants with the same element everywhere; their types have the layouts.
bool areSameConstants(Operation *a, Operation *b) {
  const auto elementOf = [](Operation *op) -> Attribute {
    auto constant = dyn_cast<arith::ConstantOp>(op);
    const auto elements = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : nullptr;
    return elements ? elements.getSplatValue<Attribute>() : Attribute();
  };
  const Attribute element = elementOf(a);
  return element && element == elementOf(b);
}

/// Whether an op makes its result from the elements of its operands alone, wherever these are.
bool isOfElements(Operation *op) {
  return op->getNumResults() == 1 && op->getNumRegions() == 0 && isPure(op) &&
         (tl::isElementwise(op) || isa<tl::SplatOp, tl::ExpandDimsOp, tl::BroadcastOp>(op));
}

} // namespace

bool haveSameElements(Value a, Value b) {
  constexpr size_t kMost = 256; // pairs
  llvm::SmallVector<std::pair<Value, Value>> open{{a, b}};
  llvm::DenseSet<std::pair<Value, Value>> seen;
  while (!open.empty()) {
    auto [first, second] = open.pop_back_val();
    first = withoutConversions(first);
    second = withoutConversions(second);
    if (first == second || !seen.insert({first, second}).second)
      continue;
    Operation *one = first.getDefiningOp(), *other = second.getDefiningOp();
    if (!one || !other || seen.size() > kMost)
      return false;
    if (areSameConstants(one, other))
      continue;
    if (one->getName() != other->getName() || !isOfElements(one) || !isOfElements(other) ||
        one->getAttrDictionary() != other->getAttrDictionary() ||
        one->getNumOperands() != other->getNumOperands())
      return false;
    for (auto [ofOne, ofOther] : llvm::zip(one->getOperands(), other->getOperands()))
      open.emplace_back(ofOne, ofOther);
  }
  return true;
}

Value sameInOtherLayout(Value value, Operation *op) {
  const auto type = cast<RankedTensorType>(value.getType());
  for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode()) {
    if (before->getNumResults() != 1 || before->use_empty())
      continue;
    Value other = before->getResult(0);
    const auto otherType = dyn_cast<RankedTensorType>(other.getType());
    if (otherType && otherType != type && otherType.getShape() == type.getShape() &&
        otherType.getElementType() == type.getElementType() && tlg::hasLayout(otherType) &&
        isOfElements(before) && haveSameElements(other, value))
      return other;
  }
  return value;
}

} // namespace blockscope::gpu
