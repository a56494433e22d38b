// Interval arithmetic on demand, and how little of the arguments a proof needs.
#include "gpu_backend/passes/index_ranges.h"

#include "core/ir/tl_dialect.h"
#include "gpu_backend/ir/tlg_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <bit>

using namespace mlir;

namespace blockscope::gpu {
namespace {

using Wide = __int128;

/// Both ends are in it.
struct Range {
  Wide low = 0, high = 0;
  bool contains(const Range &other) const { return low <= other.low && other.high <= high; }
};

unsigned widthOf(Value value) {
  auto type = dyn_cast<IntegerType>(getElementTypeOrSelf(value.getType()));
  return type && type.getWidth() > 1 && type.getWidth() <= 64 ? type.getWidth() : 0;
}

Range allOf(unsigned width) {
  const Wide half = Wide{1} << (width - 1);
  return {-half, half - 1};
}

Range unionOf(const Range &a, const Range &b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

/// The exact results as numbers of `width` bits. Those of 32 bits and more do not wrap.
Range fitted(const Range &exact, unsigned width) {
  const Range all = allOf(width);
  if (all.contains(exact))
    return exact;
  const Range inside{std::max(exact.low, all.low), std::min(exact.high, all.high)};
  return width < 32 || inside.low > inside.high ? all : inside;
}

Range product(const Range &x, const Range &y) {
  // The ends of 64 bits multiplied fit into 128.
  const auto [low, high] =
      std::minmax({x.low * y.low, x.low * y.high, x.high * y.low, x.high * y.high});
  return {low, high};
}

/// x / y for y of at least 1.
Range quotient(const Range &x, const Range &y) {
  const Wide least = std::max<Wide>(y.low, 1), most = std::max<Wide>(y.high, 1);
  return {x.low < 0 ? x.low / least : x.low / most, x.high < 0 ? x.high / most : x.high / least};
}

/// `greater` is at least `less` + `by`, in each element.
struct Fact {
  Value greater, less;
  int64_t by = 0;
};
using Facts = llvm::SmallVector<Fact, 8>;

/// What follows from a scalar condition that holds, or does not.
void readCondition(Value condition, bool holds, Facts &facts) {
  Operation *op = condition.getDefiningOp();
  if (!op || isa<RankedTensorType>(condition.getType()))
    return;
  if (auto both = dyn_cast<arith::AndIOp>(op); both && holds) {
    readCondition(both.getLhs(), true, facts);
    readCondition(both.getRhs(), true, facts);
  } else if (auto either = dyn_cast<arith::OrIOp>(op); either && !holds) {
    readCondition(either.getLhs(), false, facts);
    readCondition(either.getRhs(), false, facts);
  } else if (auto flipped = dyn_cast<arith::XOrIOp>(op)) {
    if (matchPattern(flipped.getRhs(), m_One()))
      readCondition(flipped.getLhs(), !holds, facts);
  } else if (auto choice = dyn_cast<arith::SelectOp>(op)) { // a and b, a or b
    if (holds && matchPattern(choice.getFalseValue(), m_Zero())) {
      readCondition(choice.getCondition(), true, facts);
      readCondition(choice.getTrueValue(), true, facts);
    } else if (!holds && matchPattern(choice.getTrueValue(), m_One())) {
      readCondition(choice.getCondition(), false, facts);
      readCondition(choice.getFalseValue(), false, facts);
    }
  } else if (auto compare = dyn_cast<arith::CmpIOp>(op); compare && widthOf(compare.getLhs())) {
    using P = arith::CmpIPredicate;
    const Value x = compare.getLhs(), y = compare.getRhs();
    const P predicate =
        holds ? compare.getPredicate() : arith::invertPredicate(compare.getPredicate());
    if (predicate == P::sge || predicate == P::sgt || predicate == P::eq)
      facts.push_back({x, y, predicate == P::sgt});
    if (predicate == P::sle || predicate == P::slt || predicate == P::eq)
      facts.push_back({y, x, predicate == P::slt});
  }
}

/// The scalar whose number `value` has in each element, as far as it is seen: conditions name that.
Value numberOf(Value value) {
  while (true) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = dyn_cast<scf::WhileOp>(argument.getOwner()->getParentOp());
      if (!loop || argument.getOwner() != loop.getAfterBody())
        return value;
      value = loop.getConditionOp().getArgs()[argument.getArgNumber()];
    } else if (isa<arith::ExtSIOp, tl::HintOp, tl::SplatOp>(value.getDefiningOp())) {
      value = value.getDefiningOp()->getOperand(0);
    } else {
      return value;
    }
  }
}

bool isSame(Value x, Value y) {
  x = numberOf(x);
  y = numberOf(y);
  llvm::APInt a, b;
  return x == y || (matchPattern(x, m_ConstantInt(&a)) && matchPattern(y, m_ConstantInt(&b)) &&
                    a.getSExtValue() == b.getSExtValue());
}

/// What a proof may take for granted.
struct Grounds {
  Operation *function;
  llvm::ArrayRef<Operation *> assumptions;
  const llvm::DenseSet<Value> &sizes;
  const std::map<unsigned, int64_t> &least; ///< of arguments
  bool trustsDivisors;                      ///< to be positive
};

/// One question. Values may be used many times, so what is found is kept, for as long as nothing
/// else is taken for granted.
class Proof {
public:
  Proof(const Grounds &grounds, llvm::DenseSet<unsigned> &used) : grounds_(grounds), used_(used) {}

