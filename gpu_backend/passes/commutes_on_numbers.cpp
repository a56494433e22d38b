// Two rational functions that agree on many random points are the same, so a combine function that
// gives the same in both orders on many random elements commutes (Schwartz, Zippel). It is
// evaluated in float64, and on integers exactly. A function that chooses by comparing with
// constants is a different one on each side of them: elements are taken there, too. Comparisons
// must have the same outcome in both orders: what chooses between the elements may choose
// differently where they tie (`|a| >= |b|` for 3 and -3), which no random elements show.
//
// Many functions commute only on what they are used for: Welford's with a guard for counts that are
// not above 0 does where counts are ones and zeros. So where random elements say no, those that the
// operands can have, and what the function makes of a few of them, are tried.
#include "gpu_backend/passes/commutes.h"
#include "gpu_backend/passes/operand_numbers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>
#include <random>

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// What a region gives, and how its comparisons come out.
struct Outcome {
  llvm::SmallVector<Number> results;
  llvm::SmallVector<bool> compared;
};

/// The region on numbers; nothing where an op is not known, or an operand comes from outside.
std::optional<Outcome> outcomeOf(Block &block, llvm::ArrayRef<Number> arguments) {
  Outcome outcome;
  llvm::DenseMap<Value, Number> values;
  for (auto [argument, number] : llvm::zip_equal(block.getArguments(), arguments))
    values[argument] = number;
  const auto operandsOf = [&](Operation &op) -> std::optional<llvm::SmallVector<Number>> {
    llvm::SmallVector<Number> operands;
    for (const Value operand : op.getOperands()) {
      const auto found = values.find(operand);
      if (found == values.end())
        return std::nullopt;
      operands.push_back(found->second);
    }
    return operands;
  };
  for (Operation &op : block.without_terminator()) {
    const auto operands = operandsOf(op);
    if (!operands || op.getNumRegions() != 0 || op.getNumResults() != 1 ||
        !op.getResult(0).getType().isIntOrIndexOrFloat())
      return std::nullopt;
    const std::optional<Number> result = evaluated(op, *operands);
    if (!result)
      return std::nullopt;
    if (isa<arith::CmpFOp, arith::CmpIOp>(op))
      outcome.compared.push_back(result->bits != 0);
    values[op.getResult(0)] = *result;
  }
  const auto results = operandsOf(*block.getTerminator());
  if (!results)
    return std::nullopt;
  outcome.results = *results;
  return outcome;
}

/// Numbers to try.
class RandomNumbers {
public:
  explicit RandomNumbers(Block &block) {
    for (auto constant : block.getOps<arith::ConstantOp>())
      if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
        reals_.push_back(number.getValueAsDouble());
      else if (auto number = dyn_cast<IntegerAttr>(constant.getValue()))
        integers_.push_back(number.getValue().getZExtValue());
  }

  /// Those of one pair of elements are all small, or not.
  void beginPair() { isSmall_ = random_() % 2 == 0; }
  uint64_t any() { return random_(); }
  /// A number of an integer or float type.
  Number of(Type type) {
    return isa<FloatType>(type) ? Number{.real = real()}
                                : Number{.bits = lowBits(integer(), widthOf(type))};
  }

  /// Whether the region does nothing else above what a few iterations count, as far as constants
  /// say.
  [[nodiscard]] bool hasSmallConstants() const {
    constexpr auto kSmall = static_cast<double>(OperandNumbers::kMostIterations);
    return llvm::all_of(reals_,
                        [](double x) { return !std::isfinite(x) || std::fabs(x) <= kSmall; }) &&
           llvm::all_of(integers_, [](uint64_t x) { return x <= OperandNumbers::kMostIterations; });
  }

private:
  double real() {
    const double unit = std::uniform_real_distribution<double>(-1, 1)(random_);
    if (!reals_.empty() && random_() % 2 == 0)
      return reals_[random_() % reals_.size()] + unit;
    return std::ldexp(isSmall_ ? std::fabs(unit) : unit, static_cast<int>(random_() % 16) - 8);
  }

