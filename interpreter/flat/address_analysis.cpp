// Sums of products, built from the ops that make a pointer.
#include "interpreter/flat/address_analysis.h"

#include "core/ir/convert.h"
#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace blockscope::interpreter::flat {
namespace {

using Kind = ScalarStep::Kind;
namespace arith = mlir::arith;

int64_t rankOf(mlir::Value value) {
  auto shaped = mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
  return shaped ? shaped.getRank() : 0;
}

/// How many loops are around an op.
int depthOf(mlir::Operation *op) {
  int depth = 0;
  for (mlir::Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp())
    depth += mlir::isa<mlir::scf::ForOp, mlir::scf::WhileOp>(parent);
  return depth;
}

std::optional<int64_t> integerIn(mlir::arith::ConstantOp constant) {
  if (auto number = mlir::dyn_cast<mlir::IntegerAttr>(constant.getValue()))
    return number.getValue().sextOrTrunc(64).getSExtValue();
  if (auto splat = mlir::dyn_cast<mlir::SplatElementsAttr>(constant.getValue()))
    if (splat.getElementType().isInteger())
      return splat.getSplatValue<llvm::APInt>().sextOrTrunc(64).getSExtValue();
  return std::nullopt;
}

std::optional<Kind> kindOf(mlir::Operation &op) {
  return llvm::TypeSwitch<mlir::Operation *, std::optional<Kind>>(&op)
      .Case<arith::DivSIOp>([](auto) { return Kind::Div; })
      .Case<arith::RemSIOp>([](auto) { return Kind::Rem; })
      .Case<arith::MinSIOp>([](auto) { return Kind::Min; })
      .Case<arith::MaxSIOp>([](auto) { return Kind::Max; })
      .Case<arith::AndIOp>([](auto) { return Kind::And; })
      .Case<arith::OrIOp>([](auto) { return Kind::Or; })
      .Case<arith::XOrIOp>([](auto) { return Kind::Xor; })
      .Case<arith::ShLIOp>([](auto) { return Kind::ShiftLeft; })
      .Case<arith::ShRSIOp>([](auto) { return Kind::ShiftRight; })
      .Case<arith::SelectOp>([](auto) { return Kind::Select; })
      .Default([](auto) { return std::nullopt; });
}

/// The size in `n - n / size * size`.
std::optional<mlir::Value> remainderBy(mlir::Operation &difference) {
  auto taken = difference.getOperand(1).getDefiningOp<arith::MulIOp>();
  for (const unsigned side : {0U, 1U}) {
    auto quotient = taken ? taken->getOperand(side).getDefiningOp<arith::DivSIOp>() : nullptr;
    if (quotient && quotient.getLhs() == difference.getOperand(0) &&
        quotient.getRhs() == taken->getOperand(1 - side))
      return quotient.getRhs();
  }
  return std::nullopt;
}

} // namespace

//===-- Scalars -------------------------------------------------------------------------------===//

AddressAnalysis::StepId AddressAnalysis::step(Kind kind, llvm::ArrayRef<StepId> operands,
                                              int64_t value) {
  ScalarStep made;
  made.kind = kind;
  made.value = value;
  made.isFixed = kind != Kind::ProgramId && kind != Kind::LoopCounter;
  made.isLiteral = kind != Kind::Argument && kind != Kind::NumPrograms && made.isFixed;
  made.hasQuotient = kind == Kind::Div || kind == Kind::ShiftRight;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    made.operands[i] = operand;
    made.isFixed &= steps_[operand].isFixed;
    made.isLiteral &= steps_[operand].isLiteral;
    made.mayBeOffset |= steps_[operand].mayBeOffset;
    made.hasQuotient |= steps_[operand].hasQuotient;
  }
  if (kind == Kind::ShiftLeft && !made.isFixed)
    made.mayBeOffset = true;
  if (kind == Kind::Mul && !steps_[operands[0]].isFixed && !steps_[operands[1]].isFixed)
    made.mayBeOffset = true;
  // Constants are computed at once: their products are sizes too.
  if (made.isLiteral && kind != Kind::Constant) {
    AddressForm form;
    for (size_t i = 0; i < operands.size(); ++i) {
      form.steps.push_back(steps_[operands[i]]);
      form.steps.back().operands = {};
    }
    form.steps.push_back(made);
    form.steps.back().operands = {0, 1, 2};
    llvm::SmallVector<int64_t> values;
    const bool areConstants =
        llvm::all_of(operands, [&](StepId id) { return steps_[id].kind == Kind::Constant; });
    if (areConstants && form.compute({}, values))
      return constant(values.back());
  }
  steps_.push_back(made);
  return static_cast<StepId>(steps_.size() - 1);
}

