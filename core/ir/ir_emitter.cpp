// Emits the block IR: ops are made generically from their names and verified at once, so that an
// error is reported while the front end still stands on its line.
#include "core/ir/ir_emitter.h"

#include "core/ir/convert.h"
#include "core/ir/ir_text.h"
#include "core/ir/option_attributes.h"
#include "core/ir/tl_dialect.h"
#include "core/numeric/scalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/DenseMap.h"

namespace blockscope {
namespace {

mlir::Value valueOf(const Value &value) {
  return mlir::Value::getFromOpaquePointer(value.handle.get());
}

/// A handle that owns nothing: the module owns its values.
Value wrap(mlir::Value value, const Type &type) {
  return {type, std::shared_ptr<void>(std::shared_ptr<void>(), value.getAsOpaquePointer())};
}

llvm::SmallVector<mlir::Value> valuesOf(llvm::ArrayRef<Value> values) {
  llvm::SmallVector<mlir::Value> result;
  for (const Value &value : values)
    result.push_back(valueOf(value));
  return result;
}

bool allKnown(llvm::ArrayRef<Value> values) {
  return llvm::all_of(values, [](const Value &value) { return static_cast<bool>(value); });
}

/// What emit returns after an error: typed, with no value behind it.
ValueList unknownValues(llvm::ArrayRef<Type> types) {
  ValueList result;
  for (const Type &type : types)
    result.push_back({type, nullptr});
  return result;
}

llvm::SmallVector<Type> typesOf(llvm::ArrayRef<Value> values) {
  llvm::SmallVector<Type> result;
  for (const Value &value : values)
    result.push_back(value.type);
  return result;
}

bool isUnsignedInteger(const Type &type) {
  return type.isInteger() && !type.isBool() && isUnsigned(type.dtype);
}

/// Adds the two sides of the comparison that a condition comes from, to be shown when it fails.
int addCompared(mlir::OperationState &state) {
  mlir::Operation *compare = state.operands.front().getDefiningOp();
  if (!compare || !mlir::isa<mlir::arith::CmpIOp, mlir::arith::CmpFOp>(compare))
    return 0;
  const mlir::Value lhs = compare->getOperand(0), rhs = compare->getOperand(1);
  state.addOperands({lhs, rhs});
  return 2;
}

} // namespace

struct IrEmitter::Impl {
  explicit Impl(ErrorSink sink)
      : context(mlir::MLIRContext::Threading::DISABLED), builder(&context),
        onError(std::move(sink)), location(mlir::UnknownLoc::get(&context)) {
    tl::loadDialects(context);
    context.getDiagEngine().registerHandler([this](mlir::Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
        diagnostics += (diagnostics.empty() ? "" : "\n") + diagnostic.str();
    });
    module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
    builder.setInsertionPointToEnd(module->getBody());
  }
  ~Impl() {
    for (mlir::Block *block : detached)
      block->dropAllReferences();
    for (mlir::Block *block : detached)
      block->dropAllDefinedValueUses();
    for (mlir::Block *block : detached)
      delete block;
  }

  /// Reports what the verifier said, or `message`.
  void fail(llvm::StringRef message) {
    const std::string text = diagnostics.empty() ? message.str() : diagnostics;
    diagnostics.clear();
    if (onError)
      onError(text);
  }

  mlir::Type convert(const Type &type) { return toMlirType(context, type); }

  llvm::SmallVector<mlir::Type> convert(llvm::ArrayRef<Type> types) {
    llvm::SmallVector<mlir::Type> result;
    for (const Type &type : types)
      result.push_back(convert(type));
    return result;
  }

