#include "gpu_backend/passes/store_layouts.h"

#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/layout/blocked_layout.h"
#include "gpu_backend/layout/layout_queries.h"
#include "gpu_backend/passes/access_width.h"
#include "gpu_backend/passes/block_queries.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// What one instruction of a warp moves where the elements along a dimension are neighbours.
struct Traffic {
  int64_t elements = 0, sectors = 0; ///< sectors, or lines, that it touches
};

constexpr int kSectorBytes = 32, kLineBytes = 128;

/// That of an access of `width` elements a thread, of `bytes` each.
Traffic trafficOf(const LinearLayout &layout, const ShapeBits &shape, int dim, int width, int bytes,
                  int sectorBytes = kSectorBytes) {
  constexpr uint32_t kLanes = 32;
  const int bits = std::min<int>(shape.width(dim), llvm::Log2_32(sectorBytes / bytes));
  const ElementBits inSector = ((ElementBits{1} << bits) - 1) << shape.shift(dim);
  const uint32_t copies = freeBits(layout).lanes;
  const RegisterRuns runs = contiguity(layout, shape, dim, width);
  llvm::DenseSet<ElementBits> sectors;
  Traffic result;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((lane & copies) != 0)
      continue;
    for (int i = 0; i < width; ++i)
      sectors.insert(layout.element(runs.order[i], lane, 0) & ~inSector);
    result.elements += width;
  }
  result.sectors = static_cast<int64_t>(sectors.size());
  return result;
}

/// Whether a store in the layout of its value touches twice the sectors of one in `rows`, in many
/// instructions of `width` elements a thread. What lanes have copies of is small.
bool isScattered(tl::StoreOp store, const LinearLayout &own, const LinearLayout &rows, int width,
                 const AxisAnalysis &axes) {
  constexpr int kFewInstructions = 2, kFewNeighbours = 8;
  const int dim = axes.orderOf(store.getPointer())[0];
  const AxisInfo::Dim &known = axes.at(store.getPointer()).dims[dim];
  const bool isNear =
      known.contiguity > 1 || std::abs(known.spacing.of(kFewNeighbours).value_or(0)) == 1;
  if (own.registerCount() / width < kFewInstructions || freeBits(own).lanes != 0 || !isNear)
    return false;
  const ShapeBits shape(blockType(store.getPointer()).getShape());
  const int bytes = tlg::elementBytes(store.getValue().getType());
  const Traffic has = trafficOf(own, shape, dim, width, bytes);
  const Traffic best = trafficOf(rows, shape, dim, width, bytes);
  return has.sectors * best.elements >= 2 * best.sectors * has.elements;
}

/// Whether a store of `width` elements a thread, in the layout of its value, fills whole lines, or
/// with two instructions whole sectors: a value that is moved has threads wait for each other.
bool fillsLines(tl::StoreOp store, const LinearLayout &own, int dim, int width) {
  constexpr int kFewInstructions = 2;
  const int bytes = tlg::elementBytes(store.getValue().getType());
  const ShapeBits shape(blockType(store.getPointer()).getShape());
  const int piece = own.registerCount() / width <= kFewInstructions ? kSectorBytes : kLineBytes;
  const Traffic pieces = trafficOf(own, shape, dim, width, bytes, piece);
  return freeBits(own).lanes == 0 && pieces.sectors * piece <= pieces.elements * bytes;
}

/// What each warp has in `own`, with `width` neighbours a thread and lanes side by side behind
/// them: values are moved within warps, which need not wait for each other. Null where warps have
/// no such neighbours.
std::optional<LinearLayout> sideBySide(const LinearLayout &own, const ShapeBits &shape,
                                       llvm::ArrayRef<int> order, int width) {
  llvm::SmallVector<ElementBits> bits(own.registers.begin(), own.registers.end());
  bits.append(own.lanes.begin(), own.lanes.end());
  if (!llvm::all_of(bits, [](ElementBits bit) { return llvm::isPowerOf2_32(bit); }))
    return std::nullopt;
  const auto rank = [&](ElementBits bit) {
    const auto *found = llvm::find_if(order, [&](int dim) { return (bit & shape.mask(dim)) != 0; });
    return std::pair(found - order.begin(), bit);
  };
  llvm::sort(bits, [&](ElementBits a, ElementBits b) { return rank(a) < rank(b); });
  const size_t inThread = llvm::Log2_32(width), inLanes = own.lanes.size();
  if (bits.size() < inThread + inLanes)
    return std::nullopt;
  const llvm::ArrayRef<ElementBits> sorted = bits;
  LinearLayout layout = own;
  layout.registers.assign(sorted.begin(), sorted.begin() + inThread);
  layout.lanes.assign(sorted.begin() + inThread, sorted.begin() + inThread + inLanes);
  layout.registers.append(sorted.begin() + inThread + inLanes, sorted.end());
  return contiguity(layout, shape, order[0], width).length == width ? std::optional(layout)
                                                                    : std::nullopt;
}

} // namespace

LinearLayout storeLayout(tl::StoreOp store, const LinearLayout &own, const AxisAnalysis &axes,
                         const GpuTarget &target, const GpuOptions &options) {
  const llvm::SmallVector<int, 3> order = axes.orderOf(store.getPointer());
  const RankedTensorType type = blockType(store.getPointer());
  const ShapeBits shape(type.getShape());
  const auto width = static_cast<int>(accessWidth(store, axes, target, order[0]));
  const LinearLayout rows = blockedForAccess(type.getShape(), order, width, options.numWarps);
  const int has = contiguity(own, shape, order[0], width).length;
  const int best = contiguity(rows, shape, order[0], width).length;
  const bool isWide = has >= best && !isScattered(store, own, rows, best, axes);
  if (isWide || fillsLines(store, own, order[0], has))
    return own;
  if (has >= best)
    if (const std::optional<LinearLayout> within = sideBySide(own, shape, order, best);
        within && !isScattered(store, *within, rows, best, axes))
      return *within;
  return rows;
}

} // namespace blockscope::gpu