AddressAnalysis::StepId AddressAnalysis::constant(int64_t value) {
  return step(Kind::Constant, {}, value);
}

bool AddressAnalysis::isLiteral(StepId id, int64_t value) const {
  return steps_[id].kind == Kind::Constant && steps_[id].value == value;
}

std::optional<AddressAnalysis::StepId> AddressAnalysis::valueOf(const Sum &sum) {
  if (sum.parameter || !sum.unit.isKnown || sum.unit.hasRange)
    return std::nullopt;
  StepId result = sum.unit.start;
  for (const Product &product : sum.products) {
    if (!product.index.isKnown || product.index.hasRange)
      return std::nullopt;
    const StepId factor = step(Kind::Mul, {product.index.start, product.stride});
    steps_[factor].mayBeOffset |= product.names && !steps_[factor].isFixed;
    result = isLiteral(result, 0) ? factor : step(Kind::Add, {result, factor});
  }
  return result;
}

std::optional<AddressAnalysis::StepId> AddressAnalysis::valueOf(mlir::Value value) {
  return rankOf(value) == 0 ? valueOf(sumOf(value)) : std::nullopt;
}

AddressAnalysis::Sum AddressAnalysis::scalar(StepId start) const {
  Sum sum;
  sum.unit.start = start;
  return sum;
}

AddressAnalysis::Sum AddressAnalysis::unknown(mlir::Value value) const {
  Sum sum;
  sum.unit.isKnown = false;
  sum.unit.hasRange = rankOf(value) > 0;
  sum.unit.perLane.assign(static_cast<size_t>(rankOf(value)), 0);
  return sum;
}

AddressAnalysis::Sum AddressAnalysis::multiple(Index index, StepId stride, bool names,
                                               size_t rank) {
  Sum sum = scalar(constant(0));
  sum.unit.perLane.assign(rank, 0);
  index.perLane.resize(rank, 0);
  sum.products.push_back({std::move(index), stride, names});
  return sum;
}

/// What is added and the same in the whole launch counts once, however many rows it is.
AddressAnalysis::Sum AddressAnalysis::addend(const Sum &sum) {
  const std::optional<StepId> whole = valueOf(sum);
  if (!whole || !steps_[*whole].isFixed || isLiteral(*whole, 0))
    return sum;
  Index once;
  once.start = constant(1);
  return multiple(once, *whole, false, sum.unit.perLane.size());
}

/// A power of two that stands in the source: most likely the size of a block.
bool AddressAnalysis::isSize(StepId factor) const {
  const ScalarStep &by = steps_[factor];
  return by.kind == Kind::Constant &&
         (by.value <= 1 || llvm::isPowerOf2_64(static_cast<uint64_t>(by.value)));
}

bool AddressAnalysis::changesIn(StepId id, int64_t loopDepth) const {
  const ScalarStep &at = steps_[id];
  if (at.kind == Kind::LoopCounter)
    return at.value >= loopDepth;
  return !at.isFixed && llvm::any_of(at.operands, [&](StepId operand) {
    return operand < id && changesIn(operand, loopDepth);
  });
}

//===-- Sums ----------------------------------------------------------------------------------===//

AddressAnalysis::Sum AddressAnalysis::add(Sum lhs, const Sum &rhs) {
  if (!lhs.parameter)
    lhs.parameter = rhs.parameter;
  lhs.products.append(rhs.products.begin(), rhs.products.end());
  Index &unit = lhs.unit;
  unit.isKnown &= rhs.unit.isKnown;
  unit.hasRange |= rhs.unit.hasRange;
  if (unit.isKnown)
    unit.start = isLiteral(unit.start, 0)       ? rhs.unit.start
                 : isLiteral(rhs.unit.start, 0) ? unit.start
                                                : step(Kind::Add, {unit.start, rhs.unit.start});
  unit.perLane.resize(std::max(unit.perLane.size(), rhs.unit.perLane.size()), 0);
  for (auto [i, count] : llvm::enumerate(rhs.unit.perLane))
    unit.perLane[i] += count;
  return lhs;
}

