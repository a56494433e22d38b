// Dots of block-scaled operands (microscaling formats), made of ops that are there: both operands
// become bf16 (fp16 when one of them is), scaled, and meet in one tl.dot that accumulates in fp32.
//
// The numbers are those of Triton's decomposition. A scale is 2^(byte - 127): byte 0 counts as 0
// (2^-127 is no normal number), byte 255 is NaN. Every e2m1, e4m3 and e5m2 is a bf16, and so is its
// product with a power of two unless that is too large or too small for bf16; fp16 holds less. In
// the IR a widened operand is tl.scaled, which also says what it was: GPUs that multiply scaled
// operands take those (gpu_backend/passes/scaled_dots.h).
#include "core/semantic/semantic.h"

#include <cmath>
#include <limits>

namespace blockscope {
namespace {

/// One operand, as the checks find it.
struct Side {
  const char *name;       ///< "lhs"
  const char *scaleName;  ///< "lhs_scale"
  const char *formatName; ///< "lhs_format"
  Value value;
  std::optional<Value> scale;
  std::string format;
  bool packsK;
  int64_t kDim;     ///< the dimension that the dot sums over
  int64_t outerDim; ///< the dimension that the result keeps

  bool isFp4() const { return format == "e2m1"; }
  int64_t packedDim() const { return packsK ? kDim : outerDim; }
  int64_t size(int64_t dim) const {
    return value.type.shape[dim] * (isFp4() && dim == packedDim() ? 2 : 1);
  }
  /// How many elements along K share a scale; 0: there is none, or one for all.
  int64_t group() const {
    if (!scale || scale->type.numElements() == 1)
      return 0;
    return size(kDim) / scale->type.shape.back();
  }
};

/// The float type of a format; none for e2m1, which comes packed in bytes.
std::optional<DType> formatDType(llvm::StringRef format) {
  if (format == "e4m3")
    return DType::Fp8E4M3NV;
  if (format == "e5m2")
    return DType::Fp8E5M2;
  if (format == "bf16")
    return DType::Bf16;
  if (format == "fp16")
    return DType::Fp16;
  return std::nullopt;
}

/// Reads the operand's bits as its format says. Errors: an unknown format, another dtype, a shape
/// or a scale that no dot takes.
bool checkSide(Semantic &s, Side &side) {
  const std::string found = typeText(side.value.type);
  if (!llvm::is_contained({"e2m1", "e4m3", "e5m2", "bf16", "fp16"}, side.format)) {
    s.valueError("Invalid float format: " + side.format + ". " + side.formatName +
                 " is expected to be e2m1, e4m3, e5m2, bf16 or fp16");
    return false;
  }
  const auto dtype = formatDType(side.format);
  if (!dtype) {
    if (side.value.type.isPointer() || side.value.type.dtype != DType::UInt8)
      s.typeError("e2m1 format must be packed as uint8. Got " + found + " for " + side.name);
  } else if (side.value.type.isPointer() || side.value.type.dtype != *dtype) {
    const DType bits = isFp8(*dtype) ? DType::UInt8 : DType::UInt16;
    if (side.value.type.isPointer() || side.value.type.dtype != bits)
      s.typeError("Unexpected dtype for " + side.format + ". Got " + found + " for " + side.name +
                  ", expected " + dtypeName(*dtype).str() + " or " + dtypeName(bits).str());
    else
      side.value = s.bitcast(side.value, Type::get(*dtype));
  }
  if (!side.packsK && !side.isFp4())
    s.valueError("only mxfp4 inputs can be packed along a dimension different than K; " +
                 std::string(side.name) + " is " + side.format);
  return !s.failed();
}

bool checkScale(Semantic &s, const Side &side, int64_t factor) {
  if (!side.scale)
    return true;
  const Type &type = side.scale->type;
  if (type.isPointer() ||
      (type.dtype != DType::UInt8 && type.dtype != DType::Int8 && type.dtype != DType::Fp8E4M3NV)) {
    s.typeError(std::string(side.scaleName) + " is " + typeText(type) +
                ", expected uint8 (powers of two) or fp8e4nv");
    return false;
  }
  llvm::SmallVector<int64_t, 4> expected(side.value.type.shape);
  expected.pop_back_n(2);
  expected.append({side.size(side.outerDim), side.size(side.kDim) / factor});
  if (type.shape == expected)
    return true;
  s.valueError(std::string(side.scaleName) + " must be a tensor of shape " + shapeText(expected) +
               ". Got " + shapeText(type.shape));
  return false;
}

/// Doubles dimension `dim`: element 2i of the result is from `low`, element 2i + 1 from `high`.
Value interleave(Semantic &s, const Value &low, const Value &high, int64_t dim) {
  llvm::SmallVector<int64_t, 4> order, shape(low.type.shape);
  const int64_t rank = low.type.rank();
  for (int64_t i = 0; i < rank; ++i) {
    order.push_back(i);
    if (i == dim)
      order.push_back(rank);
  }
  shape[dim] *= 2;
  return s.reshape(s.permute(s.join(low, high), order), shape, false);
}

/// The two e2m1 in each byte as bf16 or fp16, along `dim`, the low four bits first. Sign, exponent
/// and mantissa move to their places in `to`; there they are a number (a subnormal one for 0.5)
/// that is too small by the difference of the exponents' biases.
Value widenFp4(Semantic &s, const Value &packed, int64_t dim, DType to) {
  const int mantissa = to == DType::Bf16 ? 7 : 10;
  const Value bits = s.cast(packed, DType::UInt16);
  const auto part = [&](int shift, int64_t mask) {
    const Value moved = s.binary(BinaryOp::Shl, bits, Scalar::ofInt(shift));
    return s.binary(BinaryOp::And, moved, Scalar::ofInt(mask));
  };
  const auto nibble = [&](int first) { // its lowest bit
    const Value sign = part(15 - (first + 3), 0x8000);
    const Value rest = part(mantissa - 1 - first, int64_t{7} << (mantissa - 1));
    return s.bitcast(s.binary(BinaryOp::Or, sign, rest), Type::get(to));
  };
  const Value small = interleave(s, nibble(0), nibble(4), dim);
  const double bias = to == DType::Bf16 ? 127 : 15;
  return s.binary(BinaryOp::Mul, small, s.constant(Scalar::ofFloat(std::exp2(bias - 1)), to));
}

/// The scales as bf16 or fp16.
Value widenScale(Semantic &s, const Value &scale, DType to, bool fastMath) {
  if (scale.type.isFloating())
    return s.cast(scale, to);
  const DType large = to == DType::Fp16 ? DType::Fp32 : to; // has eight bits of exponent
  const DType word = large == DType::Fp32 ? DType::UInt32 : DType::UInt16;
  const int mantissa = large == DType::Fp32 ? 23 : 7;
  const Value byte = s.bitcast(scale, Type::get(DType::UInt8));
  Value power = s.binary(BinaryOp::Shl, s.cast(byte, word), Scalar::ofInt(mantissa));
  power = s.cast(s.bitcast(power, Type::get(large)), to);
  if (fastMath)
    return power;
  const Value isNan = s.compare(CompareOp::Equal, byte, Scalar::ofInt(255));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return s.where(isNan, s.constant(Scalar::ofFloat(nan), to), power);
}

/// The operand as bf16 or fp16, multiplied by its scales.
Value widen(Semantic &s, const Side &side, DType to, int64_t factor, bool fastMath) {
  const Value value =
      side.isFp4() ? widenFp4(s, side.value, side.packedDim(), to) : s.cast(side.value, to);
  if (!side.scale || s.failed())
    return value;
  Value scale = widenScale(s, *side.scale, to, fastMath); // [..., M or N, K / factor]
  if (side.kDim < side.outerDim)
    scale = s.trans(scale);
  scale = s.expandDims(scale, side.kDim + 1);
  if (s.failed())
    return {};
  llvm::SmallVector<int64_t, 4> shape(scale.type.shape);
  shape[side.kDim + 1] = factor;
  scale = s.reshape(s.broadcastTo(scale, shape), value.type.shape, false);
  return s.binary(BinaryOp::Mul, value, scale);
}

} // namespace

Value Semantic::dotScaled(const ScaledOperand &lhs, const ScaledOperand &rhs,
                          const std::optional<Value> &acc, bool fastMath, DType outDType) {
  if (failed())
    return {};
  const int64_t rank = lhs.value.type.rank();
  if (rank != rhs.value.type.rank() || (rank != 2 && rank != 3))
    return valueError("Both inputs must be either 2D or 3D; (lhs: " + typeText(lhs.value.type) +
                      " vs rhs: " + typeText(rhs.value.type) + ")");
  Side a{"lhs",      "lhs_scale", "lhs_format", lhs.value, lhs.scale,
         lhs.format, lhs.packsK,  rank - 1,     rank - 2};
  Side b{"rhs",      "rhs_scale", "rhs_format", rhs.value, rhs.scale,
         rhs.format, rhs.packsK,  rank - 2,     rank - 1};
  if (!checkSide(*this, a) || !checkSide(*this, b))
    return {};
  const int64_t k = a.size(a.kDim);
  if (k != b.size(b.kDim))
    return valueError("Reduction dimension should pack the same number of elements; (lhs: " +
                      typeText(lhs.value.type) + " vs rhs: " + typeText(rhs.value.type) + ")");
  for (const Side *side : {&a, &b})
    if (const int64_t group = side->group(); group != 0 && group != 16 && group != 32)
      return valueError("scale factor must be 16 or 32. Got " + std::to_string(group) + " for " +
                        side->name);
  if (a.group() && b.group() && a.group() != b.group())
    return valueError("Operands must have the same scale factor; (lhs: " +
                      std::to_string(a.group()) + " vs rhs: " + std::to_string(b.group()) + ")");
  const int64_t factor = a.group() ? a.group() : b.group() ? b.group() : 32;
  if (!checkScale(*this, a, factor) || !checkScale(*this, b, factor))
    return {};
  if (outDType != DType::Fp32 && outDType != DType::Fp16 && outDType != DType::Bf16)
    return valueError("out_dtype is " + dtypeName(outDType) + ", expected fp32, fp16 or bf16");
  if (acc && (acc->type.isPointer() || acc->type.dtype != outDType))
    return typeError("acc is " + typeText(acc->type) + ", expected elements of out_dtype, " +
                     dtypeName(outDType).str());

  const bool isHalf = a.format == "fp16" || b.format == "fp16";
  const DType common = isHalf ? DType::Fp16 : DType::Bf16;
  const auto operand = [&](const Side &side) {
    const Value wide = widen(*this, side, common, factor, fastMath);
    if (failed() || emitter_.isStepping() || emitter_.hasPayloads())
      return wide;
    ValueList operands{wide, side.value}; // a GPU may multiply what was not widened
    if (side.scale)
      operands.push_back(*side.scale);
    return emit1("tl.scaled", operands, wide.type,
                 {{"format", side.format}, {"packs_k", side.packsK}});
  };
  const Value left = operand(a), right = operand(b);
  std::optional<Value> sum;
  if (acc)
    sum = cast(*acc, DType::Fp32);
  if (failed())
    return {};
  return cast(dot(left, right, sum, {}), outDType);
}

} // namespace blockscope
