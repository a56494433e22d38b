// A function that only compares both values and both places, and chooses by that, is known by what
// it gives for each way in which they can compare: there are few.
#include "gpu_backend/passes/extremes.h"

#include "gpu_backend/passes/region_numbers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/DenseMap.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// (value, place, value, place)
constexpr unsigned kArguments = 4;
using Arguments = std::array<Number, kArguments>;

/// Whether a comparison is one of the two values, or of the two places, or of one with itself.
bool comparesOnePart(Operation &compare, Block &block) {
  const auto lhs = dyn_cast<BlockArgument>(compare.getOperand(0));
  const auto rhs = dyn_cast<BlockArgument>(compare.getOperand(1));
  return lhs && rhs && lhs.getOwner() == &block && rhs.getOwner() == &block &&
         lhs.getArgNumber() % 2 == rhs.getArgNumber() % 2;
}

bool isLogic(Operation &op) {
  return isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::ConstantOp, arith::SelectOp>(op) &&
         op.getResult(0).getType().isInteger(1);
}

/// Whether the block does nothing but compare and choose: it then gives the same for all elements
/// that compare in the same way.
bool onlyChooses(Block &block) {
  const auto isChoice = [&](Operation &op) {
    return isa<arith::SelectOp>(op) &&
           llvm::all_of(op.getOperands().drop_front(), llvm::IsaPred<BlockArgument>);
  };
  return llvm::all_of(block.without_terminator(), [&](Operation &op) {
    if (isa<arith::CmpFOp, arith::CmpIOp>(op))
      return comparesOnePart(op, block);
    return isLogic(op) || isChoice(op);
  });
}

/// Whether all comparisons of the integer arguments of that part are of one sign, and which.
std::optional<bool> signedness(Block &block, unsigned part) {
  bool isSigned = false, isUnsigned = false;
  for (auto compare : block.getOps<arith::CmpIOp>()) {
    if (cast<BlockArgument>(compare.getLhs()).getArgNumber() % 2 != part)
      continue;
    using enum arith::CmpIPredicate;
    isSigned |= llvm::is_contained({slt, sle, sgt, sge}, compare.getPredicate());
    isUnsigned |= llvm::is_contained({ult, ule, ugt, uge}, compare.getPredicate());
  }
  return isSigned && isUnsigned ? std::nullopt : std::optional(!isUnsigned);
}

/// Which of the two elements the block takes, 0 or 1; nothing where it mixes them.
std::optional<int> taken(Block &block, const Arguments &arguments) {
  llvm::DenseMap<Value, Number> values;
  for (auto [argument, number] : llvm::zip_equal(block.getArguments(), arguments))
    values[argument] = number;
  llvm::DenseMap<Value, unsigned> numbers; // of the argument that a value is
  for (const BlockArgument argument : block.getArguments())
    numbers[argument] = argument.getArgNumber();
  for (Operation &op : block.without_terminator()) {
    llvm::SmallVector<Number> operands;
    for (const Value operand : op.getOperands())
      operands.push_back(values.lookup(operand));
    const std::optional<Number> result = evaluated(op, operands);
    if (!result)
      return std::nullopt;
    values[op.getResult(0)] = *result;
    if (isa<arith::SelectOp>(op))
      numbers[op.getResult(0)] = numbers.lookup(op.getOperand(operands[0].bits != 0 ? 1 : 2));
  }
  Operation &yield = *block.getTerminator();
  const auto argumentOf = [&](unsigned result) -> std::optional<unsigned> {
    const auto found = numbers.find(yield.getOperand(result));
    return found == numbers.end() ? std::nullopt : std::optional(found->second);
  };
  const auto value = argumentOf(0), place = argumentOf(1);
  if (!value || !place || *value % 2 != 0 || *place != *value + 1)
    return std::nullopt;
  return static_cast<int>(*value / 2);
}

enum class Compared { Less, Equal, Greater };
constexpr Compared kAll[] = {Compared::Less, Compared::Equal, Compared::Greater};

class Recognition {
public:
  explicit Recognition(Block &block)
      : block_(block), isFloat_(isa<FloatType>(block.getArgument(0).getType())) {}

  /// Whether the block takes what `extreme` does of numbers.
  bool agreesOnNumbers(const Extreme &extreme) const {
    for (const Compared values : kAll)
      for (const Compared places : {Compared::Less, Compared::Greater}) {
        const Compared better = extreme.isLargest ? Compared::Greater : Compared::Less;
        const bool takesFirst =
            values == Compared::Equal ? isFirst(extreme, places) : values == better;
        if (taken(block_, {value(values != Compared::Less), place(places != Compared::Less),
                           value(values != Compared::Greater),
                           place(places != Compared::Greater)}) != (takesFirst ? 0 : 1))
          return false;
      }
    return true;
  }

  /// The same where one of the values, or both, are NaN.
  bool agreesOnNaN(const Extreme &extreme) const {
    const Number nan{.real = std::numeric_limits<double>::quiet_NaN()};
    for (const Compared places : {Compared::Less, Compared::Greater}) {
      const Number first = place(places != Compared::Less),
                   second = place(places == Compared::Less);
      if (taken(block_, {nan, first, value(true), second}) != (extreme.nanWins ? 0 : 1) ||
          taken(block_, {value(true), first, nan, second}) != (extreme.nanWins ? 1 : 0) ||
          taken(block_, {nan, first, nan, second}) != (isFirst(extreme, places) ? 0 : 1))
        return false;
    }
    return true;
  }

private:
  static bool isFirst(const Extreme &extreme, Compared places) {
    return places == (extreme.isLowestPlace ? Compared::Less : Compared::Greater);
  }
  Number value(bool isHigh) const {
    return isFloat_ ? Number{.real = isHigh ? 2.0 : 1.0} : place(isHigh);
  }
  static Number place(bool isHigh) { return {.bits = isHigh ? 2U : 1U}; }

  Block &block_;
  bool isFloat_;
};

/// Whether the block asks if a value is NaN.
bool looksForNaN(Block &block) {
  return llvm::any_of(block.getOps<arith::CmpFOp>(), [](arith::CmpFOp compare) {
    using enum arith::CmpFPredicate;
    return compare.getLhs() == compare.getRhs() ||
           llvm::is_contained({UNO, ORD, UEQ, UGT, UGE, ULT, ULE}, compare.getPredicate());
  });
}

} // namespace

std::optional<Extreme> extremeOf(Block &block) {
  if (block.getNumArguments() != kArguments || !onlyChooses(block))
    return std::nullopt;
  const Type value = block.getArgument(0).getType();
  const bool isFloat = value.isF16() || value.isF32() || value.isF64();
  const auto isInteger = [](Type type) { return type.isInteger() && !type.isInteger(1); };
  if ((!isFloat && !isInteger(value)) || !isInteger(block.getArgument(1).getType()))
    return std::nullopt;
  const auto values = signedness(block, 0), places = signedness(block, 1);
  if (!values || !places)
    return std::nullopt;
  const Recognition recognition(block);
  for (const bool isLargest : {true, false})
    for (const bool isLowestPlace : {true, false})
      for (const bool nanWins : {false, true}) {
        const Extreme extreme{.isLargest = isLargest,
                              .isLowestPlace = isLowestPlace,
                              .nanWins = nanWins,
                              .hasSignedValues = *values,
                              .hasSignedPlaces = *places};
        const bool nanIsOpen = !isFloat || !looksForNaN(block);
        if (recognition.agreesOnNumbers(extreme) && (nanIsOpen || recognition.agreesOnNaN(extreme)))
          return extreme;
      }
  return std::nullopt;
}

} // namespace blockscope::gpu
