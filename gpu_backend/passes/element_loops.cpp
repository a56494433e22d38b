#include "gpu_backend/passes/element_loops.h"

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/passes/disjoint_arguments.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

#include <algorithm>

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// A kernel that is one piece of code over blocks of one size.
class ElementCode {
public:
  explicit ElementCode(func::FuncOp function) : function_(function) {}

  /// Whether it is of that kind, and what it does to memory may be done part by part.
  bool match() {
    if (!llvm::hasSingleElement(function_.getBody()))
      return false;
    for (Operation &op : function_.getBody().front().without_terminator())
      if (!add(&op))
        return false;
    return size_ != 0 && !stores_.empty() && mayBeInParts();
  }

  int64_t size() const { return size_; }

  /// The widest element that is loaded or stored, in bytes.
  int64_t elementBytes() const { return bytes_; }

  /// About how many instructions an element takes.
  int64_t instructions() const {
    // ptxas makes 20 to 60 of a quotient or function of float64, LLVM's and ptxas's ways for
    // float32 take a few.
    constexpr int64_t kFunction = 8, kFunctionOf64 = 40;
    int64_t sum = 0;
    for (Operation *op : ops_) {
      const OpFacts *facts = tl::factsOf(op);
      if (!tl::isElementwise(op) || (facts && facts->cost == OpCost::Free))
        continue;
      const bool isSimple = facts && facts->cost <= OpCost::Simple;
      const bool is64 = getElementTypeOrSelf(op->getResult(0).getType()).isF64();
      sum += isSimple ? 1 : is64 ? kFunctionOf64 : kFunction;
    }
    return sum;
  }

  /// The most words of numbers that are held for an element at a time.
  int64_t words() const {
    llvm::DenseSet<Value> live;
    int64_t now = 0, most = 0;
    const auto wordsOf = [](Value value) -> int64_t {
      const auto block = dyn_cast<RankedTensorType>(value.getType());
      auto number = block ? dyn_cast<FloatType>(block.getElementType()) : FloatType();
      return !number || value.getDefiningOp<arith::ConstantOp>() ||
                     value.getDefiningOp<tl::SplatOp>()
                 ? 0
                 : (number.getWidth() + 31) / 32;
    };
    for (Operation *op : llvm::reverse(ops_)) {
      for (Value result : op->getResults())
        if (live.erase(result))
          now -= wordsOf(result);
      for (Value operand : op->getOperands())
        if (live.insert(operand).second)
          now += wordsOf(operand);
      most = std::max(most, now);
    }
    return most;
  }

  /// Makes the loop, each iteration of which does `part` elements.
  void loop(int64_t part) {
    for (const auto &[argument, other] : pairs_)
      requireDisjoint(function_, argument, other);
    OpBuilder builder(ops_.front());
    const Location where = stores_.front()->getLoc();
    const auto i32 = [&](int64_t value) {
      return arith::ConstantOp::create(builder, where,
                                       builder.getI32IntegerAttr(static_cast<int32_t>(value)));
    };
    builder.setInsertionPoint(function_.getBody().front().getTerminator());
    auto loop = scf::ForOp::create(builder, where, i32(0), i32(size_), i32(part));
    loop->setAttr(tlg::kOfElementsAttribute, builder.getUnitAttr());
    builder.setInsertionPointToStart(loop.getBody());
    const auto ofPart = [&](Type type) -> Type {
      const auto block = dyn_cast<RankedTensorType>(type);
      return block ? RankedTensorType::get({part}, block.getElementType()) : type;
    };
    IRMapping map;
    for (Operation *op : ops_) {
      if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
        auto value = cast<DenseElementsAttr>(constant.getValue());
        const auto type = cast<RankedTensorType>(ofPart(constant.getType()));
        map.map(
            op->getResult(0),
            arith::ConstantOp::create(builder, op->getLoc(), value.resizeSplat(type)).getResult());
        continue;
      }
      if (auto range = dyn_cast<tl::RangeOp>(op)) {
        const auto type = cast<RankedTensorType>(ofPart(range.getType()));
        const auto start = static_cast<int32_t>(range.getStart());
        Value numbers = tl::RangeOp::create(builder, op->getLoc(), type, start,
                                            start + static_cast<int32_t>(part));
        Value begin = tl::SplatOp::create(builder, op->getLoc(), type, loop.getInductionVar());
        map.map(op->getResult(0),
                arith::AddIOp::create(builder, op->getLoc(), begin, numbers).getResult());
        continue;
      }
      Operation *copy = builder.clone(*op, map);
      for (Value result : copy->getResults())
        result.setType(ofPart(result.getType()));
    }
    for (Operation *op : llvm::reverse(ops_))
      op->erase();
  }

