// nan: a NaN or an infinity that is born in a launch, and that somebody gets to see.
//
// A launch is tried first, on all threads, in the fast form of its kernel. There only what is
// stored is looked at, and floats that become integers or decide something: most launches are
// finite, and done. Else the launch is done again, in order, and each NaN and infinity is followed
// from op to op (follow.h), from its birth to a store, an atomic, an address, a branch or an
// assert.
#pragma once

#include "sanitizer/access_lanes.h"
#include "sanitizer/nan/follow.h"
#include "sanitizer/sanitizer.h"

#include <atomic>

namespace blockscope::sanitizer {

/// Where a NaN or an infinity arrives.
enum class Arrival : uint8_t { Store, AtomicOperand, Address, Way, Assert };

class NanSanitizer : public Observer {
public:
  explicit NanSanitizer(FindingCollector &collector) : collector_(collector) {}

  ObserverPlan plan() const override;
  void onLaunchBegin(const LaunchInfo &launch) override;
  void onProgramBegin(int64_t program, int worker) override;
  void onAccess(const Access &access) override;
  void onValues(const OpValues &values) override;
  void onMove(const ValueMove &move) override;
  void onDecision(const ValueDecision &decision) override;
  bool mustRepeat() override { return isSuspect_; }
  void onLaunchEnd() override;

private:
  /// Lanes of one execution at which values with one birth arrive: the first of several.
  struct Arrived {
    OriginId origin = kDefined;
    int64_t lane = 0, count = 0;
    const Allocation *allocation = nullptr; ///< of what is written
    int64_t offset = 0;
    FoundElements elements = {}; ///< of all lanes
  };
  /// The execution.
  struct Place {
    Arrival arrival;
    const OpInfo *op;
    int64_t program;
    llvm::ArrayRef<int64_t> loopIterations;
    const Type *block; ///< the lanes are of this block; null: a scalar
    std::optional<AccessKind> access;
  };

  void suspectClaim(const OpValues &values);
  void load(const OpValues &values);
  void checkAddresses(const OpValues &values, const AccessLanes &lanes);
  void checkOperand(const OpValues &values, AccessLanes &lanes, size_t operand);
  void checkAssert(const OpValues &values);
  /// Adds a lane to the arrivals of its birth, which writes so many bytes.
  void arrive(llvm::SmallVectorImpl<Arrived> &arrived, const Arrived &lane, int bytes = 0) const;
  void report(const Place &place, llvm::ArrayRef<Arrived> arrived);
  Finding describe(const Place &place, const Arrived &arrived) const;
  Site siteOfBirth(OriginId origin) const;

  FindingCollector &collector_;
  const LaunchInfo *launch_ = nullptr;
  bool isTrial_ = false;
  std::atomic<bool> isSuspect_ = false;
  ShadowValues shadows_;
  BirthTable births_;
  Moves moves_;
  uint64_t sequence_ = 0;
};

} // namespace blockscope::sanitizer
