// A mask `start + range < size` holds everywhere if `start + end of range <= size`, which is a
// comparison of scalars. A size that the kernel loads, as of the matrices of a group, says nothing
// of neighbours: a thread would take them one by one, under masks of their own, in each iteration,
// though nearly all tiles are whole.
//
// The iterations of a loop up to the last that is whole run in a loop without masks, whose loads
// are wide and may come early; the loop as it was runs what is left. Which is the last is asked of
// the last iteration and of the one before: masks that hold there hold in all before them, since
// starts grow and sizes shrink.
#include "gpu_backend/passes/whole_tiles.h"

#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/passes/access_width.h"
#include "gpu_backend/passes/axis_info.h"
#include "gpu_backend/passes/block_queries.h"
#include "gpu_backend/passes/rectangular_tile.h"

#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SetVector.h"

#include <limits>
#include <optional>

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// Part of a mask: `low` is below `high`, or not above it.
struct Term {
  Value low, high;
  bool mayBeEqual;
};

/// The parts of a mask; nothing if one of them has another form.
std::optional<llvm::SmallVector<Term>> termsOf(Value mask) {
  llvm::SmallVector<Term> terms;
  llvm::SmallVector<Value> open{mask};
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (isa_and_nonnull<arith::AndIOp, tl::BroadcastOp, tl::ExpandDimsOp>(op)) {
      llvm::append_range(open, op->getOperands());
      continue;
    }
    auto compare = dyn_cast_if_present<arith::CmpIOp>(op);
    if (!compare)
      return std::nullopt;
    Value left = compare.getLhs(), right = compare.getRhs();
    switch (compare.getPredicate()) {
    case arith::CmpIPredicate::slt:
      terms.push_back({left, right, false});
      break;
    case arith::CmpIPredicate::sle:
      terms.push_back({left, right, true});
      break;
    case arith::CmpIPredicate::sgt:
      terms.push_back({right, left, false});
      break;
    case arith::CmpIPredicate::sge:
      terms.push_back({right, left, true});
      break;
    default:
      return std::nullopt;
    }
  }
  return terms;
}