  /// Verifies `op` alone; on an error erases it and returns values that must not be used.
  ///
  /// An op with regions inside a block that is still detached is left to the verification of the
  /// whole module: what its regions use from outside does not dominate them yet.
  ValueList finish(mlir::Operation *op, llvm::ArrayRef<Type> types) {
    const bool canVerify = op->getNumRegions() == 0 || detached.empty();
    if (canVerify && failed(mlir::verify(op, /*verifyRecursively=*/false))) {
      fail("the op '" + op->getName().getStringRef().str() + "' is not valid");
      op->erase();
      return unknownValues(types);
    }
    ValueList result;
    for (auto [value, type] : llvm::zip(op->getResults(), types))
      result.push_back(wrap(value, type));
    return result;
  }

  ValueList addArguments(mlir::Block &block, llvm::ArrayRef<Type> types) {
    ValueList result;
    for (const Type &type : types)
      result.push_back(wrap(block.addArgument(convert(type), location), type));
    return result;
  }

  /// Moves a detached block into an empty region and ends it with `Terminator`.
  template <typename Terminator, typename... Arguments>
  void place(mlir::Region &region, BlockHandle handle, Arguments &&...arguments) {
    auto *block = static_cast<mlir::Block *>(handle.block);
    llvm::erase(detached, block);
    region.push_back(block);
    const mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(block);
    Terminator::create(builder, location, std::forward<Arguments>(arguments)...);
  }

  ValueList combineOp(llvm::StringRef name, llvm::ArrayRef<Value> operands,
                      llvm::ArrayRef<Type> resultTypes, llvm::ArrayRef<mlir::NamedAttribute> attrs,
                      CombineFunction combine);

  mlir::MLIRContext context;
  mlir::OpBuilder builder;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ErrorSink onError;
  std::string diagnostics;
  mlir::Location location;
  llvm::SmallVector<int32_t> unrolled;       ///< iterations of the unrolled loops around
  llvm::SmallVector<mlir::Block *> open;     ///< pushed, not yet popped
  llvm::SmallVector<mlir::Block *> detached; ///< pushed, not yet placed
  llvm::SmallVector<mlir::OpBuilder::InsertPoint> returnPoints;
};

IrEmitter::IrEmitter(ErrorSink onError) : impl_(std::make_unique<Impl>(std::move(onError))) {}
IrEmitter::~IrEmitter() = default;

ValueList IrEmitter::emit(const OpRequest &request) {
  if (!allKnown(request.operands))
    return unknownValues(request.resultTypes);
  const mlir::OperationName name(request.name, &impl_->context);
  if (!name.isRegistered()) {
    impl_->fail(("there is no op '" + request.name + "'").str());
    return unknownValues(request.resultTypes);
  }
  mlir::OperationState state(impl_->location, name);
  if (!request.resultTypes.empty() && isUnsignedInteger(request.resultTypes.front()))
    state.location = markUnsigned(state.location);
  state.addOperands(valuesOf(request.operands));
  state.addTypes(impl_->convert(request.resultTypes));
  for (const NamedAttribute &attribute : request.attributes) {
    if (attribute.name == "has_mask" || attribute.name == "has_other")
      continue;
    if (mlir::Attribute value =
            toMlirAttribute(impl_->context, request.name, attribute.name, attribute.value))
      state.addAttribute(attribute.name, value);
  }
  const int hasMask = request.attributes.getBool("has_mask") ? 1 : 0;
  const int hasOther = request.attributes.getBool("has_other") ? 1 : 0;
  if (request.name == "tl.load")
    state.addAttribute("operandSegmentSizes",
                       impl_->builder.getDenseI32ArrayAttr({1, hasMask, hasOther}));
  if (request.name == "tl.assert") {
    const int shown = addCompared(state);
    state.addAttribute("operandSegmentSizes",
                       impl_->builder.getDenseI32ArrayAttr({1, hasMask, shown}));
  }
  return impl_->finish(impl_->builder.create(state), request.resultTypes);
}

Value IrEmitter::intConstant(Type scalarType, int64_t value) {
  if (scalarType.isPointer()) {
    const Value bits = intConstant(Type::get(DType::Int64), value);
    return emit({"tl.int_to_ptr", {bits}, {}, {scalarType}})[0];
  }
  const auto type = mlir::cast<mlir::IntegerType>(impl_->convert(scalarType));
  const llvm::APInt bits(64, static_cast<uint64_t>(value), /*isSigned=*/true);
  const auto attribute = mlir::IntegerAttr::get(type, bits.trunc(type.getWidth()));
  return wrap(mlir::arith::ConstantOp::create(impl_->builder, impl_->location, attribute),
              scalarType);
}

Value IrEmitter::floatConstant(Type scalarType, double value) {
  auto type = mlir::dyn_cast<mlir::FloatType>(impl_->convert(scalarType));
  if (!type) { // float8e4b15 has no attribute
    const Value wide = floatConstant(Type::get(DType::Fp32), value);
    return emit({"tl.fp_cast", {wide}, {{"rounding", std::string("rtne")}}, {scalarType}})[0];
  }
  uint64_t bits = 0; // rounded as every other conversion, so that both modes agree
  numeric::writeDouble(scalarType.dtype, value, &bits);
  const llvm::APInt encoding(type.getWidth(), bits);
  const auto attribute =
      mlir::FloatAttr::get(type, llvm::APFloat(type.getFloatSemantics(), encoding));
  return wrap(mlir::arith::ConstantOp::create(impl_->builder, impl_->location, attribute),
              scalarType);
}

ValueList IrEmitter::Impl::combineOp(llvm::StringRef name, llvm::ArrayRef<Value> operands,
                                     llvm::ArrayRef<Type> resultTypes,
                                     llvm::ArrayRef<mlir::NamedAttribute> attrs,
                                     CombineFunction combine) {
  if (!allKnown(operands))
    return unknownValues(resultTypes);
  mlir::OperationState state(location, name);
  if (isUnsignedInteger(resultTypes.front()))
    state.location = markUnsigned(location);
  state.addOperands(valuesOf(operands));
  state.addTypes(convert(resultTypes));
  state.addAttributes(attrs);
  mlir::Block &block = state.addRegion()->emplaceBlock();
  llvm::SmallVector<Type> scalars;
  for (const Value &operand : operands)
    scalars.push_back(operand.type.scalar());
  const ValueList lhs = addArguments(block, scalars);
  const ValueList rhs = addArguments(block, scalars);
  {
    const mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&block);
    const ValueList combined = combine(lhs, rhs);
    if (!allKnown(combined))
      return unknownValues(resultTypes);
    tl::YieldOp::create(builder, location, valuesOf(combined));
  }
  return finish(builder.create(state), resultTypes);
}

