// Float arithmetic and comparisons. Types smaller than fp32 compute in fp32 and round once per op.
#include "interpreter/simd/operations.h"

namespace blockscope::interpreter::BLK_ISA {
namespace {

template <uint16_t kAnd, uint16_t kXor> struct SignBitOp {
  template <typename T> BLK_FORCE_INLINE static T apply(T x) {
    return static_cast<T>((x & kAnd) ^ kXor);
  }
};

/// The same op list for a native type and for one that goes through fp32.
template <typename T> struct Direct {
  template <int kCount, typename Op> static constexpr ElementKernel kOf = kernelOf<kCount, Op, T>();
  template <typename Op> static constexpr ElementKernel kCompare = binary<Op, T, Bool>;
};
template <typename T> struct Widened {
  template <int kCount, typename Op>
  static constexpr ElementKernel kOf = throughFloat<T, kCount, false, kernelOf<kCount, Op, F32>()>;
  template <typename Op>
  static constexpr ElementKernel kCompare = throughFloat<T, 2, true, binary<Op, F32, Bool>>;
};

template <typename How> void fillType(Kernels &table, ElementType type) {
  using enum ElementOp;
  const auto set = [&](ElementOp op, ElementKernel kernel) { slot(table, op, type) = kernel; };
#define BLK_FLOAT_OP(id, name, family, count, ...) set(id, How::template kOf<count, id##Op>);
#include "core/op_facts.def"
  set(ClampNanF, How::template kOf<3, ClampNanFOp>);
  set(CmpFalse, How::template kCompare<FalseOp>);
  set(Oeq, How::template kCompare<EqOp>);
  set(Ogt, How::template kCompare<GtOp>);
  set(Oge, How::template kCompare<GeOp>);
  set(Olt, How::template kCompare<LtOp>);
  set(Ole, How::template kCompare<LeOp>);
  set(One, How::template kCompare<OneOp>);
  set(Ord, How::template kCompare<OrdOp>);
  set(Ueq, How::template kCompare<UeqOp>);
  set(Ugtf, How::template kCompare<UgtOp>);
  set(Ugef, How::template kCompare<UgeOp>);
  set(Ultf, How::template kCompare<UltOp>);
  set(Ulef, How::template kCompare<UleOp>);
  set(Unef, How::template kCompare<NeOp>);
  set(Uno, How::template kCompare<UnoOp>);
  set(CmpTrue, How::template kCompare<TrueOp>);
}

/// The frequent ops of 16-bit floats, without the way through a strip of fp32.
template <typename T> void fillHalf(Kernels &table, ElementType type) {
  using enum ElementOp;
  fillType<Widened<T>>(table, type);
  slot(table, AddF, type) = binary<AddFOp, T>;
  slot(table, SubF, type) = binary<SubFOp, T>;
  slot(table, MulF, type) = binary<MulFOp, T>;
  slot(table, DivF, type) = binary<DivFOp, T>;
  slot(table, MaxNumF, type) = binary<MaxNumFOp, T>;
  slot(table, MinNumF, type) = binary<MinNumFOp, T>;
  slot(table, NegF, type) = unary<SignBitOp<0xffff, 0x8000>, U16>;
  slot(table, AbsF, type) = unary<SignBitOp<0x7fff, 0>, U16>;
}

} // namespace

void fillFloats(Kernels &table) {
  fillType<Direct<F32>>(table, ElementType::F32);
  fillType<Direct<F64>>(table, ElementType::F64);
  fillHalf<F16>(table, ElementType::F16);
  fillHalf<BF16>(table, ElementType::BF16);
  fillType<Widened<F8E4M3NV>>(table, ElementType::F8E4M3NV);
  fillType<Widened<F8E4M3B8>>(table, ElementType::F8E4M3B8);
  fillType<Widened<F8E4M3B15>>(table, ElementType::F8E4M3B15);
  fillType<Widened<F8E5M2>>(table, ElementType::F8E5M2);
  fillType<Widened<F8E5M2B16>>(table, ElementType::F8E5M2B16);
}

} // namespace blockscope::interpreter::BLK_ISA
