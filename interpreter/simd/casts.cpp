// Conversions between all element types.
#include "interpreter/simd/elements.h"

namespace blockscope::interpreter::BLK_ISA {
namespace {

using numeric::FloatFormat;

struct KeepOp {
  template <typename T> BLK_FORCE_INLINE static T apply(T x) { return x; }
};
template <typename To> struct ConvertOp {
  template <typename T> BLK_FORCE_INLINE static To apply(T x) { return static_cast<To>(x); }
};
template <typename Int> struct FloatToIntOp {
  template <typename T> BLK_FORCE_INLINE static Int apply(T x) {
    return numeric::floatToInt<Int>(x);
  }
};

/// Stores a float or double cut toward zero, or a double rounded once.
template <FloatFormat F, Rounding R, typename StorageT, typename ComputeT> struct Encoded {
  using Storage = StorageT;
  using Compute = ComputeT;
  BLK_FORCE_INLINE static Storage store(Compute x) {
    return static_cast<Storage>(numeric::encode<F, R>(x));
  }
};
template <Rounding R, typename ComputeT> struct EncodedE4M3B15 {
  using Storage = uint8_t;
  using Compute = ComputeT;
  BLK_FORCE_INLINE static Storage store(Compute x) {
    return static_cast<Storage>(numeric::encodeE4M3B15<R>(x));
  }
};
/// Stores an integer as a 16-bit float, rounded once.
template <FloatFormat F, typename Int> struct EncodedInt {
  using Storage = uint16_t;
  using Compute = Int;
  BLK_FORCE_INLINE static Storage store(Int x) {
    return static_cast<Storage>(numeric::encodeInt<F>(x));
  }
};

using Matrix = ElementKernel[kNumElementTypes][kNumElementTypes];
ElementKernel &at(Matrix &matrix, ElementType from, ElementType to) {
  return matrix[static_cast<int>(from)][static_cast<int>(to)];
}

/// From a type that computes in fp32 to every float.
template <typename From> void fillFromSmall(Kernels &table, ElementType from) {
  using enum ElementType;
  Matrix &near = table.castNearest, &cut = table.castTowardZero;
  at(near, from, ElementType::F8E4M3NV) = unary<KeepOp, From, BLK_ISA::F8E4M3NV>;
  at(near, from, ElementType::F8E4M3B8) = unary<KeepOp, From, BLK_ISA::F8E4M3B8>;
  at(near, from, ElementType::F8E4M3B15) = unary<KeepOp, From, BLK_ISA::F8E4M3B15>;
  at(near, from, ElementType::F8E5M2) = unary<KeepOp, From, BLK_ISA::F8E5M2>;
  at(near, from, ElementType::F8E5M2B16) = unary<KeepOp, From, BLK_ISA::F8E5M2B16>;
  at(near, from, ElementType::F16) = unary<KeepOp, From, BLK_ISA::F16>;
  at(near, from, ElementType::BF16) = unary<KeepOp, From, BLK_ISA::BF16>;
  at(near, from, ElementType::F32) = unary<KeepOp, From, BLK_ISA::F32>;
  at(near, from, ElementType::F64) = unary<ConvertOp<double>, From, BLK_ISA::F64>;
  constexpr Rounding kCut = Rounding::TowardZero;
  using namespace numeric;
  at(cut, from, ElementType::F8E4M3NV) =
      unary<KeepOp, From, Encoded<kFp8E4M3NV, kCut, uint8_t, float>>;
  at(cut, from, ElementType::F8E4M3B8) =
      unary<KeepOp, From, Encoded<kFp8E4M3B8, kCut, uint8_t, float>>;
  at(cut, from, ElementType::F8E4M3B15) = unary<KeepOp, From, EncodedE4M3B15<kCut, float>>;
  at(cut, from, ElementType::F8E5M2) = unary<KeepOp, From, Encoded<kFp8E5M2, kCut, uint8_t, float>>;
  at(cut, from, ElementType::F8E5M2B16) =
      unary<KeepOp, From, Encoded<kFp8E5M2B16, kCut, uint8_t, float>>;
  at(cut, from, ElementType::F16) = unary<KeepOp, From, Encoded<kFp16, kCut, uint16_t, float>>;
  at(cut, from, ElementType::BF16) = unary<KeepOp, From, Encoded<kBf16, kCut, uint16_t, float>>;
  at(cut, from, ElementType::F32) = at(near, from, ElementType::F32);
  at(cut, from, ElementType::F64) = at(near, from, ElementType::F64);
}

template <Rounding R> void fillFromDouble(Matrix &matrix) {
  using namespace numeric;
  const auto set = [&](ElementType to, ElementKernel kernel) {
    at(matrix, ElementType::F64, to) = kernel;
  };
  set(ElementType::F8E4M3NV, unary<KeepOp, F64, Encoded<kFp8E4M3NV, R, uint8_t, double>>);
  set(ElementType::F8E4M3B8, unary<KeepOp, F64, Encoded<kFp8E4M3B8, R, uint8_t, double>>);
  set(ElementType::F8E4M3B15, unary<KeepOp, F64, EncodedE4M3B15<R, double>>);
  set(ElementType::F8E5M2, unary<KeepOp, F64, Encoded<kFp8E5M2, R, uint8_t, double>>);
  set(ElementType::F8E5M2B16, unary<KeepOp, F64, Encoded<kFp8E5M2B16, R, uint8_t, double>>);
  set(ElementType::F16, unary<KeepOp, F64, Encoded<kFp16, R, uint16_t, double>>);
  set(ElementType::BF16, unary<KeepOp, F64, Encoded<kBf16, R, uint16_t, double>>);
  set(ElementType::F32, unary<KeepOp, F64, Encoded<kFp32, R, uint32_t, double>>);
  set(ElementType::F64, unary<KeepOp, F64>);
}

/// From an integer type to integers and floats, and from fp32 and fp64 to it.
template <typename Int> void fillInt(Matrix &matrix, ElementType type) {
  using T = typename Int::Compute;
  at(matrix, type, ElementType::I1) = unary<KeepOp, Int, Bool>;
  at(matrix, type, ElementType::I8) = unary<ConvertOp<uint8_t>, Int, U8>;
  at(matrix, type, ElementType::I16) = unary<ConvertOp<uint16_t>, Int, U16>;
  at(matrix, type, ElementType::I32) = unary<ConvertOp<uint32_t>, Int, U32>;
  at(matrix, type, ElementType::I64) = unary<ConvertOp<uint64_t>, Int, U64>;
  at(matrix, type, ElementType::F32) = unary<ConvertOp<float>, Int, F32>;
  at(matrix, type, ElementType::F64) = unary<ConvertOp<double>, Int, F64>;
  at(matrix, type, ElementType::F16) = unary<KeepOp, Int, EncodedInt<numeric::kFp16, T>>;
  at(matrix, type, ElementType::BF16) = unary<KeepOp, Int, EncodedInt<numeric::kBf16, T>>;
  // fp8 through fp32: whatever fp32 cannot hold saturates.
  at(matrix, type, ElementType::F8E4M3NV) = unary<ConvertOp<float>, Int, BLK_ISA::F8E4M3NV>;
  at(matrix, type, ElementType::F8E4M3B8) = unary<ConvertOp<float>, Int, BLK_ISA::F8E4M3B8>;
  at(matrix, type, ElementType::F8E4M3B15) = unary<ConvertOp<float>, Int, BLK_ISA::F8E4M3B15>;
  at(matrix, type, ElementType::F8E5M2) = unary<ConvertOp<float>, Int, BLK_ISA::F8E5M2>;
  at(matrix, type, ElementType::F8E5M2B16) = unary<ConvertOp<float>, Int, BLK_ISA::F8E5M2B16>;

  at(matrix, ElementType::F64, type) = unary<FloatToIntOp<T>, F64, Int>;
  at(matrix, ElementType::F32, type) = unary<FloatToIntOp<T>, F32, Int>;
  at(matrix, ElementType::F16, type) = unary<FloatToIntOp<T>, BLK_ISA::F16, Int>;
  at(matrix, ElementType::BF16, type) = unary<FloatToIntOp<T>, BLK_ISA::BF16, Int>;
  at(matrix, ElementType::F8E4M3NV, type) = unary<FloatToIntOp<T>, BLK_ISA::F8E4M3NV, Int>;
  at(matrix, ElementType::F8E4M3B8, type) = unary<FloatToIntOp<T>, BLK_ISA::F8E4M3B8, Int>;
  at(matrix, ElementType::F8E4M3B15, type) = unary<FloatToIntOp<T>, BLK_ISA::F8E4M3B15, Int>;
  at(matrix, ElementType::F8E5M2, type) = unary<FloatToIntOp<T>, BLK_ISA::F8E5M2, Int>;
  at(matrix, ElementType::F8E5M2B16, type) = unary<FloatToIntOp<T>, BLK_ISA::F8E5M2B16, Int>;
}

/// A bool that is 0 or -1 as a signed integer.
struct SignedBool {
  using Storage = uint8_t;
  using Compute = int8_t;
  BLK_FORCE_INLINE static int8_t load(uint8_t x) { return static_cast<int8_t>(-(x & 1)); }
  BLK_FORCE_INLINE static uint8_t store(int8_t x) { return x & 1; }
};

struct Tf32Op {
  BLK_FORCE_INLINE static float apply(float x) { return numeric::roundToTf32(x); }
};

} // namespace

void fillCasts(Kernels &table) {
  fillFromSmall<F8E4M3NV>(table, ElementType::F8E4M3NV);
  fillFromSmall<F8E4M3B8>(table, ElementType::F8E4M3B8);
  fillFromSmall<F8E4M3B15>(table, ElementType::F8E4M3B15);
  fillFromSmall<F8E5M2>(table, ElementType::F8E5M2);
  fillFromSmall<F8E5M2B16>(table, ElementType::F8E5M2B16);
  fillFromSmall<F16>(table, ElementType::F16);
  fillFromSmall<BF16>(table, ElementType::BF16);
  fillFromSmall<F32>(table, ElementType::F32);
  fillFromDouble<Rounding::NearestEven>(table.castNearest);
  fillFromDouble<Rounding::TowardZero>(table.castTowardZero);
  at(table.castNearest, ElementType::F64, ElementType::F32) = unary<ConvertOp<float>, F64, F32>;

  fillInt<SignedBool>(table.castSigned, ElementType::I1);
  fillInt<S8>(table.castSigned, ElementType::I8);
  fillInt<S16>(table.castSigned, ElementType::I16);
  fillInt<S32>(table.castSigned, ElementType::I32);
  fillInt<S64>(table.castSigned, ElementType::I64);
  fillInt<Bool>(table.castUnsigned, ElementType::I1);
  fillInt<U8>(table.castUnsigned, ElementType::I8);
  fillInt<U16>(table.castUnsigned, ElementType::I16);
  fillInt<U32>(table.castUnsigned, ElementType::I32);
  fillInt<U64>(table.castUnsigned, ElementType::I64);
  table.roundTf32 = unary<Tf32Op, F32>;
}

} // namespace blockscope::interpreter::BLK_ISA
