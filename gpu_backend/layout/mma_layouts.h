// Where the tensor core instructions keep their operands: mma.sync and wgmma.
//
// A layout is one instruction's fragment, then warps, then repetitions. The registers of a fragment
// are the lowest register bits in the order in which the instruction numbers them, so instruction
// tile t of a thread owns the registers [t * size, (t + 1) * size). Tiles are numbered with the
// inner dimension of the operand first: N of an accumulator, K of an operand, then the other, then
// the batch. Warps are numbered along M first, then N, then the batch, in accumulators and operands
// alike; warps along a dimension that an operand lacks hold copies, as do fragments larger than the
// shape. Source: PTX ISA 9.0, 9.7.14.3 (block scaling), 9.7.14.5 (mma) and 9.7.15.5 (wgmma).
#pragma once

#include "gpu_backend/layout/linear_layout.h"

namespace blockscope::gpu {

/// How many warps lie along each dimension of a dot; powers of two.
struct MmaWarps {
  int64_t m = 1, n = 1, batch = 1;

  bool operator==(const MmaWarps &other) const = default;
};

/// Which elements of K an instruction takes where. Any order will do that both operands have.
enum class DepthOrder : uint8_t {
  Plain,
  /// That of an accumulator's columns, for operands of 4 bytes: where the instruction counts depths
  /// t and t + 4, a thread has its two neighbouring columns, so that the sums of one dot go into
  /// another one without moving. Shapes: K is at least `mmaDepth`.
  Paired,
  /// For operands of bytes: a thread has eight neighbours of each instruction's depth.
  Neighbours,
  /// The same of bytes that hold two elements each, and so half as many of them: one word of four
  /// becomes the two that the instruction takes of a line. Shapes: K counts the bytes, at least 16.
  PackedNeighbours,
  /// For operands of 2 bytes: a thread has eight neighbours of the depth of two instructions. What
  /// they are converted from, bytes or parts of words, then comes in one piece. In a fragment of A
  /// the neighbours of one row, two words, are side by side: the instruction takes its words 0, 2,
  /// 1 and 3. Shapes: K is at least twice `mmaDepth`.
  Eights,
};

/// Depth K of one mma.sync for operands of `elementBytes`: 32, 16, 8 for 1, 2, 4 bytes
/// (m16n8kK), 4 for 8 bytes (m8n8k4).
int mmaDepth(int elementBytes);

/// The accumulator of mma.sync: of m16n8 (4 registers), or of m8n8 (2 registers) when
/// `operandBytes` is 8.
///
/// Shapes: `shape` is M x N, with any batch dimension before.
LinearLayout mmaAccumulator(llvm::ArrayRef<int64_t> shape, int operandBytes, MmaWarps warps);

/// The first operand of mma.sync; `4 / elementBytes` registers make a 32-bit register of the
/// instruction.
///
/// Shapes: `shape` is M x K. Where K is half of `mmaDepth`, the last bit of a fragment's registers
///         makes copies, which must count as zeros; less is not possible.
LinearLayout mmaOperandA(llvm::ArrayRef<int64_t> shape, int elementBytes, MmaWarps warps,
                         DepthOrder depth = DepthOrder::Plain);

/// The second operand of mma.sync, K x N, as `mmaOperandA`.
LinearLayout mmaOperandB(llvm::ArrayRef<int64_t> shape, int elementBytes, MmaWarps warps,
                         DepthOrder depth = DepthOrder::Plain);

/// The layouts of a dot by mma.sync. `isTurned`: the instruction multiplies the transposed
/// operands, the second one first, and adds up the transposed result; `warps` lie along M and N all
/// the same.
struct MmaLayouts {
  LinearLayout a, b, accumulator;
};
MmaLayouts mmaLayouts(llvm::ArrayRef<int64_t> shapeA, llvm::ArrayRef<int64_t> shapeB,
                      int elementBytes, MmaWarps warps, DepthOrder depth, bool isTurned);

/// How mma.sync takes the scales of one operand, from words of four of them.
struct MmaScales {
  bool isOfRows = true;  ///< of the first operand
  int groupsPerStep = 1; ///< of one instruction's depth, side by side in a word: 1, 2 or 4
};

/// The scales of an operand of a block-scaled mma.sync: four registers, as far as there are so
/// many, are a word. In a word stand neighbours along K, then those of the next tiles of rows or
/// columns. The instruction reads the words of one thread (columns) or two (rows) of the four that
/// share the rows or columns; the others have those of the next tiles.
///
/// Shapes: `shape` is M or N x groups along K.
LinearLayout mmaScales(llvm::ArrayRef<int64_t> shape, MmaScales scales, MmaWarps warps);

/// Where an instruction finds the scales of its tile and step.
struct ScalePlace {
  int word;   ///< of the thread's words
  int byte;   ///< the first one in the word
  int thread; ///< which one of those that may have them
};

/// Those of `tile` of rows or columns of `batch`, at depth `step`, in the layout of mmaScales.
ScalePlace scalePlace(llvm::ArrayRef<int64_t> shape, MmaScales scales, MmaWarps warps,
                      int64_t batch, int64_t tile, int64_t step);

/// The 32-bit accumulator of wgmma m64nNkK with N = `instructionN` (N / 2 registers).
///
/// Shapes: `shape` is M x N; `warps.m` is a multiple of 4, the warps of a warpgroup.
LinearLayout wgmmaAccumulator(llvm::ArrayRef<int64_t> shape, int64_t instructionN, MmaWarps warps);

/// The first operand of wgmma from registers, of depth 32 bytes: `32 / elementBytes` elements of K.
/// The accumulator's registers 8j .. 8j + 7, rounded to 16 bits, are this operand's step j.
LinearLayout wgmmaOperandA(llvm::ArrayRef<int64_t> shape, int elementBytes, MmaWarps warps,
                           DepthOrder depth = DepthOrder::Plain);

} // namespace blockscope::gpu