ValueList IrEmitter::reduce(llvm::ArrayRef<Value> operands, int axis, CombineFunction combine) {
  llvm::SmallVector<Type> types = typesOf(operands);
  for (Type &type : types)
    if (axis >= 0 && axis < type.rank())
      type.shape.erase(type.shape.begin() + axis);
  mlir::Builder &builder = impl_->builder;
  return impl_->combineOp("tl.reduce", operands, types,
                          {builder.getNamedAttr("axis", builder.getI32IntegerAttr(axis))}, combine);
}

ValueList IrEmitter::scan(llvm::ArrayRef<Value> operands, int axis, bool reverse,
                          CombineFunction combine) {
  mlir::Builder &builder = impl_->builder;
  return impl_->combineOp("tl.scan", operands, typesOf(operands),
                          {builder.getNamedAttr("axis", builder.getI32IntegerAttr(axis)),
                           builder.getNamedAttr("reverse", builder.getBoolAttr(reverse))},
                          combine);
}

ValueList IrEmitter::map(llvm::ArrayRef<Value> operands, int64_t pack, MapFunction function) {
  if (!allKnown(operands))
    return {};
  mlir::OpBuilder &builder = impl_->builder;
  mlir::OperationState state(impl_->location, tl::MapOp::getOperationName());
  state.addOperands(valuesOf(operands));
  state.addAttribute("pack", builder.getI32IntegerAttr(static_cast<int32_t>(pack)));
  mlir::Block &block = state.addRegion()->emplaceBlock();
  llvm::SmallVector<Type> scalars;
  for (const Value &operand : operands)
    scalars.append(pack, operand.type.scalar());
  const ValueList elements = impl_->addArguments(block, scalars);
  llvm::SmallVector<Type> types;
  {
    const mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&block);
    const ValueList results = function(elements);
    if (results.empty() || !allKnown(results))
      return {};
    tl::YieldOp::create(builder, impl_->location, valuesOf(results));
    for (size_t i = 0; i < results.size(); i += pack)
      types.push_back(results[i].type.withShape(operands.front().type.shape));
  }
  state.addTypes(impl_->convert(types));
  return impl_->finish(builder.create(state), types);
}

