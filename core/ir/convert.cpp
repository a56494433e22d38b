// Between the types, attributes and locations of core and those of MLIR.
#include "core/ir/convert.h"

#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace blockscope {
namespace {

mlir::Type elementToMlir(mlir::MLIRContext &context, DType dtype) {
  switch (storageDType(dtype)) {
  case DType::Int1:
    return mlir::IntegerType::get(&context, 1);
  case DType::Int8:
  case DType::UInt8:
    return mlir::IntegerType::get(&context, 8);
  case DType::Int16:
  case DType::UInt16:
    return mlir::IntegerType::get(&context, 16);
  case DType::Int32:
  case DType::UInt32:
    return mlir::IntegerType::get(&context, 32);
  case DType::Int64:
  case DType::UInt64:
    return mlir::IntegerType::get(&context, 64);
  case DType::Fp8E4M3NV:
    return mlir::Float8E4M3FNType::get(&context);
  case DType::Fp8E4M3B8:
    return mlir::Float8E4M3FNUZType::get(&context);
  case DType::Fp8E4M3B15:
    return tl::F8E4M3B15Type::get(&context);
  case DType::Fp8E5M2:
    return mlir::Float8E5M2Type::get(&context);
  case DType::Fp8E5M2B16:
    return mlir::Float8E5M2FNUZType::get(&context);
  case DType::Fp16:
    return mlir::Float16Type::get(&context);
  case DType::Bf16:
    return mlir::BFloat16Type::get(&context);
  case DType::Fp32:
    return mlir::Float32Type::get(&context);
  case DType::Fp64:
    return mlir::Float64Type::get(&context);
  case DType::Void:
    return mlir::NoneType::get(&context);
  }
  return {};
}

DType elementFromMlir(mlir::Type type) {
  if (auto integer = mlir::dyn_cast<mlir::IntegerType>(type))
    switch (integer.getWidth()) {
    case 1:
      return DType::Int1;
    case 8:
      return DType::Int8;
    case 16:
      return DType::Int16;
    case 32:
      return DType::Int32;
    case 64:
      return DType::Int64;
    default:
      return DType::Void;
    }
  if (type.isF32())
    return DType::Fp32;
  if (type.isF16())
    return DType::Fp16;
  if (type.isBF16())
    return DType::Bf16;
  if (type.isF64())
    return DType::Fp64;
  if (type.isIndex())
    return DType::Int64;
  if (mlir::isa<mlir::Float8E4M3FNType>(type))
    return DType::Fp8E4M3NV;
  if (mlir::isa<mlir::Float8E4M3FNUZType>(type))
    return DType::Fp8E4M3B8;
  if (mlir::isa<mlir::Float8E5M2Type>(type))
    return DType::Fp8E5M2;
  if (mlir::isa<mlir::Float8E5M2FNUZType>(type))
    return DType::Fp8E5M2B16;
  if (mlir::isa<tl::F8E4M3B15Type>(type))
    return DType::Fp8E4M3B15;
  return DType::Void;
}

/// The words of a comparison, for the two predicate attributes that arith stores as numbers.
std::optional<int64_t> predicateNumber(llvm::StringRef opName, llvm::StringRef word) {
  if (opName == "arith.cmpi") {
    if (auto predicate = mlir::arith::symbolizeCmpIPredicate(word))
      return static_cast<int64_t>(*predicate);
  } else if (auto predicate = mlir::arith::symbolizeCmpFPredicate(word)) {
    return static_cast<int64_t>(*predicate);
  }
  return std::nullopt;
}

struct AttributeToMlir {
  mlir::Builder builder;
  llvm::StringRef opName;
  llvm::StringRef name;

