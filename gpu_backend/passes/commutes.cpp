// The region is evaluated on symbols in both orders, once for each way in which the parts of two
// elements that it compares can compare: comparisons are then known, and choices by them are made.
// So `larger value, then lower index` commutes, `larger magnitude`, and what is written with
// symmetric ops.
// What symbols do not show, numbers may: `commutes_on_numbers.cpp`.
#include "gpu_backend/passes/commutes.h"

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/ir/tlg_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <map>
#include <set>

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// How a part of element a compares with that of element b, neither of them NaN.
enum class Order { Less, Equal, Greater };
constexpr int kOrders = 3, kMostCases = 216;

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

/// The number of a part of an element, and the ops of one operand that it has gone through.
using Part = std::vector<uint64_t>;

/// The part that a value of a region is, and whether it is one of the region's right element.
std::optional<std::pair<Part, bool>> partOf(Value value, Block &block) {
  Part part(1);
  while (Operation *op = value.getDefiningOp()) {
    if (op->getBlock() != &block || op->getNumOperands() != 1 || op->getNumResults() != 1 ||
        op->getNumRegions() != 0 || !isMemoryEffectFree(op))
      return std::nullopt;
    part.insert(part.end(), {word(op->getName().getAsOpaquePointer()),
                             word(op->getAttrDictionary().getAsOpaquePointer()),
                             word(op->getResult(0).getType().getAsOpaquePointer())});
    value = op->getOperand(0);
  }
  const auto argument = cast<BlockArgument>(value);
  if (argument.getOwner() != &block)
    return std::nullopt;
  const unsigned count = block.getNumArguments() / 2;
  part[0] = argument.getArgNumber() % count;
  return std::pair(part, argument.getArgNumber() >= count);
}

/// The two operands of a comparison, when they are the same part of elements.
struct ComparedPart {
  Part part;
  bool isFirstRight, isSecondRight; ///< whether they are of the region's right element
};

std::optional<ComparedPart> comparedPart(Operation &op) {
  if (!isa<arith::CmpIOp, arith::CmpFOp>(op))
    return std::nullopt;
  const auto first = partOf(op.getOperand(0), *op.getBlock());
  const auto second = partOf(op.getOperand(1), *op.getBlock());
  if (!first || !second || first->first != second->first)
    return std::nullopt;
  return ComparedPart{first->first, first->second, second->second};
}

} // namespace