std::optional<int64_t> splatOf(Value value) {
  llvm::APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

/// What becomes of an index or a size in later iterations of a loop.
enum class Course { Same, Grows, Shrinks, Unknown };

Course opposite(Course course) {
  return course == Course::Grows     ? Course::Shrinks
         : course == Course::Shrinks ? Course::Grows
                                     : course;
}

Course both(Course a, Course b) {
  if (a == Course::Same || a == b)
    return b;
  return b == Course::Same ? a : Course::Unknown;
}

/// Numbers of 64 bits, made where the builder stands.
class Numbers {
public:
  Numbers(OpBuilder &builder, Location where) : builder_(builder), where_(where) {}

  Value constant(int64_t number) const {
    return arith::ConstantOp::create(builder_, where_, builder_.getI64IntegerAttr(number));
  }
  Value wide(Value scalar) const {
    return scalar.getType().isInteger(64)
               ? scalar
               : arith::ExtSIOp::create(builder_, where_, builder_.getI64Type(), scalar)
                     .getResult();
  }
  template <typename Op> Value make(Value a, Value b) const {
    return Op::create(builder_, where_, a, b);
  }
  Value isLess(Value a, Value b, bool orEqual = false) const {
    return arith::CmpIOp::create(
        builder_, where_, orEqual ? arith::CmpIPredicate::sle : arith::CmpIPredicate::slt, a, b);
  }
  Value choose(Value condition, Value yes, Value no) const {
    return arith::SelectOp::create(builder_, where_, condition, yes, no);
  }
  /// Whether all of at least one condition hold.
  Value all(llvm::ArrayRef<Value> conditions) const {
    Value result = conditions.front();
    for (Value each : conditions.drop_front())
      result = make<arith::AndIOp>(result, each);
    return result;
  }

private:
  OpBuilder &builder_;
  const Location where_;
};

/// Sums of ranges and scalars, of which the least and the greatest element are scalars.
class Extremes {
public:
  /// `loop` may be null: nothing changes.
  explicit Extremes(scf::ForOp loop) : loop_(loop) {}

  Course course(Value value) const {
    if (!isSum(value))
      return Course::Unknown;
    if (isOutside(value))
      return Course::Same;
    if (value == loop_.getInductionVar())
      return Course::Grows;
    Operation *op = value.getDefiningOp();
    if (isPassedOn(op) || isa_and_nonnull<arith::MulIOp>(op))
      return course(op->getOperand(0));
    if (isa_and_nonnull<arith::AddIOp>(op))
      return both(course(op->getOperand(0)), course(op->getOperand(1)));
    if (isa_and_nonnull<arith::SubIOp>(op))
      return both(course(op->getOperand(0)), opposite(course(op->getOperand(1))));
    return Course::Same;
  }

  /// The greatest element, or the least, in the iteration in which the loop's variable is `at`.
  Value make(const Numbers &numbers, Value value, bool greatest, Value at) const {
    if (const std::optional<int64_t> number = splatOf(value))
      return numbers.constant(*number);
    if (loop_ && value == loop_.getInductionVar())
      return at;
    Operation *op = value.getDefiningOp();
    const auto operand = [&](unsigned number, bool most) {
      return make(numbers, op->getOperand(number), most, at);
    };
    if (auto range = dyn_cast_if_present<tl::RangeOp>(op))
      return numbers.constant(greatest ? static_cast<int64_t>(range.getEnd()) - 1
                                       : static_cast<int64_t>(range.getStart()));
    if (!isBlock(value) && isOutside(value))
      return numbers.wide(value);
    if (isPassedOn(op))
      return operand(0, greatest);
    if (isa<arith::AddIOp>(op))
      return numbers.make<arith::AddIOp>(operand(0, greatest), operand(1, greatest));
    if (isa<arith::SubIOp>(op))
      return numbers.make<arith::SubIOp>(operand(0, greatest), operand(1, !greatest));
    return numbers.make<arith::MulIOp>(operand(0, greatest), numbers.constant(*factorOf(op)));
  }

  /// Adds what must hold so that no element of `value` is computed past the end of its type, in the
  /// iterations from `first` to `at`: then it is what `make` makes.
  void addFits(const Numbers &numbers, Value value, Value first, Value at,
               llvm::SmallVectorImpl<Value> &conditions) const {
    if (splatOf(value) || (loop_ && value == loop_.getInductionVar()))
      return;
    Operation *op = value.getDefiningOp();
    if (!isBlock(value) && isOutside(value)) {
      if (value.getType().isInteger(64))
        addFits(numbers, value, conditions);
    } else if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op) &&
               getElementTypeOrSelf(value.getType()).isInteger(32)) {
      // Parts of a sum may wrap where the whole does not.
      const bool shrinks = course(value) == Course::Shrinks;
      conditions.push_back(
          numbers.isLess(numbers.constant(std::numeric_limits<int32_t>::min()),
                         make(numbers, value, /*greatest=*/false, shrinks ? at : first),
                         /*orEqual=*/true));
      conditions.push_back(
          numbers.isLess(make(numbers, value, /*greatest=*/true, shrinks ? first : at),
                         numbers.constant(std::numeric_limits<int32_t>::max()),
                         /*orEqual=*/true));
    } else {
      for (Value operand : op->getOperands())
        addFits(numbers, operand, first, at, conditions);
    }
  }

  /// The same of a scalar of 64 bits: sums of such, and products with factors of sums, have room.
  static void addFits(const Numbers &numbers, Value scalar,
                      llvm::SmallVectorImpl<Value> &conditions) {
    conditions.push_back(numbers.isLess(numbers.constant(-kMostWide), scalar));
    conditions.push_back(numbers.isLess(scalar, numbers.constant(kMostWide)));
  }