  /// Of all elements of `value` where `at` runs, in any iteration of the loops around it.
  Range rangeAt(Value value, Operation *at) {
    Facts outer = std::exchange(facts_, factsAt(at));
    Known before = std::exchange(known_, Known());
    const Range range = rangeOf(value);
    facts_ = std::move(outer);
    known_ = std::move(before);
    return range;
  }

private:
  static constexpr int kMostVisits = 4000, kDeepest = 48;
  static constexpr int kMostCtasOfCluster = 16;
  static constexpr int kNone = kDeepest + 1;
  struct Answer {
    Range range;
    int openAt = kNone; ///< the depth at which it is asked for, while it is
  };
  using Known = llvm::DenseMap<Value, Answer>;

  /// `ask` where `condition` holds, or does not.
  Range where(Value condition, bool holds, Value value) {
    const size_t count = facts_.size();
    readCondition(condition, holds, facts_);
    if (facts_.size() == count)
      return rangeOf(value);
    Known before = std::exchange(known_, Known());
    const Range range = rangeOf(value);
    facts_.truncate(count);
    known_ = std::move(before);
    return range;
  }

  Facts factsAt(Operation *at) const {
    Facts facts;
    for (Operation *inner = at; inner && inner != grounds_.function; inner = inner->getParentOp()) {
      for (Operation *assumption : grounds_.assumptions)
        if (assumption->getBlock() == inner->getBlock() && assumption->isBeforeInBlock(inner))
          readCondition(assumption->getOperand(0), true, facts);
      Region *region = inner->getParentRegion();
      Operation *parent = inner->getParentOp();
      if (auto branch = dyn_cast<scf::IfOp>(parent))
        readCondition(branch.getCondition(), region == &branch.getThenRegion(), facts);
      else if (auto loop = dyn_cast<scf::WhileOp>(parent);
               loop && inner->getBlock() == loop.getAfterBody())
        readCondition(loop.getConditionOp().getCondition(), true, facts);
      else if (auto loop = dyn_cast<scf::ForOp>(parent); loop && countsUp(loop))
        facts.push_back({loop.getUpperBound(), loop.getInductionVar(), 1});
    }
    return facts;
  }

  /// Persistent programs step by their number, or by an argument.
  bool countsUp(scf::ForOp loop) const {
    if (loop.getUnsignedCmp())
      return false;
    const Value step = numberOf(loop.getStep());
    llvm::APInt constant;
    if (matchPattern(step, m_ConstantInt(&constant)))
      return constant.isStrictlyPositive();
    auto argument = dyn_cast<BlockArgument>(step);
    return argument && argument.getOwner()->getParentOp() == grounds_.function
               ? ofKernelArgument(argument).low >= 1
               : bool(step.getDefiningOp<tl::NumProgramsOp>());
  }