bool comparisonGives(Operation &compare, bool isLess, bool isEqual) {
  const bool isGreater = !isLess && !isEqual;
  if (auto integers = dyn_cast<arith::CmpIOp>(compare)) {
    switch (integers.getPredicate()) {
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
  switch (cast<arith::CmpFOp>(compare).getPredicate()) {
  case arith::CmpFPredicate::OEQ:
  case arith::CmpFPredicate::UEQ:
    return isEqual;
  case arith::CmpFPredicate::OGT:
  case arith::CmpFPredicate::UGT:
    return isGreater;
  case arith::CmpFPredicate::OGE:
  case arith::CmpFPredicate::UGE:
    return !isLess;
  case arith::CmpFPredicate::OLT:
  case arith::CmpFPredicate::ULT:
    return isLess;
  case arith::CmpFPredicate::OLE:
  case arith::CmpFPredicate::ULE:
    return !isGreater;
  case arith::CmpFPredicate::ONE:
  case arith::CmpFPredicate::UNE:
    return !isEqual;
  case arith::CmpFPredicate::ORD:
  case arith::CmpFPredicate::AlwaysTrue:
    return true;
  case arith::CmpFPredicate::UNO:
  case arith::CmpFPredicate::AlwaysFalse:
    return false;
  }
  llvm_unreachable("a predicate of a comparison");
}

namespace {

using Orders = std::map<Part, Order>;

/// The region on two elements whose parts compare as `orders` say.
class Evaluation {
public:
  Evaluation(Symbols &symbols, const Orders &orders, bool isSwapped)
      : symbols_(symbols), orders_(orders), isSwapped_(isSwapped) {}

  /// The symbols of what the region yields; nothing where an op has a region of its own.
  std::optional<llvm::SmallVector<Symbol>> run(Block &block) {
    const unsigned count = block.getNumArguments() / 2;
    for (const BlockArgument argument : block.getArguments()) {
      const uint64_t part = argument.getArgNumber() % count;
      const bool isSecond = (argument.getArgNumber() >= count) != isSwapped_ && !areEqual({part});
      values_[argument] = symbols_.of({0, part, isSecond});
    }
    for (Operation &op : block.without_terminator()) {
      if (op.getNumRegions() != 0)
        return std::nullopt;
      evaluate(op, block);
    }
    llvm::SmallVector<Symbol> results;
    for (const Value value : block.getTerminator()->getOperands())
      results.push_back(values_.lookup(value));
    return results;
  }

private:
  bool areEqual(const Part &part) const {
    const auto found = orders_.find(part);
    return found != orders_.end() && found->second == Order::Equal;
  }

  void evaluate(Operation &op, Block &block) {
    if (op.getNumResults() == 1)
      if (const auto part = partOf(op.getResult(0), block); part && areEqual(part->first)) {
        llvm::SmallVector<uint64_t> words = {2};
        llvm::append_range(words, part->first);
        values_[op.getResult(0)] = symbols_.of(words);
        return;
      }
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
    const bool lhs = parts->isFirstRight != isSwapped_, rhs = parts->isSecondRight != isSwapped_;
    const bool isEqual = lhs == rhs || order == Order::Equal;
    const bool isLess = !isEqual && order == (lhs ? Order::Greater : Order::Less);
    return comparisonGives(op, isLess, isEqual);
  }

  Symbols &symbols_;
  const Orders &orders_;
  bool isSwapped_;
  llvm::DenseMap<Value, Symbol> values_;
};

/// The parts that the region compares. A part that it compares as signed and as unsigned integers
/// has no one order, and is left out.
std::vector<Part> comparedParts(Block &block) {
  std::set<Part> all, areSigned, areUnsigned;
  for (Operation &op : block) {
    const std::optional<ComparedPart> parts = comparedPart(op);
    if (!parts)
      continue;
    all.insert(parts->part);
    auto compare = dyn_cast<arith::CmpIOp>(op);
    if (!compare)
      continue;
    const arith::CmpIPredicate predicate = compare.getPredicate();
    if (predicate >= arith::CmpIPredicate::ult)
      areUnsigned.insert(parts->part);
    else if (predicate >= arith::CmpIPredicate::slt)
      areSigned.insert(parts->part);
  }
  std::vector<Part> result;
  llvm::copy_if(all, std::back_inserter(result), [&](const Part &part) {
    return !areSigned.contains(part) || !areUnsigned.contains(part);
  });
  return result;
}

bool commutesOnSymbols(Block &block) {
  const std::vector<Part> parts = comparedParts(block);
  int cases = 1;
  for (size_t i = 0; i < parts.size(); ++i)
    if ((cases *= kOrders) > kMostCases)
      return false;
  Symbols symbols;
  for (int number = 0; number < cases; ++number) {
    Orders orders;
    int rest = number;
    for (const Part &part : parts) {
      orders[part] = static_cast<Order>(rest % kOrders);
      rest /= kOrders;
    }
    const auto one = Evaluation(symbols, orders, false).run(block);
    const auto other = Evaluation(symbols, orders, true).run(block);
    if (!one || one != other)
      return false;
  }
  return true;
}

} // namespace

bool commutes(Region &region) {
  Block &block = region.front();
  if (!region.hasOneBlock() || block.getNumArguments() % 2 != 0)
    return false;
  return commutesOnSymbols(block) || commutesOnNumbers(block);
}

bool commutesToTheBit(Region &region) {
  Block &block = region.front();
  if (!region.hasOneBlock() || block.getNumArguments() % 2 != 0 ||
      llvm::any_of(block, llvm::IsaPred<arith::MulFOp, math::FmaOp>))
    return false;
  Symbols symbols;
  const Orders unknown;
  const auto one = Evaluation(symbols, unknown, false).run(block);
  return one && one == Evaluation(symbols, unknown, true).run(block);
}

void markReductionsInAnyOrder(func::FuncOp function) {
  function.walk([](tl::ReduceOp reduce) {
    if (!commutes(reduce.getCombine()) &&
        commutesOnOperands(reduce.getCombine().front(), reduce.getOperands()))
      reduce->setAttr(tlg::kAnyOrderAttribute, UnitAttr::get(reduce.getContext()));
  });
}

} // namespace blockscope::gpu
