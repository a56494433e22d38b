// The region is evaluated on symbols in both orders, once for each way in which the parts of two
// elements that it compares can compare: comparisons are then known, and choices by them are made.
// So `larger value, then lower index` commutes, and so does what is written with symmetric ops.
#include "gpu_backend/lowering/commutes.h"

#include "core/ir/facts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <map>

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// How part i of element a compares with part i of element b.
enum class Order { Less, Equal, Greater, FirstIsNan, SecondIsNan, BothAreNan };
constexpr int kIntegerOrders = 3, kFloatOrders = 6, kMostCases = 216;

using Symbol = uint64_t;
constexpr Symbol kFalse = 0, kTrue = 1, kFirstFree = 2;

/// Numbers for expressions: equal ones have the same.
class Symbols {
public:
  Symbol of(llvm::ArrayRef<uint64_t> words) {
    return known_.try_emplace({words.begin(), words.end()}, kFirstFree + known_.size())
        .first->second;
  }

private:
  std::map<std::vector<uint64_t>, Symbol> known_;
};

uint64_t word(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer); }

/// The two arguments that a comparison compares, when they are the same part of elements.
struct ComparedPart {
  unsigned part;
  bool isFirstRight, isSecondRight; ///< whether they are of the region's right element
};

std::optional<ComparedPart> comparedPart(Operation &op) {
  if (!isa<arith::CmpIOp, arith::CmpFOp>(op))
    return std::nullopt;
  const auto first = dyn_cast<BlockArgument>(op.getOperand(0));
  const auto second = dyn_cast<BlockArgument>(op.getOperand(1));
  if (!first || !second || first.getOwner() != op.getBlock() || second.getOwner() != op.getBlock())
    return std::nullopt;
  const unsigned count = op.getBlock()->getNumArguments() / 2;
  if (first.getArgNumber() % count != second.getArgNumber() % count)
    return std::nullopt;
  return ComparedPart{first.getArgNumber() % count, first.getArgNumber() >= count,
                      second.getArgNumber() >= count};
}

/// What the comparison gives for operands in this order; nothing for one that is not known.
std::optional<bool> outcome(Operation &op, bool isLess, bool isEqual, bool isUnordered) {
  const bool isGreater = !isLess && !isEqual && !isUnordered;
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    switch (compare.getPredicate()) {
    case arith::CmpIPredicate::eq:
      return isEqual;
    case arith::CmpIPredicate::ne:
      return !isEqual;
    case arith::CmpIPredicate::slt:
    case arith::CmpIPredicate::ult:
      return isLess;
    case arith::CmpIPredicate::sle:
    case arith::CmpIPredicate::ule:
      return !isGreater;
    case arith::CmpIPredicate::sgt:
    case arith::CmpIPredicate::ugt:
      return isGreater;
    case arith::CmpIPredicate::sge:
    case arith::CmpIPredicate::uge:
      return !isLess;
    }
  }
  switch (cast<arith::CmpFOp>(op).getPredicate()) {
  case arith::CmpFPredicate::OEQ:
    return isEqual;
  case arith::CmpFPredicate::OGT:
    return isGreater;
  case arith::CmpFPredicate::OGE:
    return isGreater || isEqual;
  case arith::CmpFPredicate::OLT:
    return isLess;
  case arith::CmpFPredicate::OLE:
    return isLess || isEqual;
  case arith::CmpFPredicate::UNE:
    return !isEqual;
  case arith::CmpFPredicate::UNO:
    return isUnordered;
  case arith::CmpFPredicate::ORD:
    return !isUnordered;
  case arith::CmpFPredicate::AlwaysFalse:
  case arith::CmpFPredicate::AlwaysTrue:
  case arith::CmpFPredicate::ONE:
  case arith::CmpFPredicate::UEQ:
  case arith::CmpFPredicate::UGT:
  case arith::CmpFPredicate::UGE:
  case arith::CmpFPredicate::ULT:
  case arith::CmpFPredicate::ULE:
    return std::nullopt;
  }
  llvm_unreachable("a predicate of a comparison");
}

/// The region on two elements whose parts compare as `orders` say.
class Evaluation {
public:
  Evaluation(Symbols &symbols, const llvm::DenseMap<unsigned, Order> &orders, bool isSwapped)
      : symbols_(symbols), orders_(orders), isSwapped_(isSwapped) {}

  /// The symbols of what the region yields; nothing where an op has a region of its own.
  std::optional<llvm::SmallVector<Symbol>> run(Block &block) {
    const unsigned count = block.getNumArguments() / 2;
    for (const BlockArgument argument : block.getArguments()) {
      const unsigned part = argument.getArgNumber() % count;
      const auto found = orders_.find(part);
      const bool areSame = found != orders_.end() &&
                           (found->second == Order::Equal || found->second == Order::BothAreNan);
      const bool isSecond = (argument.getArgNumber() >= count) != isSwapped_ && !areSame;
      values_[argument] = symbols_.of({0, part, isSecond});
    }
    for (Operation &op : block.without_terminator()) {
      if (op.getNumRegions() != 0)
        return std::nullopt;
      evaluate(op);
    }
    llvm::SmallVector<Symbol> results;
    for (const Value value : block.getTerminator()->getOperands())
      results.push_back(values_.lookup(value));
    return results;
  }

private:
  void evaluate(Operation &op) {
    if (const std::optional<Symbol> known = folded(op)) {
      values_[op.getResult(0)] = *known;
      return;
    }
    llvm::SmallVector<uint64_t> operands;
    for (const Value operand : op.getOperands())
      operands.push_back(values_.lookup(operand));
    const OpFacts *facts = tl::factsOf(&op);
    if (op.hasTrait<OpTrait::IsCommutative>() || (facts && facts->combining))
      llvm::sort(operands);
    for (const OpResult result : op.getResults()) {
      llvm::SmallVector<uint64_t> words = {1, word(op.getName().getAsOpaquePointer()),
                                           word(op.getAttrDictionary().getAsOpaquePointer()),
                                           word(result.getType().getAsOpaquePointer()),
                                           result.getResultNumber()};
      llvm::append_range(words, operands);
      values_[result] = symbols_.of(words);
    }
  }

