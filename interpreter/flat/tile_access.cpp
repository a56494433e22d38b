// Loads and stores through a tile of pointers: the rows of a box, checked once by its corners.
//
// Whatever is not plainly right (out of bounds, several allocations, misaligned, a view with gaps
// under observers) goes to the general evaluator, with the addresses written out.
#include "interpreter/flat/tile.h"
#include "interpreter/lane_access.h"
#include "interpreter/simd/lanes.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace blockscope::interpreter::flat {
namespace {

constexpr int64_t kMostStride = int64_t{1} << 40;

struct TileAccess {
  AccessShape access;
  TileShape shape;
  Evaluator general;
  int valueOperand = -1; ///< of a store
  int maskOperand = -1;
  int otherOperand = -1;
  bool valueIsScalar = false;
};

static_assert(kBoxRank == kTileRank);

/// The part of a block that an access touches; the last dimension of the box is the row.
struct Rows {
  AccessBox box;
  int64_t activeLanes = 1;
  DeviceAddress least = 0;
  DeviceAddress most = 0; // of elements
  uint64_t bits = 0;      // that all addresses are made of
};

/// False when the strides are beyond any memory.
bool findRows(const Tile &tile, const TileShape &shape, const int64_t *lo, const int64_t *hi,
              Rows &rows) {
  AccessBox &box = rows.box;
  box.address = static_cast<DeviceAddress>(tile.base);
  int64_t laneStride = shape.lanes;
  for (int d = 0; d < shape.rank; ++d) {
    const int64_t stride = tile.strides[d];
    if (stride > kMostStride || stride < -kMostStride)
      return false;
    laneStride /= shape.sizes[d];
    const int64_t size = hi[d] - lo[d];
    box.address += static_cast<uint64_t>(lo[d] * stride);
    box.firstLane += lo[d] * laneStride;
    rows.activeLanes *= size;
    if (size == 1)
      continue;
    AccessBox::Dimension *last = box.rank ? &box.dimensions[box.rank - 1] : nullptr;
    if (last && last->strideBytes == stride * size && last->laneStride == laneStride * size)
      *last = {last->size * size, stride, laneStride};
    else
      box.dimensions[box.rank++] = {size, stride, laneStride};
  }
  if (box.rank == 0 || box.dimensions[box.rank - 1].laneStride != 1)
    box.dimensions[box.rank++] = {1, 0, 1};
  rows.least = rows.most = rows.bits = box.address;
  for (const AccessBox::Dimension &dimension : llvm::ArrayRef(box.dimensions, box.rank)) {
    const int64_t reach = dimension.strideBytes * (dimension.size - 1);
    (reach < 0 ? rows.least : rows.most) += static_cast<uint64_t>(reach);
    if (dimension.size > 1)
      rows.bits |= static_cast<uint64_t>(dimension.strideBytes);
  }
  return true;
}

/// Returns the rows in lane order; they live until the next call on this thread.
llvm::ArrayRef<AccessRun> listRuns(const AccessBox &box, int elementBytes) {
  thread_local std::vector<AccessRun> runs;
  runs.clear();
  const int outer = box.rank - 1;
  const AccessBox::Dimension row = box.dimensions[outer];
  const int64_t stride = row.size == 1 ? elementBytes : row.strideBytes;
  int64_t index[kTileRank] = {};
  int64_t offset = 0, lane = box.firstLane;
  for (;;) {
    runs.push_back({lane, row.size, box.address + static_cast<uint64_t>(offset), stride});
    int d = outer - 1;
    for (; d >= 0; --d) {
      const AccessBox::Dimension &dimension = box.dimensions[d];
      offset += dimension.strideBytes;
      lane += dimension.laneStride;
      if (++index[d] < dimension.size)
        break;
      index[d] = 0;
      offset -= dimension.size * dimension.strideBytes;
      lane -= dimension.size * dimension.laneStride;
    }
    if (d < 0)
      return runs;
  }
}

/// Whether no two lanes share bytes: by rising stride, each dimension steps over the ones before.
bool isDisjoint(const AccessBox &box, int elementBytes) {
  if (box.rank == 1)
    return box.dimensions[0].size == 1 || std::abs(box.dimensions[0].strideBytes) >= elementBytes;
  llvm::SmallVector<AccessBox::Dimension, kBoxRank> dimensions(box.dimensions,
                                                               box.dimensions + box.rank);
  llvm::sort(dimensions, [](const AccessBox::Dimension &a, const AccessBox::Dimension &b) {
    return std::abs(a.strideBytes) < std::abs(b.strideBytes);
  });
  int64_t extent = elementBytes;
  for (const AccessBox::Dimension &dimension : dimensions) {
    if (dimension.size == 1)
      continue;
    const int64_t stride = std::abs(dimension.strideBytes);
    if (stride < extent)
      return false;
    extent += stride * (dimension.size - 1);
  }
  return true;
}

/// Checks the corners. Returns null when the general evaluator has to look.
const Allocation *findAllocation(const ExecutionContext &context, const AccessShape &access,
                                 const Rows &rows) {
  const Allocation *allocation = context.launch->memory.find(rows.least);
  if (!allocation || (allocation->readOnly && access.writes()) ||
      ((rows.least ^ rows.most) >> kAllocationShift) != 0)
    return nullptr;
  const int64_t least = MemoryMap::offsetIn(*allocation, rows.least);
  const int64_t most = MemoryMap::offsetIn(*allocation, rows.most);
  const uint64_t bits = rows.bits | hostDelta(*allocation, rows.least);
  if ((bits & static_cast<uint64_t>(access.elementBytes - 1)) != 0 || most < least ||
      !allocation->inStorage(least, most - least + access.elementBytes))
    return nullptr;
  return allocation;
}

/// Saves what a store is about to write, where the launch may be done again.
void saveRows(LaunchState &launch, const TileAccess &op, const Rows &rows,
              const Allocation &allocation) {
  const int size = op.access.elementBytes;
  const uint64_t delta = hostDelta(allocation, rows.least);
  for (const AccessRun &run : listRuns(rows.box, size)) {
    const auto *host = reinterpret_cast<const std::byte *>(run.address + delta);
    if (run.strideBytes == size)
      launch.saved->save(allocation, host, run.count * size);
    else
      for (int64_t i = 0; i < run.count; ++i)
        launch.saved->save(allocation, host + i * run.strideBytes, size);
  }
}

/// Whether an observer is to be told of an access inside of a dense view.
bool isWatched(const RunNeeds &needs, AccessKind kind, const Allocation &allocation) {
  return needs.accesses == RunNeeds::Accesses::All ||
         (needs.accesses == RunNeeds::Accesses::Stored &&
          (kind != AccessKind::Load || allocation.mayBeStored));
}

/// Tells the observers; false when they need every address (see Access::addresses).
bool notify(ExecutionContext &context, const TileAccess &op, const Rows &rows,
            const Allocation &allocation, const void *values) {
  LaunchState &launch = *context.launch;
  if (launch.observers.empty())
    return true;
  const int64_t least = MemoryMap::offsetIn(allocation, rows.least);
  const int64_t most = MemoryMap::offsetIn(allocation, rows.most);
  if (!allocation.viewIsDense || least < allocation.viewBegin ||
      most + op.access.elementBytes > allocation.viewEnd)
    return false;
  if (!isWatched(launch.observers.needs(), op.access.kind, allocation)) {
    ++context.sequence;
    return true;
  }
  if (!isDisjoint(rows.box, op.access.elementBytes))
    return false;
  ResolvedLanes lanes;
  lanes.allocation = &allocation;
  lanes.delta = hostDelta(allocation, rows.least);
  lanes.minOffset = least;
  lanes.maxOffset = most;
  lanes.activeLanes = rows.activeLanes;
  lanes.firstLane = rows.box.firstLane;
  lanes.box = &rows.box;
  if (launch.observers.needs().runs)
    lanes.runs = listRuns(rows.box, op.access.elementBytes);
  notifyAccess(context, op.access, lanes, nullptr, values, nullptr, op.valueIsScalar);
  return true;
}

template <typename T> void fillElements(void *out, int64_t n, const void *value) {
  T element;
  std::memcpy(&element, value, sizeof element);
  std::fill_n(static_cast<T *>(out), n, element);
}

void fillBytes(std::byte *out, int64_t n, int elementBytes, const void *value) {
  switch (elementBytes) {
  case 1:
    return fillElements<uint8_t>(out, n, value);
  case 2:
    return fillElements<uint16_t>(out, n, value);
  case 4:
    return fillElements<uint32_t>(out, n, value);
  default:
    return fillElements<uint64_t>(out, n, value);
  }
}

/// The box of the mask, or all; false when the mask is not a box.
bool boxOf(const TileAccess &op, const void *const *operands, const int64_t *&lo,
           const int64_t *&hi) {
  static constexpr int64_t zeros[kTileRank] = {};
  lo = zeros;
  hi = op.shape.sizes;
  if (op.maskOperand < 0)
    return true;
  const auto &mask = *static_cast<const MaskTile *>(operands[op.maskOperand]);
  lo = mask.lo;
  hi = mask.hi;
  if (mask.inBlock)
    return false;
  for (int d = 0; d < op.shape.rank; ++d)
    if (lo[d] >= hi[d])
      return false; // nothing is active: rare, so not here
  return true;
}

/// Runs the evaluator over blocks.
void runGeneral(ExecutionContext &context, const TileAccess &op, void *const *results,
                const void *const *operands) {
  thread_local std::vector<DeviceAddress> addresses;
  thread_local std::vector<uint8_t> mask;
  thread_local std::vector<uint64_t> other, value;
  const int64_t lanes = op.shape.lanes;
  const size_t words = static_cast<size_t>((lanes * op.access.elementBytes + 7) / 8);
  const void *blocks[4] = {};
  int count = 0;
  addresses.resize(lanes);
  writeTile(*static_cast<const Tile *>(operands[0]), op.shape, 0, lanes, 8, addresses.data());
  blocks[count++] = addresses.data();
  if (op.valueOperand >= 0) {
    const void *stored = operands[op.valueOperand];
    if (op.valueIsScalar) {
      value.resize(words);
      fillBytes(reinterpret_cast<std::byte *>(value.data()), lanes, op.access.elementBytes, stored);
      stored = value.data();
    }
    blocks[count++] = stored;
  }
  if (op.maskOperand >= 0) {
    mask.resize(lanes);
    writeMask(*static_cast<const MaskTile *>(operands[op.maskOperand]), op.shape, 0, lanes,
              mask.data());
    blocks[count++] = mask.data();
  }
  if (op.otherOperand >= 0) {
    other.resize(words);
    fillBytes(reinterpret_cast<std::byte *>(other.data()), lanes, op.access.elementBytes,
              operands[op.otherOperand]);
    blocks[count++] = other.data();
  }
  op.general.context(context, results, blocks, op.general.payload.get());
}

/// Finds rows and allocation and tells the observers; false: run the general evaluator.
bool prepare(ExecutionContext &context, const TileAccess &op, const void *const *operands,
             const void *values, Rows &rows, uint64_t &delta) {
  const Tile &tile = *static_cast<const Tile *>(operands[0]);
  const int64_t *lo = nullptr, *hi = nullptr;
  if (tile.inBlock || !boxOf(op, operands, lo, hi) || !findRows(tile, op.shape, lo, hi, rows))
    return false;
  const Allocation *allocation = findAllocation(context, op.access, rows);
  if (!allocation || !notify(context, op, rows, *allocation, values))
    return false;
  if (op.access.writes() && context.launch->saved)
    saveRows(*context.launch, op, rows, *allocation);
  delta = hostDelta(*allocation, rows.least);
  return true;
}

bool isOneContiguousRun(const AccessBox &box, int elementBytes) {
  return box.rank == 1 && box.dimensions[0].strideBytes == elementBytes;
}

void evalTileLoad(ExecutionContext &context, void *const *results, const void *const *operands,
                  const void *payload) {
  const auto &op = *static_cast<const TileAccess *>(payload);
  Rows rows;
  uint64_t delta = 0;
  if (!prepare(context, op, operands, nullptr, rows, delta))
    return runGeneral(context, op, results, operands);
  auto *out = static_cast<std::byte *>(results[0]);
  const int size = op.access.elementBytes;
  static constexpr uint64_t zero = 0;
  const void *other = op.otherOperand >= 0 ? operands[op.otherOperand] : &zero;
  if (isOneContiguousRun(rows.box, size)) {
    const int64_t end = rows.box.firstLane + rows.activeLanes;
    fillBytes(out, rows.box.firstLane, size, other);
    copyTensorBytes(out + rows.box.firstLane * size,
                    reinterpret_cast<const void *>(rows.box.address + delta),
                    rows.activeLanes * size);
    fillBytes(out + end * size, op.shape.lanes - end, size, other);
    return;
  }
  if (rows.activeLanes != op.shape.lanes)
    fillBytes(out, op.shape.lanes, size, other);
  const llvm::ArrayRef<AccessRun> runs = listRuns(rows.box, size);
  laneKernels().loadRuns[op.access.sizeLog](runs.data(), static_cast<int64_t>(runs.size()), delta,
                                            out);
}

void storeScalar(const Rows &rows, uint64_t delta, const void *value, int size) {
  for (const AccessRun &run : listRuns(rows.box, size)) {
    auto *to = reinterpret_cast<std::byte *>(run.address + delta);
    for (int64_t i = 0; i < run.count; ++i)
      copyTensorBytes(to + i * run.strideBytes, value, size);
  }
}

void evalTileStore(ExecutionContext &context, void *const *results, const void *const *operands,
                   const void *payload) {
  const auto &op = *static_cast<const TileAccess *>(payload);
  Rows rows;
  uint64_t delta = 0;
  const auto *values = static_cast<const std::byte *>(operands[op.valueOperand]);
  if (!prepare(context, op, operands, values, rows, delta))
    return runGeneral(context, op, results, operands);
  const int size = op.access.elementBytes;
  if (op.valueIsScalar) {
    storeScalar(rows, delta, values, size);
  } else if (isOneContiguousRun(rows.box, size)) {
    copyTensorBytes(reinterpret_cast<void *>(rows.box.address + delta),
                    values + rows.box.firstLane * size, rows.activeLanes * size);
  } else {
    const llvm::ArrayRef<AccessRun> runs = listRuns(rows.box, size);
    laneKernels().storeRuns[op.access.sizeLog](runs.data(), static_cast<int64_t>(runs.size()),
                                               delta, values);
  }
  noteProgress(context);
  if (LastChanges &changes = context.launch->changes; changes.isOn())
    changes.noteRange(context.worker, reinterpret_cast<const std::byte *>(rows.least + delta),
                      reinterpret_cast<const std::byte *>(rows.most + delta) + size);
}

std::shared_ptr<TileAccess> describe(const OpSignature &signature, AccessKind kind,
                                     Evaluator general) {
  auto op = std::make_shared<TileAccess>(TileAccess{AccessShape(kind, signature.operands[0]),
                                                    TileShape(signature.operands[0]),
                                                    std::move(general)});
  return op;
}

} // namespace

Evaluator makeTileLoad(const OpSignature &signature, Evaluator general) {
  auto op = describe(signature, AccessKind::Load, std::move(general));
  int next = 1;
  if (signature.attributes.getBool("has_mask"))
    op->maskOperand = next++;
  if (signature.attributes.getBool("has_other"))
    op->otherOperand = next++;
  return Evaluator::makeContext(evalTileLoad, std::move(op));
}

Evaluator makeTileStore(const OpSignature &signature, bool valueIsScalar, Evaluator general) {
  auto op = describe(signature, AccessKind::Store, std::move(general));
  op->valueOperand = 1;
  op->valueIsScalar = valueIsScalar;
  if (signature.operands.size() == 3)
    op->maskOperand = 2;
  return Evaluator::makeContext(evalTileStore, std::move(op));
}

} // namespace blockscope::interpreter::flat
