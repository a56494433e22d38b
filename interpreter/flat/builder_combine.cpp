// Lowers tl.reduce, tl.scan and tl.map: known single ops to their evaluator, other regions to
// programs of their own that run over many lanes at once, or lane by lane when they have control
// flow.
#include "core/ir/convert.h"
#include "core/ir/tl_dialect.h"
#include "interpreter/flat/program_builder.h"

namespace blockscope::interpreter::flat {
namespace {

constexpr int64_t kCombineLanes = 256;

bool hasControlFlow(mlir::Block &body) {
  for (mlir::Operation &op : body)
    if (op.getNumRegions() != 0)
      return true;
  return false;
}

} // namespace

bool ProgramBuilder::lowerKnownCombine(mlir::Operation &op, bool &handled) {
  handled = false;
  mlir::Block &body = op.getRegion(0).front();
  if (mlir::isa<tl::MapOp>(op) || op.getNumOperands() != 1 || body.getOperations().size() != 2)
    return true;
  mlir::Operation &combine = body.front();
  mlir::Operation *yield = body.getTerminator();
  if (combine.getNumOperands() != 2 || combine.getOperand(0) != body.getArgument(0) ||
      combine.getOperand(1) != body.getArgument(1) || combine.getNumResults() != 1 ||
      yield->getOperand(0) != combine.getResult(0))
    return true;
  const Attributes attributes = attributesOf(&op);
  const Type type = fromMlirType(op.getOperand(0).getType());
  const int axis = static_cast<int>(attributes.getInt("axis"));
  const llvm::StringRef name = combine.getName().getStringRef();
  const Evaluator evaluator =
      op.getName().getStringRef() == "tl.reduce"
          ? chooseKnownReduce(name, type, axis)
          : chooseKnownScan(name, type, axis, attributes.getBool("reverse"));
  if (evaluator.form != Evaluator::Form::Block || !evaluator.block)
    return true;
  handled = true;
  const ValueId operand = wholeForReading(op.getOperand(0));
  const ValueId result = newRegister(op.getResult(0).getType());
  LoweredOp &lowered = add(LoweredOp::Kind::Block);
  lowered.operands = {operand};
  lowered.results = {result};
  lowered.evaluator = evaluator;
  lowered.name = nameOf(op);
  lowered.op = show(op, lowered);
  bind(op.getResult(0), result);
  return true;
}

bool ProgramBuilder::lowerCombine(mlir::Operation &op) {
  bool handled = false;
  if (!lowerKnownCombine(op, handled) || handled)
    return error_.empty();

  CombineProgram combine;
  const Attributes attributes = attributesOf(&op);
  combine.axis = static_cast<int>(attributes.getInt("axis"));
  combine.isScan = op.getName().getStringRef() == "tl.scan";
  combine.reverse = attributes.getBool("reverse");
  for (const mlir::Type type : op.getOperandTypes())
    combine.operandTypes.push_back(fromMlirType(type));
  for (const mlir::Type type : op.getResultTypes())
    combine.resultTypes.push_back(fromMlirType(type));
  if (auto map = mlir::dyn_cast<tl::MapOp>(op))
    combine.pack = map.getPack();

  mlir::Block &body = op.getRegion(0).front();
  FlatOptions options = options_;
  options.values = options.claims = false; // what happens inside is seen as this op
  for (const int64_t lanes : {kCombineLanes, int64_t{1}}) {
    if (lanes > 1 && (hasControlFlow(body) || combine.pack > 1))
      continue;
    combine.program = std::make_unique<FlatProgram>();
    ProgramBuilder builder(*combine.program, options);
    builder.buildCombine(body, lanes);
    error_ = builder.error();
    if (error_.empty())
      break;
  }
  if (!error_.empty())
    return false;

  ValueIds operands;
  for (const mlir::Value operand : op.getOperands())
    operands.push_back(wholeForReading(operand));
  ValueIds results;
  for (const mlir::Value result : op.getResults()) {
    results.push_back(newRegister(result.getType()));
    bind(result, results.back());
  }
  LoweredOp &lowered = add(LoweredOp::Kind::Combine);
  lowered.name = nameOf(op);
  lowered.combine = static_cast<uint32_t>(program_.combines.size());
  lowered.operands.assign(operands.begin(), operands.end());
  lowered.results.assign(results.begin(), results.end());
  lowered.op = show(op, lowered);
  program_.combines.push_back(std::move(combine));
  return true;
}

std::shared_ptr<const CombineRegion> ProgramBuilder::regionOf(mlir::Operation &op) {
  mlir::Block &body = op.getRegion(0).front();
  auto region = std::make_shared<CombineRegion>();
  llvm::DenseMap<mlir::Value, int32_t> numbers;
  auto next = static_cast<int32_t>(body.getNumArguments());
  for (const mlir::BlockArgument argument : body.getArguments())
    numbers[argument] = static_cast<int32_t>(argument.getArgNumber());
  const auto numberOf = [&](mlir::Value value) -> std::optional<int32_t> {
    if (const auto known = numbers.find(value); known != numbers.end())
      return known->second;
    auto constant = value.getDefiningOp<mlir::arith::ConstantOp>();
    const auto integer =
        constant ? mlir::dyn_cast<mlir::IntegerAttr>(constant.getValue()) : mlir::IntegerAttr();
    const auto number =
        constant ? mlir::dyn_cast<mlir::FloatAttr>(constant.getValue()) : mlir::FloatAttr();
    if (!integer && !number)
      return std::nullopt;
    CombineOp &made = region->ops.emplace_back();
    made.signature.name = "arith.constant";
    made.signature.results = {fromMlirType(value.getType())};
    made.bits = (integer ? integer.getValue() : number.getValue().bitcastToAPInt()).getZExtValue();
    return numbers[value] = next++;
  };
  for (mlir::Operation &inner : body.without_terminator()) {
    if (mlir::isa<mlir::arith::ConstantOp>(inner))
      continue; // where it is needed
    if (inner.getNumRegions() != 0 || inner.getNumResults() != 1)
      return nullptr;
    CombineOp made;
    made.signature = signatureOf(inner, attributesOf(&inner));
    made.signature.name = nameOf(inner);
    for (const mlir::Value operand : inner.getOperands()) {
      const std::optional<int32_t> number = numberOf(operand);
      if (!number)
        return nullptr;
      made.operands.push_back(*number);
    }
    region->ops.push_back(std::move(made));
    numbers[inner.getResult(0)] = next++;
  }
  for (const mlir::Value result : body.getTerminator()->getOperands()) {
    const std::optional<int32_t> number = numberOf(result);
    if (!number)
      return nullptr;
    region->results.push_back(*number);
  }
  return region;
}

bool ProgramBuilder::buildCombine(mlir::Block &body, int64_t lanes) {
  lanes_ = lanes;
  program_.name = "combine";
  program_.lanes = lanes;
  for (const mlir::BlockArgument argument : body.getArguments()) {
    LoweredValue value;
    value.home = LoweredValue::Home::Argument;
    value.elementBytes = static_cast<uint8_t>(fromMlirType(argument.getType()).elementBytes());
    value.elements = lanes;
    value.place = argument.getArgNumber();
    bind(argument, static_cast<ValueId>(lowered_.values.size()));
    lowered_.values.push_back(value);
    program_.parameters.push_back({fromMlirType(argument.getType()), ""});
  }
  if (!lowerBlock(body))
    return false;
  ValueIds results;
  for (const mlir::Value value : body.getTerminator()->getOperands())
    results.push_back(whole(value));
  add(LoweredOp::Kind::Return).operands.assign(results.begin(), results.end());
  finish();
  return true;
}

} // namespace blockscope::interpreter::flat
