// Integer arithmetic and comparisons, selection and copies.
#include "interpreter/simd/operations.h"

#include <initializer_list>

namespace blockscope::interpreter::BLK_ISA {
namespace {

template <typename Signed, typename Unsigned> void fillWidth(Kernels &table, ElementType type) {
  using enum ElementOp;
  // What the table's words for operands are here.
  using Integers = Unsigned;
  using WideIntegers = Unsigned;
  const auto set = [&](ElementOp op, ElementKernel kernel) { slot(table, op, type) = kernel; };
#define BLK_INTEGER_OP(id, name, family, count, operands, ...)                                     \
  set(id, kernelOf<count, id##Op, operands>());
#include "core/op_facts.def"
  set(Eq, binary<EqOp, Unsigned, Bool>);
  set(Ne, binary<NeOp, Unsigned, Bool>);
  set(Slt, binary<LtOp, Signed, Bool>);
  set(Sle, binary<LeOp, Signed, Bool>);
  set(Sgt, binary<GtOp, Signed, Bool>);
  set(Sge, binary<GeOp, Signed, Bool>);
  set(Ult, binary<LtOp, Unsigned, Bool>);
  set(Ule, binary<LeOp, Unsigned, Bool>);
  set(Ugt, binary<GtOp, Unsigned, Bool>);
  set(Uge, binary<GeOp, Unsigned, Bool>);
}

/// A signed bool is 0 or -1.
struct SignedBool {
  using Storage = uint8_t;
  using Compute = int8_t;
  BLK_FORCE_INLINE static int8_t load(uint8_t x) { return static_cast<int8_t>(-(x & 1)); }
  BLK_FORCE_INLINE static uint8_t store(int8_t x) { return x & 1; }
};

template <typename Storage>
void select(int64_t n, int64_t, void *const *results, const void *const *operands,
            uint32_t scalarOperands, const void *) {
  auto *out = static_cast<Storage *>(results[0]);
  const auto *condition = static_cast<const uint8_t *>(operands[0]);
  const auto *x = static_cast<const Storage *>(operands[1]);
  const auto *y = static_cast<const Storage *>(operands[2]);
  if (scalarOperands & 1) {
    const Storage *chosen = *condition ? x : y;
    const bool isScalar = scalarOperands & (*condition ? 2 : 4);
    const Storage first = *chosen;
    if (isScalar) {
      for (int64_t i = 0; i < n; ++i)
        out[i] = first;
    } else if (chosen != out) {
      __builtin_memcpy(out, chosen, n * sizeof(Storage));
    }
    return;
  }
  switch (scalarOperands >> 1 & 3) {
  case 0:
    BLK_VECTORIZE
    for (int64_t i = 0; i < n; ++i) {
      const Storage first = x[i], second = y[i]; // both are read, or the loads become conditional
      out[i] = condition[i] ? first : second;
    }
    return;
  case 1: {
    const Storage first = *x;
    BLK_VECTORIZE
    for (int64_t i = 0; i < n; ++i) {
      const Storage second = y[i];
      out[i] = condition[i] ? first : second;
    }
    return;
  }
  case 2: {
    const Storage second = *y;
    BLK_VECTORIZE
    for (int64_t i = 0; i < n; ++i) {
      const Storage first = x[i];
      out[i] = condition[i] ? first : second;
    }
    return;
  }
  default: {
    const Storage first = *x, second = *y;
    BLK_VECTORIZE
    for (int64_t i = 0; i < n; ++i)
      out[i] = condition[i] ? first : second;
    return;
  }
  }
}

template <typename Storage>
void copy(int64_t n, int64_t, void *const *results, const void *const *operands,
          uint32_t scalarOperands, const void *) {
  auto *out = static_cast<Storage *>(results[0]);
  const auto *x = static_cast<const Storage *>(operands[0]);
  if (scalarOperands & 1) {
    const Storage value = *x;
    for (int64_t i = 0; i < n; ++i)
      out[i] = value;
  } else if (out != x) {
    __builtin_memcpy(out, x, n * sizeof(Storage));
  }
}

template <typename Storage> void fillMoves(Kernels &table, ElementType type) {
  slot(table, ElementOp::Select, type) = select<Storage>;
  slot(table, ElementOp::Copy, type) = copy<Storage>;
}

void range(int64_t n, int64_t begin, void *const *results, const void *const *, uint32_t,
           const void *payload) {
  const auto first = static_cast<uint32_t>(*static_cast<const int64_t *>(payload) + begin);
  auto *out = static_cast<uint32_t *>(results[0]);
  for (int64_t i = 0; i < n; ++i)
    out[i] = first + static_cast<uint32_t>(i);
}

} // namespace

void fillIntegers(Kernels &table) {
  using enum ElementType;
  fillWidth<SignedBool, Bool>(table, I1);
  fillWidth<S8, U8>(table, I8);
  fillWidth<S16, U16>(table, I16);
  fillWidth<S32, U32>(table, I32);
  fillWidth<S64, U64>(table, I64);
  for (const ElementType type :
       {I1, I8, ElementType::F8E4M3NV, ElementType::F8E4M3B8, ElementType::F8E4M3B15,
        ElementType::F8E5M2, ElementType::F8E5M2B16})
    fillMoves<uint8_t>(table, type);
  for (const ElementType type : {I16, ElementType::F16, ElementType::BF16})
    fillMoves<uint16_t>(table, type);
  for (const ElementType type : {I32, ElementType::F32})
    fillMoves<uint32_t>(table, type);
  for (const ElementType type : {I64, ElementType::F64})
    fillMoves<uint64_t>(table, type);
  table.range = range;
}

} // namespace blockscope::interpreter::BLK_ISA
