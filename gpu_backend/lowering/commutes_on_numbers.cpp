// Two rational functions that agree on many random points are the same, so a combine function that
// gives the same in both orders on many random elements commutes (Schwartz, Zippel). It is
// evaluated in float64, and on integers exactly. A function that chooses by comparing with
// constants is a different one on each side of them: elements are taken there, too. Comparisons
// must have the same outcome in both orders: what chooses between the elements may choose
// differently where they tie (`|a| >= |b|` for 3 and -3), which no random elements show.
#include "gpu_backend/lowering/commutes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <random>

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// A value of the region: the number of a float, or the low bits of an integer.
struct Number {
  double real = 0;
  uint64_t bits = 0;
};

unsigned widthOf(Type type) { return type.isIndex() ? 64 : type.getIntOrFloatBitWidth(); }

uint64_t lowBits(uint64_t bits, unsigned width) {
  return bits & llvm::maskTrailingOnes<uint64_t>(width);
}

/// What a region gives, and how its comparisons come out.
struct Outcome {
  llvm::SmallVector<Number> results;
  llvm::SmallVector<bool> compared;
};

/// The region on numbers.
class Evaluation {
public:
  /// What the region yields; nothing where an op is not known here.
  std::optional<Outcome> run(Block &block, llvm::ArrayRef<Number> arguments) {
    for (auto [argument, number] : llvm::zip_equal(block.getArguments(), arguments))
      values_[argument] = number;
    for (Operation &op : block.without_terminator()) {
      if (op.getNumRegions() != 0 || op.getNumResults() != 1 ||
          !op.getResult(0).getType().isIntOrIndexOrFloat() || !areKnown(op))
        return std::nullopt;
      const std::optional<Number> result = evaluate(op);
      if (!result)
        return std::nullopt;
      values_[op.getResult(0)] = *result;
    }
    if (!areKnown(*block.getTerminator()))
      return std::nullopt;
    for (const Value value : block.getTerminator()->getOperands())
      outcome_.results.push_back(values_.lookup(value));
    return outcome_;
  }

private:
  /// Whether no operand comes from outside.
  bool areKnown(Operation &op) {
    return llvm::all_of(op.getOperands(), [&](Value value) { return values_.contains(value); });
  }

  std::optional<Number> evaluate(Operation &op) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
        return Number{.real = number.getValueAsDouble()};
      if (auto number = dyn_cast<IntegerAttr>(constant.getValue()))
        return Number{.bits = number.getValue().getZExtValue()};
      return std::nullopt;
    }
    if (op.getNumOperands() == 0)
      return std::nullopt;
    if (isa<arith::SelectOp>(op))
      return number(op, number(op, 0).bits != 0 ? 1 : 2);
    if (auto compare = dyn_cast<arith::CmpFOp>(op))
      return compared(arith::applyCmpPredicate(compare.getPredicate(),
                                               llvm::APFloat(number(op, 0).real),
                                               llvm::APFloat(number(op, 1).real)));
    if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
      const unsigned width = widthOf(compare.getLhs().getType());
      return compared(arith::applyCmpPredicate(compare.getPredicate(),
                                               llvm::APInt(width, number(op, 0).bits),
                                               llvm::APInt(width, number(op, 1).bits)));
    }
    return isa<FloatType>(op.getResult(0).getType()) ? real(op) : integer(op);
  }

  Number number(Operation &op, unsigned operand) { return values_.lookup(op.getOperand(operand)); }

  Number compared(bool holds) {
    outcome_.compared.push_back(holds);
    return {.bits = holds};
  }

  int64_t signedOf(Operation &op, unsigned operand) {
    return llvm::SignExtend64(number(op, operand).bits, widthOf(op.getOperand(operand).getType()));
  }

  std::optional<Number> real(Operation &op) {
    const auto of = [](double value) { return std::optional(Number{.real = value}); };
    const double x = number(op, 0).real;
    const auto y = [&] { return number(op, 1).real; };
    return llvm::TypeSwitch<Operation *, std::optional<Number>>(&op)
        .Case<arith::AddFOp>([&](auto) { return of(x + y()); })
        .Case<arith::SubFOp>([&](auto) { return of(x - y()); })
        .Case<arith::MulFOp>([&](auto) { return of(x * y()); })
        .Case<arith::DivFOp>([&](auto) { return of(x / y()); })
        .Case<arith::NegFOp>([&](auto) { return of(-x); })
        .Case<arith::MaximumFOp, arith::MaxNumFOp>([&](auto) { return of(std::fmax(x, y())); })
        .Case<arith::MinimumFOp, arith::MinNumFOp>([&](auto) { return of(std::fmin(x, y())); })
        .Case<math::FmaOp>([&](auto) { return of(x * y() + number(op, 2).real); })
        .Case<math::AbsFOp>([&](auto) { return of(std::fabs(x)); })
        .Case<math::SqrtOp>([&](auto) { return of(std::sqrt(x)); })
        .Case<math::RsqrtOp>([&](auto) { return of(1 / std::sqrt(x)); })
        .Case<math::ExpOp>([&](auto) { return of(std::exp(x)); })
        .Case<math::Exp2Op>([&](auto) { return of(std::exp2(x)); })
        .Case<math::LogOp>([&](auto) { return of(std::log(x)); })
        .Case<math::Log2Op>([&](auto) { return of(std::log2(x)); })
        .Default(std::nullopt);
  }

  std::optional<Number> integer(Operation &op) {
    if (!op.getOperand(0).getType().isIntOrIndex())
      return std::nullopt;
    const auto of = [&](uint64_t bits) {
      return std::optional(Number{.bits = lowBits(bits, widthOf(op.getResult(0).getType()))});
    };
    const uint64_t x = number(op, 0).bits;
    const auto y = [&] { return number(op, 1).bits; };
    return llvm::TypeSwitch<Operation *, std::optional<Number>>(&op)
        .Case<arith::AddIOp>([&](auto) { return of(x + y()); })
        .Case<arith::SubIOp>([&](auto) { return of(x - y()); })
        .Case<arith::MulIOp>([&](auto) { return of(x * y()); })
        .Case<arith::AndIOp>([&](auto) { return of(x & y()); })
        .Case<arith::OrIOp>([&](auto) { return of(x | y()); })
        .Case<arith::XOrIOp>([&](auto) { return of(x ^ y()); })
        .Case<arith::ExtSIOp>([&](auto) { return of(static_cast<uint64_t>(signedOf(op, 0))); })
        .Case<arith::ExtUIOp, arith::TruncIOp>([&](auto) { return of(x); })
        .Default(std::nullopt);
  }

  llvm::DenseMap<Value, Number> values_;
  Outcome outcome_;
};

