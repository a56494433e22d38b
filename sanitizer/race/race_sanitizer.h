// tsan: races between programs of one launch, by happens-before through atomics.
//
// Programs are unordered except through release and acquire atomics of enough scope. Where they
// cannot wait for one another, a screen decides on all threads whether there can be a race at all.
// Only if so, and for all other kernels, the exact analysis runs: programs one at a time, in order
// of their numbers, so that what races loads and stores the same values in every run, and the
// report does not depend on the number of threads.
#pragma once

#include "sanitizer/collector.h"
#include "sanitizer/observation.h"
#include "sanitizer/race/race_screen.h"
#include "sanitizer/race/shadow_memory.h"
#include "sanitizer/race/sync_graph.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"

#include <map>
#include <memory>
#include <vector>

namespace blockscope::sanitizer {

class RaceSanitizer : public Observer {
public:
  explicit RaceSanitizer(FindingCollector &collector);
  ~RaceSanitizer() override;

  /// The screen, in the trial, needs no more than accesses.
  static constexpr ObserverPlan kPlan = {.needs = {.accesses = RunNeeds::Accesses::Stored,
                                                   .runs = true,
                                                   .programOrder = true,
                                                   .program = true},
                                         .repeat = ObserverPlan::Repeat::Asks,
                                         .trialNeeds = {.accesses = RunNeeds::Accesses::Stored}};

  ObserverPlan plan() const override { return kPlan; }
  void onLaunchBegin(const LaunchInfo &launch) override;
  void onAccess(const Access &access) override;
  void onBarrier(int64_t program, int worker) override;
  void onFence(int64_t program) override;
  void onProgramEnd(int64_t program, int worker) override;
  bool mustRepeat() override;
  void onLaunchEnd() override;

private:
  /// What is kept of an op, so that the other side of a race can be described later.
  struct OpFacts {
    const OpInfo *info = nullptr;
    AccessKind kind = AccessKind::Load;
    std::vector<int64_t> blockShape;
    std::string semantics;
    AtomicScope scope = AtomicScope::Gpu;
    int elementBytes = 0;
  };
  struct SeenAccess;
  struct ProgramState;
  struct Conflict;

  ProgramState &state(int64_t program);
  SeenAccess summarise(const Access &access);
  void analyse(int64_t program, ProgramState &state, const SeenAccess &access);
  void analyseRun(int64_t program, ProgramState &state, const SeenAccess &access,
                  const AccessRun &run, const Allocation &allocation);
  void analyseSpan(const Conflict &context, uint64_t host, int bytes, int64_t lane,
                   const std::byte *values);
  void touchCell(const Conflict &context, ShadowCell &cell, uint64_t host, int bytes, int64_t lane,
                 const std::byte *values, const std::byte *written);
  bool happensBefore(const AccessRecord &earlier, const Conflict &context);
  bool missesBarrier(const AccessRecord &earlier, const Conflict &context);
  bool missesBarrierInside(const AccessRecord &earlier, const Conflict &context, int64_t lane);
  void synchronise(int64_t program, const SeenAccess &access, const AccessRun &run,
                   const Allocation &allocation);
  void noteFlags(const Access &access);
  bool wasStored(uint64_t host);
  bool mayBeStale(int64_t program, uint64_t host, const Allocation &allocation);
  void checkDuplicates(const Access &access);
  /// A group of bytes that two accesses share: where, whose lane begins there, the two values.
  struct Shared {
    uint64_t host;
    int bytes;
    int64_t lane;
    const std::byte *values;  ///< stored now, or null
    const std::byte *written; ///< stored last
  };

  void noteOp(const Access &access);
  const OpFacts &factsOf(uint32_t op);
  Site describeOp(SiteRole role, const OpFacts &op, int64_t program, int64_t lane) const;
  std::string flagHint(int64_t program, const AccessRecord &earlier, uint64_t host) const;
  Finding describeWarpOrder(const Conflict &context, const AccessRecord &earlier, uint64_t host,
                            int64_t lane);
  void report(const Conflict &context, const AccessRecord &earlier, Shared shared);
  void reportWarpOrder(const Conflict &context, const AccessRecord &earlier, Shared shared);
  void reportEarlyRelease(const Conflict &context, const AccessRecord &earlier, Shared shared);

  FindingCollector &collector_;
  const LaunchInfo *launch_ = nullptr;
  std::unique_ptr<RaceScreen> screen_; ///< while only it looks
  bool hasAtomics_ = false;            ///< without them nothing ever orders two programs
  bool hasOneWarp_ = false;            ///< by num_warps=1: a program's accesses come in order
  bool readsCount_ = false;            ///< in the order of warps, too: see WarpOrder
  ShadowMemory shadow_;
  llvm::DenseMap<uint32_t, OpFacts> ops_;
  llvm::BitVector knownOps_;                                ///< those in ops_
  std::map<int64_t, std::unique_ptr<ProgramState>> states_; ///< programs that have begun
  SyncGraph graph_;
  std::vector<std::byte> copies_; ///< of the one value that all lanes of an access store

  /// The element of an atomic: what it held when the launch began, and since when it held another
  /// value. Programs that do not know of a change may still read the first value, whatever they
  /// happen to read in this order of execution.
  struct Flag {
    uint64_t first = 0;
    bool isStored = false; ///< by a plain store, before the first atomic: `first` is not known
    bool hasChanged = false;
    uint32_t program = 0, epoch = 0; ///< of the first change
    bool isSame = false;             ///< the access now leaves the first value as it is
  };
  llvm::DenseMap<uint64_t, Flag> flags_; ///< by host address
  struct Place {
    const Allocation *allocation;
    uint64_t host;
  };
  /// By program: the last flag that it may have found set by an earlier launch, and the last one
  /// that it has acquired with no regard for its value.
  llvm::DenseMap<uint32_t, Place> staleFlags_, unheededFlags_;
};

} // namespace blockscope::sanitizer
