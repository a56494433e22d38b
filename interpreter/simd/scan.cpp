// Inclusive scans of 32- and 64-bit elements.
//
// The order is y[i] = combine(y[i - d], y[i]) for d = 1, 2, 4, ...: every step is one elementwise
// pass over whole rows, the same that scanBlocks does with any combine. A reverse scan is the
// mirror image: y[i] = combine(y[i + d], y[i]).
#include "interpreter/simd/operations.h"

namespace blockscope::interpreter::BLK_ISA {
namespace {

template <typename Op, typename T>
void scanOne(int64_t size, int64_t inner, bool reverse, T *from, T *to, T *out) {
  // Ends in `out` whatever the number of steps: `from` and `to` alternate, the last copy is cheap.
  for (int64_t d = inner; d < size; d *= 2) {
    if (!reverse) {
      __builtin_memcpy(to, from, d * sizeof(T));
      BLK_VECTORIZE
      for (int64_t i = 0; i < size - d; ++i)
        to[i + d] = Op::apply(from[i], from[i + d]);
    } else {
      __builtin_memcpy(to + size - d, from + size - d, d * sizeof(T));
      BLK_VECTORIZE
      for (int64_t i = 0; i < size - d; ++i)
        to[i] = Op::apply(from[i + d], from[i]);
    }
    T *swap = from;
    from = to;
    to = swap;
  }
  __builtin_memcpy(out, from, size * sizeof(T));
}

template <typename Op, typename Element>
void scan(int64_t count, int64_t length, int64_t inner, bool reverse, const void *in, void *out) {
  using T = typename Element::Compute;
  const int64_t size = length * inner;
  T *buffer = static_cast<T *>(__builtin_malloc(2 * size * sizeof(T)));
  for (int64_t i = 0; i < count; ++i) {
    __builtin_memcpy(buffer, static_cast<const T *>(in) + i * size, size * sizeof(T));
    scanOne<Op, T>(size, inner, reverse, buffer, buffer + size, static_cast<T *>(out) + i * size);
  }
  __builtin_free(buffer);
}

template <typename Signed, typename Unsigned> void fillInts(Kernels &table, ElementType type) {
  using Integers = Unsigned; // the table's word for operands whose sign makes no difference
#define BLK_INTEGER_COMBINE(id, name, operands, ...)                                               \
  table.scan[static_cast<int>(ElementOp::id)][static_cast<int>(type)] = scan<id##Op, operands>;
#include "core/op_facts.def"
}

template <typename T> void fillFloat(Kernels &table, ElementType type) {
#define BLK_FLOAT_COMBINE(id, ...)                                                                 \
  table.scan[static_cast<int>(ElementOp::id)][static_cast<int>(type)] = scan<id##Op, T>;
#include "core/op_facts.def"
}

} // namespace

void fillScans(Kernels &table) {
  fillInts<S32, U32>(table, ElementType::I32);
  fillInts<S64, U64>(table, ElementType::I64);
  fillFloat<F32>(table, ElementType::F32);
  fillFloat<F64>(table, ElementType::F64);
}

} // namespace blockscope::interpreter::BLK_ISA