AddressAnalysis::Index AddressAnalysis::scaled(Index index, StepId factor, bool mayCount) {
  if (!index.isKnown)
    return index;
  index.start = step(Kind::Mul, {index.start, factor});
  if (!index.hasRange)
    return index;
  if (mayCount && steps_[factor].kind == Kind::Constant)
    for (int64_t &count : index.perLane)
      count *= steps_[factor].value;
  else
    index.isKnown = false;
  return index;
}

AddressAnalysis::Sum AddressAnalysis::negated(Sum sum) {
  const StepId minus = constant(-1);
  for (Product &product : sum.products)
    product.index = scaled(product.index, minus, true);
  sum.unit = scaled(sum.unit, minus, true);
  return sum;
}

bool AddressAnalysis::hasUnknown(const Sum &sum) {
  return !sum.unit.isKnown ||
         llvm::any_of(sum.products, [](const Product &each) { return !each.index.isKnown; });
}

AddressAnalysis::Sum AddressAnalysis::product(mlir::Value value, const Sum &lhs, const Sum &rhs) {
  const bool isScalar = rankOf(value) == 0;
  const auto left = valueOf(lhs), right = valueOf(rhs);
  const auto isFixed = [&](std::optional<StepId> id) { return id && steps_[*id].isFixed; };
  if (isScalar && left && right && isFixed(left) == isFixed(right))
    return scalar(step(Kind::Mul, {*left, *right}));
  const bool takesRight = isFixed(right);
  const std::optional<StepId> factor = takesRight ? right : left;
  if (!isFixed(factor))
    return unknown(value);
  const Sum &sum = takesRight ? lhs : rhs;
  const auto rank = static_cast<size_t>(rankOf(value));
  const bool names = !isSize(*factor);
  if (const auto whole = isScalar ? valueOf(sum) : std::nullopt) {
    // n * (K * P * 128), written from left to right: all factors together are the stride of n, also
    // those that look like the size of a block.
    const bool isOneProduct = sum.products.size() == 1 && isLiteral(sum.unit.start, 0);
    if (isOneProduct && sum.products.front().names) {
      const Product &inner = sum.products.front();
      return multiple(inner.index, step(Kind::Mul, {inner.stride, *factor}), true, rank);
    }
    Index index;
    index.start = *whole;
    return multiple(index, *factor, names, rank);
  }
  Sum result = scalar(constant(0));
  result.unit.perLane.assign(rank, 0);
  for (const Product &each : sum.products)
    result.products.push_back(
        {each.index, step(Kind::Mul, {each.stride, *factor}), each.names || names});
  if (!sum.unit.isKnown || sum.unit.hasRange || !isLiteral(sum.unit.start, 0))
    result.products.push_back({sum.unit, *factor, names});
  return result;
}

//===-- Values --------------------------------------------------------------------------------===//

const AddressAnalysis::Sum &AddressAnalysis::sumOf(mlir::Value value) {
  if (const auto found = known_.find(value); found != known_.end())
    return *found->second;
  known_[value] = std::make_unique<Sum>(unknown(value)); // what a loop carries into itself
  auto sum = std::make_unique<Sum>(compute(value));
  std::unique_ptr<Sum> &place = known_[value];
  place = std::move(sum);
  return *place;
}

AddressAnalysis::Sum AddressAnalysis::compute(mlir::Value value) {
  if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(value))
    return ofArgument(argument);
  return ofOp(*value.getDefiningOp(), value);
}

