// Resolves the addresses of block accesses.
#include "interpreter/lane_access.h"

#include "interpreter/simd/lanes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cstdlib>
#include <cstring>

namespace blockscope {
namespace {

constexpr int64_t kMaxStride = int64_t{1} << 40;
constexpr size_t kMaxErrors = 16;

/// Reused by every access of a thread.
struct Scratch {
  llvm::SmallVector<AccessRun, 0> runs;
  llvm::SmallVector<uint8_t, 0> mask;
  llvm::SmallVector<BadLane, 0> badLanes;
};

Scratch &scratch() {
  thread_local Scratch result;
  return result;
}

/// Remembers the last allocation, as neighbours nearly always share it.
class Finder {
public:
  Finder(const MemoryMap &memory, const AccessShape &shape) : memory_(memory), shape_(shape) {}

  const Allocation *find(DeviceAddress address) {
    if (last_ && ((address ^ lastAddress_) >> kAllocationShift) == 0 &&
        ((address & kDeviceTag) || inStorage(address)))
      return last_;
    lastAddress_ = address;
    return last_ = memory_.find(address);
  }

  /// Whether the elements from `low` to `high` all lie in one allocation and may be accessed.
  bool accepts(DeviceAddress low, DeviceAddress high, uint64_t bits) {
    const Allocation *allocation = find(low);
    if (!allocation || (allocation->readOnly && shape_.writes()))
      return false;
    if (((low ^ high) >> kAllocationShift) != 0 && (low & kDeviceTag))
      return false;
    const int64_t begin = MemoryMap::offsetIn(*allocation, low);
    const int64_t end = MemoryMap::offsetIn(*allocation, high);
    const uint64_t alignment = (bits | hostDelta(*allocation, low)) &
                               static_cast<uint64_t>(shape_.elementBytes - 1);
    return alignment == 0 && end >= begin &&
           allocation->inStorage(begin, end - begin + shape_.elementBytes);
  }

  std::optional<BadLane::Reason> refuse(DeviceAddress address) {
    using enum BadLane::Reason;
    const Allocation *allocation = find(address);
    if (!allocation)
      return address < 4096 ? Null : Wild;
    if (!allocation->inStorage(MemoryMap::offsetIn(*allocation, address), shape_.elementBytes))
      return OutOfStorage;
    if (((address + hostDelta(*allocation, address)) & (shape_.elementBytes - 1)) != 0)
      return Misaligned;
    if (allocation->readOnly && shape_.writes())
      return ReadOnly;
    return std::nullopt;
  }

private:
  bool inStorage(DeviceAddress address) const {
    return last_->inStorage(MemoryMap::offsetIn(*last_, address), 1);
  }