  Range rangeOf(Value value) {
    const unsigned width = widthOf(value);
    if (width == 0)
      return allOf(64);
    if (const auto found = known_.find(value); found != known_.end()) {
      reliesOn_ = std::min(reliesOn_, found->second.openAt);
      return found->second.range;
    }
    const Range all = allOf(width);
    if (depth_ >= kDeepest || ++visits_ > kMostVisits)
      return all;
    const int depth = depth_++, outer = std::exchange(reliesOn_, kNone);
    known_[value] = {all, depth};
    Range range = ofOperands(value, width);
    known_[value] = {range, depth};
    range = refined(value, range);
    if (range.low > range.high) // never runs
      range = all;
    --depth_;
    // What was found with less than there will be known of a value that is still asked for is not
    // kept: conditions lead from one value to another that is computed from the same ones.
    if (reliesOn_ < depth)
      known_.erase(value);
    else
      known_[value] = {range};
    reliesOn_ = std::min(outer, reliesOn_ < depth ? reliesOn_ : kNone);
    return range;
  }

  /// With what conditions say.
  Range refined(Value value, Range range) {
    if (range.low == range.high)
      return range;
    const Facts facts = facts_; // they change while branches are asked
    for (const auto &[greater, less, by] : facts) {
      if (isSame(greater, value))
        range.low = std::max(range.low, rangeOf(less).low + by);
      if (isSame(less, value))
        range.high = std::min(range.high, rangeOf(greater).high - by);
      // start + size > i, and i >= start: the size is at least 1.
      if (auto sum = numberOf(greater).getDefiningOp<arith::AddIOp>())
        for (const int side : {0, 1})
          if (isSame(sum->getOperand(side), value))
            range.low = std::max(range.low, leastDifference(less, sum->getOperand(1 - side)) + by);
    }
    if (grounds_.trustsDivisors && grounds_.sizes.contains(value))
      range.low = std::max<Wide>(range.low, 0);
    return range;
  }

  /// Of x - y.
  Wide leastDifference(Value x, Value y) {
    Wide least = rangeOf(x).low - rangeOf(y).high;
    if (isAtMost(y, x, 0))
      least = std::max<Wide>(least, 0);
    if (auto rest = numberOf(y).getDefiningOp<arith::RemSIOp>()) // n - i % n, n - 1 - i % n
      if (isSame(rest.getRhs(), x) && rangeOf(x).low >= 1 && rangeOf(rest.getLhs()).low >= 0)
        least = std::max<Wide>(least, 1);
    if (auto smaller = numberOf(x).getDefiningOp<arith::SubIOp>();
        smaller && takesConstant(smaller))
      least =
          std::max(least, leastDifference(smaller.getLhs(), y) - rangeOf(smaller.getRhs()).high);
    for (const auto &[greater, less, by] : facts_)
      if (isSame(greater, x) && isSame(less, y))
        least = std::max<Wide>(least, by);
    return least;
  }

  /// Whether a constant is taken away.
  static bool takesConstant(arith::SubIOp difference) {
    return matchPattern(numberOf(difference.getRhs()), m_Constant());
  }

  /// Whether x <= y is seen from what they are made of.
  bool isAtMost(Value x, Value y, int depth) {
    if (isSame(x, y))
      return true;
    if (depth == 4 || ++visits_ > kMostVisits)
      return false;
    for (const auto &[greater, less, by] : Facts(facts_))
      if (by >= 0 && isSame(greater, y) && isSame(less, x))
        return true;
    const auto isPositive = [&](Value value) { return rangeOf(value).low >= 0; };
    if (Operation *op = numberOf(x).getDefiningOp()) {
      const auto first = [&] { return isAtMost(op->getOperand(0), y, depth + 1); };
      const auto second = [&] { return isAtMost(op->getOperand(1), y, depth + 1); };
      if (isa<arith::MinSIOp>(op) && (first() || second()))
        return true;
      if (isa<arith::DivSIOp, arith::RemSIOp, arith::ShRSIOp, arith::AndIOp>(op) &&
          isPositive(op->getOperand(0)) && first())
        return true;
      if (isa<arith::SubIOp>(op) && isPositive(op->getOperand(1)) && first())
        return true;
      if (isa<arith::MulIOp, arith::ShLIOp>(op)) // (w / k) * k
        if (const Value whole = roundedDown(op); whole && isPositive(whole))
          if (isAtMost(whole, y, depth + 1))
            return true;
    }
    if (Operation *op = numberOf(y).getDefiningOp()) {
      const auto first = [&] { return isAtMost(x, op->getOperand(0), depth + 1); };
      const auto second = [&] { return isAtMost(x, op->getOperand(1), depth + 1); };
      if (isa<arith::MaxSIOp>(op) && (first() || second()))
        return true;
      if (isa<arith::AddIOp>(op) && ((isPositive(op->getOperand(1)) && first()) ||
                                     (isPositive(op->getOperand(0)) && second())))
        return true;
    }
    return false;
  }

