// Elementary functions: fp32 by math_f32.h, fp64 by the C library, smaller floats through fp32.
#include "interpreter/simd/math_f32.h"

namespace blockscope::interpreter::BLK_ISA {
namespace {

/// Trigonometric functions: strips that contain a huge argument go through the C library, whose
/// reduction is exact for any size.
template <typename Op>
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
        out[done + i] =
            huge ? static_cast<float>(Op::apply(static_cast<double>(value))) : Op::apply(value);
      }
    }
  }
}

template <typename Op> constexpr ElementKernel singleKernel() {
  if constexpr (__is_base_of(Trigonometric, Op))
    return trigonometric<Op>;
  else
    return unary<Op, F32>;
}

template <typename Op> void fill(Kernels &table, ElementOp op) {
  slot(table, op, ElementType::F32) = singleKernel<Op>();
  slot(table, op, ElementType::F64) = unary<Op, F64>;
  slot(table, op, ElementType::F16) = throughFloat<F16, 1, false, singleKernel<Op>()>;
  slot(table, op, ElementType::BF16) = throughFloat<BF16, 1, false, singleKernel<Op>()>;
}

} // namespace

void fillMath(Kernels &table) {
#define BLK_MATH_OP(id, ...) fill<id##Op>(table, ElementOp::id);
#include "core/op_facts.def"
}

} // namespace blockscope::interpreter::BLK_ISA