AddressAnalysis::Sum AddressAnalysis::ofArgument(mlir::BlockArgument argument) {
  mlir::Operation *parent = argument.getOwner()->getParentOp();
  const unsigned number = argument.getArgNumber();
  const Type type = fromMlirType(argument.getType());
  if (mlir::isa<mlir::func::FuncOp>(parent)) {
    if (type.isPointer()) {
      Sum sum = scalar(constant(0));
      sum.parameter = number;
      return sum;
    }
    if (type.isFloating())
      return unknown(argument);
    const StepId made = step(Kind::Argument, {}, number);
    steps_[made].bits = static_cast<uint8_t>(8 * type.elementBytes());
    return scalar(made);
  }
  auto loop = mlir::dyn_cast<mlir::scf::ForOp>(parent);
  if (!loop)
    return unknown(argument);
  if (number > 0)
    return ofCarried(loop, argument);
  const auto begin = valueOf(loop.getLowerBound()), by = valueOf(loop.getStep());
  if (!begin || !by)
    return unknown(argument);
  Index index;
  index.start = step(Kind::LoopCounter, {}, depthOf(loop));
  if (!steps_[*by].isFixed)
    return scalar(step(Kind::Add, {*begin, step(Kind::Mul, {index.start, *by})}));
  return add(multiple(index, *by, false, 0), addend(sumOf(loop.getLowerBound())));
}

AddressAnalysis::Sum AddressAnalysis::ofCarried(mlir::scf::ForOp loop,
                                                mlir::BlockArgument argument) {
  const unsigned number = argument.getArgNumber() - 1;
  const Sum first = sumOf(loop.getInitArgs()[number]);
  const int depth = depthOf(loop);
  const std::optional<Sum> change =
      stepOf(loop.getBody()->getTerminator()->getOperand(number), argument, depth);
  if (!change || change->parameter)
    return unknown(argument);
  const StepId counter = step(Kind::LoopCounter, {}, depth);
  Sum grown = *change;
  for (Product &each : grown.products)
    each.index = scaled(each.index, counter, false);
  grown.unit = scaled(grown.unit, counter, false);
  return add(first, grown);
}

std::optional<AddressAnalysis::Sum>
AddressAnalysis::stepOf(mlir::Value next, mlir::BlockArgument carried, int depth) {
  if (next == carried) {
    Sum none = scalar(constant(0));
    none.unit.perLane.assign(static_cast<size_t>(rankOf(carried)), 0);
    return none;
  }
  mlir::Operation *op = next.getDefiningOp();
  if (!op || !mlir::isa<tl::AddPtrOp, arith::AddIOp>(op))
    return std::nullopt;
  for (const unsigned side : {0U, 1U}) {
    std::optional<Sum> rest = stepOf(op->getOperand(side), carried, depth);
    if (!rest)
      continue;
    const Sum &added = sumOf(op->getOperand(1 - side));
    const auto isSteady = [&](const Index &index) {
      return !index.isKnown || !changesIn(index.start, depth);
    };
    if (!isSteady(added.unit) ||
        llvm::any_of(added.products, [&](const Product &each) { return !isSteady(each.index); }))
      return std::nullopt;
    return add(*rest, addend(added));
  }
  return std::nullopt;
}

