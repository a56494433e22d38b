// How often each element of a tensor was accessed in one run, A, and in another one, B.
#pragma once

#include "viz/model/cell_raster.h"
#include "viz/model/trace_model.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace blockscope::viz {

/// Counts of one element in both runs.
struct CountPair {
  ElementCounts a;
  ElementCounts b;
  /// A minus B.
  int64_t difference(HeatMode mode) const { return int64_t{a.of(mode)} - int64_t{b.of(mode)}; }
  bool isTouched(HeatMode mode) const { return a.of(mode) > 0 || b.of(mode) > 0; }
};

/// A place outside the tensor that one of the runs accessed.
struct OutsideDifference {
  Cell cell;
  CountPair counts;
};

/// How many elements of the tensor have more accesses in A, more in B, and as many in both.
struct DifferenceTotals {
  uint64_t more = 0;
  uint64_t fewer = 0;
  uint64_t equal = 0;  ///< and touched
  int64_t largest = 0; ///< size of the largest difference, outside places included
  /// Both accessed an element, but one more often; else each difference is of one run alone.
  bool areShared = false;
};

/// A tensor of two launches. Its planes have the same rows and columns in both; strides may differ.
class DifferenceMap {
public:
  DifferenceMap(const TraceModel &a, int argumentA, const TraceModel &b, int argumentB);

  /// Counts of a cell of the plane, or of a place beside it that was accessed.
  CountPair at(int64_t slice, Cell cell) const;
  const DifferenceTotals &totals(HeatMode mode) const { return totals_[static_cast<size_t>(mode)]; }
  /// In order of rows and columns.
  const std::vector<OutsideDifference> &outside(int64_t slice) const;
  /// The tensor and what is outside in either run.
  Region content(int64_t slice) const;
  const Plane &plane(int64_t slice) const { return a_.plane(argumentA_, slice); }

  /// A difference as a number of which the greatest has the most to say: 0 where neither run
  /// touched it, 1 where there is none, else its size, a few bits that depend on the cell, and one
  /// that is set where B has more. Without the bits in the middle, pixels over differences of one
  /// size would all have the same sign.
  static uint32_t encoded(const CountPair &counts, HeatMode mode, Cell cell);
  /// Rows of a picture in this code, and what a choice of programs lets through in either run.
  RasterRows rows(int64_t slice, HeatMode mode, RunFilter lit, int rowShift, int columnShift) const;

private:
  CountPair countsAt(const Plane &planeA, const HeatMap &heatA, const Plane &planeB,
                     const HeatMap &heatB, Cell cell) const;
  void addTotals(const CountPair &counts, bool isInside);

  const TraceModel &a_;
  const TraceModel &b_;
  int argumentA_;
  int argumentB_;
  DifferenceTotals totals_[3];
  mutable std::map<int64_t, std::vector<OutsideDifference>> outside_; ///< by slice
  mutable std::map<std::pair<int64_t, HeatMode>, ReducedPlanes> reduced_;
};

/// Everything that the picture of a difference depends on.
struct DifferenceRequest {
  size_t tensor = 0; ///< of the comparison
  int64_t slice = -1;
  HeatMode mode = HeatMode::Both;
  bool logScale = false;
  RunFilter lit;
  RasterArea area;
  DifferenceColors colors = DifferenceColors::BlueOrange;
  bool operator==(const DifferenceRequest &) const = default;
};

/// Colours of differences up to a size.
class DifferenceScale {
public:
  DifferenceScale(int64_t largest, bool logScale, DifferenceColors colors)
      : largest_(largest > 0 ? largest : 1), logScale_(logScale), colors_(colors) {}
  /// Position of a difference on the colour bar, -1 to 1; 0 is in the middle.
  float position(int64_t difference) const;
  int64_t difference(float position) const;
  Rgba color(int64_t difference) const { return differenceColor(position(difference), colors_); }
  Rgba colorOfCode(uint32_t code) const;
  int64_t largest() const { return largest_; }

private:
  int64_t largest_;
  bool logScale_;
  DifferenceColors colors_;
};

/// Draws A minus B. What neither run touched has the colour of what is untouched.
std::vector<Rgba> renderDifference(const DifferenceMap &map, const DifferenceRequest &request);

} // namespace blockscope::viz
