// The largest element of an index that is compared, as a sum of scalars and a number.
#include "gpu_backend/passes/full_iterations.h"

#include "gpu_backend/ir/tlg_dialect.h"

#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

#include <optional>

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// Scalars of one type and a number.
struct Sum {
  llvm::SmallVector<Value> scalars;
  int64_t number = 0;
};

/// The element of a block whose elements are all the same: a scalar or a number. Else nothing.
std::optional<Sum> sameOf(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return Sum{{}, constant.getSExtValue()};
  auto splat = value.getDefiningOp<tl::SplatOp>();
  return splat ? std::optional(Sum{{splat.getSource()}, 0}) : std::nullopt;
}

/// The largest element of a block of integers; nothing where it is not a sum of scalars, ranges and
/// constants.
std::optional<Sum> largestOf(Value value) {
  if (std::optional<Sum> same = sameOf(value))
    return same;
  Operation *op = value.getDefiningOp();
  if (auto range = dyn_cast_or_null<tl::RangeOp>(op))
    return Sum{{}, static_cast<int64_t>(range.getEnd()) - 1};
  if (isa_and_nonnull<tl::ExpandDimsOp, tl::BroadcastOp, tlg::ConvertLayoutOp>(op))
    return largestOf(op->getOperand(0));
  if (!isa_and_nonnull<arith::AddIOp>(op))
    return std::nullopt;
  std::optional<Sum> lhs = largestOf(op->getOperand(0)), rhs = largestOf(op->getOperand(1));
  if (!lhs || !rhs)
    return std::nullopt;
  lhs->scalars.append(rhs->scalars);
  lhs->number += rhs->number;
  return lhs;
}

/// What is asked of a block of indices: all below one number.
struct Mask {
  Sum largest, bound;
  int64_t predicates = 0;
};

/// The comparisons that a mask is true for if all of them are.
void addParts(Value mask, llvm::SmallSetVector<Operation *, 4> &parts) {
  Operation *op = mask.getDefiningOp();
  if (isa_and_nonnull<arith::AndIOp>(op)) {
    addParts(op->getOperand(0), parts);
    addParts(op->getOperand(1), parts);
  } else if (isa_and_nonnull<tl::ExpandDimsOp, tl::BroadcastOp, tlg::ConvertLayoutOp>(op)) {
    addParts(op->getOperand(0), parts);
  } else if (isa_and_nonnull<arith::CmpIOp>(op)) {
    parts.insert(op);
  }
}

/// How many instructions of an access a thread has, each with a predicate.
int64_t predicatesOf(Operation *access) {
  const Type type = access->getOperand(0).getType();
  const auto vector = access->getAttrOfType<DenseI32ArrayAttr>(tlg::kVectorAttribute);
  if (!vector || !tlg::hasLayout(type))
    return 1;
  return std::max<int64_t>(1, tlg::layoutOf(type).registerCount() / vector[1]);
}

/// The registers of a thread that a block fills.
int64_t wordsOf(Type type) {
  const int64_t count = tlg::hasLayout(type) ? tlg::layoutOf(type).registerCount() : 1;
  return llvm::divideCeil(count * tlg::elementBytes(type), 4);
}

Value maskOf(Operation *access) {
  if (auto load = dyn_cast<tl::LoadOp>(access))
    return load.getMask();
  return cast<tl::StoreOp>(access).getMask();
}

class Iterations {
public:
  explicit Iterations(scf::ForOp loop) : loop_(loop) {}

  void separate() {
    if (!isPlain() || !findMasks())
      return;
    OpBuilder builder(loop_.getBody(), loop_.getBody()->begin());
    Value isFull;
    for (const auto &[op, mask] : masks_) {
      Value holds = condition(builder, cast<arith::CmpIOp>(op), mask);
      isFull = isFull ? arith::AndIOp::create(builder, loop_.getLoc(), isFull, holds) : holds;
    }
    branch(builder, isFull);
  }

private:
  static constexpr int64_t kPredicates = 6; // that a thread has for masks
  static constexpr int64_t kMostWords = 96; // that an iteration loads

