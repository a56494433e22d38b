// Elementary functions of fp32 without branches, so that loops over them vectorise. Those of fp64
// are the C library's.
//
// fp32: only +, *, /, sqrt, fma and bit operations: the same bits on every instruction set.
// Polynomials are our own least-squares fits (Lawson weights) on the reduced range; errors are at
// most 1.5 units in the last place against the exact value
// (tests/unit/interpreter/ops_math_test.cpp measures).
#pragma once

#include "interpreter/simd/elements.h"

#include <math.h>

namespace blockscope::interpreter::BLK_ISA {

BLK_FORCE_INLINE uint32_t bitsOf(float x) { return __builtin_bit_cast(uint32_t, x); }
BLK_FORCE_INLINE uint64_t bitsOf(double x) { return __builtin_bit_cast(uint64_t, x); }
BLK_FORCE_INLINE float floatOf(uint32_t bits) { return __builtin_bit_cast(float, bits); }
BLK_FORCE_INLINE double doubleOf(uint64_t bits) { return __builtin_bit_cast(double, bits); }
BLK_FORCE_INLINE float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
BLK_FORCE_INLINE double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }

/// Adding it leaves the nearest integer in the low bits of the sum.
constexpr float kRoundingShift = 0x1.8p23f;
constexpr double kRoundingShiftDouble = 0x1.8p52;

/// y * 2^n for n in [-252, 254], rounded once, by two multiplications.
BLK_FORCE_INLINE float scaleByPowerOfTwo(float y, int32_t n) {
  const int32_t half = n >> 1;
  return y * floatOf(static_cast<uint32_t>(half + 127) << 23) *
         floatOf(static_cast<uint32_t>(n - half + 127) << 23);
}

struct ExpOp {
  BLK_FORCE_INLINE static double apply(double x) { return ::exp(x); }
  BLK_FORCE_INLINE static float apply(float x) {
    float limited = x > 89.0f ? 89.0f : x;
    limited = limited < -104.5f ? -104.5f : limited;
    const float shifted = fma(limited, 0x1.715476p0f, kRoundingShift);
    const int32_t n = static_cast<int32_t>(bitsOf(shifted) - bitsOf(kRoundingShift));
    const float whole = shifted - kRoundingShift;
    float r = fma(whole, -0x1.62e400p-1f, limited); // the upper bits of ln 2: exact products
    r = fma(whole, -0x1.7f7d1cp-20f, r);
    float p = 0.00019908904505427927f;
    p = fma(p, r, 0.0013934543821960688f);
    p = fma(p, r, 0.00833328440785408f);
    p = fma(p, r, 0.04166645556688309f);
    p = fma(p, r, 0.1666666716337204f);
    p = fma(p, r, 0.5f);
    const float y = fma(r * r, p, r) + 1.0f;
    return scaleByPowerOfTwo(y, n);
  }
};

struct Exp2Op {
  BLK_FORCE_INLINE static double apply(double x) { return ::exp2(x); }
  BLK_FORCE_INLINE static float apply(float x) {
    float limited = x > 129.0f ? 129.0f : x;
    limited = limited < -151.0f ? -151.0f : limited;
    const float shifted = limited + kRoundingShift;
    const int32_t n = static_cast<int32_t>(bitsOf(shifted) - bitsOf(kRoundingShift));
    const float r = limited - (shifted - kRoundingShift);
    float p = 1.5311234164983034e-05f;
    p = fma(p, r, 0.00015462613373529166f);
    p = fma(p, r, 0.0013333450770005584f);
    p = fma(p, r, 0.009618054144084454f);
    p = fma(p, r, 0.05550410971045494f);
    p = fma(p, r, 0.24022650718688965f);
    p = fma(p, r, 0.6931471824645996f);
    return scaleByPowerOfTwo(fma(p, r, 1.0f), n);
  }
};

/// x = 2^exponent * (1 + fraction) with 1 + fraction in [sqrt(1/2), sqrt(2)); `tail` is
/// log(1 + fraction) - fraction. Meaningless for x that is not positive and finite.
struct LogParts {
  float exponent;
  float fraction;
  float tail;
};
BLK_FORCE_INLINE LogParts logParts(float x) {
  const bool tiny = x < 0x1p-126f;
  const uint32_t bits = bitsOf(tiny ? x * 0x1p23f : x);
  const int32_t n = static_cast<int32_t>(bits - 0x3f3504f3u) >> 23;
  const float fraction = floatOf(bits - (static_cast<uint32_t>(n) << 23)) - 1.0f;
  float p = 0.07332437485456467f;
  p = fma(p, fraction, -0.11659887433052063f);
  p = fma(p, fraction, 0.11634676903486252f);
  p = fma(p, fraction, -0.12396707385778427f);
  p = fma(p, fraction, 0.1425115466117859f);
  p = fma(p, fraction, -0.16669151186943054f);
  p = fma(p, fraction, 0.2000068873167038f);
  p = fma(p, fraction, -0.24999980628490448f);
  p = fma(p, fraction, 0.3333333134651184f);
  const float square = fraction * fraction;
  const float tail = fma(square * fraction, p, -0.5f * square);
  return {static_cast<float>(tiny ? n - 23 : n), fraction, tail};
}
BLK_FORCE_INLINE float logSpecials(float x, float result) {
  constexpr float kInfinity = __builtin_inff();
  const float nan = floatOf(0x7fc00000u);
  result = x == 0.0f ? -kInfinity : result;
  result = x == kInfinity ? kInfinity : result;
  result = x < 0.0f ? nan : result;
  return x != x ? x : result;
}