  /// w where `op` is w / k * k.
  static Value roundedDown(Operation *op) {
    for (const int side : {0, 1}) {
      Operation *part = numberOf(op->getOperand(side)).getDefiningOp();
      const bool isPart = isa<arith::MulIOp>(op)
                              ? isa_and_nonnull<arith::DivSIOp>(part)
                              : side == 0 && isa_and_nonnull<arith::ShRSIOp>(part);
      if (isPart && isSame(part->getOperand(1), op->getOperand(1 - side)))
        return part->getOperand(0);
    }
    return {};
  }

  Range ofOperands(Value value, unsigned width) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return ofArgument(argument, width);
    Operation *op = value.getDefiningOp();
    llvm::APInt number;
    if (matchPattern(op, m_ConstantInt(&number)))
      return {number.getSExtValue(), number.getSExtValue()};
    DenseElementsAttr elements;
    if (matchPattern(op, m_Constant(&elements)) && elements.isSplat()) {
      const int64_t same = elements.getSplatValue<llvm::APInt>().getSExtValue();
      return {same, same};
    }
    const Range all = allOf(width);
    const auto x = [&](int i) { return rangeOf(op->getOperand(i)); };
    return llvm::TypeSwitch<Operation *, Range>(op)
        .Case<tl::ProgramIdOp>([&](auto) { return Range{0, all.high}; })
        .Case<tlg::ClusterRankOp>([&](auto) { return Range{0, kMostCtasOfCluster - 1}; })
        .Case<tl::NumProgramsOp>([&](auto) { return Range{1, all.high}; })
        .Case([&](tl::RangeOp range) { return Range{range.getStart(), Wide{range.getEnd()} - 1}; })
        .Case<arith::ExtSIOp, tl::HintOp, tl::SplatOp, tl::UnsplatOp, tl::ExpandDimsOp,
              tl::BroadcastOp, tl::ReshapeOp, tl::TransOp, tl::GatherOp>([&](auto) { return x(0); })
        .Case<tl::JoinOp, tl::CatOp>([&](auto) { return unionOf(x(0), x(1)); })
        .Case([&](arith::ExtUIOp extended) {
          const unsigned from = widthOf(extended.getIn());
          if (from != 0 && x(0).low >= 0)
            return x(0);
          return Range{0, from == 0 ? Wide{1} : (Wide{1} << from) - 1};
        })
        .Case([&](arith::TruncIOp) { return all.contains(x(0)) ? x(0) : all; })
        .Case([&](arith::AddIOp) {
          return fitted({x(0).low + x(1).low, x(0).high + x(1).high}, width);
        })
        .Case([&](arith::SubIOp difference) {
          const Wide least = leastDifference(difference.getLhs(), difference.getRhs());
          return fitted({least, std::max(least, x(0).high - x(1).low)}, width);
        })
        .Case([&](arith::MulIOp) { return fitted(product(x(0), x(1)), width); })
        .Case([&](arith::ShLIOp) {
          const Range by = x(1);
          if (by.low < 0 || by.high >= width)
            return all;
          return fitted(product(x(0), {Wide{1} << int(by.low), Wide{1} << int(by.high)}), width);
        })
        .Case<arith::DivSIOp>([&](auto) { return ofQuotient(x(0), x(1)); })
        .Case<arith::RemSIOp>([&](auto) { return ofRemainder(x(0), x(1)); })
        .Case<arith::DivUIOp>(
            [&](auto) { return x(0).low < 0 || x(1).low < 0 ? all : quotient(x(0), x(1)); })
        .Case<arith::RemUIOp>([&](auto) {
          if (x(1).low < 0)
            return all;
          const Wide most = std::max<Wide>(x(1).high - 1, 0);
          return Range{0, x(0).low < 0 ? most : std::min(most, x(0).high)};
        })
        .Case<arith::ShRSIOp, arith::ShRUIOp>([&](auto) {
          const Range by{std::clamp<Wide>(x(1).low, 0, width - 1),
                         std::clamp<Wide>(x(1).high, 0, width - 1)};
          if (x(0).low >= 0)
            return Range{x(0).low >> int(by.high), x(0).high >> int(by.low)};
          if (isa<arith::ShRUIOp>(op))
            return by.low == 0 ? all : Range{0, (Wide{1} << (width - int(by.low))) - 1};
          return Range{x(0).low >> int(by.low), std::max<Wide>(x(0).high, 0)};
        })
        .Case<arith::AndIOp>([&](auto) {
          if (x(0).low < 0 && x(1).low < 0)
            return all;
          return Range{0, x(0).low < 0   ? x(1).high
                          : x(1).low < 0 ? x(0).high
                                         : std::min(x(0).high, x(1).high)};
        })
        .Case<arith::OrIOp, arith::XOrIOp>([&](auto) {
          if (x(0).low < 0 || x(1).low < 0)
            return all;
          const auto most = static_cast<uint64_t>(std::max(x(0).high, x(1).high));
          return Range{isa<arith::OrIOp>(op) ? std::max(x(0).low, x(1).low) : Wide{0},
                       Wide{std::bit_ceil(most + 1)} - 1};
        })
        .Case<arith::MinSIOp>([&](auto) {
          return Range{std::min(x(0).low, x(1).low), std::min(x(0).high, x(1).high)};
        })
        .Case<arith::MaxSIOp>([&](auto) {
          return Range{std::max(x(0).low, x(1).low), std::max(x(0).high, x(1).high)};
        })
        .Case([&](arith::SelectOp choice) {
          return unionOf(where(choice.getCondition(), true, choice.getTrueValue()),
                         where(choice.getCondition(), false, choice.getFalseValue()));
        })
        .Case([&](scf::IfOp branch) {
          const unsigned result = cast<OpResult>(value).getResultNumber();
          return unionOf(
              where(branch.getCondition(), true, branch.thenYield().getOperand(result)),
              where(branch.getCondition(), false, branch.elseYield().getOperand(result)));
        })
        .Case([&](scf::ForOp loop) {
          return rangeOf(loop.getRegionIterArg(cast<OpResult>(value).getResultNumber()));
        })
        .Case([&](scf::WhileOp loop) {
          scf::ConditionOp condition = loop.getConditionOp();
          return rangeAt(condition.getArgs()[cast<OpResult>(value).getResultNumber()], condition);
        })
        .Default([&](Operation *) { return all; });
  }

