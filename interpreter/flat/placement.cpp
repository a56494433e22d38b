// Where every register lives in the frame: scalars, then the arena of blocks, then strip buffers.
//
// Blocks are placed first-fit by decreasing size; two may share bytes when their live ranges,
// widened to whole instructions and groups, do not meet. Inside a group, values that nothing else
// needs live in strip buffers that stay in the L1 cache.
#include "interpreter/flat/live_ranges.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <map>

namespace blockscope::interpreter::flat {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kScalarBytes = 8;
constexpr int64_t kStripCacheBytes = 24 * 1024; // of the L1 cache, for one group
constexpr int64_t kMinStrip = 128;
constexpr int64_t kMaxStrip = 4096;

struct Group {
  uint32_t first;
  uint32_t last; // op numbers
};

std::vector<Group> findGroups(const Lowered &lowered) {
  std::vector<Group> groups(lowered.numGroups, {kNone, 0});
  for (uint32_t i = 0; i < lowered.ops.size(); ++i) {
    const uint32_t number = lowered.ops[i].group;
    if (number == kNone)
      continue;
    groups[number].first = std::min(groups[number].first, i);
    groups[number].last = i;
  }
  return groups;
}

// A value is local to a group when its one definition and all uses are in it.
std::vector<bool> findStripValues(const Lowered &lowered) {
  std::vector<uint32_t> groupOf(lowered.values.size(), kNone);
  std::vector<bool> local(lowered.values.size(), false);
  for (const LoweredOp &op : lowered.ops) {
    for (const ValueId value : op.operands)
      if (op.group == kNone || groupOf[value] != op.group)
        local[value] = false;
    for (const ValueId value : op.phis)
      local[value] = false;
    for (const ValueId value : op.results) {
      local[value] = op.group != kNone && groupOf[value] == kNone;
      groupOf[value] = op.group;
    }
  }
  return local;
}

LiveRange widen(const LiveRange &range, const Lowered &lowered, llvm::ArrayRef<Group> groups) {
  LiveRange wide;
  for (const Segment &segment : range) {
    uint32_t first = segment.begin / 2;
    uint32_t last = segment.end / 2;
    if (const uint32_t group = lowered.ops[first].group; group != kNone)
      first = groups[group].first;
    if (const uint32_t group = lowered.ops[last].group; group != kNone)
      last = groups[group].last;
    wide.push_back({2 * first, 2 * last + 1});
  }
  return wide;
}

struct PlacedClass {
  uint64_t offset;
  uint64_t bytes;
  LiveRange range;
};

// Returns the lowest offset where `bytes` fit beside all placed classes that live at the same time.
uint64_t firstFit(uint64_t bytes, const LiveRange &range, llvm::ArrayRef<PlacedClass> placed) {
  llvm::SmallVector<std::pair<uint64_t, uint64_t>, 32> taken;
  for (const PlacedClass &other : placed)
    if (overlap(range, other.range))
      taken.push_back({other.offset, other.offset + other.bytes});
  std::sort(taken.begin(), taken.end());
  uint64_t offset = 0;
  for (const auto &[begin, end] : taken) {
    if (offset + bytes <= begin)
      break;
    offset = std::max(offset, end);
  }
  return offset;
}

// Buffers of one element per unit; a strip buffer is freed after its value's last use in the group.
class StripPlanner {
public:
  StripPlanner(const Lowered &lowered, const std::vector<bool> &local, bool inPlace)
      : lowered_(lowered), local_(local), inPlace_(inPlace) {}

  // Places the group's values from `base` on; returns the end of its buffers.
  uint64_t plan(const Group &group, uint64_t base, Placement &placement, int64_t &strip) {
    std::map<ValueId, uint32_t> lastUse;
    for (uint32_t i = group.first; i <= group.last; ++i) {
      for (const ValueId value : lowered_.ops[i].results)
        lastUse[value] = i;
      for (const ValueId value : lowered_.ops[i].operands)
        lastUse[value] = i;
    }
    std::map<ValueId, size_t> bufferOf;
    std::vector<uint8_t> buffers;              // bytes of an element
    std::vector<std::vector<size_t>> freed(9); // per bytes of an element
    int64_t streamBytes = 0;
    for (uint32_t i = group.first; i <= group.last; ++i) {
      const LoweredOp &op = lowered_.ops[i];
      const auto releaseOperands = [&] {
        for (const ValueId value : op.operands)
          if (auto found = bufferOf.find(value); found != bufferOf.end() && lastUse[value] == i)
            release(found, freed, buffers, bufferOf);
      };
      if (inPlace_)
        releaseOperands();
      for (const ValueId value : op.results) {
        const uint8_t bytes = lowered_.values[value].elementBytes;
        if (!local_[value]) {
          streamBytes += bytes;
          continue;
        }
        if (freed[bytes].empty()) {
          freed[bytes].push_back(buffers.size());
          buffers.push_back(bytes);
        }
        bufferOf[value] = freed[bytes].back();
        places_[value] = freed[bytes].back();
        freed[bytes].pop_back();
      }
      if (!inPlace_)
        releaseOperands();
      for (const ValueId value : op.results) // computed but not needed: free again
        if (auto found = bufferOf.find(value); found != bufferOf.end() && lastUse[value] == i)
          release(found, freed, buffers, bufferOf);
    }
    return layOut(group, buffers, streamBytes, base, placement, strip);
  }

private:
  static void release(std::map<ValueId, size_t>::iterator found,
                      std::vector<std::vector<size_t>> &freed, const std::vector<uint8_t> &buffers,
                      std::map<ValueId, size_t> &bufferOf) {
    freed[buffers[found->second]].push_back(found->second);
    bufferOf.erase(found);
  }