private:
  bool add(Operation *op) {
    bool hasBlocks = false;
    for (const auto &types : {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
      for (Type type : types)
        if (auto block = dyn_cast<RankedTensorType>(type)) {
          if (block.getRank() != 1 || (size_ != 0 && block.getDimSize(0) != size_))
            return false;
          size_ = block.getDimSize(0);
          hasBlocks = true;
        }
    if (op->getNumRegions() != 0)
      return false;
    if (!hasBlocks)
      return isPure(op);
    ops_.push_back(op);
    if (auto load = dyn_cast<tl::LoadOp>(op)) {
      if (load.getIsVolatile())
        return false;
      loads_.push_back(op);
      return note(load.getType());
    }
    if (auto store = dyn_cast<tl::StoreOp>(op)) {
      stores_.push_back(op);
      return note(store.getValue().getType());
    }
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      const auto value = dyn_cast<DenseElementsAttr>(constant.getValue());
      return value && value.isSplat();
    }
    // A hint tells of a block's first element, which a part of it may not have.
    return isa<tl::SplatOp, tl::RangeOp>(op) ||
           (tl::isElementwise(op) && isPure(op) && !isa<tl::HintOp>(op));
  }

  bool note(Type type) {
    const auto block = dyn_cast<RankedTensorType>(type);
    if (!block)
      return false;
    bytes_ = std::max<int64_t>(bytes_, tlg::elementBytes(block));
    return true;
  }

  /// Whether no store goes to where another access of the kernel does: of a part, loads come behind
  /// the stores of the parts before it, and so do stores that were before those.
  bool mayBeInParts() {
    for (auto [i, store] : llvm::enumerate(stores_)) {
      llvm::SmallVector<Operation *> others(loads_);
      others.append(stores_.begin() + static_cast<ptrdiff_t>(i) + 1, stores_.end());
      const std::optional<unsigned> stored = argumentOf(store->getOperand(0));
      for (Operation *other : others) {
        const std::optional<unsigned> argument = argumentOf(other->getOperand(0));
        if (!stored || !argument || mayOverlap(function_, *stored, *argument))
          return false;
        pairs_.insert({*argument, *stored});
      }
    }
    return true;
  }

  func::FuncOp function_;
  llvm::SmallVector<Operation *> ops_; ///< of blocks
  llvm::SmallVector<Operation *> loads_, stores_;
  llvm::SmallSetVector<std::pair<unsigned, unsigned>, 8> pairs_; ///< of arguments
  int64_t size_ = 0, bytes_ = 1;
};

} // namespace

void loopOverElements(func::FuncOp function) {
  constexpr int64_t kLongCode = 2000, kManyWords = 160, kVectorBytes = 16;
  auto module = function->getParentOfType<ModuleOp>();
  const auto warps = module->getAttrOfType<IntegerAttr>(tlg::kNumWarpsAttribute),
             ctas = module->getAttrOfType<IntegerAttr>(tlg::kNumCtasAttribute);
  ElementCode code(function);
  if (!warps || !code.match())
    return;
  const int64_t threads = 32 * warps.getInt() * (ctas ? ctas.getInt() : 1),
                elements = code.size() / threads;
  const int64_t part = threads * std::max<int64_t>(1, kVectorBytes / code.elementBytes());
  if (elements * code.instructions() >= kLongCode && elements * code.words() >= kManyWords &&
      2 * part <= code.size())
    code.loop(part);
}

} // namespace blockscope::gpu