struct LogOp {
  BLK_FORCE_INLINE static double apply(double x) { return ::log(x); }
  BLK_FORCE_INLINE static float apply(float x) {
    const LogParts parts = logParts(x);
    const float low = fma(parts.exponent, 0x1.7f7d1cp-20f, parts.tail);
    const float high = parts.exponent * 0x1.62e400p-1f; // exact
    return logSpecials(x, high + (parts.fraction + low));
  }
};

struct Log2Op {
  BLK_FORCE_INLINE static double apply(double x) { return ::log2(x); }
  BLK_FORCE_INLINE static float apply(float x) {
    const LogParts parts = logParts(x);
    constexpr float kLog2eMinusOne = 0x1.c551d94ap-2f;
    // log2(e) = 1 + kLog2eMinusOne: the largest term is not rounded.
    const float low = fma(parts.tail, kLog2eMinusOne, parts.fraction * kLog2eMinusOne) + parts.tail;
    return logSpecials(x, parts.exponent + (parts.fraction + low));
  }
};

/// Below this the reduction by a double multiple of pi/2 is exact enough.
constexpr float kTrigLimit = 0x1p30f;

struct Quadrant {
  double r; ///< in [-pi/4, pi/4]
  uint64_t n;
};
BLK_FORCE_INLINE Quadrant reduceByHalfPi(float x) {
  const double wide = x;
  const double shifted = fma(wide, 0x1.45f306dc9c883p-1, kRoundingShiftDouble);
  const double n = shifted - kRoundingShiftDouble;
  double r = fma(n, -0x1.921fb54442d18p0, wide);
  r = fma(n, -0x1.1a62633145c07p-54, r);
  return {r, bitsOf(shifted)};
}
BLK_FORCE_INLINE double sinPolynomial(double r) {
  const double z = r * r;
  double p = -1.0 / 39916800;
  p = fma(p, z, 1.0 / 362880);
  p = fma(p, z, -1.0 / 5040);
  p = fma(p, z, 1.0 / 120);
  p = fma(p, z, -1.0 / 6);
  return fma(r * z, p, r);
}
BLK_FORCE_INLINE double cosPolynomial(double r) {
  const double z = r * r;
  double p = 1.0 / 479001600;
  p = fma(p, z, -1.0 / 3628800);
  p = fma(p, z, 1.0 / 40320);
  p = fma(p, z, -1.0 / 720);
  p = fma(p, z, 1.0 / 24);
  p = fma(p, z, -0.5);
  return fma(p, z, 1.0);
}
/// sin(x + turns * pi/2).
template <int kTurns> BLK_FORCE_INLINE float sine(float x) {
  const Quadrant quadrant = reduceByHalfPi(x);
  const uint64_t n = quadrant.n + kTurns;
  const double sine = sinPolynomial(quadrant.r), cosine = cosPolynomial(quadrant.r);
  const double chosen = n & 1 ? cosine : sine;
  const float result = static_cast<float>(doubleOf(bitsOf(chosen) ^ (n & 2) << 62));
  return kTurns == 0 && x == 0.0f ? x : result; // keeps -0
}
/// Functions that reduce their argument by pi/2: exact enough up to kTrigLimit.
struct Trigonometric {};
struct SinOp : Trigonometric {
  BLK_FORCE_INLINE static double apply(double x) { return ::sin(x); }
  BLK_FORCE_INLINE static float apply(float x) { return sine<0>(x); }
};
struct CosOp : Trigonometric {
  BLK_FORCE_INLINE static double apply(double x) { return ::cos(x); }
  BLK_FORCE_INLINE static float apply(float x) { return sine<1>(x); }
};
struct TanOp : Trigonometric {
  BLK_FORCE_INLINE static double apply(double x) { return ::tan(x); }
  BLK_FORCE_INLINE static float apply(float x) {
    const Quadrant quadrant = reduceByHalfPi(x);
    const double sine = sinPolynomial(quadrant.r), cosine = cosPolynomial(quadrant.r);
    const bool odd = quadrant.n & 1;
    const float result = static_cast<float>((odd ? -cosine : sine) / (odd ? sine : cosine));
    return x == 0.0f ? x : result;
  }
};

