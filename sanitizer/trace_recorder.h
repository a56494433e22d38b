// An observer that records a run into a trace file.
//
// Each worker folds the runs of its accesses into two-level runs (a tile is one) in a buffer of its
// own, and hands full buffers to the writer, which compresses them on that worker's thread.
#pragma once

#include "core/memory_plan.h"
#include "core/trace/trace_writer.h"
#include "sanitizer/collector.h"
#include "sanitizer/observation.h"
#include "sanitizer/traffic.h"

#include "llvm/ADT/ArrayRef.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace blockscope::sanitizer {

/// What a recording has besides accesses and findings.
struct TraceOptions {
  /// Values of the first elements that are accessed. Programs then run one after another.
  bool values = false;
};

/// Records launches into one trace file.
///
/// Errors: recording stops at the first failure (a full disk, say); `error()` says what failed.
class TraceRecorder : public Observer {
public:
  explicit TraceRecorder(std::unique_ptr<TraceWriter> writer, TraceOptions options = {});
  ~TraceRecorder() override;

  /// Refused lanes are drawn. Failed asserts and deadlocks are not, so they stay errors.
  ObserverPlan plan() const override {
    ObserverPlan plan;
    plan.needs.runs = true;
    plan.needs.programOrder = options_.values;
    plan.needs.values = nextPlan_.has_value();
    plan.repeat = ObserverPlan::Repeat::Accepts;
    plan.takesRefusedLanes = true;
    return plan;
  }
  void onLaunchBegin(const LaunchInfo &launch) override;
  void onAccess(const Access &access) override;
  void onRefusedLanes(const Access &access, llvm::ArrayRef<RefusedLane> lanes) override;
  void onValues(const OpValues &event) override;
  void onProgramEnd(int64_t program, int worker) override;
  void onLaunchRepeat() override;
  void onLaunchEnd() override;

  /// Says how a GPU would run the next launch: what its accesses move and its floating-point
  /// operations are counted. Not while a launch runs.
  void predict(MemoryPlan plan, TraceGpu gpu);
  /// The next launch has no prediction.
  void forgetPrediction() { nextPlan_.reset(); }

  /// Adds findings, each to the recorded launch that it names, else, marked as of elsewhere, to the
  /// last one. Not thread safe, and not while a launch runs.
  void addFindings(llvm::ArrayRef<CollectedFinding> findings);

  /// Ends the last launch and the file.
  /// Errors: false; see `error()`.
  bool close();
  const std::string &error() const { return writer_->error(); }

private:
  struct Worker;
  Worker &worker(int index) { return *workers_[static_cast<size_t>(index)]; }
  void addRuns(Worker &worker, const Access &access, int32_t argument, uint8_t flags,
               llvm::ArrayRef<AccessRun> runs, const Allocation *allocation);
  void addValues(const Worker &worker, const Access &access, size_t firstRun);
  void addTraffic(Worker &worker, const Access &access);
  const AccessPlan *planOf(const OpInfo &op, AccessKind kind) const;
  void addPrediction();
  void flush(Worker &worker);
  void noteOp(Worker &worker, const OpInfo &op);
  int32_t argumentOf(const Allocation *allocation);
  int32_t sourceOf(const std::string &file);
  TracePlace placeOf(const Site &site, const TraceLaunch *launch);
  void addShares(TraceFinding &row, const Finding &finding);
  void addWaits(TraceFinding &row, const Finding &finding);
  void endPendingLaunch();

  /// An ended launch, with the number that findings call it by.
  struct Ended {
    int64_t launchIndex;
    TraceLaunch launch;
  };

  std::unique_ptr<TraceWriter> writer_;
  TraceOptions options_;
  std::vector<std::unique_ptr<Worker>> workers_;
  /// Of the next launch, and of the one that runs.
  std::optional<std::pair<MemoryPlan, TraceGpu>> nextPlan_, plan_;
  TraceValues values_;       ///< of the launch that runs
  bool keepsValues_ = false; ///< there is one worker, and there is room for more
  int64_t runsFlushed_ = 0;  ///< where there is one worker
  TraceLaunch launch_;
  int64_t launchIndex_ = 0;
  bool launchPending_ = false;
  std::vector<Ended> ended_;         ///< by number in the file
  const LaunchInfo *info_ = nullptr; ///< while the launch runs
  const MemoryMap *memory_ = nullptr;
  std::map<std::string, int32_t> sources_;          ///< numbers in the file, by path
  std::vector<const Allocation *> kernelArguments_; ///< by argument number
  std::mutex foundMutex_;
  std::map<const Allocation *, int32_t> found_; ///< allocations met by host address
};

} // namespace blockscope::sanitizer
