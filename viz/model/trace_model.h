// One launch of a trace, prepared for looking at: counts, heat maps, footprints, stories of
// elements.
//
// What needs all runs of a tensor is made when first asked for and kept; the model is for one
// thread.
#pragma once

#include "core/trace/trace_reader.h"
#include "viz/model/element_history.h"
#include "viz/model/finding_marks.h"
#include "viz/model/heat_map.h"
#include "viz/model/heat_view.h"
#include "viz/model/reduced_plane.h"
#include "viz/model/tensor_layout.h"
#include "viz/model/timed_heat.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace blockscope::viz {

/// Element accesses, by kind.
struct AccessCounts {
  uint64_t loads = 0;
  uint64_t stores = 0;
  uint64_t atomics = 0;
  uint64_t outside = 0; ///< of the above, outside the tensor
  uint64_t masked = 0;  ///< lanes masked off
  uint64_t blocks = 0;  ///< executed block accesses
  uint64_t total() const { return loads + stores + atomics; }
  AccessCounts &operator+=(const AccessCounts &other);
};

/// Per program, small: there can be millions.
struct ProgramCounts {
  uint32_t accesses = 0; ///< saturates
  uint32_t outside = 0;  ///< saturates
};

/// Who touched one element.
struct ElementStory {
  ElementCounts counts;
  std::vector<std::pair<int32_t, uint64_t>> ops; ///< op and how often, in order of the ops
  std::vector<uint32_t> programs;                ///< sorted, the first `kMaxPrograms`
  uint64_t programCount = 0;
  static constexpr size_t kMaxPrograms = 64;
};

struct Roofline; // gpu_view.h

class TraceModel {
public:
  TraceModel();
  ~TraceModel();

  /// Opens a launch of the file; without a number the first that has findings, else the first.
  /// Errors: null, with the reason in `error`.
  static std::unique_ptr<TraceModel> open(const std::string &path, std::optional<size_t> launch,
                                          std::string &error,
                                          const TraceLimits &limits = TraceLimits::ofThisMachine());
  /// A launch that is in memory already; `problemOf` has nothing against any of it.
  /// Errors: null, with the reason in `error`, when `limits` does not allow to count it.
  static std::unique_ptr<TraceModel> make(TraceLaunch launch, TraceAccesses accesses,
                                          std::vector<TraceSource> sources,
                                          const TraceLimits &limits, std::string &error,
                                          TraceValues values = {});

  const std::string &path() const { return path_; }
  size_t launchCount() const { return launchCount_; }
  size_t launchIndex() const { return launchIndex_; }
  const TraceLaunch &launch() const { return launch_; }
  const std::vector<TraceSource> &sources() const { return sources_; }
  const TraceAccesses &accesses() const { return accesses_; }
  /// `problemOf` has nothing against them; empty where none were recorded.
  const TraceValues &values() const { return values_; }

  /// Argument numbers of the tensors that can be shown: of at most `kMaxSlots` slots, fewer where
  /// memory is small, and `kMaxElements` elements (an expanded tensor has many in one slot).
  const std::vector<int> &tensors() const { return tensors_; }
  bool isShown(int argument) const;
  static constexpr int64_t kMaxSlots = int64_t{1} << 28;
  static constexpr int64_t kMaxElements = int64_t{1} << 30;
  const std::vector<AccessCounts> &opCounts() const { return opCounts_; }
  const std::vector<AccessCounts> &argumentCounts() const { return argumentCounts_; }
  const std::vector<ProgramCounts> &programCounts() const { return programCounts_; }
  const AccessCounts &total() const { return total_; }
  /// Element accesses that belong to no argument.
  uint64_t strayAccesses() const { return strayAccesses_; }
  /// Counts of a source's line; zeros for a line that accessed nothing.
  AccessCounts lineCounts(int source, int line) const;
  /// Findings of a line, as numbers of `launch().findings`.
  const std::vector<size_t> &findingsOfLine(int source, int line) const;
  /// Counts of each op in one program.
  std::vector<AccessCounts> opCountsOf(int64_t program) const;
  /// The tensor an op accessed most, or -1.
  int tensorOfOp(int32_t op) const { return tensorOfOp_[static_cast<size_t>(op)]; }
  std::array<int64_t, 3> programIndex(int64_t program) const;

