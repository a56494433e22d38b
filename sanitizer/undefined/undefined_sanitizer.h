// undefined: values that nobody gave, followed to where they decide something.
//
// A launch is tried first, on all threads, in the fast form of its kernel. There only accesses are
// looked at: a load that leaves lanes without a value, or that touches undefined memory. Most
// launches have neither, and are done. Else the launch is done again, in order, and the undefined
// elements of every value are followed from op to op.
#pragma once

#include "sanitizer/access_lanes.h"
#include "sanitizer/sanitizer.h"
#include "sanitizer/undefined/rules.h"
#include "sanitizer/undefined/undefined_memory.h"

#include <atomic>

namespace blockscope::sanitizer {

/// What undefined data decides, or where it is seen.
enum class Use : uint8_t {
  Address,
  Mask,
  Way, ///< a branch or the bounds of a loop
  Assert,
  Print,
  AtomicOperand,
  AtomicMemory,
  Store,
  HostRead
};

/// Real addresses: of a byte offset from an argument's first element, and of its storage.
inline uint64_t realAddress(const Allocation &allocation, int64_t offset) {
  return allocation.address + static_cast<uint64_t>(offset);
}

inline uint64_t storageBegin(const Allocation &allocation) {
  return allocation.address - static_cast<uint64_t>(allocation.view - allocation.storage);
}

class UndefinedSanitizer : public Observer, public HostWatcher {
public:
  /// `isStrict`: every store of undefined data is a finding.
  UndefinedSanitizer(FindingCollector &collector, bool isStrict)
      : collector_(collector), isStrict_(isStrict) {}

  ObserverPlan plan() const override;
  void onLaunchBegin(const LaunchInfo &launch) override;
  void onProgramBegin(int64_t program, int worker) override;
  void onAccess(const Access &access) override;
  void onValues(const OpValues &values) override;
  void onMove(const ValueMove &move) override;
  void onDecision(const ValueDecision &decision) override;
  bool mustRepeat() override;
  void onLaunchRepeat() override;
  void onLaunchEnd() override;

  void onHostAllocation(const HostRange &storage, const SourceLocation &where) override;
  void onHostWrite(const HostElements &elements) override;
  void onHostRead(const HostElements &elements, const SourceLocation &where) override;
  void onHostShare(const HostElements &elements, const SourceLocation &where) override;
  void onHostCopy(const HostElements &from, const HostElements &to) override;
  void onHostCompute(llvm::ArrayRef<HostElements> from, const HostElements &to,
                     const SourceLocation &where) override;
  void onHostMove(llvm::ArrayRef<HostElements> from, llvm::ArrayRef<int64_t> numbers,
                  const HostElements &to) override;
  void onHostFree(const HostRange &storage) override;
  bool mayBeUndefined(const HostRange &storage) const override;
  bool isUndefined(const HostElements &elements) const override;

private:
  /// An element of the host that has no value.
  struct HostElement {
    std::shared_ptr<const Trail> trail;
    Before before;
  };
  /// Several of them, by their numbers, and who has seen their memory.
  struct HostUndefined {
    std::vector<std::pair<uint64_t, HostElement>> elements;
    std::shared_ptr<const LaunchFacts> launch;
    std::shared_ptr<const Allocation> argument;

    void seenAs(const HostUndefined &other);
  };
  /// One use that is reported: the first lane of several.
  struct Found {
    Use use;
    const OpInfo *op;
    int64_t program;
    llvm::ArrayRef<int64_t> loopIterations;
    const Type *block; ///< the lanes are of this block; null: a scalar
    std::optional<AccessKind> access;
    int64_t lane = 0, count = 0;
    OriginId origin = kDefined;
    std::shared_ptr<const Trail> trail = {}; ///< where there is no origin
    const Allocation *allocation = nullptr;
    int64_t offset = 0;
    FoundElements elements = {}; ///< of all lanes
  };

  /// An active lane of the load that runs, which reads an undefined byte.
  struct LoadedUndefined {
    int64_t lane;
    UndefinedStorage *storage;
    uint64_t address;
  };

  void
  forEachRange(const Access &access,
               llvm::function_ref<bool(UndefinedStorage &, uint64_t, uint64_t, int64_t)> visit);
  bool isSuspect(const Access &access);
  void noteLoaded(const Access &access, const LoadedUndefined &lane);
  void load(const OpValues &values, bool isAtomic);
  void takeFromMemory(const OpValues &load, Shadow &shadow);
  void leaveOut(const OpValues &load, const AccessLanes &lanes, bool hasOther, Shadow &shadow);
  void store(const OpValues &values);
  void combine(const OpValues &values, size_t numOperands);
  void observe(const OpValues &values, Use use);
  void checkAddresses(const OpValues &values, const AccessLanes &lanes, AccessKind kind);
  /// A copy that outlives the launch.
  std::shared_ptr<const Allocation> kept(const Allocation &allocation);
  UndefinedStorage *storageOf(const Allocation &allocation);
  UndefinedStorage *storageIn(const Allocation &allocation);
  UndefinedStorage &storageToMark(const Allocation &allocation);
  std::shared_ptr<const Trail> storedTrail(const OpValues &values, int64_t lane, OriginId origin,
                                           const Allocation &allocation);
  HostUndefined undefinedOf(const HostElements &elements);
  void put(const HostUndefined &undefined, const HostElements &to);
  void report(const Found &found);
  Finding describe(const Found &found, const Trail &trail) const;
  static Finding describeHostRead(const UndefinedStorage &storage, const Trail &trail,
                                  uint64_t address, const SourceLocation &where);

  FindingCollector &collector_;
  bool isStrict_;
  const LaunchInfo *launch_ = nullptr;
  bool isTrial_ = false;
  std::atomic<bool> hasSuspects_ = false;
  std::vector<UndefinedStorage *> storages_; ///< of a trial: by argument
  UndefinedMemory memory_;
  ShadowValues shadows_;
  Moves moves_;
  std::vector<LoadedUndefined> loaded_;
  FoundElements loadedElements_; ///< undefined ones that this program has loaded
  std::optional<OriginTable> origins_;
  std::shared_ptr<const LaunchFacts> facts_; ///< of this launch
  llvm::DenseMap<const Allocation *, std::shared_ptr<const Allocation>> allocations_;
  uint64_t sequence_ = 0;
};

} // namespace blockscope::sanitizer