  Range ofQuotient(const Range &x, const Range &y) const {
    if (y.low >= 0 || grounds_.trustsDivisors)
      return quotient(x, y);
    const Wide most = std::max(-x.low, x.high);
    return {-most, most};
  }

  static Range ofRemainder(const Range &x, const Range &y) {
    const Wide most = std::max<Wide>(std::max(-y.low, y.high) - 1, 0);
    return {x.low < 0 ? std::max(x.low, -most) : Wide{0},
            x.high < 0 ? Wide{0} : std::min(x.high, most)};
  }

  Range ofKernelArgument(BlockArgument argument) const {
    const Range all = allOf(widthOf(argument));
    const auto least = grounds_.least.find(argument.getArgNumber());
    if (least == grounds_.least.end())
      return all;
    used_.insert(argument.getArgNumber());
    return {least->second, all.high};
  }

  Range ofArgument(BlockArgument argument, unsigned width) {
    Operation *owner = argument.getOwner()->getParentOp();
    const Range all = allOf(width);
    if (owner == grounds_.function)
      return ofKernelArgument(argument);
    if (auto loop = dyn_cast<scf::ForOp>(owner)) {
      if (argument != loop.getInductionVar())
        return ofCarried(argument, loop.getInitArgs()[argument.getArgNumber() - 1],
                         loop.getYieldedValues()[argument.getArgNumber() - 1],
                         loop.getBody()->getTerminator());
      if (!countsUp(loop))
        return all;
      return {rangeOf(loop.getLowerBound()).low, all.high - 1};
    }
    auto loop = dyn_cast<scf::WhileOp>(owner);
    if (!loop)
      return all; // a combine function's
    const unsigned number = argument.getArgNumber();
    if (argument.getOwner() == loop.getAfterBody())
      return rangeOf(loop.getConditionOp().getArgs()[number]);
    return ofCarried(argument, loop.getInits()[number], loop.getYieldOp().getOperand(number),
                     loop.getYieldOp());
  }

