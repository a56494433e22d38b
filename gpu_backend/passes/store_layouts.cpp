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
  constexpr int kFewInstructions = 4, kFewNeighbours = 8;
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

/// Whether a store of `width` elements a thread, in the layout of its value, fills whole lines.
bool fillsLines(tl::StoreOp store, const LinearLayout &own, int dim, int width) {
  const int bytes = tlg::elementBytes(store.getValue().getType());
  const ShapeBits shape(blockType(store.getPointer()).getShape());
  const Traffic lines = trafficOf(own, shape, dim, width, bytes, kLineBytes);
  return freeBits(own).lanes == 0 && lines.sectors * kLineBytes <= lines.elements * bytes;
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
  return isWide || fillsLines(store, own, order[0], has) ? own : rows;
}

} // namespace blockscope::gpu
