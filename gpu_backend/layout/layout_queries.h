// Questions about a layout: does it hold every element, who holds copies, which registers are
// consecutive, and where does a thread find an element.
#pragma once

#include "gpu_backend/layout/linear_layout.h"

#include <optional>

namespace blockscope::gpu {

/// A set of input bits: bit i of `lanes` stands for bit i of the lane's number, and so on.
struct InputBits {
  uint32_t registers = 0, lanes = 0, warps = 0;
  bool operator==(const InputBits &other) const = default;
  bool empty() const { return (registers | lanes | warps) == 0; }
};

/// Whether every element of a shape of `width` bits is somewhere.
bool isSurjective(const LinearLayout &layout, int width);

/// The input bits that make copies: each basis that is a sum of bases before it, in the order
/// registers, lanes, warps.
///
/// The inputs whose free bits are all 0 hold every element of the layout exactly once, for
/// dependent bases as well as for zero ones. So an op with a side effect runs in the registers with
/// `(reg & free.registers) == 0`, in threads with `(lane & free.lanes) == 0` and `(warp &
/// free.warps) == 0`, once per element.
InputBits freeBits(const LinearLayout &layout);

inline bool isOwner(const InputBits &free, uint32_t reg, uint32_t lane, uint32_t warp) {
  return ((reg & free.registers) | (lane & free.lanes) | (warp & free.warps)) == 0;
}

/// The input bits that move along dimension `dim`: a reduction or scan along it works in these
/// registers, exchanges with the lanes `lane ^ bit` of these lane bits, and meets these warps. A
/// dependent basis is among them, so leave out `freeBits` where copies must not count twice.
/// Nothing when a basis moves along `dim` and another dimension at once: convert to a blocked
/// layout first.
std::optional<InputBits> inputsAlong(const LinearLayout &layout, const ShapeBits &shape, int dim);

/// The layout without the registers that copy another register of the same thread.
LinearLayout withoutRegisterCopies(const LinearLayout &layout);

/// The layout without register copies and with its registers renumbered to an ascending echelon
/// basis. Layouts with equal canonical forms hold the same elements in the same threads, and one
/// renaming of registers, the same in all threads, turns one into the other.
LinearLayout canonical(const LinearLayout &layout);

/// Whether two layouts differ only in register copies and in which register holds what.
bool equalUpToRegisters(const LinearLayout &first, const LinearLayout &second);

/// For each register of `destination` the register of `source` that holds the same element in the
/// same thread; nothing when threads would need other threads' registers or different renamings.
///
/// `elementMap` says which element of the source's shape an element of the destination's shape is
/// taken from (a column for each bit of the destination's element number), for an op that moves
/// elements, such as broadcast; without it both have the same shape.
std::optional<llvm::SmallVector<uint32_t>>
sourceRegisters(const LinearLayout &destination, const LinearLayout &source,
                std::optional<llvm::ArrayRef<ElementBits>> elementMap = std::nullopt);

/// The registers of a thread as runs of consecutive elements.
struct RegisterRuns {
  /// Elements per run, a power of two.
  int length = 1;
  /// All registers: `order[i * length + j]` holds the j-th element of run i, in every thread, and
  /// the element number of j = 0 has zeros in the bits that j counts.
  llvm::SmallVector<uint32_t> order;
  /// How many at the front of `order` are different elements; the rest are copies of them, in the
  /// same order again.
  int distinct = 0;
};

/// The longest runs along `directions`: bit i of the number within a run flips the element bits
/// `directions[i]`. No other register, lane or warp bit touches those bits, so runs are aligned.
///
/// Shapes: each of `directions` is a single bit.
RegisterRuns registerRuns(const LinearLayout &layout, llvm::ArrayRef<ElementBits> directions);

/// The longest aligned runs of consecutive elements along dimension `dim`, at most `maxLength`.
RegisterRuns contiguity(const LinearLayout &layout, const ShapeBits &shape, int dim,
                        int maxLength = 1 << 30);

} // namespace blockscope::gpu