  const TensorLayout &layout(int argument) const { return layouts_[static_cast<size_t>(argument)]; }
  /// Counts of all runs of a tensor. What it returns, and what else is made of it, goes when the
  /// heat map of another tensor needs its room.
  const HeatMap &heat(int argument) const;
  /// Counts of the runs that `filter` lets through; the last one asked for is kept.
  const HeatMap &footprint(int argument, RunFilter filter) const;
  /// Reductions of a plane of `heat(argument)`.
  ReducedPlanes &reduced(int argument, int64_t slice, HeatMode mode) const;
  /// Reductions of a plane of the footprint, in mode Both.
  ReducedPlanes &reducedFootprint(int argument, int64_t slice, RunFilter filter) const;
  /// Counts of a range of time, which the caller moves; the last one asked for is kept.
  TimedHeat &timedHeat(int argument, int64_t slice, HeatMode mode) const;
  const Plane &plane(int argument, int64_t slice) const;
  /// Where the accesses outside a tensor are drawn around its plane.
  const OutsideCells &outsideCells(int argument, int64_t slice) const;

  /// What a finding marks in a plane, or, with -1, what all findings of the tensor do. Of one that
  /// has two sides, the elements that each of them touched come first; what was asked for last is
  /// kept.
  const std::vector<MarkSegment> &marks(int argument, int64_t slice, int finding) const;
  /// The last row of `accesses()` of a program; nothing where none was recorded.
  std::optional<size_t> lastRowOf(int64_t program) const;

  /// Who touched the element-sized place `slot`; the last one asked for is kept.
  const ElementStory &storyOf(int argument, int64_t slot) const;
  /// The launch below the roofs of its GPU; made when first asked for.
  const Roofline &roofline() const;
  /// Its accesses one by one; the last one asked for is kept.
  const ElementHistory &history(int argument, int64_t slot) const;
  /// Calls `visit(row, run)` for each run of the tensor that touches a slot, in their order.
  void forEachRunAt(int argument, int64_t slot,
                    const std::function<void(size_t, const TraceRun &)> &visit) const;
  /// The elements of row `outer` of a run that touch a slot: from the first to one past the last.
  std::pair<int64_t, int64_t> lanesAt(int argument, int64_t slot, const TraceRun &run,
                                      int64_t outer) const;

private:
  using RowRanges = std::vector<std::pair<size_t, size_t>>;
  struct RowBlock {
    size_t begin;
    size_t end;
    int64_t lowest; ///< byte offsets that its runs touch
    int64_t highest;
  };
  struct FootprintCache;

  bool isCountable(const TraceLimits &limits, std::string &error) const;
  bool summarize(MemoryBudget &budget);
  void addLines();
  void assignTensorsToOps();
  uint64_t outsideElements(const TraceRun &run) const;
  RowRanges rowsOf(int64_t program) const;
  const std::vector<RowBlock> &rowBlocks(int argument) const;
  ElementStory makeStory(int argument, int64_t slot) const;
  void addMarks(int argument, const Plane &plane, int finding,
                std::vector<MarkSegment> &segments) const;
  void addSide(int argument, const Plane &plane, int finding, const TracePlace &place,
               MarkKind kind, std::vector<MarkSegment> &segments) const;

  std::string path_;
  size_t launchCount_ = 0;
  size_t launchIndex_ = 0;
  TraceLaunch launch_;
  std::vector<TraceSource> sources_;
  TraceAccesses accesses_;
  TraceValues values_;
  int64_t maxSlots_ = kMaxSlots; ///< of one tensor, and of all heat maps that are kept
  std::vector<int> tensors_;
  std::vector<TensorLayout> layouts_;
  std::vector<AccessCounts> opCounts_;
  std::vector<AccessCounts> argumentCounts_;
  std::vector<ProgramCounts> programCounts_;
  AccessCounts total_;
  uint64_t strayAccesses_ = 0;
  std::vector<int> tensorOfOp_;
  std::map<std::pair<int, int>, AccessCounts> countsOfLine_; ///< by source and line
  std::map<std::pair<int, int>, std::vector<size_t>> findingsOfLine_;
  /// Rows of one program that follow one another: (first row, program), in row order.
  std::vector<std::pair<size_t, uint32_t>> segments_;
  /// Numbers of segments, sorted by program.
  std::vector<uint32_t> segmentsByProgram_;

  mutable std::map<int, HeatMap> heats_;
  mutable std::map<std::pair<int, int64_t>, Plane> planes_;
  mutable std::map<std::pair<int, int64_t>, OutsideCells> outsideCells_;
  mutable std::map<std::tuple<int, int64_t, HeatMode>, ReducedPlanes> reduced_;
  mutable std::map<int, std::vector<RowBlock>> rowBlocks_;
  mutable std::unique_ptr<FootprintCache> footprint_;
  mutable std::map<std::tuple<int, int64_t, HeatMode>, TimedHeat> timed_; ///< at most one
  mutable std::optional<std::tuple<int, int64_t, ElementStory>> story_;
  mutable std::optional<std::tuple<int, int64_t, ElementHistory>> history_;
  mutable std::unique_ptr<Roofline> roofline_;
  mutable std::map<std::tuple<int, int64_t, int>, std::vector<MarkSegment>> marks_; ///< at most one
};

} // namespace blockscope::viz