  const MemoryMap &memory_;
  const AccessShape &shape_;
  const Allocation *last_ = nullptr;
  DeviceAddress lastAddress_ = 0;
};

/// The next run of lanes in [lane, end): neighbours in memory, or at least three at one stride.
AccessRun nextRun(const LaneKernels &kernels, const DeviceAddress *addresses, int64_t lane,
                  int64_t end, int elementBytes) {
  const DeviceAddress *from = addresses + lane;
  const int64_t limit = end - lane;
  if (limit == 1)
    return {lane, 1, *from, elementBytes};
  const auto stride = static_cast<int64_t>(from[1] - from[0]);
  if (stride != elementBytes &&
      (std::abs(stride) > kMaxStride || limit < 3 ||
       static_cast<int64_t>(from[2] - from[1]) != stride))
    return {lane, 1, *from, elementBytes};
  return {lane, kernels.runLength(from, limit, static_cast<uint64_t>(stride)), *from, stride};
}

/// Fills the runs of the active lanes; gives up, and returns false, when they are short.
bool collectRuns(const LaneKernels &kernels, const AccessShape &shape,
                 const DeviceAddress *addresses, const uint8_t *mask, bool wantsAll,
                 llvm::SmallVectorImpl<AccessRun> &runs) {
  runs.clear();
  const int64_t n = shape.lanes;
  int64_t lane = 0;
  while (lane < n) {
    int64_t end = n;
    if (mask) {
      const void *begin = std::memchr(mask + lane, 1, n - lane);
      if (!begin)
        break;
      lane = static_cast<const uint8_t *>(begin) - mask;
      if (const void *stop = std::memchr(mask + lane, 0, n - lane))
        end = static_cast<const uint8_t *>(stop) - mask;
    }
    while (lane < end) {
      runs.push_back(nextRun(kernels, addresses, lane, end, shape.elementBytes));
      lane += runs.back().count;
      if (!wantsAll && runs.size() >= 16 && static_cast<int64_t>(runs.size()) * 4 > lane)
        return false;
    }
  }
  return true;
}

DeviceAddress lastAddress(const AccessRun &run) {
  return run.address + static_cast<uint64_t>((run.count - 1) * run.strideBytes);
}

/// Checks all runs and fills allocation, offsets and delta; returns false when one is refused.
bool acceptRuns(Finder &finder, llvm::ArrayRef<AccessRun> runs, ResolvedLanes &lanes) {
  bool isOne = true;
  lanes.activeLanes = 0;
  for (const AccessRun &run : runs) {
    const DeviceAddress last = lastAddress(run);
    const DeviceAddress low = std::min(run.address, last), high = std::max(run.address, last);
    const uint64_t bits = run.address | (run.count > 1 ? static_cast<uint64_t>(run.strideBytes) : 0);
    if (!finder.accepts(low, high, bits))
      return false;
    const Allocation *allocation = finder.find(low);
    const int64_t minOffset = MemoryMap::offsetIn(*allocation, low);
    const int64_t maxOffset = MemoryMap::offsetIn(*allocation, high);
    if (&run == runs.data()) {
      lanes.allocation = allocation;
      lanes.delta = hostDelta(*allocation, low);
      lanes.minOffset = minOffset;
      lanes.maxOffset = maxOffset;
      lanes.firstLane = run.firstLane;
    }
    isOne = isOne && allocation == lanes.allocation &&
            lanes.delta == hostDelta(*allocation, low);
    lanes.minOffset = std::min(lanes.minOffset, minOffset);
    lanes.maxOffset = std::max(lanes.maxOffset, maxOffset);
    lanes.activeLanes += run.count;
  }
  if (!isOne)
    lanes.allocation = nullptr;
  return true;
}

/// The same for lanes without useful runs, by their bounds.
bool acceptBounds(Finder &finder, const LaneKernels &kernels, const AccessShape &shape,
                  const DeviceAddress *addresses, ResolvedLanes &lanes) {
  const LaneBounds bounds = kernels.bounds(addresses, lanes.mask, shape.lanes);
  lanes.activeLanes = bounds.active;
  lanes.isScattered = true;
  if (bounds.active == 0)
    return true;
  if (!finder.accepts(bounds.low, bounds.high, bounds.bits))
    return false;
  lanes.allocation = finder.find(bounds.low);
  lanes.delta = hostDelta(*lanes.allocation, bounds.low);
  lanes.minOffset = MemoryMap::offsetIn(*lanes.allocation, bounds.low);
  lanes.maxOffset = MemoryMap::offsetIn(*lanes.allocation, bounds.high);
  while (lanes.mask && !lanes.mask[lanes.firstLane])
    ++lanes.firstLane;
  return true;
}

/// Goes lane by lane: collects the refused lanes and masks them off.
void refuseLanes(Finder &finder, const AccessShape &shape, const DeviceAddress *addresses,
                 Scratch &memory, ResolvedLanes &lanes) {
  const int64_t n = shape.lanes;
  const uint8_t *mask = lanes.mask;
  memory.badLanes.clear();
  for (int64_t lane = 0; lane < n; ++lane) {
    if (mask && !mask[lane])
      continue;
    if (const auto reason = finder.refuse(addresses[lane])) {
      const Allocation *allocation = finder.find(addresses[lane]);
      memory.badLanes.push_back({lane, addresses[lane], allocation, *reason});
    }
  }
  lanes.badLanes = memory.badLanes;
  if (memory.badLanes.empty())
    return;
  memory.mask.resize_for_overwrite(n);
  if (mask)
    std::memcpy(memory.mask.data(), mask, n);
  else
    std::memset(memory.mask.data(), 1, n);
  for (const BadLane &bad : memory.badLanes)
    memory.mask[bad.lane] = 0;
  lanes.mask = memory.mask.data();
}

/// Lanes of several allocations, each good for itself.
void acceptEach(Finder &finder, const AccessShape &shape, const DeviceAddress *addresses,
                ResolvedLanes &lanes) {
  lanes.allocation = nullptr;
  lanes.isScattered = true;
  lanes.activeLanes = 0;
  bool isOne = true;
  for (int64_t lane = 0; lane < shape.lanes; ++lane) {
    if (lanes.mask && !lanes.mask[lane])
      continue;
    const Allocation *allocation = finder.find(addresses[lane]);
    const uint64_t delta = hostDelta(*allocation, addresses[lane]);
    const int64_t offset = MemoryMap::offsetIn(*allocation, addresses[lane]);
    if (lanes.activeLanes++ == 0) {
      lanes.allocation = allocation;
      lanes.delta = delta;
      lanes.firstLane = lane;
      lanes.minOffset = lanes.maxOffset = offset;
    }
    isOne = isOne && allocation == lanes.allocation && delta == lanes.delta;
    lanes.minOffset = std::min(lanes.minOffset, offset);
    lanes.maxOffset = std::max(lanes.maxOffset, offset);
  }
  if (!isOne)
    lanes.allocation = nullptr;
}

Access describeAccess(const ExecutionContext &context, const AccessShape &shape,
                      const ResolvedLanes &lanes, const DeviceAddress *addresses) {
  Access access = {};
  access.op = context.op;
  access.kind = shape.kind;
  access.semantics = shape.semantics;
  access.scope = shape.scope;
  access.isVolatile = shape.isVolatile;
  access.program = context.linearProgram;
  access.worker = context.worker;
  access.sequence = context.sequence;
  access.lanes = shape.lanes;
  access.blockShape = shape.blockShape;
  access.elementBytes = shape.elementBytes;
  access.addresses = addresses;
  access.mask = lanes.mask;
  access.allocation = lanes.allocation;
  access.minOffset = lanes.minOffset;
  access.maxOffset = lanes.maxOffset;
  access.runs = lanes.runs;
  access.loopIterations = context.loopIterations;
  access.activeLanes = lanes.activeLanes;
  return access;
}

void reportBadLanes(ExecutionContext &context, const AccessShape &shape,
                    const ResolvedLanes &lanes, const DeviceAddress *addresses) {
  LaunchState &launch = *context.launch;
  const Access access = describeAccess(context, shape, lanes, addresses);
  bool isHandled = false;
  for (Observer *observer : launch.observers) {
    isHandled = isHandled || observer->handlesBadLanes();
    observer->onBadLanes(access, lanes.badLanes);
  }
  if (isHandled)
    return;
  const std::lock_guard<std::mutex> lock(launch.errorMutex);
  if (launch.errors.size() < kMaxErrors)
    launch.errors.push_back(describeBadLane(context, access, lanes.badLanes.front()));
  launch.stop = true;
}

} // namespace

AccessShape::AccessShape(AccessKind kind, const Type &pointer)
    : kind(kind), lanes(pointer.numElements()), elementBytes(pointer.pointee().elementBytes()),
      sizeLog(static_cast<int>(llvm::Log2_64(static_cast<uint64_t>(elementBytes)))),
      blockShape(pointer.shape.begin(), pointer.shape.end()) {}

ResolvedLanes resolveLanes(ExecutionContext &context, const AccessShape &shape,
                           const DeviceAddress *addresses, const uint8_t *mask) {
  ResolvedLanes lanes;
  const LaneKernels &kernels = laneKernels();
  lanes.mask = mask && std::memchr(mask, 0, shape.lanes) ? mask : nullptr;
  if (lanes.mask && !std::memchr(mask, 1, shape.lanes))
    return lanes;
  const bool wantsRuns = llvm::any_of(context.launch->observers, [](const Observer *observer) {
    return observer->wantsRuns();
  });
  Scratch &memory = scratch();
  Finder finder(context.launch->memory, shape);
  const auto resolve = [&] {
    const bool hasRuns =
        collectRuns(kernels, shape, addresses, lanes.mask, wantsRuns, memory.runs);
    if (hasRuns)
      lanes.runs = memory.runs;
    return hasRuns ? acceptRuns(finder, lanes.runs, lanes)
                   : acceptBounds(finder, kernels, shape, addresses, lanes);
  };
  if (resolve())
    return lanes;
  refuseLanes(finder, shape, addresses, memory, lanes);
  lanes.isScattered = false;
  lanes.runs = {};
  if (!resolve())
    acceptEach(finder, shape, addresses, lanes);
  if (!lanes.badLanes.empty())
    reportBadLanes(context, shape, lanes, addresses);
  return lanes;
}

void notifyAccess(ExecutionContext &context, const AccessShape &shape, const ResolvedLanes &lanes,
                  const DeviceAddress *addresses, const void *values, const void *operandValues) {
  Access access = describeAccess(context, shape, lanes, addresses);
  access.values = values;
  access.operandValues = operandValues;
  for (Observer *observer : context.launch->observers)
    observer->onAccess(access);
  ++context.sequence;
}

void noteSeen(ExecutionContext &context, const void *op, const void *values, size_t bytes,
              bool changed) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  const auto *byte = static_cast<const uint8_t *>(values);
  for (size_t i = 0; i < bytes; ++i)
    hash = (hash ^ byte[i]) * 0x100000001b3ULL;
  for (auto &[seenBy, seen] : context.lastSeen)
    if (seenBy == op) {
      context.spinning = !changed && seen == hash;
      seen = hash;
      return;
    }
  context.lastSeen.emplace_back(op, hash);
  context.spinning = false;
}

} // namespace blockscope