private:
  static constexpr int64_t kMostWide = int64_t{1} << 40;

  static bool isPassedOn(Operation *op) {
    return isa_and_nonnull<tl::SplatOp, tl::BroadcastOp, tl::ExpandDimsOp, tl::HintOp,
                           arith::ExtSIOp>(op);
  }

  /// The constant, not negative, that an op multiplies its first operand by.
  static std::optional<int64_t> factorOf(Operation *op) {
    constexpr int64_t kMost = 1 << 16;
    const std::optional<int64_t> factor = splatOf(op->getOperand(1));
    return factor && *factor >= 0 && *factor <= kMost ? factor : std::nullopt;
  }

  bool isOutside(Value value) const { return !loop_ || loop_.isDefinedOutsideOfLoop(value); }

  /// Whether `make` knows all that a value is made of.
  bool isSum(Value value, bool isFactor = false) const {
    if (const std::optional<int64_t> number = splatOf(value))
      return *number > -kMostWide && *number < kMostWide;
    if (loop_ && value == loop_.getInductionVar())
      return true;
    Operation *op = value.getDefiningOp();
    if (!isBlock(value) && isOutside(value))
      return value.getType().isInteger(32) || value.getType().isInteger(64);
    if (isa_and_nonnull<tl::RangeOp>(op))
      return true;
    if (isPassedOn(op))
      return isSum(op->getOperand(0), isFactor);
    if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
      return isSum(op->getOperand(0), isFactor) && isSum(op->getOperand(1), isFactor);
    return isa_and_nonnull<arith::MulIOp>(op) && !isFactor && factorOf(op) &&
           isSum(op->getOperand(0), /*isFactor=*/true);
  }

  mutable scf::ForOp loop_;
};

/// Whether threads take the elements of an access one by one, or few at a time, for its mask only:
/// in pieces that no asynchronous copy takes. Of wider ones twice the code is no gain (10 public
/// kernels on an H200: 0.79 to 1.06). Tiles that TMA can do have their masks there.
bool isNarrowForItsMask(Operation *access, const AxisAnalysis &axes) {
  constexpr int64_t kLeastBytes = 4;
  if (!isa<tl::LoadOp, tl::StoreOp>(access))
    return false;
  Value pointer = access->getOperand(0), mask = maskOf(access);
  if (!mask || !isBlock(pointer) || !isBlock(mask))
    return false;
  if (auto load = dyn_cast<tl::LoadOp>(access); load && load.getIsVolatile())
    return false;
  const int dim = axes.orderOf(pointer)[0];
  const int64_t width = axes.vectorWidth(pointer, Value(), dim);
  const int64_t bytes =
      tlg::elementBytes(cast<tl::PtrType>(getElementTypeOrSelf(pointer.getType())).getPointee());
  return axes.vectorWidth(pointer, mask, dim) * bytes < kLeastBytes &&
         width * bytes >= kLeastBytes && !matchTile(pointer, mask, /*isDescribed=*/false);
}

/// The accesses of a block that are to do without masks, and what their masks ask for.
struct Narrow {
  llvm::SmallVector<Operation *> accesses;
  llvm::SmallVector<Term> terms;

  bool add(Operation *access, const Extremes &extremes) {
    const auto parts = termsOf(maskOf(access));
    const auto isRight = [&](const Term &term) {
      const Course low = extremes.course(term.low), high = extremes.course(term.high);
      return (low == Course::Same || low == Course::Grows) &&
             (high == Course::Same || high == Course::Shrinks);
    };
    if (!parts || !llvm::all_of(*parts, isRight))
      return false;
    accesses.push_back(access);
    for (const Term &part : *parts)
      if (llvm::none_of(terms, [&](const Term &term) {
            return term.low == part.low && term.high == part.high &&
                   term.mayBeEqual == part.mayBeEqual;
          }))
        terms.push_back(part);
    return true;
  }
};