  uint64_t integer() {
    if (!integers_.empty() && random_() % 2 == 0)
      return integers_[random_() % integers_.size()] + random_() % 3 - 1;
    return isSmall_ ? random_() % 4 : random_();
  }

  std::vector<double> reals_; ///< constants of the region
  std::vector<uint64_t> integers_;
  std::mt19937_64 random_{1}; // the same code at each compilation
  bool isSmall_ = false;
};

/// Whether two results are the same; nothing is said where either is no finite number.
bool areAlike(const Number &one, const Number &other) {
  constexpr double kTolerance = 1e-9; // a function that does not commute differs by far more
  if (!std::isfinite(one.real) || !std::isfinite(other.real))
    return std::isfinite(one.real) == std::isfinite(other.real) && one.bits == other.bits;
  const double size = 1 + std::fabs(one.real) + std::fabs(other.real);
  return one.bits == other.bits && std::fabs(one.real - other.real) <= kTolerance * size;
}

/// Whether a region gives the same in both orders for the pairs of elements that `next` gives, one
/// after the other; false where it gives nothing.
bool commutesOn(Block &block, llvm::function_ref<std::optional<llvm::SmallVector<Number>>()> next) {
  constexpr int kSamples = 256, kLeastFinite = 64;
  const unsigned count = block.getNumArguments() / 2;
  int finite = 0;
  for (int sample = 0; sample < kSamples; ++sample) {
    const auto pair = next();
    if (!pair)
      return false;
    llvm::SmallVector<Number> swapped(*pair);
    std::rotate(swapped.begin(), swapped.begin() + count, swapped.end());
    const auto one = outcomeOf(block, *pair), other = outcomeOf(block, swapped);
    if (!one || !other || one->compared != other->compared ||
        !llvm::equal(one->results, other->results, areAlike))
      return false;
    finite +=
        llvm::all_of(one->results, [](const Number &value) { return std::isfinite(value.real); });
  }
  return finite >= kLeastFinite;
}

bool hasNumbers(Block &block) {
  return llvm::all_of(block.getArgumentTypes(),
                      [](Type type) { return type.isIntOrIndexOrFloat(); });
}

} // namespace

bool commutesOnNumbers(Block &block) {
  const unsigned count = block.getNumArguments() / 2;
  RandomNumbers random(block);
  return hasNumbers(block) && commutesOn(block, [&] {
           random.beginPair();
           llvm::SmallVector<Number> pair;
           for (const BlockArgument argument : block.getArguments()) {
             const bool repeats = argument.getArgNumber() >= count && random.any() % 4 == 0;
             pair.push_back(repeats ? pair[argument.getArgNumber() - count] // parts that are equal
                                    : random.of(argument.getType()));
           }
           return std::optional(pair);
         });
}

bool commutesOnOperands(Block &block, ValueRange operands) {
  RandomNumbers random(block);
  OperandNumbers numbers(operands, random.hasSmallConstants(),
                         [&](Type type) { return random.of(type); });
  // A few elements of the operands, combined.
  const auto element = [&]() -> std::optional<llvm::SmallVector<Number>> {
    llvm::SmallVector<Number> combined = numbers.next();
    for (uint64_t more = random.any() % 4; more > 0; --more) {
      llvm::append_range(combined, numbers.next());
      const auto outcome = outcomeOf(block, combined);
      if (!outcome)
        return std::nullopt;
      combined = outcome->results;
    }
    return combined;
  };
  return hasNumbers(block) && commutesOn(block, [&]() -> std::optional<llvm::SmallVector<Number>> {
           random.beginPair();
           auto pair = element();
           const auto other = element();
           if (!pair || !other)
             return std::nullopt;
           llvm::append_range(*pair, *other);
           return pair;
         });
}

} // namespace blockscope::gpu
