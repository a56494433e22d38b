// How often each element of one tensor was read, written and updated atomically.
#pragma once

#include "core/trace/access_columns.h"
#include "viz/model/tensor_layout.h"

#include <cstdint>
#include <vector>

namespace blockscope::viz {

/// Which counts a heat map shows. Atomics are both reads and writes, and count once in Both.
enum class HeatMode : uint8_t { Reads, Writes, Both };

struct ElementCounts {
  uint32_t loads = 0;
  uint32_t stores = 0;
  uint32_t atomics = 0;
  uint32_t of(HeatMode mode) const {
    switch (mode) {
    case HeatMode::Reads:
      return loads + atomics;
    case HeatMode::Writes:
      return stores + atomics;
    case HeatMode::Both:
      return loads + stores + atomics;
    }
    return 0;
  }
};

/// An element-sized place outside the tensor's view that was accessed.
struct OutsidePlace {
  int64_t slot = 0;
  ElementCounts counts;
};

/// Which runs are meant; -1 means any.
struct RunFilter {
  int64_t program = -1;
  int32_t op = -1;
  bool isAny() const { return program < 0 && op < 0; }
  bool operator==(const RunFilter &) const = default;
};

/// Counts per slot of one tensor, and the places outside it.
class HeatMap {
public:
  /// Adds the runs of `argument` in `accesses` whose row is in one of `rowRanges`.
  HeatMap(const TensorLayout &layout, const TraceAccesses &accesses, int argument, RunFilter filter,
          const std::vector<std::pair<size_t, size_t>> &rowRanges);

  ElementCounts at(int64_t slot) const {
    const auto index = static_cast<size_t>(slot);
    return {loads_.empty() ? 0 : loads_[index], stores_.empty() ? 0 : stores_[index],
            atomics_.empty() ? 0 : atomics_[index]};
  }
  uint32_t value(int64_t slot, HeatMode mode) const { return at(slot).of(mode); }
  /// Greatest value of an element of the view, and the smallest that is not 0; 0 for an untouched
  /// tensor.
  uint32_t maximum(HeatMode mode) const { return maximum_[static_cast<size_t>(mode)]; }
  uint32_t minimum(HeatMode mode) const { return minimum_[static_cast<size_t>(mode)]; }

  /// Places outside the view by slot; at most `kMaxOutsidePlaces` of them are kept.
  const std::vector<OutsidePlace> &outside() const { return outside_; }
  /// Accesses outside the view, all of them.
  uint64_t outsideAccesses() const { return outsideAccesses_; }

  static constexpr size_t kMaxOutsidePlaces = size_t{1} << 18;

private:
  std::vector<uint32_t> &countsOf(TraceAccessKind kind);
  void addOutside(int64_t slot, int64_t count, TraceAccessKind kind, uint32_t times);
  void addContiguous(int64_t slot, int64_t count, TraceAccessKind kind);
  bool isSingle(const TraceAccesses &accesses, size_t row) const;
  void addRun(const TraceRun &run, bool contiguousPass);
  void moveGapsOutside(const TensorLayout &layout);

  const TensorLayout *layout_;
  std::vector<uint32_t> loads_; ///< empty while nothing was counted
  std::vector<uint32_t> stores_;
  std::vector<uint32_t> atomics_;
  std::vector<OutsidePlace> outside_;
  uint64_t outsideAccesses_ = 0;
  uint32_t maximum_[3] = {0, 0, 0};
  uint32_t minimum_[3] = {0, 0, 0};
};

} // namespace blockscope::viz
