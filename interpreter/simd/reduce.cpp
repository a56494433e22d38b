// Reductions by halves: x[i] with x[i + n/2], then n/4, ... until `stop` elements are left.
//
// Several halvings are done at once in registers, which changes nothing in the order. Elements
// smaller than 32 bits have no kernel here; reduceBlocks serves them with elementwise kernels.
#include "interpreter/simd/operations.h"

namespace blockscope::interpreter::BLK_ISA {
namespace {

template <int... kIndex> struct Indices {};
template <int kCount, int... kIndex> struct IndicesTo {
  using Type = typename IndicesTo<kCount - 1, kCount - 1, kIndex...>::Type;
};
template <int... kIndex> struct IndicesTo<0, kIndex...> {
  using Type = Indices<kIndex...>;
};

/// One halving from `from` (length 2h) to `to` (length h).
template <typename Op, typename T> void halve(int64_t h, const T *from, T *to) {
  BLK_VECTORIZE
  for (int64_t i = 0; i < h; ++i)
    to[i] = Op::apply(from[i], from[i + h]);
}

/// Three halvings: x[i] .. x[i + 7h/4] meet in pairs at distance h, h/2, h/4 (h = length / 2).
template <typename Op, typename T> void halveThrice(int64_t eighth, const T *from, T *to) {
  const T *x0 = from, *x1 = x0 + eighth, *x2 = x1 + eighth, *x3 = x2 + eighth;
  const T *x4 = x3 + eighth, *x5 = x4 + eighth, *x6 = x5 + eighth, *x7 = x6 + eighth;
  BLK_VECTORIZE
  for (int64_t i = 0; i < eighth; ++i) {
    const T a = Op::apply(x0[i], x4[i]), b = Op::apply(x1[i], x5[i]);
    const T c = Op::apply(x2[i], x6[i]), d = Op::apply(x3[i], x7[i]);
    to[i] = Op::apply(Op::apply(a, c), Op::apply(b, d));
  }
}

/// The lower or upper half of a vector.
template <int kFirst, typename T, int kLanes, int... kIndex>
BLK_FORCE_INLINE auto part(typename VectorOf<T, kLanes>::Type x, Indices<kIndex...>) {
  return __builtin_shufflevector(x, x, (kFirst + kIndex)...);
}

/// Halves inside one vector, to one element.
template <typename Op, typename T, int kLanes>
BLK_FORCE_INLINE T reduceLanes(typename VectorOf<T, kLanes>::Type x) {
  if constexpr (kLanes == 2) {
    return Op::apply(T(x[0]), T(x[1]));
  } else {
    using Half = typename IndicesTo<kLanes / 2>::Type;
    const typename VectorOf<T, kLanes / 2>::Type low = part<0, T, kLanes>(x, Half{});
    const typename VectorOf<T, kLanes / 2>::Type high = part<kLanes / 2, T, kLanes>(x, Half{});
    return reduceLanes<Op, T, kLanes / 2>(Op::apply(low, high));
  }
}

/// The last 16 * kVectors elements to one, in registers.
template <typename Op, typename T, int kVectors> BLK_FORCE_INLINE T reduceShort(const T *from) {
  using Vector = typename VectorOf<T, 16>::Type;
  Vector x[kVectors];
#pragma clang loop unroll(full)
  for (int i = 0; i < kVectors; ++i)
    __builtin_memcpy(&x[i], from + 16 * i, sizeof(Vector));
#pragma clang loop unroll(full)
  for (int half = kVectors / 2; half >= 1; half /= 2)
#pragma clang loop unroll(full)
    for (int i = 0; i < kVectors / 2; ++i)
      if (i < half)
        x[i] = Op::apply(x[i], x[i + half]);
  return reduceLanes<Op, T, 16>(x[0]);
}

template <typename Op, typename T> T reduceShort(int64_t length, const T *from) {
  switch (length) {
  case 16:
    return reduceShort<Op, T, 1>(from);
  case 32:
    return reduceShort<Op, T, 2>(from);
  default:
    return reduceShort<Op, T, 4>(from);
  }
}

template <typename Op, typename T>
void reduceOne(int64_t length, int64_t stop, const T *in, T *out) {
  // The first pass reads `in` and writes the scratch, then the scratch shrinks in place: an
  // element is read before or when its place is written.
  constexpr int64_t kScratch = 4096;
  alignas(64) T local[kScratch];
  T *scratch = local;
  const T *from = in;
  const bool isLarge = length / 2 > kScratch;
  if (isLarge)
    scratch = static_cast<T *>(__builtin_malloc(sizeof(T) * length / 2));
  while (length > stop) {
    if (stop == 1 && length >= 16 && length <= 64) {
      *out = reduceShort<Op>(length, from);
      break;
    }
    const bool three = length / 8 >= stop && (length / 8 >= 16 || stop > 1);
    const int64_t next = three ? length / 8 : length / 2;
    T *to = next == stop ? out : scratch;
    if (three)
      halveThrice<Op>(next, from, to);
    else
      halve<Op>(next, from, to);
    from = to;
    length = next;
  }
  if (isLarge)
    __builtin_free(scratch);
}

template <typename Op, typename Element>
void reduce(int64_t count, int64_t length, int64_t stop, const void *in, void *out) {
  using T = typename Element::Compute;
  const T *from = static_cast<const T *>(in);
  T *to = static_cast<T *>(out);
  for (int64_t i = 0; i < count; ++i, from += length, to += stop) {
    if (length == stop)
      __builtin_memcpy(to, from, stop * sizeof(T));
    else
      reduceOne<Op, T>(length, stop, from, to);
  }
}

template <typename Signed, typename Unsigned> void fillInts(Kernels &table, ElementType type) {
  using Integers = Unsigned; // the table's word for operands whose sign makes no difference
#define BLK_INTEGER_COMBINE(id, name, operands, ...)                                               \
  table.reduce[static_cast<int>(ElementOp::id)][static_cast<int>(type)] = reduce<id##Op, operands>;
#include "core/op_facts.def"
}

template <typename T> void fillFloat(Kernels &table, ElementType type) {
#define BLK_FLOAT_COMBINE(id, ...)                                                                 \
  table.reduce[static_cast<int>(ElementOp::id)][static_cast<int>(type)] = reduce<id##Op, T>;
#include "core/op_facts.def"
}

} // namespace

void fillReductions(Kernels &table) {
  fillInts<S32, U32>(table, ElementType::I32);
  fillInts<S64, U64>(table, ElementType::I64);
  fillFloat<F32>(table, ElementType::F32);
  fillFloat<F64>(table, ElementType::F64);
}

} // namespace blockscope::interpreter::BLK_ISA