/// Elements to try.
class Elements {
public:
  explicit Elements(Block &block) : block_(block) {
    for (auto constant : block.getOps<arith::ConstantOp>())
      if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
        reals_.push_back(number.getValueAsDouble());
      else if (auto number = dyn_cast<IntegerAttr>(constant.getValue()))
        integers_.push_back(number.getValue().getZExtValue());
  }

  /// Two elements, one after the other, or nothing where a part is no number.
  std::optional<llvm::SmallVector<Number>> next() {
    const unsigned count = block_.getNumArguments() / 2;
    const bool isSmall = random_() % 2 == 0;
    llvm::SmallVector<Number> elements(block_.getNumArguments());
    for (auto [i, number] : llvm::enumerate(elements)) {
      const Type type = block_.getArgument(i).getType();
      if (!type.isIntOrIndexOrFloat())
        return std::nullopt;
      if (i >= count && random_() % 4 == 0)
        number = elements[i - count]; // parts that are equal
      else if (isa<FloatType>(type))
        number.real = real(isSmall);
      else
        number.bits = lowBits(integer(isSmall), widthOf(type));
    }
    return elements;
  }

private:
  double real(bool isSmall) {
    const double unit = std::uniform_real_distribution<double>(-1, 1)(random_);
    if (!reals_.empty() && random_() % 2 == 0)
      return reals_[random_() % reals_.size()] + unit;
    return std::ldexp(isSmall ? std::fabs(unit) : unit, static_cast<int>(random_() % 16) - 8);
  }

  uint64_t integer(bool isSmall) {
    if (!integers_.empty() && random_() % 2 == 0)
      return integers_[random_() % integers_.size()] + random_() % 3 - 1;
    return isSmall ? random_() % 4 : random_();
  }

  Block &block_;
  std::vector<double> reals_; ///< constants of the region
  std::vector<uint64_t> integers_;
  std::mt19937_64 random_{1}; // the same code at each compilation
};

/// Whether two results are the same; nothing is said where either is no finite number.
bool areAlike(const Number &one, const Number &other) {
  constexpr double kTolerance = 1e-9; // a function that does not commute differs by far more
  if (!std::isfinite(one.real) || !std::isfinite(other.real))
    return std::isfinite(one.real) == std::isfinite(other.real) && one.bits == other.bits;
  const double size = 1 + std::fabs(one.real) + std::fabs(other.real);
  return one.bits == other.bits && std::fabs(one.real - other.real) <= kTolerance * size;
}

} // namespace

bool commutesOnNumbers(Block &block) {
  constexpr int kSamples = 256, kLeastFinite = 64;
  const unsigned count = block.getNumArguments() / 2;
  Elements elements(block);
  int finite = 0;
  for (int sample = 0; sample < kSamples; ++sample) {
    const auto pair = elements.next();
    if (!pair)
      return false;
    llvm::SmallVector<Number> swapped(*pair);
    std::rotate(swapped.begin(), swapped.begin() + count, swapped.end());
    const auto one = Evaluation().run(block, *pair), other = Evaluation().run(block, swapped);
    if (!one || !other || one->compared != other->compared ||
        !llvm::equal(one->results, other->results, areAlike))
      return false;
    finite +=
        llvm::all_of(one->results, [](const Number &value) { return std::isfinite(value.real); });
  }
  return finite >= kLeastFinite;
}

} // namespace blockscope::gpu
