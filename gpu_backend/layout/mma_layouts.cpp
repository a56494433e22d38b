// Fragments as lists of bits, and the loop that repeats them over warps and shape.
#include "gpu_backend/layout/mma_layouts.h"

#include "gpu_backend/layout/shape_layouts.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <utility>

namespace blockscope::gpu {
namespace {

enum Axis { kRow, kColumn };

/// Appends bits of a shape's two last dimensions, given as powers of two along an axis.
class FragmentBuilder {
public:
  explicit FragmentBuilder(llvm::ArrayRef<int64_t> shape) : shape_(shape), sizes_(shape) {
    assert(shape.size() >= 2 && "a dot has two dimensions");
  }

  /// One bit: the element `offset` further along `axis`, a copy when the shape ends before.
  void bit(Bases &bases, Axis axis, int64_t offset) {
    bases.push_back(offset < size(axis) ? element(dim(axis), offset) : 0);
  }
  /// The bits `first`, 2 * `first`, ..., below `end`.
  void bits(Bases &bases, Axis axis, int64_t first, int64_t end) {
    for (int64_t offset = first; offset < end; offset *= 2)
      bit(bases, axis, offset);
  }
  /// As `bits`, to the end of the shape.
  void rest(Bases &bases, Axis axis, int64_t first) { bits(bases, axis, first, size(axis)); }
  void copies(Bases &bases, int64_t count) { bases.append(llvm::Log2_64(count), 0); }

  /// The dimensions before the last two, all together: `warps` of them side by side.
  void batch(LinearLayout &layout, int64_t warps) {
    int64_t left = warps;
    for (int dim = static_cast<int>(sizes_.size()) - 3; dim >= 0; --dim) {
      for (int64_t offset = 1; offset < sizes_[dim]; offset *= 2) {
        Bases &bases = left > 1 ? layout.warps : layout.registers;
        bases.push_back(element(dim, offset));
        left = left > 1 ? left / 2 : 1;
      }
    }
    copies(layout.warps, left);
  }

private:
  int dim(Axis axis) const { return static_cast<int>(sizes_.size()) - (axis == kRow ? 2 : 1); }
  int64_t size(Axis axis) const { return sizes_[dim(axis)]; }
  ElementBits element(int dim, int64_t offset) const {
    return static_cast<ElementBits>(offset) << shape_.shift(dim);
  }

  ShapeBits shape_;
  llvm::ArrayRef<int64_t> sizes_;
};

/// Which elements of an instruction's depth a lane has.
struct DepthOfLane {
  int pack;   ///< neighbours in a 32-bit register
  int second; ///< where those of its second register are; 0 if it has one only
  int next;   ///< where those of the next lane are

  DepthOfLane(int elementBytes, DepthOrder depth) {
    assert((depth == DepthOrder::Plain || elementBytes == bytesFor(depth)) &&
           "pairs are for operands of 4 bytes, eights for 2 bytes, neighbours for bytes");
    pack = elementBytes < 4 ? 4 / elementBytes : 1;
    second = elementBytes == 8 ? 0 : 4 * pack;
    next = pack;
    if (depth == DepthOrder::PackedNeighbours) {
      second = 0;
    } else if (depth != DepthOrder::Plain) {
      second = pack;
      next = 2 * pack * instructionsInRun(depth);
    }
  }