  /// Whether the body is straight and works by itself: nothing in it begins or waits for copies, or
  /// takes long beside its loads.
  bool isPlain() {
    const WalkResult walked = loop_.getBody()->walk([&](Operation *op) {
      const bool isKnown =
          isa<tl::LoadOp, tl::StoreOp, tl::ReduceOp, tl::ScanOp, tl::YieldOp, scf::YieldOp>(op) ||
          (isMemoryEffectFree(op) && op->getNumRegions() == 0 &&
           isa<arith::ArithDialect, math::MathDialect, tl::TLDialect>(op->getDialect())) ||
          isa<tlg::ConvertLayoutOp>(op);
      const bool isLong = isa<tl::DotOp, tl::HistogramOp, tl::SortOp, tl::GatherOp>(op);
      return isKnown && !isLong ? WalkResult::advance() : WalkResult::interrupt();
    });
    return !walked.wasInterrupted();
  }

  /// Whether the masks whose comparisons are known take more predicates than there are, and what is
  /// loaded leaves registers for more of it at a time.
  bool findMasks() {
    int64_t words = 0;
    for (Operation &op : loop_.getBody()->without_terminator()) {
      if (isa<tl::LoadOp>(op))
        words += wordsOf(op.getResult(0).getType());
      if (!isa<tl::LoadOp, tl::StoreOp>(op) || !maskOf(&op))
        continue;
      llvm::SmallSetVector<Operation *, 4> parts;
      addParts(maskOf(&op), parts);
      for (Operation *part : parts)
        add(cast<arith::CmpIOp>(part), predicatesOf(&op));
    }
    int64_t predicates = 0;
    for (const auto &[op, mask] : masks_)
      predicates += mask.predicates;
    return predicates > kPredicates && words <= kMostWords;
  }

  void add(arith::CmpIOp compare, int64_t predicates) {
    if (auto known = masks_.find(compare); known != masks_.end()) {
      known->second.predicates = std::max(known->second.predicates, predicates);
      return;
    }
    using enum arith::CmpIPredicate;
    if (compare.getPredicate() != slt || !tlg::hasLayout(compare.getLhs().getType()))
      return;
    const std::optional<Sum> largest = largestOf(compare.getLhs());
    const std::optional<Sum> bound = sameOf(compare.getRhs());
    const auto areThere = [&](const std::optional<Sum> &sum) {
      return sum && llvm::all_of(sum->scalars, [&](Value scalar) { return isThere(scalar); });
    };
    if (areThere(largest) && areThere(bound))
      masks_[compare] = {*largest, *bound, predicates};
  }

  /// Whether a scalar is there at the beginning of an iteration, or can be computed there.
  bool isThere(Value scalar) {
    Operation *op = scalar.getDefiningOp();
    if (!op || op->getBlock() != loop_.getBody())
      return true;
    return isPure(op) && op->getNumRegions() == 0 &&
           llvm::all_of(op->getOperands(), [&](Value operand) {
             return !isa<RankedTensorType>(operand.getType()) && isThere(operand);
           });
  }

  /// The scalar, or sum, computed at the beginning of the iteration.
  Value made(OpBuilder &builder, Value scalar) {
    Operation *op = scalar.getDefiningOp();
    if (!op || op->getBlock() != loop_.getBody())
      return scalar;
    if (Value known = early_.lookupOrNull(scalar))
      return known;
    for (Value operand : op->getOperands())
      made(builder, operand);
    builder.clone(*op, early_);
    return early_.lookup(scalar);
  }

  Value made(OpBuilder &builder, const Sum &sum, Type type) {
    const Location location = loop_.getLoc();
    Value result =
        arith::ConstantOp::create(builder, location, builder.getIntegerAttr(type, sum.number));
    for (Value scalar : sum.scalars)
      result = arith::AddIOp::create(builder, location, result, made(builder, scalar));
    return result;
  }