std::optional<KernelSignature> IrEmitter::read(llvm::StringRef text, std::string *error) {
  const auto fail = [&](const llvm::Twine &message) -> std::optional<KernelSignature> {
    if (error->empty())
      *error = message.str();
    return std::nullopt;
  };
  const mlir::ScopedDiagnosticHandler errors(&impl_->context, [&](mlir::Diagnostic &diagnostic) {
    if (!error->empty())
      return mlir::success();
    if (const auto place = mlir::dyn_cast<mlir::FileLineColLoc>(diagnostic.getLocation()))
      *error = "line " + std::to_string(place.getLine()) + ": ";
    *error += diagnostic.str();
    return mlir::success();
  });
  impl_->module = readModule(text, impl_->context);
  if (!impl_->module) {
    impl_->module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&impl_->context));
    return fail("it cannot be read");
  }
  auto functions = llvm::to_vector(impl_->module->getOps<mlir::func::FuncOp>());
  if (functions.size() != 1 || !llvm::hasSingleElement(*impl_->module->getBody()))
    return fail("the module has " + llvm::Twine(functions.size()) +
                " functions, expected one, the kernel");
  mlir::func::FuncOp function = functions.front();
  if (function.isExternal() || function.getNumResults() != 0 ||
      !llvm::hasSingleElement(function.getBody()))
    return fail("the function has results, several blocks or no body, expected a kernel");
  KernelSignature signature;
  signature.name = function.getName().str();
  for (mlir::BlockArgument argument : function.getArguments()) {
    const Type type = fromMlirType(argument.getType());
    if (type.isBlock() || type.isVoid())
      return fail("argument " + llvm::Twine(argument.getArgNumber()) +
                  " is no pointer and no number");
    const auto named = mlir::dyn_cast<mlir::NameLoc>(argument.getLoc());
    signature.arguments.push_back({named ? named.getName().str() : "", type});
    function.removeArgAttr(argument.getArgNumber(), "tl.divisibility");
  }
  return signature;
}

void IrEmitter::setLocation(const SourceLocation &location) {
  impl_->location = toMlirLocation(impl_->context, location);
  if (!impl_->unrolled.empty())
    impl_->location = markIterations(impl_->location, impl_->unrolled);
}

void IrEmitter::setUnrolled(size_t depth, int32_t iteration) {
  impl_->unrolled.resize(depth);
  if (iteration >= 0)
    impl_->unrolled.push_back(iteration);
}

void IrEmitter::nameValue(const Value &value, llvm::StringRef name) {
  if (!value)
    return;
  mlir::Value target = valueOf(value);
  mlir::Operation *op = target.getDefiningOp();
  const mlir::Location old = op ? op->getLoc() : target.getLoc();
  if (mlir::isa<mlir::NameLoc>(old) || (op && op->getNumResults() != 1))
    return;
  const auto named = mlir::NameLoc::get(impl_->builder.getStringAttr(name), old);
  if (op)
    op->setLoc(named);
  else
    mlir::cast<mlir::BlockArgument>(target).setLoc(named);
}

