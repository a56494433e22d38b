// Two runs beside one another: which launches and tensors belong together, and what does not match.
#pragma once

#include "viz/model/difference_map.h"
#include "viz/model/selection.h"
#include "viz/model/trace_model.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace blockscope::viz {

/// The two runs. A minus B is the difference.
enum class Side : uint8_t { A, B };
inline constexpr std::array<Side, 2> kSides = {Side::A, Side::B};
inline constexpr const char *sideName(Side side) { return side == Side::A ? "A" : "B"; }

/// Launches of one kernel; -1 where a run has none that belongs to the other's.
struct LaunchPair {
  std::string kernel;
  std::array<int64_t, 2> launch{-1, -1};
  bool isWhole() const { return launch[0] >= 0 && launch[1] >= 0; }
};

/// Matches launches by the name of the kernel, and among those by their order: those of A first, in
/// their order, then what only B has.
std::vector<LaunchPair> matchLaunches(const std::vector<std::string> &kernelsOfA,
                                      const std::vector<std::string> &kernelsOfB);

/// A tensor by its name.
struct TensorPair {
  std::string name;
  std::array<int, 2> argument{-1, -1}; ///< -1: this run cannot show it
  std::string problem;                 ///< why there is no difference, a sentence; else empty
};

class Comparison {
public:
  /// Opens two traces at a launch of A; without a number at the first pair in which either has
  /// findings, else at the first.
  /// Errors: null, with the reason in `error`.
  static std::unique_ptr<Comparison> open(const std::string &pathA, const std::string &pathB,
                                          std::optional<size_t> launchOfA, std::string &error);

  const std::vector<LaunchPair> &launches() const { return launches_; }
  size_t pair() const { return pair_; }
  /// Errors: false, with the reason in `error`; what was open stays.
  bool openPair(size_t pair, std::string &error);
  /// The next pair of which both runs have a launch, or the previous one; nothing at the end.
  std::optional<size_t> nextPair(int step) const;

  const TraceModel &run(Side side) const { return *models_[static_cast<size_t>(side)]; }
  /// The file's name; with its folder where both have the same one.
  const std::string &name(Side side) const { return names_[static_cast<size_t>(side)]; }
  const std::vector<TensorPair> &tensors() const { return tensors_; }
  /// Null for a tensor that has a problem.
  const DifferenceMap *difference(size_t tensor) const;

  /// Null also for a tensor that is too large to be looked through before it is chosen.
  const DifferenceTotals *totals(size_t tensor, HeatMode mode) const;

  /// What does not match, in whole sentences; empty when all does.
  const std::vector<std::string> &notes() const { return notes_; }

private:
  std::array<std::string, 2> paths_;
  std::array<std::string, 2> names_;
  std::vector<LaunchPair> launches_;
  std::vector<std::string> launchNotes_;
  size_t pair_ = 0;
  std::array<std::unique_ptr<TraceModel>, 2> models_;
  std::vector<TensorPair> tensors_;
  mutable std::map<size_t, std::array<DifferenceTotals, 3>> totals_; ///< by tensor
  std::vector<std::string> notes_;
  mutable std::pair<size_t, std::unique_ptr<DifferenceMap>> difference_; ///< the last one asked for
};

/// What is chosen in a comparison.
struct CompareView {
  size_t tensor = 0;
  bool showsRuns = false; ///< where a window has room for the runs or their difference
  Selection shared;       ///< slice, region, cell, mode... of both; its tensor is not used

  std::array<std::shared_ptr<Pictures>, 3> pictures; ///< of A, of B, of the difference
};

CompareView firstView(const Comparison &comparison);
/// The choice as the panels of one run know it; its tensor is -1 where the run has none.
Selection selectionOf(const Comparison &comparison, const CompareView &view, Side side);
/// A run that has the chosen tensor.
Side sideWithTensor(const Comparison &comparison, const CompareView &view);
/// What both runs accessed of the chosen tensor, in cells.
Region contentOf(const Comparison &comparison, const CompareView &view);
/// The counts between which the colours of both runs lie.
CountRange rangeOf(const Comparison &comparison, const CompareView &view);
void chooseTensor(const Comparison &comparison, CompareView &view, size_t tensor);

/// Tables of a comparison: "heat" (the chosen tensor's elements), "tensors" or "launches".
enum class CompareTable : uint8_t { Heat, Tensors, Launches };
std::string csvOf(const Comparison &comparison, const CompareView &view, CompareTable table);

} // namespace blockscope::viz
