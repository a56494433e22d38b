// The vectorised loops, as tables of function pointers, one set per instruction set.
//
// This header and everything that the sources of blk_add_simd_sources include is plain: no LLVM, no
// standard containers, no inline function that is not forced inline. Those sources are compiled
// three times, and a shared inline function could be linked from the AVX-512 copy.
#pragma once

#include <cstdint>

namespace blockscope::interpreter {

/// Element types as kernels see them. Pointers are I64, I1 is a byte 0 or 1.
enum class ElementType : uint8_t {
  I1,
  I8,
  I16,
  I32,
  I64,
  F8E4M3NV,
  F8E4M3B8,
  F8E4M3B15,
  F8E5M2,
  F8E5M2B16,
  F16,
  BF16,
  F32,
  F64,
};
constexpr int kNumElementTypes = 14;

/// What a kernel computes on each element: the elementwise ops of core/op_facts.def, and what one
/// op has several kernels for.
enum class ElementOp : uint8_t {
#define BLK_INTEGER_OP(id, ...) id,
#define BLK_FLOAT_OP(id, ...) id,
#define BLK_MATH_OP(id, ...) id,
#include "core/op_facts.def"
  ClampNanF, // tl.clamp that propagates NaN
  // arith.cmpi by predicate
  Eq,
  Ne,
  Slt,
  Sle,
  Sgt,
  Sge,
  Ult,
  Ule,
  Ugt,
  Uge,
  // arith.cmpf by predicate: O is false, U is true when an operand is NaN
  CmpFalse,
  Oeq,
  Ogt,
  Oge,
  Olt,
  Ole,
  One,
  Ord,
  Ueq,
  Ugtf,
  Ugef,
  Ultf,
  Ulef,
  Unef,
  Uno,
  CmpTrue,
  // by element size
  Select,
  Copy,
};
constexpr int kNumElementOps = static_cast<int>(ElementOp::Copy) + 1;

/// As ElementwiseFn of interpreter/evaluator.h.
using ElementKernel = void (*)(int64_t n, int64_t begin, void *const *results,
                               const void *const *operands, uint32_t scalarOperands,
                               const void *payload);

/// Reduces `count` vectors of `length` elements (a power of two) that lie one after the other, each
/// by halves until `stop` elements are left, which go to `out` one after the other.
using ReduceKernel = void (*)(int64_t count, int64_t length, int64_t stop, const void *in,
                              void *out);

/// Inclusive scan of `count` blocks of [length, inner] along length, step by step: y[i] combines
/// y[i - d] with y[i] for d = 1, 2, 4, ...
using ScanKernel = void (*)(int64_t count, int64_t length, int64_t inner, bool reverse,
                            const void *in, void *out);

/// out[m][n] = c[m][n] + sum over k of a[m][k] * b[k][n], one fma chain in order of k per element;
/// rows are dense. `out` may be `c`.
using GemmF32 = void (*)(int64_t m, int64_t n, int64_t k, const float *a, const float *b,
                         const float *c, float *out);
using GemmF64 = void (*)(int64_t m, int64_t n, int64_t k, const double *a, const double *b,
                         const double *c, double *out);
/// The same modulo 2^32.
using GemmI32 = void (*)(int64_t m, int64_t n, int64_t k, const int32_t *a, const int32_t *b,
                         const int32_t *c, int32_t *out);

/// Everything that one instruction set offers. A null pointer: there is no such kernel.
struct Kernels {
  ElementKernel element[kNumElementOps][kNumElementTypes];
  /// Conversions between floats; the second index is the target.
  ElementKernel castNearest[kNumElementTypes][kNumElementTypes];
  ElementKernel castTowardZero[kNumElementTypes][kNumElementTypes];
  /// Integers: extension and truncation, and to and from floats, by the signedness of the integer
  /// that is the source of an extension or the integer side of a conversion.
  ElementKernel castSigned[kNumElementTypes][kNumElementTypes];
  ElementKernel castUnsigned[kNumElementTypes][kNumElementTypes];
  /// No operands: the int32 numbers from *payload + begin, payload an int64_t.
  ElementKernel range;
  /// Rounds fp32 to tf32.
  ElementKernel roundTf32;
  ReduceKernel reduce[kNumElementOps][kNumElementTypes];
  ScanKernel scan[kNumElementOps][kNumElementTypes];
  GemmF32 gemmF32;
  GemmF64 gemmF64;
  GemmI32 gemmI32;
};

namespace baseline {
const Kernels &kernels();
}
namespace avx2 {
const Kernels &kernels();
}
namespace avx512 {
const Kernels &kernels();
}

/// Returns the kernels of `activeIsa()`.
const Kernels &kernels();

} // namespace blockscope::interpreter