  uint64_t layOut(const Group &group, const std::vector<uint8_t> &buffers, int64_t streamBytes,
                  uint64_t base, Placement &placement, int64_t &strip) {
    int64_t elementBytes = streamBytes;
    for (const uint8_t bytes : buffers)
      elementBytes += bytes;
    const int64_t elements = lowered_.ops[group.first].elements;
    strip = static_cast<int64_t>(llvm::bit_floor(
        static_cast<uint64_t>(kStripCacheBytes / std::max<int64_t>(elementBytes, 1))));
    strip = std::clamp(strip, kMinStrip, kMaxStrip);
    if (elements < 2 * strip)
      strip = elements;
    std::vector<uint64_t> offsets;
    for (const uint8_t bytes : buffers) {
      offsets.push_back(base);
      base += llvm::alignTo(static_cast<uint64_t>(strip) * bytes, kAlignment);
    }
    for (uint32_t i = group.first; i <= group.last; ++i)
      for (const ValueId value : lowered_.ops[i].results)
        if (local_[value])
          placement.homes[value] = {PointerPlan::Base::Frame, offsets[places_[value]], true};
    return base;
  }

  const Lowered &lowered_;
  const std::vector<bool> &local_;
  const bool inPlace_;
  std::map<ValueId, size_t> places_;
};

} // namespace

Placement placeValues(const Lowered &lowered, const FlatOptions &options) {
  Placement placement;
  const std::vector<Group> groups = findGroups(lowered);
  const std::vector<bool> local = findStripValues(lowered);
  std::vector<LiveRange> ranges = computeLiveRanges(lowered, !options.values);
  placement.classOf = coalesceCopies(lowered, ranges, options.coalesce);
  placement.homes.resize(lowered.values.size());

  // Scalars, one place each; a class is numbered like one of its values.
  uint64_t scalarEnd = 0;
  std::vector<uint32_t> blocks;
  for (uint32_t value = 0; value < lowered.values.size(); ++value) {
    const LoweredValue &info = lowered.values[value];
    if (info.home == LoweredValue::Home::Constant) {
      placement.homes[value] = {PointerPlan::Base::Constants, info.place, false};
    } else if (info.home == LoweredValue::Home::Argument) {
      placement.homes[value] = {PointerPlan::Base::Arguments, info.place, false};
    } else if (placement.classOf[value] != value || ranges[value].empty() || local[value]) {
      continue;
    } else if (info.elements == 1) {
      placement.homes[value].offset = scalarEnd;
      scalarEnd += kScalarBytes;
    } else {
      blocks.push_back(value);
    }
  }

  const uint64_t arenaBegin = llvm::alignTo(scalarEnd, kAlignment);
  uint64_t arenaEnd = arenaBegin;
  std::sort(blocks.begin(), blocks.end(), [&](uint32_t a, uint32_t b) {
    const int64_t bytesA = lowered.values[a].bytes(), bytesB = lowered.values[b].bytes();
    return bytesA != bytesB ? bytesA > bytesB : a < b;
  });
  std::vector<PlacedClass> placed;
  for (const uint32_t value : blocks) {
    const uint64_t bytes =
        llvm::alignTo(static_cast<uint64_t>(lowered.values[value].bytes()), kAlignment);
    LiveRange range = widen(ranges[value], lowered, groups);
    const uint64_t offset = options.share ? firstFit(bytes, range, placed) : arenaEnd - arenaBegin;
    placement.homes[value].offset = arenaBegin + offset;
    arenaEnd = std::max(arenaEnd, arenaBegin + offset + bytes);
    placed.push_back({offset, bytes, std::move(range)});
  }

  uint64_t frameEnd = arenaEnd;
  StripPlanner strips(lowered, local, !options.values);
  placement.groupStrip.resize(groups.size());
  for (size_t i = 0; i < groups.size(); ++i)
    frameEnd =
        std::max(frameEnd, strips.plan(groups[i], arenaEnd, placement, placement.groupStrip[i]));

  for (uint32_t value = 0; value < lowered.values.size(); ++value)
    if (placement.classOf[value] != value)
      placement.homes[value] = placement.homes[placement.classOf[value]];
  placement.frameBytes = llvm::alignTo(frameEnd, kAlignment);
  return placement;
}

} // namespace blockscope::interpreter::flat
