// Elementary functions: fp32 by math_f32.h, fp64 by the C library, smaller floats through fp32.
#include "interpreter/simd/math_f32.h"

#include <math.h>

namespace blockscope::interpreter::BLK_ISA {
namespace {

/// A function of the C library on doubles.
template <double (*function)(double)> struct LibraryOp {
  BLK_FORCE_INLINE static double apply(double x) { return function(x); }
};

/// Trigonometric functions: strips that contain a huge argument go through the C library, whose
/// reduction is exact for any size.
template <typename Op, double (*function)(double)>
void trigonometric(int64_t n, int64_t begin, void *const *results, const void *const *operands,
                   uint32_t scalarOperands, const void *payload) {
  constexpr int64_t kStrip = 512;
  const auto *x = static_cast<const float *>(operands[0]);
  auto *out = static_cast<float *>(results[0]);
  const bool isScalar = scalarOperands & 1;
  for (int64_t done = 0; done < n; done += kStrip) {
    const int64_t count = n - done < kStrip ? n - done : kStrip;
    const float *in = isScalar ? x : x + done;
    uint32_t largest = 0;
    for (int64_t i = 0; i < (isScalar ? 1 : count); ++i) {
      const uint32_t magnitude = bitsOf(in[i]) & 0x7fffffffu;
      largest = magnitude > largest ? magnitude : largest;
    }
    void *const to[1] = {out + done};
    const void *const from[1] = {in};
    if (largest <= bitsOf(kTrigLimit)) {
      unary<Op, F32>(count, begin, to, from, scalarOperands, payload);
    } else {
      for (int64_t i = 0; i < count; ++i) {
        const float value = isScalar ? *x : in[i];
        const bool huge = (bitsOf(value) & 0x7fffffffu) > bitsOf(kTrigLimit);
        out[done + i] = huge ? static_cast<float>(function(value)) : Op::apply(value);
      }
    }
  }
}

void fillUnary(Kernels &table, ElementOp op, ElementKernel single, ElementKernel wide) {
  slot(table, op, ElementType::F32) = single;
  slot(table, op, ElementType::F64) = wide;
}

template <ElementKernel single> void fillSmall(Kernels &table, ElementOp op) {
  slot(table, op, ElementType::F16) = throughFloat<F16, 1, false, single>;
  slot(table, op, ElementType::BF16) = throughFloat<BF16, 1, false, single>;
}

template <ElementKernel single, ElementKernel wide> void fill(Kernels &table, ElementOp op) {
  fillUnary(table, op, single, wide);
  fillSmall<single>(table, op);
}

} // namespace

void fillMath(Kernels &table) {
  using enum ElementOp;
  fill<unary<ExpOp, F32>, unary<LibraryOp<::exp>, F64>>(table, Exp);
  fill<unary<Exp2Op, F32>, unary<LibraryOp<::exp2>, F64>>(table, Exp2);
  fill<unary<LogOp, F32>, unary<LibraryOp<::log>, F64>>(table, Log);
  fill<unary<Log2Op, F32>, unary<LibraryOp<::log2>, F64>>(table, Log2);
  fill<trigonometric<SineOp<0>, ::sin>, unary<LibraryOp<::sin>, F64>>(table, Sin);
  fill<trigonometric<SineOp<1>, ::cos>, unary<LibraryOp<::cos>, F64>>(table, Cos);
  fill<trigonometric<TanOp, ::tan>, unary<LibraryOp<::tan>, F64>>(table, Tan);
  fill<unary<TanhOp, F32>, unary<LibraryOp<::tanh>, F64>>(table, Tanh);
  fill<unary<ErfOp, F32>, unary<LibraryOp<::erf>, F64>>(table, Erf);
  fill<unary<SqrtOp, F32>, unary<SqrtOp, F64>>(table, Sqrt);
  fill<unary<RsqrtOp, F32>, unary<RsqrtOp, F64>>(table, Rsqrt);
  fill<unary<FloorOp, F32>, unary<FloorOp, F64>>(table, Floor);
  fill<unary<CeilOp, F32>, unary<CeilOp, F64>>(table, Ceil);
  fill<unary<RoundEvenOp, F32>, unary<RoundEvenOp, F64>>(table, RoundEven);
  fill<unary<TruncOp, F32>, unary<TruncOp, F64>>(table, Trunc);
}

} // namespace blockscope::interpreter::BLK_ISA