  Value condition(OpBuilder &builder, arith::CmpIOp compare, const Mask &mask) {
    const Type type = getElementTypeOrSelf(compare.getLhs().getType());
    Value largest = made(builder, mask.largest, type), bound = made(builder, mask.bound, type);
    return arith::CmpIOp::create(builder, loop_.getLoc(), arith::CmpIPredicate::slt, largest,
                                 bound);
  }

  /// Makes the body two: for `isFull`, and as it was.
  void branch(OpBuilder &builder, Value isFull) {
    Block *body = loop_.getBody();
    const Location location = loop_.getLoc();
    llvm::SmallVector<Operation *> ops; // behind the condition
    for (Operation *op = isFull.getDefiningOp()->getNextNode(); op; op = op->getNextNode())
      ops.push_back(op);
    Operation *terminator = body->getTerminator();
    builder.setInsertionPointAfter(isFull.getDefiningOp());
    auto choice = scf::IfOp::create(builder, location, terminator->getOperandTypes(), isFull,
                                    /*addThenBlock=*/true, /*addElseBlock=*/true);
    for (Block *block : {choice.thenBlock(), choice.elseBlock()}) // of no results: an empty yield
      if (block->mightHaveTerminator())
        block->getTerminator()->erase();
    IRMapping map;
    OpBuilder full = OpBuilder::atBlockEnd(choice.thenBlock());
    for (Operation *op : ops) {
      if (op == terminator)
        continue;
      if (masks_.contains(op)) {
        const auto type = cast<RankedTensorType>(op->getResult(0).getType());
        map.map(op->getResult(0),
                arith::ConstantOp::create(full, op->getLoc(), DenseElementsAttr::get(type, true)));
        continue;
      }
      full.clone(*op, map);
    }
    llvm::SmallVector<Value> yields;
    for (Value value : terminator->getOperands())
      yields.push_back(map.lookupOrDefault(value));
    scf::YieldOp::create(full, location, yields);
    dropMasks(*choice.thenBlock());
    for (Operation *op : ops)
      if (op != terminator)
        op->moveBefore(choice.elseBlock(), choice.elseBlock()->end());
    OpBuilder other = OpBuilder::atBlockEnd(choice.elseBlock());
    scf::YieldOp::create(other, location, terminator->getOperands());
    terminator->setOperands(choice.getResults());
  }

  /// Whether a mask is true if all of `masks_` are.
  bool isTrue(Value mask) {
    Operation *op = mask.getDefiningOp();
    if (masks_.contains(op))
      return true;
    if (isa_and_nonnull<arith::AndIOp>(op))
      return isTrue(op->getOperand(0)) && isTrue(op->getOperand(1));
    if (isa_and_nonnull<tl::ExpandDimsOp, tl::BroadcastOp, tlg::ConvertLayoutOp>(op))
      return isTrue(op->getOperand(0));
    return matchPattern(mask, m_One());
  }

  void dropMasks(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto load = dyn_cast<tl::LoadOp>(op); load && load.getMask() && isTrue(load.getMask())) {
        load.getMaskMutable().clear();
        load.getOtherMutable().clear();
      } else if (auto store = dyn_cast<tl::StoreOp>(op);
                 store && store.getMask() && isTrue(store.getMask())) {
        store.getMaskMutable().clear();
      } else if (auto select = dyn_cast<arith::SelectOp>(op);
                 select && isTrue(select.getCondition())) {
        select.replaceAllUsesWith(select.getTrueValue());
        select->erase();
      }
    }
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  scf::ForOp loop_;
  llvm::MapVector<Operation *, Mask> masks_;
  IRMapping early_;
};

} // namespace

void separateFullIterations(func::FuncOp function) {
  llvm::SmallVector<scf::ForOp> loops;
  function.walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops)
    Iterations(loop).separate();
}

} // namespace blockscope::gpu