  mlir::Attribute operator()(bool value) {
    if (name == "allow_reorder" || name == "unsignedCmp")
      return value ? builder.getUnitAttr() : mlir::Attribute();
    return builder.getBoolAttr(value);
  }
  mlir::Attribute operator()(int64_t value) {
    return name == "predicate" ? builder.getI64IntegerAttr(value)
                               : builder.getI32IntegerAttr(static_cast<int32_t>(value));
  }
  mlir::Attribute operator()(double value) { return builder.getF64FloatAttr(value); }
  mlir::Attribute operator()(const std::string &value) {
    if (name == "fastmath")
      return mlir::arith::FastMathFlagsAttr::get(
          builder.getContext(),
          mlir::arith::symbolizeFastMathFlags(value).value_or(mlir::arith::FastMathFlags::none));
    if (name == "predicate")
      if (auto number = predicateNumber(opName, value))
        return builder.getI64IntegerAttr(*number);
    return builder.getStringAttr(value);
  }
  mlir::Attribute operator()(const std::vector<int64_t> &values) {
    if (name == "is_signed") {
      const llvm::SmallVector<bool> flags(values.begin(), values.end());
      return builder.getDenseBoolArrayAttr(flags);
    }
    if (name == "order") {
      const llvm::SmallVector<int32_t> narrow(values.begin(), values.end());
      return builder.getDenseI32ArrayAttr(narrow);
    }
    return builder.getDenseI64ArrayAttr(values);
  }
  mlir::Attribute operator()(const std::vector<std::string> &values) {
    const llvm::SmallVector<llvm::StringRef> texts(values.begin(), values.end());
    return builder.getStrArrayAttr(texts);
  }
  mlir::Attribute operator()(const Type &type) {
    return mlir::TypeAttr::get(toMlirType(*builder.getContext(), type));
  }
};

Attribute integerFromMlir(mlir::IntegerAttr attribute) {
  if (attribute.getType().isInteger(1))
    return attribute.getValue().getBoolValue();
  return attribute.getValue().getSExtValue();
}

double floatFromMlir(llvm::APFloat value) {
  bool losesInfo = false;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToDouble();
}

template <typename Array> std::vector<int64_t> numbersOf(Array array) {
  return std::vector<int64_t>(array.asArrayRef().begin(), array.asArrayRef().end());
}

std::optional<Attribute> attributeFromMlir(mlir::Attribute attribute) {
  if (auto integer = mlir::dyn_cast<mlir::IntegerAttr>(attribute))
    return integerFromMlir(integer);
  if (auto text = mlir::dyn_cast<mlir::StringAttr>(attribute))
    return text.str();
  if (auto number = mlir::dyn_cast<mlir::FloatAttr>(attribute))
    return floatFromMlir(number.getValue());
  if (mlir::isa<mlir::UnitAttr>(attribute))
    return true;
  if (auto numbers = mlir::dyn_cast<mlir::DenseI64ArrayAttr>(attribute))
    return numbersOf(numbers);
  if (auto numbers = mlir::dyn_cast<mlir::DenseI32ArrayAttr>(attribute))
    return numbersOf(numbers);
  if (auto flags = mlir::dyn_cast<mlir::DenseBoolArrayAttr>(attribute))
    return numbersOf(flags);
  if (auto type = mlir::dyn_cast<mlir::TypeAttr>(attribute))
    return fromMlirType(type.getValue());
  if (auto splat = mlir::dyn_cast<mlir::SplatElementsAttr>(attribute))
    return attributeFromMlir(splat.getSplatValue<mlir::Attribute>());
  if (auto texts = mlir::dyn_cast<mlir::ArrayAttr>(attribute)) {
    std::vector<std::string> list;
    for (mlir::Attribute element : texts)
      if (auto text = mlir::dyn_cast<mlir::StringAttr>(element))
        list.push_back(text.str());
    return list;
  }
  return std::nullopt;
}

/// Fills file, line, column and function of one frame; returns false when there is none.
bool readFrame(mlir::Location location, SourceLocation &frame) {
  if (auto position = mlir::dyn_cast<mlir::FileLineColLoc>(location)) {
    frame.file = position.getFilename().str();
    frame.line = static_cast<int32_t>(position.getLine());
    frame.column = static_cast<int32_t>(position.getColumn());
    return true;
  }
  if (auto name = mlir::dyn_cast<mlir::NameLoc>(location)) {
    if (frame.variable.empty())
      frame.variable = name.getName().str();
    return readFrame(name.getChildLoc(), frame);
  }
  if (auto fused = mlir::dyn_cast<mlir::FusedLoc>(location)) {
    if (auto function = mlir::dyn_cast_or_null<mlir::StringAttr>(fused.getMetadata()))
      frame.function = function.str();
    return llvm::any_of(fused.getLocations(),
                        [&](mlir::Location part) { return readFrame(part, frame); });
  }
  return false;
}

/// Appends the frames of a location, innermost first.
void readFrames(mlir::Location location, std::string &variable,
                llvm::SmallVectorImpl<SourceLocation> &frames) {
  if (auto name = mlir::dyn_cast<mlir::NameLoc>(location)) {
    if (variable.empty() && frames.empty())
      variable = name.getName().str();
    return readFrames(name.getChildLoc(), variable, frames);
  }
  if (auto call = mlir::dyn_cast<mlir::CallSiteLoc>(location)) {
    readFrames(call.getCallee(), variable, frames);
    return readFrames(call.getCaller(), variable, frames);
  }
  auto fused = mlir::dyn_cast<mlir::FusedLoc>(location);
  // What passes fuse: the first position counts. `markUnsigned` and `markIterations` make one of
  // them.
  if (fused && !mlir::isa_and_nonnull<mlir::StringAttr>(fused.getMetadata())) {
    for (mlir::Location part : fused.getLocations()) {
      const size_t before = frames.size();
      readFrames(part, variable, frames);
      if (frames.size() != before)
        return;
    }
    return;
  }
  SourceLocation frame;
  if (readFrame(location, frame))
    frames.push_back(std::move(frame));
}

} // namespace

mlir::Type toMlirType(mlir::MLIRContext &context, const Type &type) {
  mlir::Type element = elementToMlir(context, type.dtype);
  for (int depth = 0; depth < type.pointerDepth; ++depth)
    element =
        tl::PtrType::get(&context, element, depth + 1 == type.pointerDepth ? type.addressSpace : 1);
  return type.isBlock() ? mlir::RankedTensorType::get(type.shape, element) : element;
}