/// Whether terms, at least one, hold for all elements, from the iteration of `first` to that of
/// `at`.
Value holds(const Numbers &numbers, llvm::ArrayRef<Term> terms, const Extremes &extremes,
            Value first, Value at) {
  llvm::SmallVector<Value> conditions;
  for (const Term &term : terms) {
    conditions.push_back(numbers.isLess(extremes.make(numbers, term.low, /*greatest=*/true, at),
                                        extremes.make(numbers, term.high, /*greatest=*/false, at),
                                        term.mayBeEqual));
    for (Value side : {term.low, term.high})
      extremes.addFits(numbers, side, first, at, conditions);
  }
  return numbers.all(conditions);
}

/// By how many elements the pointers that a loop carries grow in each iteration, as an i64, if that
/// is the same for all of them and always; null otherwise.
Value stepOf(const Numbers &numbers, scf::ForOp loop, unsigned variable) {
  auto next = loop.getYieldedValues()[variable].getDefiningOp<tl::AddPtrOp>();
  if (!next || !isBlock(next))
    return {};
  Value from = next.getPointer();
  while (auto hint = from.getDefiningOp<tl::HintOp>())
    from = hint->getOperand(0);
  if (from != loop.getRegionIterArg(variable))
    return {};
  if (const std::optional<int64_t> number = splatOf(next.getOffset()))
    return numbers.constant(*number);
  auto splat = next.getOffset().getDefiningOp<tl::SplatOp>();
  return splat && loop.isDefinedOutsideOfLoop(splat.getSource()) ? numbers.wide(splat.getSource())
                                                                 : Value();
}

void removeMask(Operation *access) {
  if (auto load = dyn_cast<tl::LoadOp>(access)) {
    load.getMaskMutable().clear();
    load.getOtherMutable().clear();
  } else {
    cast<tl::StoreOp>(access).getMaskMutable().clear();
  }
}

/// Up to which value of its variable a loop, from `begin` to `end`, runs without masks: `end`, its
/// last value, or `begin`.
Value splitOf(const Numbers &numbers, scf::ForOp loop, const Narrow &narrow,
              const Extremes &extremes, Value begin, Value end, Value step) {
  llvm::SmallVector<Term> changing, same;
  for (const Term &term : narrow.terms) {
    const bool isSame =
        extremes.course(term.low) == Course::Same && extremes.course(term.high) == Course::Same;
    (isSame ? same : changing).push_back(term);
  }
  Value split = end;
  if (!changing.empty()) {
    Value most = numbers.make<arith::SubIOp>(end, numbers.constant(1));
    Value passed = numbers.make<arith::DivSIOp>(numbers.make<arith::SubIOp>(most, begin), step);
    Value last = numbers.make<arith::AddIOp>(begin, numbers.make<arith::MulIOp>(passed, step));
    Value before = numbers.make<arith::SubIOp>(last, step);
    split = numbers.choose(holds(numbers, changing, extremes, begin, before), last, begin);
    split = numbers.choose(holds(numbers, changing, extremes, begin, last), end, split);
  }
  llvm::SmallVector<Value> conditions;
  if (!same.empty())
    conditions.push_back(holds(numbers, same, extremes, begin, begin));
  if (loop.getInductionVar().getType().isInteger(64))
    for (Value bound : {begin, end, step})
      Extremes::addFits(numbers, bound, conditions);
  if (!splatOf(loop.getStep()))
    conditions.push_back(numbers.isLess(numbers.constant(0), step));
  if (!conditions.empty())
    split = numbers.choose(numbers.all(conditions), split, begin);
  // A loop may have no iterations.
  return numbers.make<arith::MaxSIOp>(numbers.make<arith::MinSIOp>(split, end), begin);
}

