// Lowers functions and ops; see program_builder.h. Control flow and combine regions are in
// builder_control.cpp and builder_combine.cpp.
#include "interpreter/flat/builder.h"

#include "core/ir/ir_emitter.h"

#include "core/ir/convert.h"
#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"
#include "core/ptx/program.h"
#include "interpreter/flat/builtin_evaluators.h"
#include "interpreter/flat/claims.h"
#include "interpreter/flat/dropped_lanes.h"
#include "interpreter/flat/exchanges.h"
#include "interpreter/flat/memory_use.h"
#include "interpreter/flat/program_builder.h"
#include "interpreter/flat/range_builder.h"
#include "interpreter/flat/result_use.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstring>

namespace blockscope::interpreter::flat {
namespace {

constexpr size_t kConstantAlignment = 64;
constexpr int64_t kMostConstantBytes = 1 << 18; // of a splat that is filled out once

// Ops whose result is their operand's bytes under another type.
bool isRetyped(mlir::Operation &op, bool showsValues) {
  if (mlir::isa<tl::PtrToIntOp, tl::IntToPtrOp>(op)) // free on a GPU (interpreter/memory.h)
    return false;
  if (showsValues && mlir::isa<tl::HintOp>(op)) // a claim is shown
    return false;
  if (mlir::isa<tl::ScaledOp>(op)) // what else it says is for GPUs
    return true;
  const OpFacts *facts = tl::factsOf(&op);
  return facts && facts->cost == OpCost::Free && op.getNumOperands() == 1 &&
         op.getNumResults() == 1;
}

bool isWaiting(mlir::Operation &op, const Attributes &attributes) {
  const OpFacts *facts = tl::factsOf(&op);
  if (facts && facts->family == OpFamily::InlineAsm)
    return ptx::effectsOf(attributes.getString("asm_string")).orders;
  return (facts && facts->isAtomic()) || attributes.getBool("is_volatile");
}

// Writes the low `bytes` bytes of an integer or the bits of a float.
void appendElement(std::vector<std::byte> &out, const llvm::APInt &bits, int bytes) {
  const uint64_t word = bits.getZExtValue();
  const size_t begin = out.size();
  out.resize(begin + bytes);
  std::memcpy(out.data() + begin, &word, bytes);
}

} // namespace

int64_t ProgramBuilder::elementsOf(mlir::Type type) const {
  if (auto shaped = mlir::dyn_cast<mlir::RankedTensorType>(type))
    return shaped.getNumElements();
  return lanes_;
}

ValueId ProgramBuilder::newRegister(mlir::Type type) {
  return lowered_.addRegister(fromMlirType(type).elementBytes(), elementsOf(type));
}

llvm::StringRef ProgramBuilder::nameOf(mlir::Operation &op) {
  return *program_.names.insert(op.getName().getStringRef().str()).first;
}

ValueId ProgramBuilder::wholeForReading(mlir::Value value) {
  const ValueId id = idOf(value);
  const LoweredValue info = lowered_.values[id];
  const int64_t elements = elementsOf(value.getType());
  if (info.elements == elements || info.home != LoweredValue::Home::Constant ||
      elements * info.elementBytes > kMostConstantBytes)
    return whole(value);
  auto [found, isNew] = filledConstants_.try_emplace({id, elements}, kNone);
  if (isNew) {
    std::vector<std::byte> bytes;
    const auto one = lowered_.constants.begin() + static_cast<ptrdiff_t>(info.place);
    const std::vector<std::byte> element(one, one + info.elementBytes);
    for (int64_t i = 0; i < elements; ++i)
      bytes.insert(bytes.end(), element.begin(), element.end());
    found->second = addConstant(bytes, info.elementBytes);
  }
  return found->second;
}

ValueId ProgramBuilder::whole(mlir::Value value) {
  const ValueId id = idOf(value);
  const int64_t elements = elementsOf(value.getType());
  if (lowered_.values[id].elements == elements)
    return id;
  const int elementBytes = lowered_.values[id].elementBytes;
  const ValueId result = lowered_.addRegister(elementBytes, elements);
  LoweredOp &op = add(LoweredOp::Kind::Elementwise);
  op.elements = elements;
  op.scalarOperands = 1;
  op.operands = {id};
  op.results = {result};
  op.evaluator = makeFill(elementBytes);
  op.name = "fill";
  op.op = showFill(value, op);
  return result;
}

ValueId ProgramBuilder::addConstant(llvm::ArrayRef<std::byte> bytes, int elementBytes) {
  std::vector<std::byte> &constants = lowered_.constants;
  constants.resize(llvm::alignTo(constants.size(), kConstantAlignment));
  LoweredValue value;
  value.home = LoweredValue::Home::Constant;
  value.elementBytes = static_cast<uint8_t>(elementBytes);
  value.elements = static_cast<int64_t>(bytes.size()) / elementBytes;
  value.place = constants.size();
  constants.insert(constants.end(), bytes.begin(), bytes.end());
  lowered_.values.push_back(value);
  return static_cast<ValueId>(lowered_.values.size() - 1);
}

OpSignature ProgramBuilder::signatureOf(mlir::Operation &op, Attributes attributes) const {
  OpSignature signature;
  signature.name = op.getName().getStringRef();
  for (const mlir::Type type : op.getOperandTypes())
    signature.operands.push_back(fromMlirType(type));
  for (const mlir::Type type : op.getResultTypes())
    signature.results.push_back(fromMlirType(type));
  signature.attributes = std::move(attributes);
  return signature;
}

static bool hasMask(mlir::Operation &op) {
  return llvm::TypeSwitch<mlir::Operation *, bool>(&op)
      .Case<tl::LoadOp, tl::StoreOp, tl::AtomicLoadOp, tl::AtomicStoreOp, tl::AtomicRmwOp>(
          [](auto access) { return access.getMask() != nullptr; })
      .Default(false);
}

uint32_t ProgramBuilder::addOpInfo(mlir::Operation &op) {
  OpInfo info;
  info.id = static_cast<uint32_t>(program_.ops.size());
  info.name = op.getName().getStringRef().str();
  info.location = fromMlirLocation(op.getLoc());
  info.isMasked = hasMask(op);
  info.isUnsigned = isMarkedUnsigned(op.getLoc());
  if (const OpFacts *facts = tl::factsOf(&op); facts && (facts->reads() || facts->writes()))
    info.address = addresses_.formOf(op);
  if (tl::isAtomic(&op))
    info.resultUse = op.getNumResults() == 0 ? ResultUse::None : useOf(op.getResult(0));
  if (info.address || tl::isAtomic(&op))
    unrolled_[info.id] = markedIterations(op.getLoc());
  if (auto load = mlir::dyn_cast<tl::LoadOp>(op))
    info.leavesLanesUndefined = load.getMask() && !load.getOther() && !dropsMaskedLanes(load);
  program_.ops.push_back(std::move(info));
  return program_.ops.back().id;
}

/// Which operands an observer of values gets as one element, or whole.
static ShownOp shownOp(const Lowered &lowered, const LoweredOp &op) {
  ShownOp shown;
  const bool isElementwise = op.kind == LoweredOp::Kind::Elementwise;
  for (size_t i = 0; i < op.operands.size() && i < 32; ++i) {
    const uint32_t bit = 1U << i;
    if (lowered.values[op.operands[i]].elements == 1)
      shown.singleOperands |= bit;
    else if (!isElementwise || !(op.pointwiseOperands & bit))
      shown.wholeOperands |= bit;
  }
  shown.hasSingleResults = isElementwise && op.elements == 1;
  return shown;
}

/// The op by which a combine region rounds, or "several"; empty where none does.
static std::string roundingOf(mlir::Operation &op) {
  std::string name;
  op.walk([&](mlir::Operation *inner) {
    const OpFacts *facts = inner == &op ? nullptr : tl::factsOf(inner);
    if (facts && facts->error.rounds())
      name = name.empty() || name == facts->name ? facts->name.str() : "several";
  });
  return name;
}

/// The op that a combine region consists of; empty where it is not one op on both sides.
static std::string singleOpOf(mlir::Operation &op) {
  mlir::Block &body = op.getRegion(0).front();
  const bool isSingle = op.getNumOperands() == 1 && body.getOperations().size() == 2;
  return isSingle ? body.front().getName().getStringRef().str() : "";
}

uint32_t ProgramBuilder::show(mlir::Operation &op, const LoweredOp &lowered) {
  if (!options_.values)
    return 0;
  const uint32_t number = lowered.kind == LoweredOp::Kind::Context ? lowered.op : addOpInfo(op);
  program_.shown.resize(program_.ops.size());
  program_.shown[number] = shownOp(lowered_, lowered);
  program_.shown[number].signature = signatureOf(op, attributesOf(&op));
  program_.shown[number].signature.name = nameOf(op);
  if (op.getNumRegions() != 0) {
    program_.shown[number].signature.attributes.set("rounding", roundingOf(op));
    program_.shown[number].signature.attributes.set("combine", singleOpOf(op));
    program_.shown[number].region = regionOf(op);
  }
  return number;
}

uint32_t ProgramBuilder::showFill(mlir::Value value, const LoweredOp &lowered) {
  if (!options_.values)
    return 0;
  OpInfo info;
  info.id = static_cast<uint32_t>(program_.ops.size());
  info.name = "tl.splat";
  info.location = fromMlirLocation(value.getLoc());
  program_.ops.push_back(std::move(info));
  program_.shown.resize(program_.ops.size());
  ShownOp &shown = program_.shown.back() = shownOp(lowered_, lowered);
  const Type type = fromMlirType(value.getType());
  shown.signature.name = *program_.names.insert("tl.splat").first;
  shown.signature.operands = {type.withShape({})};
  shown.signature.results = {type};
  return program_.ops.back().id;
}

bool ProgramBuilder::fail(mlir::Operation &op, const llvm::Twine &message) {
  const SourceLocation location = fromMlirLocation(op.getLoc());
  error_ = llvm::formatv("{0}:{1}:{2}: error: {3}", location.file, location.line, location.column,
                         message.str());
  return false;
}

bool ProgramBuilder::buildFunction(mlir::func::FuncOp function) {
  program_.name = function.getName().str();
  for (mlir::BlockArgument argument : function.getArguments()) {
    ParameterInfo parameter;
    parameter.type = fromMlirType(argument.getType());
    parameter.name = fromMlirLocation(argument.getLoc()).variable;
    if (parameter.type.isBlock() || parameter.type.isVoid())
      return fail(*function, "a kernel parameter is neither a scalar nor a pointer");
    LoweredValue value;
    value.home = LoweredValue::Home::Argument;
    value.elementBytes = static_cast<uint8_t>(parameter.type.elementBytes());
    value.place = argument.getArgNumber();
    lowered_.values.push_back(value);
    bind(argument, static_cast<ValueId>(lowered_.values.size() - 1));
    program_.parameters.push_back(std::move(parameter));
  }
  if (!function.getBody().hasOneBlock())
    return fail(*function,
                "a kernel must have one block; inline calls and structure branches first");
  program_.memoryUse = findMemoryUse(function);
  program_.mayExchange = mayExchange(function);
  program_.showsValues = options_.values;
  program_.showsClaims = options_.values || options_.claims;
  if (options_.values)
    program_.ranges = std::make_shared<IntegerRanges>(findIntegerRanges(function));
  useTiles_ = options_.tiles && !options_.values;
  if (useTiles_)
    analysis_.run(function);
  if (!lowerBlock(function.getBody().front()))
    return false;
  add(LoweredOp::Kind::Return);
  finish();
  return true;
}

/// Step mode finds what is known of an op by its place. Several with one place: neither mode knows
/// the form of their addresses, and both take the most that is done with a result for all of them.
void ProgramBuilder::keepFactsByPlace() {
  const auto keyOf = [&](const OpInfo &op) {
    return accessKey(op.name, op.location, unrolled_.lookup(op.id));
  };
  const auto isAtomic = [](const OpInfo &op) {
    const OpFacts *facts = findOpFacts(op.name);
    return facts && facts->isAtomic();
  };
  for (OpInfo &op : program_.ops) {
    if (!op.address)
      continue;
    const auto [found, isNew] = program_.addressForms.try_emplace(keyOf(op), op.address);
    if (!isNew)
      found->second = nullptr;
  }
  for (const OpInfo &op : program_.ops)
    if (isAtomic(op)) {
      ResultUse &use = program_.resultUses.try_emplace(keyOf(op), op.resultUse).first->second;
      use = std::max(use, op.resultUse);
    }
  for (OpInfo &op : program_.ops) {
    if (op.address)
      op.address = program_.addressForms.at(keyOf(op));
    if (isAtomic(op))
      op.resultUse = program_.resultUses.at(keyOf(op));
  }
}

void ProgramBuilder::finish() {
  fuseElementwise(lowered_, options_.fuse);
  const Placement placement = placeValues(lowered_, options_);
  assemble(lowered_, placement, program_);
  keepFactsByPlace();
}

bool ProgramBuilder::lowerBlock(mlir::Block &block) {
  for (mlir::Operation &op : block.without_terminator()) {
    if (!lowerOp(op))
      return false;
    if (options_.claims && !options_.values && isClaim(op))
      showClaim(op);
  }
  return true;
}

void ProgramBuilder::showClaim(mlir::Operation &op) {
  LoweredOp &claim = add(LoweredOp::Kind::Context);
  for (const mlir::Value operand : op.getOperands())
    claim.operands.push_back(idOf(operand));
  claim.name = "claim";
  ShownOp shown = shownOp(lowered_, claim);
  shown.signature = signatureOf(op, attributesOf(&op));
  shown.signature.name = nameOf(op);
  claim.evaluator = makeClaim(std::move(shown));
  claim.op = addOpInfo(op);
}

bool ProgramBuilder::lowerOp(mlir::Operation &op) {
  const llvm::StringRef name = op.getName().getStringRef();
  if (auto ifOp = mlir::dyn_cast<mlir::scf::IfOp>(op))
    return lowerIf(ifOp);
  if (auto forOp = mlir::dyn_cast<mlir::scf::ForOp>(op))
    return lowerFor(forOp);
  if (auto whileOp = mlir::dyn_cast<mlir::scf::WhileOp>(op))
    return lowerWhile(whileOp);
  if (auto constant = mlir::dyn_cast<mlir::arith::ConstantOp>(op))
    return lowerConstant(constant);
  if (name == "tl.reduce" || name == "tl.scan" || name == "tl.map")
    return lowerCombine(op);
  if (op.getNumRegions() != 0)
    return fail(op, llvm::formatv("'{0}' is not supported on the CPU", name).str());
  bool handled = false;
  if (!lowerTileOp(op, handled))
    return false;
  if (!handled && !lowerShapeOp(op, handled))
    return false;
  return handled || lowerWithEvaluator(op);
}

// Shape ops that need no evaluator, or fuse better with one of our own.
bool ProgramBuilder::lowerShapeOp(mlir::Operation &op, bool &handled) {
  const llvm::StringRef name = op.getName().getStringRef();
  handled = true;
  if (isRetyped(op, options_.values)) {
    bind(op.getResult(0), idOf(op.getOperand(0)));
    return true;
  }
  if (name == "tl.range") {
    lowerRange(op);
    return true;
  }
  if ((name == "tl.broadcast" || name == "tl.trans") &&
      (isUniform(op.getOperand(0)) || op.getOperand(0).getType() == op.getResult(0).getType())) {
    if (name == "tl.trans" && !isUniform(op.getOperand(0))) {
      handled = false;
      return true;
    }
    bind(op.getResult(0), idOf(op.getOperand(0)));
    return true;
  }
  if (name == "tl.broadcast") {
    const Type source = fromMlirType(op.getOperand(0).getType());
    const Type result = fromMlirType(op.getResult(0).getType());
    const ValueId id = newRegister(op.getResult(0).getType());
    LoweredOp &lowered = add(LoweredOp::Kind::Elementwise);
    lowered.elements = result.numElements();
    lowered.operands = {idOf(op.getOperand(0))};
    lowered.results = {id};
    lowered.name = nameOf(op);
    lowered.evaluator = makeBroadcast(source.shape, result.shape, result.elementBytes());
    lowered.op = show(op, lowered);
    bind(op.getResult(0), id);
    return true;
  }
  handled = false;
  return true;
}

// A range is the same for every program: a constant block.
void ProgramBuilder::lowerRange(mlir::Operation &op) {
  const Attributes attributes = attributesOf(&op);
  const int64_t begin = attributes.getInt("start");
  const int64_t end = attributes.getInt("end");
  auto [found, isNew] = ranges_.try_emplace({begin, end}, kNone);
  if (isNew) {
    std::vector<std::byte> bytes;
    for (int64_t i = begin; i < end; ++i)
      appendElement(bytes, llvm::APInt(32, static_cast<uint64_t>(i), true, true), 4);
    found->second = addConstant(bytes, 4);
  }
  bind(op.getResult(0), found->second);
}

bool ProgramBuilder::lowerConstant(mlir::arith::ConstantOp op) {
  const int elementBytes = fromMlirType(op.getType()).elementBytes();
  std::vector<std::byte> bytes;
  const mlir::Attribute value = op.getValue();
  if (auto integer = mlir::dyn_cast<mlir::IntegerAttr>(value)) {
    appendElement(bytes, integer.getValue(), elementBytes);
  } else if (auto number = mlir::dyn_cast<mlir::FloatAttr>(value)) {
    appendElement(bytes, number.getValue().bitcastToAPInt(), elementBytes);
  } else if (auto dense = mlir::dyn_cast<mlir::DenseElementsAttr>(value)) {
    const int64_t count = dense.isSplat() ? 1 : dense.getNumElements();
    if (mlir::isa<mlir::FloatType>(dense.getElementType())) {
      auto values = dense.getValues<llvm::APFloat>();
      for (int64_t i = 0; i < count; ++i)
        appendElement(bytes, values[i].bitcastToAPInt(), elementBytes);
    } else {
      auto values = dense.getValues<llvm::APInt>();
      for (int64_t i = 0; i < count; ++i)
        appendElement(bytes, values[i], elementBytes);
    }
  } else {
    return fail(*op, "a constant of this kind is not supported");
  }
  bind(op.getResult(), addConstant(bytes, elementBytes));
  return true;
}

bool ProgramBuilder::lowerWithEvaluator(mlir::Operation &op) {
  const Attributes attributes = attributesOf(&op);
  const EvaluatorOrError chosen = EvaluatorTable::instance().choose(signatureOf(op, attributes));
  if (!chosen.error.empty())
    return fail(op, chosen.error);
  bool handled = false;
  if (!lowerTileAccess(op, chosen.evaluator, attributes, handled))
    return false;
  if (handled)
    return true;

  ValueIds operands;
  uint32_t scalars = 0;
  uint32_t pointwise = 0;
  const bool isElementwise = chosen.evaluator.form == Evaluator::Form::Elementwise;
  if (isElementwise && op.getNumOperands() + op.getNumResults() > kMostFusedPointers)
    return fail(op, "an elementwise op with so many operands is not supported on the CPU");
  if (lanes_ > 1 && !isElementwise)
    return fail(op, "not an elementwise op"); // the combine region is built again lane by lane
  bool allUniform = op.getNumOperands() != 0;
  for (const mlir::Value operand : op.getOperands())
    allUniform &= isUniform(operand);
  const int64_t elements = op.getNumResults() ? elementsOf(op.getResult(0).getType()) : 1;
  for (const mlir::Value operand : op.getOperands()) {
    if (!isElementwise) {
      operands.push_back(wholeForReading(operand));
      continue;
    }
    const uint32_t bit = 1U << operands.size();
    operands.push_back(idOf(operand));
    if (isUniform(operand))
      scalars |= bit;
    else if (elementsOf(operand.getType()) == elements)
      pointwise |= bit;
    else
      return fail(op, "operands and result have different numbers of elements");
  }

  // A tile of the result is finished before it is written, so acc may be updated in place.
  if (op.getName().getStringRef() == "tl.dot")
    pointwise = 1U << 2;
  LoweredOp lowered;
  lowered.operands.assign(operands.begin(), operands.end());
  lowered.evaluator = chosen.evaluator;
  lowered.name = nameOf(op);
  lowered.scalarOperands = scalars;
  lowered.pointwiseOperands = pointwise;
  lowered.elements = isElementwise && allUniform ? 1 : elements;
  for (const mlir::Value result : op.getResults()) {
    const int elementBytes = fromMlirType(result.getType()).elementBytes();
    const int64_t count = isElementwise ? lowered.elements : elementsOf(result.getType());
    lowered.results.push_back(lowered_.addRegister(elementBytes, count));
    bind(result, lowered.results.back());
  }
  switch (chosen.evaluator.form) {
  case Evaluator::Form::Elementwise:
    lowered.kind = LoweredOp::Kind::Elementwise;
    break;
  case Evaluator::Form::Block:
    lowered.kind = LoweredOp::Kind::Block;
    break;
  case Evaluator::Form::Context:
    lowered.kind = LoweredOp::Kind::Context;
    lowered.op = addOpInfo(op);
    program_.hasAtomics |= isWaiting(op, attributes);
    break;
  }
  if (options_.values)
    lowered.op = show(op, lowered);
  lowered_.ops.push_back(std::move(lowered));
  return true;
}

} // namespace blockscope::interpreter::flat

namespace blockscope::interpreter {

FlatProgram buildFlatProgram(mlir::ModuleOp module, std::string *error,
                             const FlatOptions &options) {
  FlatProgram program;
  auto functions = module.getOps<mlir::func::FuncOp>();
  if (functions.empty()) {
    if (error)
      *error = "the module has no function";
    return {};
  }
  flat::ProgramBuilder builder(program, options);
  if (builder.buildFunction(*functions.begin()))
    return program;
  if (builder.lostTile()) {
    FlatOptions plain = options;
    plain.tiles = false;
    return buildFlatProgram(module, error, plain);
  }
  if (error)
    *error = builder.error();
  return {};
}

FlatProgram buildFlatProgram(const IrEmitter &emitter, std::string *error,
                             const FlatOptions &options) {
  return buildFlatProgram(emitter.module(), error, options);
}

} // namespace blockscope::interpreter
