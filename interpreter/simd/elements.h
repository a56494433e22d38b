// Element types for the kernels: how each is stored and in what it computes, and the loops.
//
// Private to the sources that are compiled once per instruction set (see kernels.h).
#pragma once

#include "core/numeric/float_to_int.h"
#include "core/numeric/integer.h"
#include "interpreter/simd/kernels.h"

// A result may be an operand's memory, element for element; no other overlap exists.
#define BLK_VECTORIZE _Pragma("clang loop vectorize(assume_safety)")

namespace blockscope::interpreter::BLK_ISA {

using numeric::Rounding;

template <typename T> struct Native {
  using Storage = T;
  using Compute = T;
  BLK_FORCE_INLINE static Compute load(Storage x) { return x; }
  BLK_FORCE_INLINE static Storage store(Compute x) { return x; }
};

using S8 = Native<int8_t>;
using S16 = Native<int16_t>;
using S32 = Native<int32_t>;
using S64 = Native<int64_t>;
using U8 = Native<uint8_t>;
using U16 = Native<uint16_t>;
using U32 = Native<uint32_t>;
using U64 = Native<uint64_t>;
using F32 = Native<float>;
using F64 = Native<double>;

/// A byte 0 or 1; arithmetic is modulo 2.
struct Bool {
  using Storage = uint8_t;
  using Compute = uint8_t;
  BLK_FORCE_INLINE static Compute load(Storage x) { return x; }
  BLK_FORCE_INLINE static Storage store(Compute x) { return x & 1; }
};

struct F16 {
  using Storage = uint16_t;
  using Compute = float;
#if BLK_ISA_AVX2 || BLK_ISA_AVX512 || defined(__aarch64__) // those that have fp16 conversions
  BLK_FORCE_INLINE static float load(uint16_t x) {
    return static_cast<float>(__builtin_bit_cast(_Float16, x));
  }
  BLK_FORCE_INLINE static uint16_t store(float x) {
    return __builtin_bit_cast(uint16_t, static_cast<_Float16>(x));
  }
#else
  BLK_FORCE_INLINE static float load(uint16_t x) { return numeric::decode<numeric::kFp16>(x); }
  BLK_FORCE_INLINE static uint16_t store(float x) {
    return numeric::encode<numeric::kFp16, Rounding::NearestEven>(x);
  }
#endif
};

struct BF16 {
  using Storage = uint16_t;
  using Compute = float;
  BLK_FORCE_INLINE static float load(uint16_t x) {
    return __builtin_bit_cast(float, static_cast<uint32_t>(x) << 16);
  }
  BLK_FORCE_INLINE static uint16_t store(float x) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, x);
    const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
    const uint32_t nan = bits >> 16 | 0x40u;
    return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
  }
};

template <numeric::FloatFormat F> struct Small8 {
  using Storage = uint8_t;
  using Compute = float;
  BLK_FORCE_INLINE static float load(uint8_t x) { return numeric::decode<F>(x); }
  BLK_FORCE_INLINE static uint8_t store(float x) {
    return static_cast<uint8_t>(numeric::encode<F, Rounding::NearestEven>(x));
  }
};
using F8E4M3NV = Small8<numeric::kFp8E4M3NV>;
using F8E4M3B8 = Small8<numeric::kFp8E4M3B8>;
using F8E5M2 = Small8<numeric::kFp8E5M2>;
using F8E5M2B16 = Small8<numeric::kFp8E5M2B16>;
struct F8E4M3B15 {
  using Storage = uint8_t;
  using Compute = float;
  BLK_FORCE_INLINE static float load(uint8_t x) { return numeric::decodeE4M3B15(x); }
  BLK_FORCE_INLINE static uint8_t store(float x) {
    return static_cast<uint8_t>(numeric::encodeE4M3B15<Rounding::NearestEven>(x));
  }
};

/// The loop of a unary op from elements of `In` to elements of `Out`.
template <typename Op, typename In, typename Out = In>
void unary(int64_t n, int64_t, void *const *results, const void *const *operands,
           uint32_t scalarOperands, const void *) {
  auto *out = static_cast<typename Out::Storage *>(results[0]);
  const auto *x = static_cast<const typename In::Storage *>(operands[0]);
  if (scalarOperands & 1) {
    const auto value = Out::store(Op::apply(In::load(*x)));
    BLK_VECTORIZE
    for (int64_t i = 0; i < n; ++i)
      out[i] = value;
    return;
  }
  BLK_VECTORIZE
  for (int64_t i = 0; i < n; ++i)
    out[i] = Out::store(Op::apply(In::load(x[i])));
}

