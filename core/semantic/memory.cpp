// Loads and stores: what may be loaded from where, masks, other values and modifiers.
#include "core/semantic/semantic.h"

#include "llvm/ADT/STLExtras.h"

namespace blockscope {
namespace {

constexpr llvm::StringLiteral kDescribed = "tl.described"; // an access by a tensor descriptor

/// The shape of a block of pointers, with the sizes of the mask, which has at most as many
/// dimensions, where it has 1.
llvm::SmallVector<int64_t, 4> widened(llvm::ArrayRef<int64_t> pointers,
                                      llvm::ArrayRef<int64_t> mask) {
  llvm::SmallVector<int64_t, 4> shape(pointers);
  for (auto [size, wanted] : llvm::zip(llvm::reverse(shape), llvm::reverse(mask)))
    size = size == 1 ? wanted : size;
  return shape;
}

} // namespace

bool Semantic::checkPointer(const Value &pointer, bool writes) {
  if (failed())
    return false;
  if (!pointer.type.isPointer()) {
    typeError("pointer is " + typeText(pointer.type) +
              ", expected a pointer or a block of pointers");
    return false;
  }
  if (writes && pointer.type.pointeeIsConst) {
    typeError("Cannot store to a constant pointer", "; pointer is " + typeText(pointer.type));
    return false;
  }
  return true;
}

Value Semantic::withRank(const Value &value, size_t rank) {
  Value result = value;
  while (!failed() && result.type.isBlock() && result.type.shape.size() < rank)
    result = expandDims(result, 0);
  return result;
}

Value Semantic::fitToPointer(const Value &value, llvm::ArrayRef<int64_t> shape,
                             llvm::StringRef argument, Rank rank) {
  if (failed())
    return {};
  const llvm::ArrayRef<int64_t> from = value.type.shape;
  if (shape.empty() && !from.empty())
    return valueError(argument + " is a block " + typeText(value.type) +
                      ", but pointer is a scalar");
  bool fits = from.empty() || from.size() == shape.size() ||
              (rank == Rank::UpTo && from.size() < shape.size());
  for (size_t i = 0; fits && i < from.size(); ++i)
    fits = from[i] == shape[shape.size() - from.size() + i] || from[i] == 1;
  if (!fits)
    return valueError(argument + " is " + typeText(value.type) + ", which does not fit the shape " +
                      shapeText(shape) + " of pointer");
  return broadcastTo(withRank(value, shape.size()), shape);
}

Value Semantic::writtenValue(const Operand &value, const Type &element, llvm::StringRef argument,
                             Rank rank) {
  if (failed())
    return {};
  const Value converted = !value.isValue() && element.isFloating()
                              ? constant(value.scalar, element.dtype)
                              : cast(toTensor(value), element.scalar());
  return fitToPointer(converted, element.shape, argument, rank);
}

Value Semantic::asStored(const Value &pointer) {
  const Type element = pointer.type.pointee();
  if (failed() || !(element.isBool() || element.isPointer()))
    return pointer;
  Type stored = pointer.type;
  stored.pointerDepth = 1;
  stored.dtype = element.isBool() ? DType::Int8 : DType::Int64;
  return emit1("tl.bitcast", {pointer}, stored);
}

Value Semantic::maskFor(const Type &pointer, const Operand &mask, Rank rank) {
  const Value value = toTensor(mask);
  if (failed())
    return {};
  if (!value.type.isBool() && mask.isValue())
    return typeError("mask is " + typeText(value.type) +
                     ", expected int1 (a condition such as offsets < n)");
  return fitToPointer(toCondition(value), pointer.shape, "mask", rank);
}

Value Semantic::load(const Value &pointer, const LoadOptions &options) {
  if (!checkPointer(pointer, /*writes=*/false))
    return {};
  if (options.other && !options.mask)
    return valueError("other is given without mask");
  if (!checkOneOf("cache_modifier", options.cacheModifier, {"", ".ca", ".cg", ".cs", ".cv"}) ||
      !checkOneOf("eviction_policy", options.evictionPolicy,
                  {"", "evict_first", "evict_last", "evict_normal"}))
    return {};
  // Of one pointer, lanes may be left out by a wider mask: a row that is loaded for all columns.
  Value each = pointer;
  if (options.mask && options.mask->isValue()) {
    const llvm::ArrayRef<int64_t> mask = options.mask->value.type.shape;
    each = withRank(pointer, mask.size());
    each = broadcastTo(each, widened(each.type.shape, mask));
  }
  const Value from = asStored(each);
  const Type wanted = each.type.pointee(), element = from.type.pointee();
  llvm::SmallVector<Value, 3> operands = {from};
  Attributes attributes;
  if (options.mask) {
    operands.push_back(maskFor(each.type, *options.mask, Rank::UpTo));
    attributes.set("has_mask", true);
  }
  if (options.other && !failed()) {
    Value other;
    if (options.other->isValue()) {
      other = fitToPointer(options.other->value, element.shape, "other", Rank::UpTo);
      if (wanted.isPointer())
        other = cast(other, wanted.scalar());
      other = cast(other, element.scalar());
    } else if (wanted.isPointer()) {
      other = cast(cast(toTensor(*options.other), wanted.scalar()), element.scalar());
      other = broadcastTo(other, element.shape);
    } else {
      const Scalar &number = options.other->scalar;
      Value constantOther = number.kind == Scalar::Kind::Float && element.isInteger()
                                ? cast(toTensor(number), element.scalar())
                                : constant(number, element.dtype);
      other = broadcastTo(constantOther, element.shape);
    }
    operands.push_back(other);
    attributes.set("has_other", true);
  }
  if (!options.cacheModifier.empty())
    attributes.set("cache_modifier", options.cacheModifier);
  if (!options.evictionPolicy.empty())
    attributes.set("eviction_policy", options.evictionPolicy);
  if (options.isVolatile)
    attributes.set("is_volatile", true);
  if (options.isDescribed)
    attributes.set(kDescribed, true);
  const Value result = emit1("tl.load", operands, element, attributes);
  return cast(result, wanted.scalar()); // any byte but 0 is true
}

void Semantic::store(const Value &pointer, const Operand &value, const StoreOptions &options) {
  if (!checkPointer(pointer, /*writes=*/true) ||
      !checkOneOf("cache_modifier", options.cacheModifier, {"", ".wb", ".cg", ".cs", ".wt"}) ||
      !checkOneOf("eviction_policy", options.evictionPolicy,
                  {"", "evict_first", "evict_last", "evict_normal"}))
    return;
  const Value to = asStored(pointer);
  const Value stored = cast(writtenValue(value, pointer.type.pointee(), "value", Rank::UpTo),
                            to.type.pointee().scalar());
  llvm::SmallVector<Value, 3> operands = {to, stored};
  Attributes attributes;
  if (options.mask) {
    operands.push_back(maskFor(pointer.type, *options.mask, Rank::UpTo));
    attributes.set("has_mask", true);
  }
  if (!options.cacheModifier.empty())
    attributes.set("cache_modifier", options.cacheModifier);
  if (!options.evictionPolicy.empty())
    attributes.set("eviction_policy", options.evictionPolicy);
  if (options.isDescribed)
    attributes.set(kDescribed, true);
  emit0("tl.store", operands, attributes);
}

} // namespace blockscope
