// What the elementwise ops compute on one element: `<id>Op` for the op `id` of core/op_facts.def
// (the functions of math are in math_f32.h). Private to the per-instruction-set sources.
#pragma once

#include "interpreter/simd/elements.h"

namespace blockscope::interpreter::BLK_ISA {

template <typename T> struct UnsignedOf;
template <> struct UnsignedOf<int8_t> {
  using Type = uint8_t;
};
template <> struct UnsignedOf<int16_t> {
  using Type = uint16_t;
};
template <> struct UnsignedOf<int32_t> {
  using Type = uint32_t;
};
template <> struct UnsignedOf<int64_t> {
  using Type = uint64_t;
};
template <> struct UnsignedOf<uint8_t> {
  using Type = uint8_t;
};
template <> struct UnsignedOf<uint16_t> {
  using Type = uint16_t;
};
template <> struct UnsignedOf<uint32_t> {
  using Type = uint32_t;
};
template <> struct UnsignedOf<uint64_t> {
  using Type = uint64_t;
};

#define BLK_BINARY_OP(name, expression)                                                            \
  struct name {                                                                                    \
    template <typename T> BLK_FORCE_INLINE static auto apply(T x, T y) { return expression; }      \
  };

// Integers: sums and products wrap, so they are computed unsigned (and at least 32 bits wide).
BLK_BINARY_OP(AddIOp, static_cast<T>(x + y))
BLK_BINARY_OP(SubIOp, static_cast<T>(x - y))
struct MulIOp {
  template <typename T> BLK_FORCE_INLINE static T apply(T x, T y) {
    if constexpr (sizeof(T) < 4)
      return static_cast<T>(static_cast<uint32_t>(x) * static_cast<uint32_t>(y));
    else
      return static_cast<T>(x * y);
  }
};
BLK_BINARY_OP(AndIOp, static_cast<T>(x &y))
BLK_BINARY_OP(OrIOp, static_cast<T>(x | y))
BLK_BINARY_OP(XorIOp, static_cast<T>(x ^ y))
BLK_BINARY_OP(ShlIOp, numeric::shiftLeft(x, y))
// The element type has the sign.
BLK_BINARY_OP(ShrIOp, numeric::shiftRight(x, y))
BLK_BINARY_OP(MaxIOp, x > y ? x : y)
BLK_BINARY_OP(MinIOp, x < y ? x : y)
using ShrSIOp = ShrIOp;
using ShrUIOp = ShrIOp;
using MaxSIOp = MaxIOp;
using MaxUIOp = MaxIOp;
using MinSIOp = MinIOp;
using MinUIOp = MinIOp;

BLK_BINARY_OP(EqOp, static_cast<uint8_t>(x == y))
BLK_BINARY_OP(NeOp, static_cast<uint8_t>(x != y))
BLK_BINARY_OP(LtOp, static_cast<uint8_t>(x < y))
BLK_BINARY_OP(LeOp, static_cast<uint8_t>(x <= y))
BLK_BINARY_OP(GtOp, static_cast<uint8_t>(x > y))
BLK_BINARY_OP(GeOp, static_cast<uint8_t>(x >= y))

/// Division through a float type that holds every quotient exactly enough: the distance of a
/// non-integer quotient to the next integer is more than the rounding error.
template <typename T> struct QuotientIn;
template <> struct QuotientIn<int8_t> {
  using Type = float;
};
template <> struct QuotientIn<uint8_t> {
  using Type = float;
};
template <> struct QuotientIn<int16_t> {
  using Type = float;
};
template <> struct QuotientIn<uint16_t> {
  using Type = float;
};
template <> struct QuotientIn<int32_t> {
  using Type = double;
};
template <> struct QuotientIn<uint32_t> {
  using Type = double;
};

struct DivIOp {
  template <typename T> BLK_FORCE_INLINE static T apply(T x, T y) {
    if constexpr (sizeof(T) == 8) {
      return numeric::divide(x, y);
    } else {
      using Float = typename QuotientIn<T>::Type;
      const T safe = y == 0 ? T(1) : y;
      // The minimum divided by -1 is 2^(w-1): through 64 bits it wraps back to itself.
      using Wide = int64_t;
      const T quotient = static_cast<T>(static_cast<Wide>(Float(x) / Float(safe)));
      return y == 0 ? T(0) : quotient;
    }
  }
};
struct RemIOp {
  template <typename T> BLK_FORCE_INLINE static T apply(T x, T y) {
    if constexpr (sizeof(T) == 8) {
      return numeric::remainder(x, y);
    } else {
      using U = typename UnsignedOf<T>::Type;
      const U product =
          static_cast<U>(static_cast<uint32_t>(DivIOp::apply(x, y)) * static_cast<uint32_t>(y));
      return y == 0 ? T(0) : static_cast<T>(static_cast<U>(x) - product);
    }
  }
};
using DivSIOp = DivIOp;
using DivUIOp = DivIOp;
using RemSIOp = RemIOp;
using RemUIOp = RemIOp;
struct MulHiUIOp {
  template <typename T> BLK_FORCE_INLINE static T apply(T x, T y) {
    if constexpr (sizeof(T) < 4)
      return static_cast<T>(static_cast<uint32_t>(x) * static_cast<uint32_t>(y) >> sizeof(T) * 8);
    else
      return numeric::multiplyHigh(x, y);
  }
};
struct MulHiSIOp {
  template <typename T> BLK_FORCE_INLINE static T apply(T x, T y) {
    if constexpr (sizeof(T) < 8)
      return static_cast<T>(static_cast<int64_t>(x) * static_cast<int64_t>(y) >> sizeof(T) * 8);
    else
      return static_cast<T>(static_cast<__int128>(x) * static_cast<__int128>(y) >> 64);
  }
};
struct AbsIOp {
  template <typename T> BLK_FORCE_INLINE static T apply(T x) {
    using U = typename UnsignedOf<T>::Type;
    return x < 0 ? static_cast<T>(U(0) - static_cast<U>(x)) : x;
  }
};

// Floats.
BLK_BINARY_OP(AddFOp, x + y)
BLK_BINARY_OP(SubFOp, x - y)
BLK_BINARY_OP(MulFOp, x *y)
BLK_BINARY_OP(DivFOp, x / y)
struct RemFOp {
  BLK_FORCE_INLINE static float apply(float x, float y) { return __builtin_fmodf(x, y); }
  BLK_FORCE_INLINE static double apply(double x, double y) { return __builtin_fmod(x, y); }
};
struct NegFOp {
  template <typename T> BLK_FORCE_INLINE static T apply(T x) { return -x; }
};
struct AbsFOp {
  BLK_FORCE_INLINE static float apply(float x) { return __builtin_fabsf(x); }
  BLK_FORCE_INLINE static double apply(double x) { return __builtin_fabs(x); }
};

/// A vector of any number of lanes; the ops below take it as they take one element.
template <typename T, int kLanes> struct VectorOf {
  typedef T Type __attribute__((vector_size(kLanes * sizeof(T))));
};

template <typename Float> struct BitsOf;
template <> struct BitsOf<float> {
  using Type = uint32_t;
};
template <> struct BitsOf<double> {
  using Type = uint64_t;
};
template <typename Float>
  requires requires(Float x) { x[0] = 0; }
struct BitsOf<Float> {
  using Element = typename BitsOf<decltype(Float{}[0] + 0)>::Type;
  using Type = typename VectorOf<Element, sizeof(Float) / sizeof(Element)>::Type;
};

/// Of +0 and -0 the maximum is +0 and the minimum is -0.
template <bool kMax, typename T> BLK_FORCE_INLINE T orderedExtreme(T x, T y) {
  using Bits = typename BitsOf<T>::Type;
  const Bits a = __builtin_bit_cast(Bits, x), b = __builtin_bit_cast(Bits, y);
  const T same = __builtin_bit_cast(T, kMax ? a & b : a | b);
  const T larger = kMax ? (x > y ? x : y) : (x < y ? x : y);
  return x == y ? same : larger;
}
/// A NaN loses against a number.
template <bool kMax> struct NumOp {
  template <typename T> BLK_FORCE_INLINE static T apply(T x, T y) {
    return y != y ? x : orderedExtreme<kMax>(x, y);
  }
};
/// A NaN wins.
template <bool kMax> struct PropagateOp {
  template <typename T> BLK_FORCE_INLINE static T apply(T x, T y) {
    return x != x ? x : orderedExtreme<kMax>(x, y);
  }
};
using MaxNumFOp = NumOp<true>;
using MinNumFOp = NumOp<false>;
using MaximumFOp = PropagateOp<true>;
using MinimumFOp = PropagateOp<false>;

BLK_BINARY_OP(FalseOp, static_cast<uint8_t>(0 & (x == y)))
BLK_BINARY_OP(TrueOp, static_cast<uint8_t>(1 | (x == y)))
BLK_BINARY_OP(OneOp, static_cast<uint8_t>(x<y || x> y))
BLK_BINARY_OP(OrdOp, static_cast<uint8_t>(x == x && y == y))
BLK_BINARY_OP(UeqOp, static_cast<uint8_t>(!(x < y || x > y)))
BLK_BINARY_OP(UgtOp, static_cast<uint8_t>(!(x <= y)))
BLK_BINARY_OP(UgeOp, static_cast<uint8_t>(!(x < y)))
BLK_BINARY_OP(UltOp, static_cast<uint8_t>(!(x >= y)))
BLK_BINARY_OP(UleOp, static_cast<uint8_t>(!(x > y)))
BLK_BINARY_OP(UnoOp, static_cast<uint8_t>(x != x || y != y))

struct FmaFOp {
  BLK_FORCE_INLINE static float apply(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
  BLK_FORCE_INLINE static double apply(double x, double y, double z) {
    return __builtin_fma(x, y, z);
  }
};
struct ClampFOp {
  template <typename T> BLK_FORCE_INLINE static T apply(T x, T lo, T hi) {
    return MinNumFOp::apply(MaxNumFOp::apply(x, lo), hi);
  }
};
struct ClampNanFOp {
  template <typename T> BLK_FORCE_INLINE static T apply(T x, T lo, T hi) {
    return MinimumFOp::apply(MaximumFOp::apply(x, lo), hi);
  }
};

#undef BLK_BINARY_OP

} // namespace blockscope::interpreter::BLK_ISA
