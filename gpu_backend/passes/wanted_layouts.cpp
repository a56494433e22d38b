// Trees of elementwise ops whose leaves are reads of shared memory are built again in the layout
// of the conversion at their root.
#include "gpu_backend/passes/wanted_layouts.h"

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/ir/tlg_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

bool isBlock(Value value) { return isa<RankedTensorType>(value.getType()); }

/// The ops that make what is converted.
class Tree {
public:
  explicit Tree(tlg::ConvertLayoutOp root) : root_(root) {}

  /// Finds them. Fails where one cannot be made in another layout, or is used by others too.
  bool find() {
    if (!add(root_.getSource()))
      return false;
    for (size_t i = 0; i < ops_.size(); ++i)
      for (Value operand : ops_[i]->getOperands())
        if (isBlock(operand) && !add(operand))
          return false;
    return readsShared_ && llvm::all_of(ops_, [&](Operation *op) {
             return llvm::all_of(op->getUsers(), [&](Operation *user) {
               return user == root_ || ops_.contains(user);
             });
           });
  }

  void build() {
    llvm::SmallVector<Operation *> ordered(ops_.begin(), ops_.end());
    llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    IRMapping made;
    OpBuilder builder(root_);
    for (Operation *op : splats_) {
      builder.setInsertionPointAfter(op);
      make(builder, op, made);
    }
    for (Operation *op : ordered) {
      builder.setInsertionPoint(op);
      make(builder, op, made);
    }
    root_.getResult().replaceAllUsesWith(made.lookup(root_.getSource()));
    root_->erase();
    for (Operation *op : llvm::reverse(ordered))
      op->erase();
  }

private:
  bool add(Value value) {
    Operation *op = value.getDefiningOp();
    auto constant = dyn_cast_or_null<arith::ConstantOp>(op);
    if (isa_and_nonnull<tl::SplatOp>(op) ||
        (constant && isa<SplatElementsAttr>(constant.getValue()))) {
      splats_.insert(op);
      return true;
    }
    const bool readsShared = isa_and_nonnull<tlg::LocalLoadOp>(op);
    if (!op || op->getBlock() != root_->getBlock() ||
        (!readsShared && (!tl::isElementwise(op) || !isMemoryEffectFree(op))) ||
        op->getNumResults() != 1)
      return false;
    readsShared_ |= readsShared;
    ops_.insert(op);
    return true;
  }

  /// Makes an op again, with the layout of the root.
  void make(OpBuilder &builder, Operation *op, IRMapping &made) {
    Operation *copy = builder.clone(*op, made);
    const Type type = tlg::withLayout(copy->getResult(0).getType(), tlg::layoutOf(root_.getType()));
    copy->getResult(0).setType(type);
    if (auto constant = dyn_cast<arith::ConstantOp>(copy))
      constant.setValueAttr(SplatElementsAttr::get(
          cast<ShapedType>(type),
          cast<SplatElementsAttr>(constant.getValue()).getSplatValue<Attribute>()));
  }

  tlg::ConvertLayoutOp root_;
  llvm::SetVector<Operation *> ops_, splats_;
  bool readsShared_ = false;
};

} // namespace

void readInWantedLayouts(func::FuncOp function) {
  llvm::SmallVector<tlg::ConvertLayoutOp> conversions;
  function.walk([&](tlg::ConvertLayoutOp op) { conversions.push_back(op); });
  for (tlg::ConvertLayoutOp op : conversions) {
    const auto registers = [](Type type) { return tlg::layoutOf(type).registers.size(); };
    Tree tree(op);
    if (registers(op.getType()) <= registers(op.getSource().getType()) && tree.find())
      tree.build();
  }
}

} // namespace blockscope::gpu