  /// Of what goes around a loop: a range that holds at first, and is kept by each iteration.
  Range ofCarried(BlockArgument argument, Value initial, Value yielded, Operation *yield) {
    const Range all = allOf(widthOf(argument));
    if (const auto assumed = carried_.find(argument); assumed != carried_.end())
      return assumed->second;
    Range range = rangeAt(initial, argument.getOwner()->getParentOp());
    for (int i = 0; i < 3; ++i) {
      carried_[argument] = range;
      const Range next = rangeAt(yielded, yield);
      carried_.erase(argument);
      if (range.contains(next))
        return range;
      if (next.low < range.low)
        range.low = next.low >= 0 ? Wide{0} : all.low;
      if (next.high > range.high)
        range.high = all.high;
    }
    return all;
  }

  const Grounds &grounds_;
  llvm::DenseSet<unsigned> &used_; ///< arguments of which something was taken for granted
  Facts facts_;
  Known known_;
  llvm::DenseMap<Value, Range> carried_; ///< what is held to be kept, while it is shown
  int depth_ = 0, visits_ = 0;
  int reliesOn_ = kNone; ///< the outermost value that is asked for of which an answer made use
};

} // namespace

IndexRanges::IndexRanges(func::FuncOp function)
    : function_(function),
      mayDemand_(!function->getParentOp()->hasAttr(tlg::kMayBeNegativeAttribute)) {
  function.walk([&](tl::AssumeOp assumption) { assumptions_.push_back(assumption); });
  if (mayDemand_)
    findSizes();
}

void IndexRanges::findSizes() {
  for (Operation &op : function_.getBody().front()) {
    if (!isa<arith::DivSIOp, arith::RemSIOp>(op))
      continue;
    Value size = op.getOperand(1);
    sizes_.insert(size);
    while (isa_and_nonnull<tl::SplatOp, tl::BroadcastOp, tl::ExpandDimsOp, arith::ExtSIOp>(
        size.getDefiningOp())) {
      size = size.getDefiningOp()->getOperand(0);
      sizes_.insert(size);
    }
  }
}

bool IndexRanges::isProved(Value value, Operation *at, bool trustsDivisors,
                           const std::map<unsigned, int64_t> &least,
                           llvm::DenseSet<unsigned> &used) const {
  used.clear();
  const Grounds grounds{function_, assumptions_, sizes_, least, trustsDivisors};
  return Proof(grounds, used).rangeAt(value, at).low >= 0;
}

bool IndexRanges::isNotNegative(Value value, Operation *at) {
  const auto [answer, isNew] = answers_.try_emplace({value, at}, false);
  if (!isNew)
    return answer->second;
  llvm::DenseSet<unsigned> used;
  if (isProved(value, at, /*trustsDivisors=*/false, demanded_, used))
    return answer->second = true;
  if (!mayDemand_)
    return false;
  for (const bool trustsDivisors : {false, true}) {
    for (const int64_t most : {0, 1}) {
      std::map<unsigned, int64_t> least;
      for (BlockArgument argument : function_.getArguments())
        if (widthOf(argument))
          least[argument.getArgNumber()] = most;
      if (!isProved(value, at, trustsDivisors, least, used))
        continue;
      // Arguments are often 0: what the proof does without is not asked for.
      llvm::SmallVector<unsigned> candidates(used.begin(), used.end());
      llvm::sort(candidates);
      std::map<unsigned, int64_t> needed = demanded_;
      for (const unsigned number : candidates)
        needed[number] = most;
      for (const unsigned number : candidates) {
        const auto before = demanded_.find(number);
        for (int64_t less = trustsDivisors ? 0 : -1; less < most; ++less) {
          if (before != demanded_.end() && less < before->second)
            continue;
          std::map<unsigned, int64_t> fewer = needed;
          if (less < 0)
            fewer.erase(number);
          else
            fewer[number] = less;
          if (isProved(value, at, trustsDivisors, fewer, used)) {
            needed = fewer;
            break;
          }
        }
        if (before != demanded_.end())
          needed[number] = std::max(needed[number], before->second);
      }
      demanded_ = needed;
      return answer->second = true;
    }
  }
  return false;
}

} // namespace blockscope::gpu
