// Resolves the addresses of block accesses.
#include "interpreter/lane_access.h"

#include "interpreter/describe.h"
#include "interpreter/simd/lanes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <cstdlib>
#include <cstring>

namespace blockscope::interpreter {
namespace {

constexpr int64_t kMaxStride = int64_t{1} << 40;

/// Reused by every access of a thread.
struct Scratch {
  std::vector<AccessRun> runs; ///< the first `runCount` are valid
  int64_t runCount = 0;
  std::vector<uint64_t> bits; ///< one for each lane, twice
  llvm::SmallVector<uint8_t, 0> mask;
  llvm::SmallVector<RefusedLane, 0> refused;

  void reserve(int64_t lanes) {
    const auto count = static_cast<size_t>(lanes);
    if (runs.size() < count) {
      runs.resize(count);
      bits.resize(2 * ((count + 63) / 64));
    }
  }
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
    const uint64_t alignment =
        (bits | hostDelta(*allocation, low)) & static_cast<uint64_t>(shape_.elementBytes - 1);
    return alignment == 0 && end >= begin &&
           allocation->inStorage(begin, end - begin + shape_.elementBytes);
  }

  std::optional<RefusedLane::Reason> refuse(DeviceAddress address) {
    using enum RefusedLane::Reason;
    const Allocation *allocation = find(address);
    if (!allocation)
      return address < 4096 ? Null : Wild;
    if (!allocation->inStorage(MemoryMap::offsetIn(*allocation, address), shape_.elementBytes))
      return allocation->isGone() ? Gone : OutOfStorage;
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

/// The next bit that is set in [lane, n), or n.
int64_t nextSet(const uint64_t *bits, int64_t lane, int64_t n) {
  int64_t word = lane / 64;
  if (lane >= n)
    return n;
  uint64_t rest = bits[word] & (~uint64_t{0} << (lane % 64));
  const int64_t words = (n + 63) / 64;
  while (rest == 0)
    if (++word == words)
      return n;
    else
      rest = bits[word];
  return std::min<int64_t>(n, word * 64 + llvm::countr_zero(rest));
}

int64_t nextClear(const uint64_t *bits, int64_t lane, int64_t n) {
  int64_t word = lane / 64;
  if (lane >= n)
    return n;
  uint64_t rest = ~bits[word] & (~uint64_t{0} << (lane % 64));
  const int64_t words = (n + 63) / 64;
  while (rest == 0)
    if (++word == words)
      return n;
    else
      rest = ~bits[word];
  return std::min<int64_t>(n, word * 64 + llvm::countr_zero(rest));
}

/// A run of lanes that are no neighbours: at least three at one stride, else one lane alone.
AccessRun stridedRun(const LaneKernels &kernels, const DeviceAddress *addresses, int64_t lane,
                     int64_t end, int elementBytes) {
  const DeviceAddress *from = addresses + lane;
  const int64_t limit = end - lane;
  if (limit < 3)
    return {lane, 1, *from, elementBytes};
  const auto stride = static_cast<int64_t>(from[1] - from[0]);
  if (std::abs(stride) > kMaxStride || static_cast<int64_t>(from[2] - from[1]) != stride)
    return {lane, 1, *from, elementBytes};
  return {lane, kernels.runLength(from, limit, static_cast<uint64_t>(stride)), *from, stride};
}

/// Fills the runs of the active lanes; gives up, and returns false, when they are short.
bool collectRuns(const LaneKernels &kernels, const AccessShape &shape,
                 const DeviceAddress *addresses, const uint8_t *mask, bool wantsAll,
                 Scratch &memory) {
  const int64_t n = shape.lanes;
  const size_t words = static_cast<size_t>((n + 63) / 64);
  memory.reserve(n);
  uint64_t *breaks = memory.bits.data();
  uint64_t *active = breaks + words;
  kernels.breakBits(addresses, n, static_cast<uint64_t>(shape.elementBytes), breaks);
  if (mask)
    kernels.activeBits(mask, n, active);
  AccessRun *out = memory.runs.data();
  int64_t count = 0, lane = 0;
  while (lane < n) {
    int64_t end = n;
    if (mask) {
      lane = nextSet(active, lane, n);
      if (lane == n)
        break;
      end = nextClear(active, lane, n);
    }
    while (lane < end) {
      const int64_t next = nextSet(breaks, lane + 1, end);
      out[count] = next - lane > 1 || lane + 1 == end
                       ? AccessRun{lane, next - lane, addresses[lane], shape.elementBytes}
                       : stridedRun(kernels, addresses, lane, end, shape.elementBytes);
      lane += out[count].count;
      if (++count >= 16 && count * 4 > lane && !wantsAll)
        return false;
    }
  }
  memory.runCount = count;
  return true;
}

DeviceAddress lastAddress(const AccessRun &run) {
  return run.address + static_cast<uint64_t>((run.count - 1) * run.strideBytes);
}

/// The lowest and highest element of some runs.
struct RunBounds {
  DeviceAddress low = ~0ULL;
  DeviceAddress high = 0;
  uint64_t bits = 0;
  int64_t lanes = 0;

  void add(const AccessRun &run) {
    const DeviceAddress last = lastAddress(run);
    low = std::min({low, run.address, last});
    high = std::max({high, run.address, last});
    bits |= run.address | (run.count > 1 ? static_cast<uint64_t>(run.strideBytes) : 0);
    lanes += run.count;
  }
};

/// Checks all runs at once, or one by one when they touch more than one allocation; fills
/// allocation, offsets and delta. Returns false when a run is refused.
bool acceptRuns(Finder &finder, llvm::ArrayRef<AccessRun> runs, ResolvedLanes &lanes) {
  RunBounds all;
  for (const AccessRun &run : runs)
    all.add(run);
  if (runs.empty()) { // every lane was refused
    lanes.activeLanes = 0;
    return true;
  }
  lanes.activeLanes = all.lanes;
  lanes.firstLane = runs.front().firstLane;
  const bool isOne = finder.accepts(all.low, all.high, all.bits);
  if (!isOne)
    for (const AccessRun &run : runs) {
      RunBounds bounds;
      bounds.add(run);
      if (!finder.accepts(bounds.low, bounds.high, bounds.bits))
        return false;
    }
  const Allocation *allocation = finder.find(all.low);
  lanes.minOffset = MemoryMap::offsetIn(*allocation, all.low);
  lanes.maxOffset = MemoryMap::offsetIn(*allocation, all.high);
  lanes.delta = hostDelta(*allocation, all.low);
  lanes.allocation = isOne ? allocation : nullptr;
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
  memory.refused.clear();
  for (int64_t lane = 0; lane < n; ++lane) {
    if (mask && !mask[lane])
      continue;
    if (const auto reason = finder.refuse(addresses[lane])) {
      const Allocation *allocation = finder.find(addresses[lane]);
      memory.refused.push_back({lane, addresses[lane], allocation, *reason});
    }
  }
  lanes.refused = memory.refused;
  if (memory.refused.empty())
    return;
  memory.mask.resize_for_overwrite(n);
  if (mask)
    std::memcpy(memory.mask.data(), mask, n);
  else
    std::memset(memory.mask.data(), 1, n);
  for (const RefusedLane &bad : memory.refused)
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
  access.dtype = shape.dtype;
  access.addresses = addresses;
  access.box = lanes.box;
  access.mask = lanes.mask;
  access.allocation = lanes.allocation;
  access.minOffset = lanes.minOffset;
  access.maxOffset = lanes.maxOffset;
  access.runs = lanes.runs;
  access.loopIterations = context.loopIterations;
  access.activeLanes = lanes.activeLanes;
  return access;
}

void reportRefused(ExecutionContext &context, const AccessShape &shape, const ResolvedLanes &lanes,
                   const DeviceAddress *addresses) {
  LaunchState &launch = *context.launch;
  if (launch.abandoned)
    return;
  const Access access = describeAccess(context, shape, lanes, addresses);
  for (Observer *observer : launch.observers)
    observer->onRefusedLanes(access, lanes.refused);
  if (!launch.observers.plan().takesRefusedLanes)
    launch.fail({describeRefused(launch.info, access, groupRefused(lanes.refused).front(),
                                 lanes.refused.size())});
}

/// Saves what is about to be written, where the launch may be done again.
void saveLanes(LaunchState &launch, const AccessShape &shape, const ResolvedLanes &lanes,
               const DeviceAddress *addresses) {
  const auto saveOne = [&](DeviceAddress address, int64_t bytes) {
    const Allocation *allocation =
        lanes.allocation ? lanes.allocation : launch.memory.find(address);
    launch.saved->save(
        *allocation, reinterpret_cast<const std::byte *>(address + hostDelta(*allocation, address)),
        bytes);
  };
  if (lanes.activeLanes == 0)
    return;
  if (lanes.isScattered || lanes.runs.empty()) {
    for (int64_t lane = 0; lane < shape.lanes; ++lane)
      if (!lanes.mask || lanes.mask[lane])
        saveOne(addresses[lane], shape.elementBytes);
    return;
  }
  for (const AccessRun &run : lanes.runs) {
    if (run.strideBytes == shape.elementBytes)
      saveOne(run.address, run.count * shape.elementBytes);
    else
      for (int64_t i = 0; i < run.count; ++i)
        saveOne(run.address + static_cast<uint64_t>(i * run.strideBytes), shape.elementBytes);
  }
}

} // namespace

AccessShape::AccessShape(AccessKind kind, const Type &pointer)
    : kind(kind), lanes(pointer.numElements()), elementBytes(pointer.pointee().elementBytes()),
      sizeLog(static_cast<int>(llvm::Log2_64(static_cast<uint64_t>(elementBytes)))),
      dtype(pointer.pointee().isPointer() ? DType::Int64 : storageDType(pointer.dtype)),
      blockShape(pointer.shape.begin(), pointer.shape.end()) {}

ResolvedLanes resolveLanes(ExecutionContext &context, const AccessShape &shape,
                           const DeviceAddress *addresses, const uint8_t *mask) {
  ResolvedLanes lanes;
  const LaneKernels &kernels = laneKernels();
  lanes.mask = mask && std::memchr(mask, 0, shape.lanes) ? mask : nullptr;
  if (lanes.mask && !std::memchr(mask, 1, shape.lanes))
    return lanes;
  const bool needsRuns = context.launch->observers.needs().runs;
  Scratch &memory = scratch();
  Finder finder(context.launch->memory, shape);
  const auto resolve = [&] {
    const bool hasRuns = collectRuns(kernels, shape, addresses, lanes.mask, needsRuns, memory);
    if (hasRuns)
      lanes.runs = llvm::ArrayRef(memory.runs.data(), memory.runCount);
    return hasRuns ? acceptRuns(finder, lanes.runs, lanes)
                   : acceptBounds(finder, kernels, shape, addresses, lanes);
  };
  const auto save = [&] {
    if (shape.writes() && context.launch->saved)
      saveLanes(*context.launch, shape, lanes, addresses);
  };
  if (resolve()) {
    save();
    return lanes;
  }
  refuseLanes(finder, shape, addresses, memory, lanes);
  lanes.isScattered = false;
  lanes.runs = {};
  if (!resolve())
    acceptEach(finder, shape, addresses, lanes);
  save();
  if (!lanes.refused.empty())
    reportRefused(context, shape, lanes, addresses);
  return lanes;
}

void notifyAccess(ExecutionContext &context, const AccessShape &shape, const ResolvedLanes &lanes,
                  const DeviceAddress *addresses, const void *values, const void *operandValues,
                  bool valuesAreScalar) {
  const ObserverList &observers = context.launch->observers;
  Access access = describeAccess(context, shape, lanes, addresses);
  access.values = values;
  access.valuesAreScalar = valuesAreScalar;
  access.operandValues = operandValues;
  // Without addresses all lanes are inside of a dense view.
  for (Observer *observer : addresses ? observers.all() : observers.ofAccesses())
    observer->onAccess(access);
  ++context.sequence;
}

void noteChange(ExecutionContext &context, const AccessShape &shape, const ResolvedLanes &lanes,
                Change change) {
  change.op = context.op;
  change.kind = shape.kind;
  change.dtype = shape.dtype;
  change.elementBytes = shape.elementBytes;
  change.program = context.linearProgram;
  context.launch->changes.note(context.worker, lanes.allocation->hostAt(lanes.minOffset), change);
}

void noteRange(ExecutionContext &context, const AccessShape &shape, const ResolvedLanes &lanes) {
  LastChanges &changes = context.launch->changes;
  if (!lanes.allocation)
    return changes.noteUnknown(context.worker);
  changes.noteRange(context.worker, lanes.allocation->hostAt(lanes.minOffset),
                    lanes.allocation->hostAt(lanes.maxOffset + shape.elementBytes));
}

void noteSeen(ExecutionContext &context, const AccessShape &shape, const void *op,
              const void *values, bool changed, bool isSwap) {
  if (!context.launch->info.mayWait)
    return;
  context.spinLanes = shape.lanes;
  context.spinSwaps = isSwap;
  const auto bytes = static_cast<size_t>(shape.lanes) * shape.elementBytes;
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

} // namespace blockscope::interpreter