AddressAnalysis::Sum AddressAnalysis::ofOp(mlir::Operation &op, mlir::Value value) {
  const auto rank = static_cast<size_t>(rankOf(value));
  const auto mapped = [&](auto map) {
    Sum sum = sumOf(op.getOperand(0));
    for (Product &each : sum.products)
      map(each.index.perLane);
    map(sum.unit.perLane);
    return sum;
  };
  const auto operand = [&](unsigned number) -> const Sum & { return sumOf(op.getOperand(number)); };
  if (auto range = mlir::dyn_cast<tl::RangeOp>(op)) {
    Sum sum = scalar(constant(static_cast<int32_t>(range.getStart())));
    sum.unit.hasRange = true;
    sum.unit.perLane = {1};
    return sum;
  }
  if (auto splat = mlir::dyn_cast<tl::SplatOp>(op))
    return mapped([&](auto &perLane) { perLane.assign(rank, 0); });
  if (auto expand = mlir::dyn_cast<tl::ExpandDimsOp>(op))
    return mapped([&](auto &perLane) {
      perLane.resize(rank - 1, 0);
      perLane.insert(perLane.begin() + expand.getAxis(), 0);
    });
  if (mlir::isa<tl::BroadcastOp>(op)) {
    auto from = mlir::cast<mlir::RankedTensorType>(op.getOperand(0).getType());
    return mapped([&](auto &perLane) {
      perLane.resize(rank, 0);
      for (auto [i, size] : llvm::enumerate(from.getShape()))
        if (size == 1)
          perLane[i] = 0;
    });
  }
  if (auto trans = mlir::dyn_cast<tl::TransOp>(op))
    return mapped([&](auto &perLane) {
      perLane.resize(rank, 0);
      llvm::SmallVector<int64_t, 4> turned;
      for (const auto from : trans.getOrder())
        turned.push_back(perLane[static_cast<size_t>(from)]);
      perLane = turned;
    });
  if (mlir::isa<tl::HintOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp>(
          op))
    return operand(0);
  if (mlir::isa<tl::AddPtrOp>(op))
    return operand(0).parameter ? add(operand(0), addend(operand(1))) : unknown(value);
  if (fromMlirType(value.getType()).isPointer())
    return unknown(value);
  if (mlir::isa<arith::AddIOp>(op))
    return add(addend(operand(0)), addend(operand(1)));
  if (mlir::isa<arith::SubIOp>(op)) {
    // What is left when something unknown is taken away is as unknown: n - n / size * size is the
    // remainder, an index of its own.
    if (hasUnknown(operand(1)))
      return unknown(value);
    // A quotient of scalars is known, and so is what is left: an index of its own as well.
    if (const auto left = valueOf(op.getOperand(0)), right = valueOf(op.getOperand(1));
        left && right && steps_[*right].hasQuotient) {
      const auto size = remainderBy(op);
      return scalar(size ? step(Kind::Rem, {*left, *valueOf(*size)})
                         : step(Kind::Sub, {*left, *right}));
    }
    const Sum minus = negated(addend(operand(1)));
    return add(addend(operand(0)), minus);
  }
  if (mlir::isa<arith::MulIOp>(op)) {
    return product(value, operand(0), operand(1));
  }
  if (auto constantOp = mlir::dyn_cast<arith::ConstantOp>(op)) {
    const auto number = integerIn(constantOp);
    if (!number)
      return unknown(value);
    Sum sum = scalar(constant(*number));
    sum.unit.perLane.assign(rank, 0);
    return sum;
  }
  return rank == 0 ? ofScalar(op, value) : unknown(value);
}

AddressAnalysis::Sum AddressAnalysis::ofScalar(mlir::Operation &op, mlir::Value value) {
  if (auto id = mlir::dyn_cast<tl::ProgramIdOp>(op))
    return scalar(step(Kind::ProgramId, {}, id.getAxis()));
  if (auto count = mlir::dyn_cast<tl::NumProgramsOp>(op))
    return scalar(step(Kind::NumPrograms, {}, count.getAxis()));
  std::optional<Kind> kind = kindOf(op);
  bool isSwapped = false;
  if (auto compare = mlir::dyn_cast<arith::CmpIOp>(op)) {
    using enum arith::CmpIPredicate;
    const auto predicate = compare.getPredicate();
    isSwapped = predicate == sgt || predicate == sge;
    if (predicate == eq)
      kind = Kind::Equal;
    else if (predicate == ne)
      kind = Kind::NotEqual;
    else if (predicate == slt || predicate == sgt)
      kind = Kind::Less;
    else if (predicate == sle || predicate == sge)
      kind = Kind::LessEqual;
  }
  if (!kind)
    return unknown(value);
  llvm::SmallVector<StepId, 3> operands;
  for (const mlir::Value each : op.getOperands()) {
    const auto found = valueOf(each);
    if (!found)
      return unknown(value);
    operands.push_back(*found);
  }
  if (isSwapped)
    std::swap(operands[0], operands[1]);
  return scalar(step(*kind, operands));
}

//===-- Accesses ------------------------------------------------------------------------------===//