/// The loop of a binary op; either operand may be one element for all.
template <typename Op, typename In, typename Out = In>
void binary(int64_t n, int64_t, void *const *results, const void *const *operands,
            uint32_t scalarOperands, const void *) {
  auto *out = static_cast<typename Out::Storage *>(results[0]);
  const auto *x = static_cast<const typename In::Storage *>(operands[0]);
  const auto *y = static_cast<const typename In::Storage *>(operands[1]);
  switch (scalarOperands & 3) {
  case 0:
    BLK_VECTORIZE
    for (int64_t i = 0; i < n; ++i)
      out[i] = Out::store(Op::apply(In::load(x[i]), In::load(y[i])));
    return;
  case 1: {
    const auto first = In::load(*x);
    BLK_VECTORIZE
    for (int64_t i = 0; i < n; ++i)
      out[i] = Out::store(Op::apply(first, In::load(y[i])));
    return;
  }
  case 2: {
    const auto second = In::load(*y);
    BLK_VECTORIZE
    for (int64_t i = 0; i < n; ++i)
      out[i] = Out::store(Op::apply(In::load(x[i]), second));
    return;
  }
  default: {
    const auto value = Out::store(Op::apply(In::load(*x), In::load(*y)));
    for (int64_t i = 0; i < n; ++i)
      out[i] = value;
    return;
  }
  }
}

/// The loop of a ternary op on one type. Scalar operands are spread over a strip first.
template <typename Op, typename T>
void ternary(int64_t n, int64_t, void *const *results, const void *const *operands,
             uint32_t scalarOperands, const void *) {
  using Storage = typename T::Storage;
  constexpr int64_t kStrip = 512;
  auto *out = static_cast<Storage *>(results[0]);
  alignas(64) Storage spread[3][kStrip];
  for (int k = 0; k < 3; ++k)
    if (scalarOperands >> k & 1)
      for (int64_t i = 0; i < kStrip; ++i)
        spread[k][i] = *static_cast<const Storage *>(operands[k]);
  for (int64_t begin = 0; begin < n; begin += kStrip) {
    const int64_t count = n - begin < kStrip ? n - begin : kStrip;
    const Storage *in[3];
    for (int k = 0; k < 3; ++k)
      in[k] =
          scalarOperands >> k & 1 ? spread[k] : static_cast<const Storage *>(operands[k]) + begin;
    const Storage *x = in[0], *y = in[1], *z = in[2];
    Storage *result = out + begin;
    BLK_VECTORIZE
    for (int64_t i = 0; i < count; ++i)
      result[i] = T::store(Op::apply(T::load(x[i]), T::load(y[i]), T::load(z[i])));
  }
}

/// The loop of an op with `kCount` operands on elements of `T`.
template <int kCount, typename Op, typename T> constexpr ElementKernel kernelOf() {
  if constexpr (kCount == 1)
    return unary<Op, T>;
  else if constexpr (kCount == 2)
    return binary<Op, T>;
  else
    return ternary<Op, T>;
}

/// Runs an fp32 kernel on elements that are stored smaller: widened and rounded strip by strip.
/// `kArity` operands; the result is a float of type T, or a bool when `kToBool`.
template <typename T, int kArity, bool kToBool, ElementKernel kernel>
void throughFloat(int64_t n, int64_t begin, void *const *results, const void *const *operands,
                  uint32_t scalarOperands, const void *payload) {
  using Storage = typename T::Storage;
  constexpr int64_t kStrip = 512;
  alignas(64) float wide[kArity][kStrip];
  alignas(64) float wideResult[kStrip];
  const void *in[kArity];
  for (int k = 0; k < kArity; ++k) {
    in[k] = wide[k];
    if (scalarOperands >> k & 1)
      wide[k][0] = T::load(*static_cast<const Storage *>(operands[k]));
  }
  for (int64_t done = 0; done < n; done += kStrip) {
    const int64_t count = n - done < kStrip ? n - done : kStrip;
    for (int k = 0; k < kArity; ++k) {
      if (scalarOperands >> k & 1)
        continue;
      const Storage *x = static_cast<const Storage *>(operands[k]) + done;
      float *to = wide[k];
      BLK_VECTORIZE
      for (int64_t i = 0; i < count; ++i)
        to[i] = T::load(x[i]);
    }
    void *out[1] = {wideResult};
    if constexpr (kToBool)
      out[0] = static_cast<uint8_t *>(results[0]) + done;
    kernel(count, begin + done, out, in, scalarOperands, payload);
    if constexpr (!kToBool) {
      Storage *result = static_cast<Storage *>(results[0]) + done;
      BLK_VECTORIZE
      for (int64_t i = 0; i < count; ++i)
        result[i] = T::store(wideResult[i]);
    }
  }
}

// Each source fills its part of the table.
void fillIntegers(Kernels &table);
void fillFloats(Kernels &table);
void fillMath(Kernels &table);
void fillCasts(Kernels &table);
void fillReductions(Kernels &table);
void fillScans(Kernels &table);
void fillGemm(Kernels &table);

BLK_FORCE_INLINE ElementKernel &slot(Kernels &table, ElementOp op, ElementType type) {
  return table.element[static_cast<int>(op)][static_cast<int>(type)];
}

} // namespace blockscope::interpreter::BLK_ISA