void splitLoop(scf::ForOp loop, const Narrow &narrow, const Extremes &extremes) {
  OpBuilder builder(loop);
  const Location where = loop.getLoc();
  const Numbers numbers(builder, where);
  Value begin = numbers.wide(loop.getLowerBound()), end = numbers.wide(loop.getUpperBound()),
        step = numbers.wide(loop.getStep());
  Value wideSplit = splitOf(numbers, loop, narrow, extremes, begin, end, step), split = wideSplit;
  if (const Type type = loop.getInductionVar().getType(); !type.isInteger(64))
    split = arith::TruncIOp::create(builder, where, type, split);
  auto whole = cast<scf::ForOp>(builder.clone(*loop));
  whole.setUpperBound(split);
  for (auto [old, made] :
       llvm::zip(loop.getBody()->getOperations(), whole.getBody()->getOperations()))
    if (llvm::is_contained(narrow.accesses, &old))
      removeMask(&made);
  // Pointers are made anew: those of narrow loads are more, and would be carried over both loops.
  // The whole loop may end within a step.
  builder.setInsertionPoint(loop);
  Value count = numbers.make<arith::SubIOp>(wideSplit, begin);
  if (splatOf(loop.getStep()) != 1)
    count = numbers.make<arith::DivSIOp>(
        numbers.make<arith::AddIOp>(count, numbers.make<arith::SubIOp>(step, numbers.constant(1))),
        step);
  for (auto [i, initial] : llvm::enumerate(loop.getInitArgsMutable())) {
    Value value = whole.getResult(i);
    if (Value each = stepOf(numbers, loop, i)) {
      Value all = numbers.make<arith::MulIOp>(each, count);
      const auto type = cast<RankedTensorType>(value.getType()).clone(builder.getI64Type());
      value = tl::AddPtrOp::create(builder, where, initial.get().getType(), initial.get(),
                                   tl::SplatOp::create(builder, where, type, all));
    }
    initial.set(value);
  }
  loop.setLowerBound(split);
}

/// Whether a loop counts up, as far as is known, and has no loops in it.
bool isInnermost(scf::ForOp loop) {
  const std::optional<int64_t> step = splatOf(loop.getStep());
  return !loop.getUnsignedCmp() && step.value_or(1) > 0 &&
         !loop.getInductionVar().getType().isIndex() &&
         !loop.getBody()
              ->walk([](LoopLikeOpInterface) { return WalkResult::interrupt(); })
              .wasInterrupted();
}

void splitStore(tl::StoreOp store, const Narrow &narrow, const Extremes &extremes) {
  OpBuilder builder(store);
  const Location where = store.getLoc();
  const Numbers numbers(builder, where);
  Value isWhole = holds(numbers, narrow.terms, extremes, Value(), Value());
  auto branch = scf::IfOp::create(builder, where, isWhole, /*withElseRegion=*/true);
  builder.setInsertionPointToStart(branch.thenBlock());
  removeMask(builder.clone(*store));
  store->moveBefore(branch.elseBlock(), branch.elseBlock()->begin());
}

} // namespace

void splitWholeTiles(func::FuncOp function) {
  const AxisAnalysis axes(function);
  llvm::SmallVector<std::pair<scf::ForOp, Narrow>> loops;
  llvm::SmallVector<std::pair<tl::StoreOp, Narrow>> stores;
  llvm::SmallSetVector<Block *, 4> blocks; // of such loops
  function.walk([&](scf::ForOp loop) {
    if (!isInnermost(loop))
      return;
    const Extremes extremes(loop);
    Narrow narrow;
    for (Operation &op : loop.getBody()->without_terminator())
      if (isNarrowForItsMask(&op, axes) && !narrow.add(&op, extremes))
        return; // its threads would have other elements than those of the others
    if (narrow.accesses.empty())
      return;
    blocks.insert(loop->getBlock());
    loops.emplace_back(loop, std::move(narrow));
  });
  for (Block *block : blocks)
    for (auto store : block->getOps<tl::StoreOp>())
      if (Narrow narrow;
          isNarrowForItsMask(store, axes) && narrow.add(store, Extremes(scf::ForOp())))
        stores.emplace_back(store, std::move(narrow));
  for (const auto &[loop, narrow] : loops)
    splitLoop(loop, narrow, Extremes(loop));
  for (const auto &[store, narrow] : stores)
    splitStore(store, narrow, Extremes(scf::ForOp()));
}

} // namespace blockscope::gpu