bool AddressAnalysis::dependsOnData(mlir::Value value) {
  if (const auto found = data_.find(value); found != data_.end())
    return found->second;
  data_[value] = false; // what a loop carries into itself
  const auto any = [&](auto values) {
    return llvm::any_of(values, [&](mlir::Value each) { return dependsOnData(each); });
  };
  bool result = true;
  if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(value)) {
    mlir::Operation *parent = argument.getOwner()->getParentOp();
    auto loop = mlir::dyn_cast<mlir::scf::ForOp>(parent);
    if (mlir::isa<mlir::func::FuncOp>(parent))
      result = false;
    else if (loop && argument.getArgNumber() == 0)
      result = dependsOnData(loop.getLowerBound()) || dependsOnData(loop.getStep());
    else if (loop)
      result =
          dependsOnData(loop.getInitArgs()[argument.getArgNumber() - 1]) ||
          dependsOnData(loop.getBody()->getTerminator()->getOperand(argument.getArgNumber() - 1));
  } else {
    mlir::Operation *op = value.getDefiningOp();
    const OpFacts *facts = tl::factsOf(op);
    const bool isPure =
        mlir::isa<arith::ConstantOp>(op) || (facts && facts->memory == OpMemory::None);
    result = op->getNumRegions() != 0 || !isPure || any(op->getOperands());
  }
  data_[value] = result;
  return result;
}

bool AddressAnalysis::isDataFree(mlir::Operation &access) {
  for (const mlir::Value operand : access.getOperands()) {
    const bool isMask = fromMlirType(operand.getType()).isBool();
    const bool isPointer = operand == access.getOperand(0);
    if ((isMask || isPointer) && dependsOnData(operand))
      return false;
  }
  for (mlir::Operation *parent = access.getParentOp(); parent; parent = parent->getParentOp()) {
    if (mlir::isa<mlir::func::FuncOp>(parent))
      return true;
    auto branch = mlir::dyn_cast<mlir::scf::IfOp>(parent);
    auto loop = mlir::dyn_cast<mlir::scf::ForOp>(parent);
    if (branch && !dependsOnData(branch.getCondition()))
      continue;
    if (loop && !dependsOnData(loop.getLowerBound()) && !dependsOnData(loop.getUpperBound()) &&
        !dependsOnData(loop.getStep()))
      continue;
    return false;
  }
  return false;
}

std::shared_ptr<const AddressForm> AddressAnalysis::formOf(mlir::Operation &access) {
  if (access.getNumOperands() == 0)
    return nullptr;
  const mlir::Value pointer = access.getOperand(0);
  const Type type = fromMlirType(pointer.getType());
  if (!type.isPointer())
    return nullptr;
  const Sum &sum = sumOf(pointer);
  if (!sum.parameter)
    return nullptr;
  auto form = std::make_shared<AddressForm>();
  form->parameter = *sum.parameter;
  form->pointeeBytes = type.pointee().elementBytes();
  form->isDataFree = isDataFree(access);
  // Only the steps that the terms need, in the same order.
  std::vector<bool> isNeeded(steps_.size());
  llvm::SmallVector<StepId> open;
  const auto need = [&](const Index &index) {
    if (index.isKnown)
      open.push_back(index.start);
  };
  need(sum.unit);
  for (const Product &each : sum.products) {
    need(each.index);
    open.push_back(each.stride);
  }
  const auto operandsOf = [&](const ScalarStep &each) {
    return each.kind < Kind::Add ? 0 : each.kind == Kind::Select ? 3 : 2;
  };
  while (!open.empty()) {
    const StepId id = open.pop_back_val();
    if (isNeeded[id])
      continue;
    isNeeded[id] = true;
    for (int i = 0; i < operandsOf(steps_[id]); ++i)
      open.push_back(steps_[id].operands[static_cast<size_t>(i)]);
  }
  std::vector<StepId> place(steps_.size());
  for (StepId id = 0; id < steps_.size(); ++id) {
    if (!isNeeded[id])
      continue;
    place[id] = static_cast<StepId>(form->steps.size());
    form->steps.push_back(steps_[id]);
    for (StepId &operand : form->steps.back().operands)
      operand = operand < id ? place[operand] : 0;
  }
  const auto term = [&](const Index &index, std::optional<StepId> stride, bool names) {
    AddressForm::Term made;
    made.stride = stride;
    made.names = names;
    made.isKnown = index.isKnown && (stride || !steps_[index.start].mayBeOffset);
    made.hasRange = index.hasRange;
    made.start = index.isKnown ? place[index.start] : 0;
    made.perLane = index.perLane;
    made.perLane.resize(type.shape.size(), 0);
    form->terms.push_back(std::move(made));
  };
  for (const Product &each : sum.products)
    term(each.index, place[each.stride], each.names);
  term(sum.unit, std::nullopt, true);
  return form;
}

} // namespace blockscope::interpreter::flat
