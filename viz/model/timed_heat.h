// The counts of one tensor over a range of time, which moves.
//
// Time is the order of the access runs in the recording. Going from one range to another counts
// only the runs between them, up or down, and for as long as the caller has time: a jump over 10^8
// accesses takes some frames, none of which is late. Beside the counts it keeps their maxima over
// blocks of cells, as large as the picture's pixels, which change with the counts.
#pragma once

#include "core/trace/access_columns.h"
#include "viz/model/heat_map.h"
#include "viz/model/reduced_plane.h"
#include "viz/model/tensor_layout.h"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <unordered_map>
#include <vector>

namespace blockscope::viz {

/// Rows [begin, end) of the access runs.
struct TimeRange {
  size_t begin = 0;
  size_t end = 0;
  bool operator==(const TimeRange &) const = default;
};

/// One pixel's share of a plane: blocks of 2^rowShift x 2^columnShift cells.
struct BlockShifts {
  int row = 0;
  int column = 0;
  bool operator==(const BlockShifts &) const = default;
};

class TimedHeat {
public:
  /// The counts of `mode`, of no access yet.
  TimedHeat(const TensorLayout &layout, const Plane &plane, const TraceAccesses &accesses,
            int argument, HeatMode mode);

  /// Goes towards `range`, for about as long as `budget`; true when it is there.
  bool goTo(TimeRange range, std::chrono::nanoseconds budget = std::chrono::nanoseconds::max());
  bool isAt(TimeRange range) const { return range_ == within(range); }

  uint32_t value(int64_t slot) const { return counts_.get()[slot]; }
  /// Of a place outside the view.
  uint32_t outsideValue(int64_t slot) const;
  /// Maxima over blocks of the plane, which are kept for these shifts from now on.
  const ReducedPlane &reduced(BlockShifts shifts);

private:
  struct Free {
    void operator()(uint32_t *memory) const { std::free(memory); }
  };
  class Clock;

  /// The range with its ends in the recording; an empty one has no place of its own.
  TimeRange within(TimeRange range) const;
  bool isCounted(size_t row) const;
  bool count(size_t begin, size_t end, bool isBackwards, int delta, Clock &clock, size_t &at);
  void addRun(const TraceRun &run, int delta);
  void addSlots(int64_t slot, int64_t count, int delta);
  void addInside(int64_t slot, int64_t count, int delta);
  void addCells(int64_t slot, Cell cell, int64_t count, int delta);
  void addOutside(int64_t slot, int delta);
  void mendBlocks();
  uint32_t maximumOf(size_t block) const;

  const TensorLayout *layout_;
  const Plane *plane_;
  const TraceAccesses *accesses_;
  int argument_;
  HeatMode mode_;
  TimeRange range_;
  /// By slot. Memory that the system gives page by page, when it is first written.
  std::unique_ptr<uint32_t, Free> counts_;
  std::unordered_map<int64_t, uint32_t> outside_;
  bool isRowMajor_ = false; ///< slots follow one another as the cells of the plane do
  BlockShifts shifts_;
  ReducedPlane blocks_;         ///< where the shifts are not 0
  std::vector<size_t> lowered_; ///< blocks that may have lost their maximum
  std::vector<bool> isLowered_;
};

} // namespace blockscope::viz