Type fromMlirType(mlir::Type type) {
  Type result;
  if (auto block = mlir::dyn_cast<mlir::RankedTensorType>(type)) {
    result.shape.assign(block.getShape().begin(), block.getShape().end());
    type = block.getElementType();
  }
  if (auto pointer = mlir::dyn_cast<tl::PtrType>(type))
    result.addressSpace = static_cast<uint8_t>(pointer.getAddressSpace());
  while (auto pointer = mlir::dyn_cast<tl::PtrType>(type)) {
    ++result.pointerDepth;
    type = pointer.getPointee();
  }
  result.dtype = elementFromMlir(type);
  return result;
}

mlir::Attribute toMlirAttribute(mlir::MLIRContext &context, llvm::StringRef opName,
                                llvm::StringRef name, const Attribute &value) {
  return std::visit(AttributeToMlir{mlir::Builder(&context), opName, name}, value);
}

Attributes attributesOf(mlir::Operation *op) {
  Attributes result;
  for (mlir::NamedAttribute named : op->getAttrDictionary()) {
    const llvm::StringRef name = named.getName();
    if (name == "operandSegmentSizes" || name == "fastmath" || name == "overflowFlags")
      continue;
    if (auto value = attributeFromMlir(named.getValue()))
      result.set(name, *value);
  }
  if (auto assertion = mlir::dyn_cast<tl::AssertOp>(op))
    result.set("has_mask", assertion.getMask() != nullptr);
  if (auto load = mlir::dyn_cast<tl::LoadOp>(op)) {
    result.set("has_mask", load.getMask() != nullptr);
    result.set("has_other", load.getOther() != nullptr);
  }
  return result;
}

mlir::Location toMlirLocation(mlir::MLIRContext &context, const SourceLocation &location) {
  mlir::Builder builder(&context);
  mlir::Location result = mlir::UnknownLoc::get(&context);
  if (location.isKnown())
    result = mlir::FileLineColLoc::get(builder.getStringAttr(location.file), location.line,
                                       location.column);
  if (!location.function.empty())
    result = mlir::FusedLoc::get({result}, builder.getStringAttr(location.function), &context);
  if (location.caller)
    result = mlir::CallSiteLoc::get(result, toMlirLocation(context, *location.caller));
  if (!location.variable.empty())
    result = mlir::NameLoc::get(builder.getStringAttr(location.variable), result);
  return result;
}

SourceLocation fromMlirLocation(mlir::Location location) {
  llvm::SmallVector<SourceLocation, 2> frames;
  std::string variable;
  readFrames(location, variable, frames);
  std::shared_ptr<const SourceLocation> caller;
  while (frames.size() > 1) {
    frames.back().caller = caller;
    caller = std::make_shared<SourceLocation>(frames.pop_back_val());
  }
  SourceLocation result = frames.empty() ? SourceLocation() : std::move(frames.front());
  result.caller = caller;
  result.variable = variable;
  return result;
}

mlir::Location markUnsigned(mlir::Location location) {
  mlir::MLIRContext *context = location.getContext();
  const auto type = mlir::IntegerType::get(context, 32, mlir::IntegerType::Unsigned);
  return mlir::FusedLoc::get({location}, mlir::TypeAttr::get(type), context);
}

bool isMarkedUnsigned(mlir::Location location) {
  if (auto name = mlir::dyn_cast<mlir::NameLoc>(location))
    return isMarkedUnsigned(name.getChildLoc());
  if (auto call = mlir::dyn_cast<mlir::CallSiteLoc>(location))
    return isMarkedUnsigned(call.getCallee());
  auto fused = mlir::dyn_cast<mlir::FusedLoc>(location);
  return fused && (mlir::isa_and_nonnull<mlir::TypeAttr>(fused.getMetadata()) ||
                   llvm::any_of(fused.getLocations(), isMarkedUnsigned));
}

mlir::Location markIterations(mlir::Location location, llvm::ArrayRef<int32_t> iterations) {
  mlir::MLIRContext *context = location.getContext();
  return mlir::FusedLoc::get({location}, mlir::DenseI32ArrayAttr::get(context, iterations),
                             context);
}

llvm::ArrayRef<int32_t> markedIterations(mlir::Location location) {
  if (auto name = mlir::dyn_cast<mlir::NameLoc>(location))
    return markedIterations(name.getChildLoc());
  auto fused = mlir::dyn_cast<mlir::FusedLoc>(location);
  if (!fused)
    return {};
  if (auto iterations = mlir::dyn_cast_if_present<mlir::DenseI32ArrayAttr>(fused.getMetadata()))
    return iterations.asArrayRef();
  for (const mlir::Location part : fused.getLocations())
    if (const llvm::ArrayRef<int32_t> iterations = markedIterations(part); !iterations.empty())
      return iterations;
  return {};
}

} // namespace blockscope