ValueList IrEmitter::beginFunction(llvm::StringRef name, llvm::ArrayRef<Type> argumentTypes,
                                   llvm::ArrayRef<std::string> argumentNames) {
  mlir::OpBuilder &builder = impl_->builder;
  builder.setInsertionPointToEnd(impl_->module->getBody());
  const auto type = builder.getFunctionType(impl_->convert(argumentTypes), {});
  auto function = mlir::func::FuncOp::create(builder, impl_->location, name, type);
  mlir::Block *block = function.addEntryBlock();
  builder.setInsertionPointToStart(block);
  ValueList arguments;
  for (size_t i = 0; i < argumentTypes.size(); ++i) {
    arguments.push_back(wrap(block->getArgument(i), argumentTypes[i]));
    block->getArgument(i).setLoc(impl_->location);
    if (i < argumentNames.size())
      nameValue(arguments.back(), argumentNames[i]);
  }
  return arguments;
}

void IrEmitter::noteInlinedCall(llvm::StringRef callee) {
  mlir::OpBuilder &builder = impl_->builder;
  auto function = *impl_->module->getOps<mlir::func::FuncOp>().begin();
  llvm::SmallVector<mlir::Attribute> calls;
  if (auto before = function->getAttrOfType<mlir::ArrayAttr>(tl::kInlinedCalls))
    llvm::append_range(calls, before);
  calls.push_back(mlir::NameLoc::get(builder.getStringAttr(callee), impl_->location));
  function->setAttr(tl::kInlinedCalls, builder.getArrayAttr(calls));
}

void IrEmitter::finishFunction() {
  mlir::func::ReturnOp::create(impl_->builder, impl_->location);
  impl_->builder.setInsertionPointToEnd(impl_->module->getBody());
}

void IrEmitter::setDivisibility(unsigned argument, int32_t divisor) {
  for (auto function : impl_->module->getOps<mlir::func::FuncOp>())
    if (argument < function.getNumArguments())
      function.setArgAttr(argument, "tl.divisibility", impl_->builder.getI32IntegerAttr(divisor));
}

void IrEmitter::setOne(unsigned argument) {
  for (auto function : impl_->module->getOps<mlir::func::FuncOp>()) {
    if (argument >= function.getNumArguments())
      continue;
    mlir::BlockArgument value = function.getArgument(argument);
    auto builder = mlir::OpBuilder::atBlockBegin(&function.front());
    value.replaceAllUsesWith(mlir::arith::ConstantOp::create(
        builder, value.getLoc(), builder.getIntegerAttr(value.getType(), 1)));
  }
}

ValueList IrEmitter::pushBlock(llvm::ArrayRef<Type> argumentTypes) {
  auto *block = new mlir::Block;
  impl_->detached.push_back(block);
  impl_->open.push_back(block);
  impl_->returnPoints.push_back(impl_->builder.saveInsertionPoint());
  ValueList arguments = impl_->addArguments(*block, argumentTypes);
  impl_->builder.setInsertionPointToStart(block);
  return arguments;
}

BlockHandle IrEmitter::popBlock() {
  impl_->builder.restoreInsertionPoint(impl_->returnPoints.pop_back_val());
  return {impl_->open.pop_back_val()};
}

void IrEmitter::discardBlock(BlockHandle handle) {
  auto *block = static_cast<mlir::Block *>(handle.block);
  llvm::erase(impl_->detached, block);
  block->dropAllReferences();
  block->dropAllDefinedValueUses();
  delete block;
}

ValueList IrEmitter::createIf(const Value &condition, BlockHandle thenBlock,
                              llvm::ArrayRef<Value> thenYields, BlockHandle elseBlock,
                              llvm::ArrayRef<Value> elseYields) {
  const llvm::SmallVector<Type> types = typesOf(thenYields);
  if (!condition || !allKnown(thenYields) || !allKnown(elseYields))
    return unknownValues(types);
  auto op = mlir::scf::IfOp::create(impl_->builder, impl_->location, impl_->convert(types),
                                    valueOf(condition), /*addThenBlock=*/false,
                                    /*addElseBlock=*/false);
  impl_->place<mlir::scf::YieldOp>(op.getThenRegion(), thenBlock, valuesOf(thenYields));
  if (elseBlock.block)
    impl_->place<mlir::scf::YieldOp>(op.getElseRegion(), elseBlock, valuesOf(elseYields));
  return impl_->finish(op, types);
}