  /// The symbol of an op whose value is one of its operands, or known.
  std::optional<Symbol> folded(Operation &op) {
    if (const std::optional<bool> known = compared(op))
      return *known ? kTrue : kFalse;
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      if (const auto number = dyn_cast<IntegerAttr>(constant.getValue());
          number && number.getType().isInteger(1))
        return number.getValue().isZero() ? kFalse : kTrue;
    if (auto select = dyn_cast<arith::SelectOp>(op)) {
      const Symbol condition = values_.lookup(select.getCondition());
      const Symbol yes = values_.lookup(select.getTrueValue());
      const Symbol no = values_.lookup(select.getFalseValue());
      if (condition == kTrue || yes == no)
        return yes;
      return condition == kFalse ? std::optional(no) : std::nullopt;
    }
    if (op.getNumOperands() != 2 || op.getNumResults() != 1 ||
        !op.getResult(0).getType().isInteger(1))
      return std::nullopt;
    Symbol lhs = values_.lookup(op.getOperand(0)), rhs = values_.lookup(op.getOperand(1));
    if (lhs > rhs)
      std::swap(lhs, rhs); // what is known comes first
    if (isa<arith::AndIOp>(op) && lhs <= kTrue)
      return lhs == kTrue ? rhs : kFalse;
    if (isa<arith::OrIOp>(op) && lhs <= kTrue)
      return lhs == kTrue ? kTrue : rhs;
    if (isa<arith::XOrIOp>(op) && rhs <= kTrue)
      return lhs == rhs ? kFalse : kTrue;
    return std::nullopt;
  }

  std::optional<bool> compared(Operation &op) {
    const std::optional<ComparedPart> parts = comparedPart(op);
    const auto found = parts ? orders_.find(parts->part) : orders_.end();
    if (found == orders_.end())
      return std::nullopt;
    const Order order = found->second;
    const auto isNan = [&](bool isSecond) {
      return order == Order::BothAreNan ||
             order == (isSecond ? Order::SecondIsNan : Order::FirstIsNan);
    };
    const bool lhs = parts->isFirstRight != isSwapped_, rhs = parts->isSecondRight != isSwapped_;
    const bool isUnordered = isNan(lhs) || isNan(rhs);
    const bool isEqual = !isUnordered && (lhs == rhs || order == Order::Equal);
    const bool isLess = !isUnordered && !isEqual && order == (lhs ? Order::Greater : Order::Less);
    return outcome(op, isLess, isEqual, isUnordered);
  }

  Symbols &symbols_;
  const llvm::DenseMap<unsigned, Order> &orders_;
  bool isSwapped_;
  llvm::DenseMap<Value, Symbol> values_;
};

/// The parts that the region compares, each in one way only, and in how many ways they can compare.
llvm::SmallVector<std::pair<unsigned, int>> comparedParts(Block &block) {
  llvm::SmallVector<std::pair<unsigned, int>> result;
  uint64_t areSigned = 0, areUnsigned = 0;
  for (Operation &op : block) {
    const std::optional<ComparedPart> parts = comparedPart(op);
    if (!parts || parts->part >= 64)
      continue;
    const bool isFloat = isa<arith::CmpFOp>(op);
    const std::pair entry(parts->part, isFloat ? kFloatOrders : kIntegerOrders);
    if (!llvm::is_contained(result, entry))
      result.push_back(entry);
    if (isFloat)
      continue;
    const auto predicate = cast<arith::CmpIOp>(op).getPredicate();
    areSigned |=
        uint64_t{predicate >= arith::CmpIPredicate::slt && predicate <= arith::CmpIPredicate::sge}
        << parts->part;
    areUnsigned |= uint64_t{predicate >= arith::CmpIPredicate::ult} << parts->part;
  }
  llvm::erase_if(result, [&](const std::pair<unsigned, int> &entry) {
    return ((areSigned & areUnsigned) >> entry.first & 1) != 0;
  });
  return result;
}

} // namespace

bool commutes(Region &region) {
  Block &block = region.front();
  if (!region.hasOneBlock() || block.getNumArguments() % 2 != 0)
    return false;
  const auto parts = comparedParts(block);
  int cases = 1;
  for (const auto &[part, orders] : parts)
    if ((cases *= orders) > kMostCases)
      return false;
  Symbols symbols;
  for (int number = 0; number < cases; ++number) {
    llvm::DenseMap<unsigned, Order> orders;
    int rest = number;
    for (const auto &[part, count] : parts) {
      orders[part] = static_cast<Order>(rest % count);
      rest /= count;
    }
    const auto one = Evaluation(symbols, orders, false).run(block);
    const auto other = Evaluation(symbols, orders, true).run(block);
    if (!one || one != other)
      return false;
  }
  return true;
}

} // namespace blockscope::gpu
