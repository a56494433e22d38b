// Lowers scf.if, scf.for and scf.while to labels, jumps and parallel copies.
//
// A loop's result is its carried value: both are one register. So are the arguments of the second
// region of scf.while and its results.
#include "core/ir/convert.h"
#include "interpreter/flat/loop_slice.h"
#include "interpreter/flat/program_builder.h"

namespace blockscope::interpreter::flat {

using Kind = LoweredOp::Kind;

bool ProgramBuilder::addCopy(llvm::ArrayRef<ValueId> to, mlir::ValueRange from,
                             llvm::ArrayRef<bool> asTile) {
  if (to.empty())
    return true;
  ValueIds sources;
  for (size_t i = 0; i < to.size(); ++i) {
    if (!asTile.empty() && asTile[i]) {
      const auto tile = tileIds_.find(from[i]);
      if (tile == tileIds_.end()) {
        lostTile_ = true;
        return false;
      }
      sources.push_back(tile->second);
    } else {
      sources.push_back(lowered_.values[to[i]].elements == 1 ? idOf(from[i]) : whole(from[i]));
    }
  }
  LoweredOp &copy = add(Kind::Copy);
  copy.results.assign(to.begin(), to.end());
  copy.operands.assign(sources.begin(), sources.end());
  return true;
}

void ProgramBuilder::bindCarried(mlir::ValueRange arguments, mlir::ValueRange initial,
                                 ValueIds &registers) {
  for (const mlir::Value argument : arguments)
    registers.push_back(newRegister(argument.getType()));
  addCopy(registers, initial);
  for (size_t i = 0; i < registers.size(); ++i)
    bind(arguments[i], registers[i]);
}

bool ProgramBuilder::lowerIf(mlir::scf::IfOp op) {
  const uint32_t elseLabel = lowered_.numLabels++;
  const uint32_t endLabel = lowered_.numLabels++;
  ValueIds results;
  for (const mlir::Value result : op.getResults()) {
    results.push_back(newRegister(result.getType()));
    bind(result, results.back());
  }
  LoweredOp &branch = addTo(Kind::JumpIfFalse, elseLabel);
  branch.operands = {idOf(op.getCondition())};
  branch.op = options_.values ? addOpInfo(*op) : 0;
  if (!lowerBlock(op.getThenRegion().front()))
    return false;
  addCopy(results, op.getThenRegion().front().getTerminator()->getOperands());
  if (op.getElseRegion().empty()) {
    addTo(Kind::Label, elseLabel);
    return true;
  }
  addTo(Kind::Jump, endLabel);
  addTo(Kind::Label, elseLabel);
  if (!lowerBlock(op.getElseRegion().front()))
    return false;
  addCopy(results, op.getElseRegion().front().getTerminator()->getOperands());
  addTo(Kind::Label, endLabel);
  return true;
}

/// The op that makes the counter of a loop.
void ProgramBuilder::showLoop(uint32_t number, mlir::scf::ForOp op) {
  const Type type = fromMlirType(op.getInductionVar().getType());
  program_.shown.resize(program_.ops.size());
  ShownOp &shown = program_.shown[number];
  shown.signature.name = nameOf(*op);
  shown.signature.operands = {type, type, type};
  shown.signature.results = {type};
  shown.singleOperands = 0b111;
  shown.hasSingleResults = true;
}

bool ProgramBuilder::lowerFor(mlir::scf::ForOp op) {
  const uint32_t topLabel = lowered_.numLabels++;
  const uint32_t exitLabel = lowered_.numLabels++;
  const ValueId trips = lowered_.addRegister(8, 1);
  const ValueId counter = newRegister(op.getInductionVar().getType());
  const ValueId step = idOf(op.getStep());
  const uint32_t info = addOpInfo(*op);
  if (options_.values)
    showLoop(info, op);

  ValueIds carried;
  llvm::SmallVector<bool> asTile;
  for (const mlir::Value argument : op.getRegionIterArgs()) {
    asTile.push_back(useTiles_ && analysis_.isCarriedTile(argument));
    carried.push_back(asTile.back() ? newTileRegister(argument.getType())
                                    : newRegister(argument.getType()));
  }
  const auto bindAll = [&](mlir::ValueRange values) {
    for (size_t i = 0; i < carried.size(); ++i)
      asTile[i] ? bindTile(values[i], carried[i]) : bind(values[i], carried[i]);
  };
  if (!addCopy(carried, op.getInitArgs(), asTile))
    return false;
  LoweredOp &begin = add(Kind::ForBegin);
  begin.isUnsigned = op.getUnsignedCmp();
  begin.op = info;
  begin.results = {trips, counter};
  begin.operands = {idOf(op.getLowerBound()), idOf(op.getUpperBound()), step};
  bind(op.getInductionVar(), counter);

  addTo(Kind::Label, topLabel);
  LoweredOp &top = add(Kind::LoopTop);
  top.phis.assign(carried.begin(), carried.end());
  top.phis.append({trips, counter});
  addTo(Kind::ForTest, exitLabel).operands = {trips};
  bindAll(op.getRegionIterArgs());
  if (!lowerBlock(*op.getBody()) ||
      !addCopy(carried, op.getBody()->getTerminator()->getOperands(), asTile))
    return false;
  LoweredOp &next = addTo(Kind::ForNext, topLabel);
  next.operands = {trips, counter, step};
  if (options_.values) {
    next.op = info;
    next.operands.append({idOf(op.getLowerBound()), idOf(op.getUpperBound())});
  }
  next.phis.assign(carried.begin(), carried.end());
  addTo(Kind::Label, exitLabel);
  add(Kind::LoopEnd);
  bindAll(op.getResults());
  return true;
}

/// Lets a loop's last op look whether the loop goes on for ever.
void ProgramBuilder::watchLoop(LoweredOp &next, mlir::scf::WhileOp op, const ValueIds &carried) {
  const std::optional<LoopSlice> slice = sliceOf(op);
  if (!slice)
    return;
  auto watch = std::make_shared<LoopWatch>();
  for (const unsigned number : slice->carried) {
    const LoweredValue &value = lowered_.values[carried[number]];
    next.operands.push_back(carried[number]);
    watch->bytes.push_back(static_cast<uint64_t>(value.elements) * value.elementBytes);
  }
  watch->readsMemory = slice->readsMemory;
  watch->countsChanges = slice->readsMemory && slice->changesMemory;
  watch->hasAtomics = slice->hasAtomics;
  program_.waitsByLoads |= slice->readsMemory;
  mlir::Operation *read = slice->lastRead;
  next.op = addOpInfo(read ? *read : *op);
  if (read && !mlir::isa<mlir::RankedTensorType>(read->getOperand(0).getType())) {
    next.operands.push_back(idOf(read->getOperand(0)));
    watch->hasAddress = true;
  }
  if (slice->count) {
    const LoopSlice::Count &count = *slice->count;
    const auto first = static_cast<uint32_t>(next.operands.size());
    next.operands.append({carried[count.carried], idOf(count.goal), idOf(count.step)});
    watch->count = {first, first + 1, first + 2, count.goal.getType().getIntOrFloatBitWidth(),
                    count.isDown};
  }
  next.evaluator.payload = std::move(watch);
}

bool ProgramBuilder::lowerWhile(mlir::scf::WhileOp op) {
  const uint32_t topLabel = lowered_.numLabels++;
  const uint32_t exitLabel = lowered_.numLabels++;
  ValueIds carried;
  bindCarried(op.getBeforeArguments(), op.getInits(), carried);
  add(Kind::WhileBegin);
  addTo(Kind::Label, topLabel);
  add(Kind::LoopTop).phis.assign(carried.begin(), carried.end());
  if (!lowerBlock(*op.getBeforeBody()))
    return false;

  auto condition = op.getConditionOp();
  ValueIds forwarded;
  bindCarried(op.getAfterArguments(), condition.getArgs(), forwarded);
  LoweredOp &test = addTo(Kind::JumpIfFalse, exitLabel);
  test.operands = {idOf(condition.getCondition())};
  test.op = options_.values ? addOpInfo(*op) : 0;
  if (!lowerBlock(*op.getAfterBody()))
    return false;
  addCopy(carried, op.getAfterBody()->getTerminator()->getOperands());
  LoweredOp &next = addTo(Kind::WhileNext, topLabel);
  next.phis.assign(carried.begin(), carried.end());
  watchLoop(next, op, carried);
  addTo(Kind::Label, exitLabel);
  add(Kind::LoopEnd).phis.assign(forwarded.begin(), forwarded.end());
  for (size_t i = 0; i < forwarded.size(); ++i)
    bind(op.getResult(i), forwarded[i]);
  return true;
}

} // namespace blockscope::interpreter::flat