ValueList IrEmitter::createFor(const Value &lowerBound, const Value &upperBound, const Value &step,
                               llvm::ArrayRef<Value> initial, BlockHandle body,
                               llvm::ArrayRef<Value> yields, bool unsignedCompare,
                               const LoopHints &hints) {
  const llvm::SmallVector<Type> types = typesOf(initial);
  if (!lowerBound || !upperBound || !step || !allKnown(initial) || !allKnown(yields))
    return unknownValues(types);
  mlir::OperationState state(impl_->location, mlir::scf::ForOp::getOperationName());
  state.addOperands({valueOf(lowerBound), valueOf(upperBound), valueOf(step)});
  state.addOperands(valuesOf(initial));
  state.addTypes(impl_->convert(types));
  if (unsignedCompare)
    state.addAttribute("unsignedCmp", impl_->builder.getUnitAttr());
  if (hints.numStages)
    state.addAttribute(tl::kNumStagesHint, impl_->builder.getI32IntegerAttr(*hints.numStages));
  if (hints.unrollFactor)
    state.addAttribute(tl::kUnrollHint, impl_->builder.getI32IntegerAttr(*hints.unrollFactor));
  for (const auto [isSet, name] : {std::pair(hints.disableLicm, tl::kDisableLicmHint),
                                   std::pair(hints.flatten, tl::kFlattenHint),
                                   std::pair(hints.warpSpecialize, tl::kWarpSpecializeHint)})
    if (isSet)
      state.addAttribute(name, impl_->builder.getUnitAttr());
  state.addRegion();
  mlir::Operation *op = impl_->builder.create(state);
  impl_->place<mlir::scf::YieldOp>(op->getRegion(0), body, valuesOf(yields));
  return impl_->finish(op, types);
}

ValueList IrEmitter::createWhile(llvm::ArrayRef<Value> initial, BlockHandle before,
                                 const Value &condition, llvm::ArrayRef<Value> forwarded,
                                 BlockHandle after, llvm::ArrayRef<Value> yields,
                                 bool disableLicm) {
  const llvm::SmallVector<Type> types = typesOf(forwarded);
  if (!condition || !allKnown(initial) || !allKnown(forwarded) || !allKnown(yields))
    return unknownValues(types);
  mlir::OperationState state(impl_->location, mlir::scf::WhileOp::getOperationName());
  state.addOperands(valuesOf(initial));
  state.addTypes(impl_->convert(types));
  if (disableLicm)
    state.addAttribute(tl::kDisableLicmHint, impl_->builder.getUnitAttr());
  state.addRegion();
  state.addRegion();
  mlir::Operation *op = impl_->builder.create(state);
  impl_->place<mlir::scf::ConditionOp>(op->getRegion(0), before, valueOf(condition),
                                       valuesOf(forwarded));
  impl_->place<mlir::scf::YieldOp>(op->getRegion(1), after, valuesOf(yields));
  return impl_->finish(op, types);
}

std::string IrEmitter::text(bool withLocations) const {
  std::string result;
  llvm::raw_string_ostream stream(result);
  mlir::OpPrintingFlags flags;
  flags.printNameLocAsPrefix();
  if (withLocations)
    flags.enableDebugInfo();
  impl_->module->print(stream, flags);
  return result;
}

bool IrEmitter::verify(std::string *errors) {
  const bool isValid = succeeded(mlir::verify(impl_->module.get()));
  if (errors)
    *errors = impl_->diagnostics;
  impl_->diagnostics.clear();
  return isValid;
}

mlir::ModuleOp IrEmitter::module() const { return impl_->module.get(); }
mlir::MLIRContext &IrEmitter::context() const { return impl_->context; }

} // namespace blockscope