  static int bytesFor(DepthOrder depth) {
    return depth == DepthOrder::Paired ? 4 : depth == DepthOrder::Eights ? 2 : 1;
  }
  /// How many instructions share the neighbours that a lane has.
  static int instructionsInRun(DepthOrder depth) { return depth == DepthOrder::Eights ? 2 : 1; }
};

/// The depth of one instruction in elements of an operand.
int depthOfFragment(int elementBytes, DepthOrder depth) {
  return mmaDepth(elementBytes) / (depth == DepthOrder::PackedNeighbours ? 2 : 1);
}

/// The registers of further instructions along K.
void furtherDepths(FragmentBuilder &builder, Bases &registers, Axis axis, int elementBytes,
                   DepthOrder depth) {
  const DepthOfLane ofLane(elementBytes, depth);
  const int run = DepthOfLane::instructionsInRun(depth);
  if (run > 1)
    builder.bits(registers, axis, 2 * ofLane.pack, ofLane.next);
  builder.rest(registers, axis, int64_t{run} * depthOfFragment(elementBytes, depth));
}

/// The fragment of A in a warp: rows 0-15 (0-7 for 8 bytes), `32 / elementBytes` deep. wgmma has
/// the same one.
LinearLayout fragmentA(FragmentBuilder &builder, int elementBytes, DepthOrder depth) {
  LinearLayout layout;
  const DepthOfLane ofLane(elementBytes, depth);
  builder.bits(layout.registers, kColumn, 1, ofLane.pack);
  if (elementBytes < 8 && depth != DepthOrder::Eights)
    builder.bit(layout.registers, kRow, 8);
  if (ofLane.second != 0)
    builder.bit(layout.registers, kColumn, ofLane.second);
  if (depth == DepthOrder::Eights)
    builder.bit(layout.registers, kRow, 8);
  builder.bits(layout.lanes, kColumn, ofLane.next, 4 * ofLane.next);
  builder.bits(layout.lanes, kRow, 1, 8);
  return layout;
}

/// Four threads side by side hold two elements each, eight rows of them: every accumulator of 8
/// x 8.
void quadLanes(FragmentBuilder &builder, Bases &lanes) {
  builder.bits(lanes, kColumn, 2, 8);
  builder.bits(lanes, kRow, 1, 8);
}

} // namespace

int mmaDepth(int elementBytes) { return elementBytes == 8 ? 4 : 32 / elementBytes; }

LinearLayout mmaAccumulator(llvm::ArrayRef<int64_t> shape, int operandBytes, MmaWarps warps) {
  FragmentBuilder builder(shape);
  const int64_t rows = operandBytes == 8 ? 8 : 16;
  LinearLayout layout;
  builder.bit(layout.registers, kColumn, 1);
  builder.bits(layout.registers, kRow, 8, rows);
  quadLanes(builder, layout.lanes);
  builder.bits(layout.warps, kRow, rows, rows * warps.m);
  builder.bits(layout.warps, kColumn, 8, 8 * warps.n);
  builder.rest(layout.registers, kColumn, 8 * warps.n);
  builder.rest(layout.registers, kRow, rows * warps.m);
  builder.batch(layout, warps.batch);
  return layout;
}

LinearLayout mmaOperandA(llvm::ArrayRef<int64_t> shape, int elementBytes, MmaWarps warps,
                         DepthOrder depth) {
  FragmentBuilder builder(shape);
  const int64_t rows = elementBytes == 8 ? 8 : 16;
  LinearLayout layout = fragmentA(builder, elementBytes, depth);
  builder.bits(layout.warps, kRow, rows, rows * warps.m);
  builder.copies(layout.warps, warps.n);
  furtherDepths(builder, layout.registers, kColumn, elementBytes, depth);
  builder.rest(layout.registers, kRow, rows * warps.m);
  builder.batch(layout, warps.batch);
  return layout;
}

LinearLayout mmaOperandB(llvm::ArrayRef<int64_t> shape, int elementBytes, MmaWarps warps,
                         DepthOrder depth) {
  FragmentBuilder builder(shape);
  const DepthOfLane ofLane(elementBytes, depth);
  LinearLayout layout;
  builder.bits(layout.registers, kRow, 1, ofLane.pack);
  if (ofLane.second != 0)
    builder.bit(layout.registers, kRow, ofLane.second);
  builder.bits(layout.lanes, kRow, ofLane.next, 4 * ofLane.next);
  builder.bits(layout.lanes, kColumn, 1, 8);
  builder.copies(layout.warps, warps.m);
  builder.bits(layout.warps, kColumn, 8, 8 * warps.n);
  furtherDepths(builder, layout.registers, kRow, elementBytes, depth);
  builder.rest(layout.registers, kColumn, 8 * warps.n);
  builder.batch(layout, warps.batch);
  return layout;
}

MmaLayouts mmaLayouts(llvm::ArrayRef<int64_t> shapeA, llvm::ArrayRef<int64_t> shapeB,
                      int elementBytes, MmaWarps warps, DepthOrder depth, bool isTurned) {
  llvm::SmallVector<int64_t, 3> shape(shapeA);
  shape.back() = shapeB.back();
  if (!isTurned)
    return {mmaOperandA(shapeA, elementBytes, warps, depth),
            mmaOperandB(shapeB, elementBytes, warps, depth),
            mmaAccumulator(shape, elementBytes, warps)};
  std::swap(warps.m, warps.n);
  auto order = llvm::to_vector(llvm::seq<int>(0, static_cast<int>(shape.size())));
  std::swap(order[order.size() - 2], order.back());
  const auto turned = [&](llvm::ArrayRef<int64_t> original, const auto &layoutOf) {
    llvm::SmallVector<int64_t, 3> sizes(original);
    std::swap(sizes[sizes.size() - 2], sizes.back());
    return transposed(layoutOf(sizes), ShapeBits(sizes), order);
  };
  using Shape = llvm::ArrayRef<int64_t>;
  return {turned(shapeA, [&](Shape s) { return mmaOperandB(s, elementBytes, warps, depth); }),
          turned(shapeB, [&](Shape s) { return mmaOperandA(s, elementBytes, warps, depth); }),
          turned(shape, [&](Shape s) { return mmaAccumulator(s, elementBytes, warps); })};
}

LinearLayout mmaScales(llvm::ArrayRef<int64_t> shape, MmaScales scales, MmaWarps warps) {
  constexpr size_t kWordBits = 2;
  FragmentBuilder builder(shape);
  LinearLayout layout;
  const int64_t lines = shape[shape.size() - 2], groups = shape.back();
  const int64_t inTile = scales.isOfRows ? 16 : 8;
  const int64_t side = scales.isOfRows ? warps.m : warps.n;
  int64_t group = 1, line = inTile * side; // the next ones to be given a place
  for (; layout.registers.size() < kWordBits && group < groups; group *= 2)
    builder.bit(layout.registers, kColumn, group);
  for (; layout.registers.size() < kWordBits && line < lines; line *= 2)
    builder.bit(layout.registers, kRow, line);
  if (scales.isOfRows)
    builder.bit(layout.lanes, kRow, 8);
  for (; layout.lanes.size() < 2; line *= 2)
    builder.bit(layout.lanes, kRow, line);
  builder.bits(layout.lanes, kRow, 1, 8);
  if (!scales.isOfRows)
    builder.copies(layout.warps, warps.m);
  builder.bits(layout.warps, kRow, inTile, inTile * side);
  if (scales.isOfRows)
    builder.copies(layout.warps, warps.n);
  builder.rest(layout.registers, kColumn, group);
  builder.rest(layout.registers, kRow, line);
  builder.batch(layout, warps.batch);
  return layout;
}

ScalePlace scalePlace(llvm::ArrayRef<int64_t> shape, MmaScales scales, MmaWarps warps,
                      int64_t batch, int64_t tile, int64_t step) {
  const LinearLayout layout = mmaScales(shape, scales, warps);
  const ShapeBits bits(shape);
  const int rank = bits.rank();
  const int64_t line = tile * (scales.isOfRows ? 16 * warps.m : 8 * warps.n);
  const int64_t group = step * scales.groupsPerStep;
  ElementBits wanted = static_cast<ElementBits>(line) << bits.shift(rank - 2) |
                       static_cast<ElementBits>(group) << bits.shift(rank - 1);
  if (rank == 3)
    wanted |= static_cast<ElementBits>(batch * warps.batch) << bits.shift(0);
  const uint32_t threadStep = scales.isOfRows ? 2 : 1;
  for (uint32_t thread = 0; thread < 4 / threadStep; ++thread)
    for (uint32_t reg = 0; reg < static_cast<uint32_t>(layout.registerCount()); ++reg)
      if ((layout.registerElement(reg) ^ layout.laneElement(thread * threadStep)) == wanted)
        return {static_cast<int>(reg / 4), static_cast<int>(reg % 4), static_cast<int>(thread)};
  assert(false && "every tile has scales");
  return {};
}

LinearLayout wgmmaAccumulator(llvm::ArrayRef<int64_t> shape, int64_t instructionN, MmaWarps warps) {
  assert(warps.m % 4 == 0 && "a warpgroup is four warps along M");
  FragmentBuilder builder(shape);
  LinearLayout layout;
  builder.bit(layout.registers, kColumn, 1);
  builder.bit(layout.registers, kRow, 8);
  builder.bits(layout.registers, kColumn, 8, instructionN);
  quadLanes(builder, layout.lanes);
  builder.bits(layout.warps, kRow, 16, 16 * warps.m);
  builder.bits(layout.warps, kColumn, instructionN, instructionN * warps.n);
  builder.rest(layout.registers, kColumn, instructionN * warps.n);
  builder.rest(layout.registers, kRow, 16 * warps.m);
  builder.batch(layout, warps.batch);
  return layout;
}

LinearLayout wgmmaOperandA(llvm::ArrayRef<int64_t> shape, int elementBytes, MmaWarps warps,
                           DepthOrder depth) {
  assert(warps.m % 4 == 0 && "a warpgroup is four warps along M");
  return mmaOperandA(shape, elementBytes, warps, depth);
}

} // namespace blockscope::gpu