/// e^x for |x| <= 700 with a relative error below 2^-45.
BLK_FORCE_INLINE double expDouble(double x) {
  const double shifted = fma(x, 0x1.71547652b82fep0, kRoundingShiftDouble);
  const double n = shifted - kRoundingShiftDouble;
  double r = fma(n, -0x1.62e42fefa39efp-1, x);
  r = fma(n, -0x1.abc9e3b39803fp-56, r);
  double p = 2.766333688411284e-06;
  p = fma(p, r, 2.4885994454660397e-05);
  p = fma(p, r, 0.00019841110835835027);
  p = fma(p, r, 0.001388879854238053);
  p = fma(p, r, 0.00833333343515376);
  p = fma(p, r, 0.04166666706102793);
  p = fma(p, r, 0.16666666666405833);
  p = fma(p, r, 0.49999999999398);
  p = fma(p, r, 1.000000000000019);
  p = fma(p, r, 1.000000000000014);
  return p * doubleOf((bitsOf(shifted) - bitsOf(kRoundingShiftDouble) + 1023) << 52);
}

struct TanhOp {
  BLK_FORCE_INLINE static double apply(double x) { return ::tanh(x); }
  BLK_FORCE_INLINE static float apply(float x) {
    const double wide = x;
    const double magnitude = __builtin_fabs(wide);
    const double limited = magnitude > 20.0 ? 20.0 : magnitude;
    const double e = expDouble(2 * limited);
    const double large = (e - 1) / (e + 1);
    const double small = magnitude - magnitude * magnitude * magnitude * (1.0 / 3);
    const double result = magnitude < 0x1p-10 ? small : large;
    const uint64_t sign = bitsOf(wide) & uint64_t(1) << 63;
    return x != x ? x : static_cast<float>(doubleOf(bitsOf(result) | sign));
  }
};

struct ErfOp {
  BLK_FORCE_INLINE static double apply(double x) { return ::erf(x); }
  BLK_FORCE_INLINE static float apply(float x) {
    const double wide = x;
    const double magnitude = __builtin_fabs(wide);
    const double z = wide * wide;
    double p = 1.0601156669877957e-06;
    p = fma(p, z, -1.3914053509526704e-05);
    p = fma(p, z, 0.00011957329086058979);
    p = fma(p, z, -0.000854270291333515);
    p = fma(p, z, 0.005223786523324903);
    p = fma(p, z, -0.026866134011463386);
    p = fma(p, z, 0.1128379131832462);
    p = fma(p, z, -0.37612638890099126);
    p = fma(p, z, 1.1283791670947116);
    const double small = magnitude * p;

    const double limited = magnitude > 4.0 ? 4.0 : magnitude;
    const double u = limited - 2.5;
    double q = -4.4202868301128654e-07;
    q = fma(q, u, 1.6717586966985702e-06);
    q = fma(q, u, -3.651027827746612e-06);
    q = fma(q, u, 1.4353904308614012e-05);
    q = fma(q, u, -5.973970439706643e-05);
    q = fma(q, u, 0.0002129716059046955);
    q = fma(q, u, -0.0007329398080132639);
    q = fma(q, u, 0.0024659827371166097);
    q = fma(q, u, -0.008001779526760152);
    q = fma(q, u, 0.024938203632451368);
    q = fma(q, u, -0.07434732710824944);
    q = fma(q, u, 0.21080635753306767);
    const double large = 1.0 - expDouble(-limited * limited) * q;
    const double result = magnitude < 1.0 ? small : (magnitude < 4.0 ? large : 1.0);
    const uint64_t sign = bitsOf(wide) & uint64_t(1) << 63;
    return x != x ? x : static_cast<float>(doubleOf(bitsOf(result) | sign));
  }
};

struct SqrtOp {
  BLK_FORCE_INLINE static float apply(float x) { return __builtin_sqrtf(x); }
  BLK_FORCE_INLINE static double apply(double x) { return __builtin_sqrt(x); }
};
struct RsqrtOp {
  template <typename T> BLK_FORCE_INLINE static T apply(T x) { return T(1) / SqrtOp::apply(x); }
};
struct FloorOp {
  BLK_FORCE_INLINE static float apply(float x) { return __builtin_floorf(x); }
  BLK_FORCE_INLINE static double apply(double x) { return __builtin_floor(x); }
};
struct CeilOp {
  BLK_FORCE_INLINE static float apply(float x) { return __builtin_ceilf(x); }
  BLK_FORCE_INLINE static double apply(double x) { return __builtin_ceil(x); }
};
struct RoundEvenOp {
  BLK_FORCE_INLINE static float apply(float x) { return __builtin_rintf(x); }
  BLK_FORCE_INLINE static double apply(double x) { return __builtin_rint(x); }
};
struct TruncOp {
  BLK_FORCE_INLINE static float apply(float x) { return __builtin_truncf(x); }
  BLK_FORCE_INLINE static double apply(double x) { return __builtin_trunc(x); }
};

} // namespace blockscope::interpreter::BLK_ISA
