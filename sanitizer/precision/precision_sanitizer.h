// precision: a run in float64 beside the kernel's own, and where the errors of its outputs come
// from.
//
// Integers, comparisons and the way that a program takes stay the kernel's own. Errors go through
// ops (follow.h) and memory (exact_memory.h). At the end of a launch each tensor that it has stored
// floats to is measured: what its elements hold at that time, against their exact values. A report,
// not an error: it is asked for by name.
#pragma once

#include "sanitizer/access_lanes.h"
#include "sanitizer/precision/exact_memory.h"
#include "sanitizer/precision/follow.h"
#include "sanitizer/sanitizer.h"

namespace blockscope::sanitizer {

/// The errors of all elements of one tensor that a launch has stored.
struct OutputErrors {
  int64_t count = 0;
  double error = 0, exact = 0, rounding = 0; ///< sums of squares; of one rounding to its dtype
  std::map<CauseId, double> parts;           ///< sums of squares
  double worst = 0;                          ///< the largest error, and where
  double kernel = 0, wanted = 0;
  uint64_t address = 0;

  double relative() const;
  /// Of what one rounding to its dtype brings.
  double times() const;
};

class PrecisionSanitizer : public Observer {
public:
  /// `tellsAll`: of outputs with little error too.
  PrecisionSanitizer(FindingCollector &collector, bool tellsAll)
      : collector_(collector), tellsAll_(tellsAll), follower_(blocks_, causes_) {}

  ObserverPlan plan() const override;
  void onLaunchBegin(const LaunchInfo &launch) override;
  void onProgramBegin(int64_t program, int worker) override;
  void onValues(const OpValues &values) override;
  void onMove(const ValueMove &move) override;
  void onLaunchEnd() override;

private:
  void load(const OpValues &values);
  void store(const OpValues &values);
  void combine(const OpValues &values);
  OutputErrors measure(const Allocation &output);
  void report(const Allocation &output, const OutputErrors &errors);
  Finding describeShares(const Allocation &output, const OutputErrors &errors) const;
  void reportCauses(const Allocation &output, const OutputErrors &errors,
                    const std::vector<std::pair<CauseId, double>> &shares);
  void add(const std::string &cause, double weight, llvm::function_ref<Finding()> describe);

  FindingCollector &collector_;
  bool tellsAll_;
  const LaunchInfo *launch_ = nullptr;
  uint32_t number_ = 0; ///< of the launch, in this session
  Causes causes_;
  ExactBlocks blocks_;
  ExactMemory memory_;
  Follower follower_;
  /// By storage, and by op: how many elements it has stored in this launch.
  std::map<const std::byte *, std::map<const OpInfo *, int64_t>> stores_;
  llvm::StringMap<double> told_; ///< by cause: the largest of what its launches had
};

} // namespace blockscope::sanitizer
