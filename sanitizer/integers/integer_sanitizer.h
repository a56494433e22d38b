// overflow and arith: integers that are not what they should be, followed to where they are used.
//
// Before a launch it is asked whether any op can go wrong at all (interpreter/integer_ranges.h);
// mostly none can, and nothing is watched but floats that become integers. Else the launch is done
// again, in order, and the exact values of elements that differ from what they are are followed
// from op to op. What is dropped by masks and choices, or comes right again (x + y - y), is no
// finding.
#pragma once

#include "interpreter/integer_ranges.h"
#include "sanitizer/integers/exact.h"
#include "sanitizer/integers/operand_names.h"
#include "sanitizer/sanitizer.h"
#include "sanitizer/undefined/rules.h"

#include <atomic>

namespace blockscope::sanitizer {

/// The least factor of a limit of the grid that is told of unasked: fewer than 65536 rows do.
constexpr int64_t kNearFactor = (1 << 15) + 1;

/// What a wrong integer decides, or where it goes.
enum class IntegerUse : uint8_t { Address, Mask, Way, Store, AtomicOperand };

class IntegerSanitizer : public Observer {
public:
  /// `leastFactor`: of limits of the grid, those are told of in which an index is multiplied by so
  /// much.
  IntegerSanitizer(FindingCollector &collector, Wanted wanted, int64_t leastFactor)
      : collector_(collector), wanted_(wanted), leastFactor_(leastFactor) {}

  ObserverPlan plan() const override;
  void onLaunchBegin(const LaunchInfo &launch) override;
  void onProgramBegin(int64_t program, int worker) override;
  void onValues(const OpValues &values) override;
  void onMove(const ValueMove &move) override;
  void onDecision(const ValueDecision &decision) override;
  bool mustRepeat() override { return mayGoWrong_ || isCastWrong_; }
  void onLaunchEnd() override;

private:
  /// Some lanes of one use; the first of them is told of.
  struct Found {
    IntegerUse use;
    const OpInfo *op;
    int64_t program;
    llvm::ArrayRef<int64_t> loopIterations;
    const Type *block = nullptr; ///< the lanes are of this block; null: a scalar
    std::optional<AccessKind> access = std::nullopt;
    int64_t lane = 0, count = 0;
    OriginId id = kDefined;
    const Allocation *allocation = nullptr;
    int64_t offset = 0;
    FoundElements elements = {}; ///< of all lanes
  };

  /// Null in step mode where the kernel cannot be compiled.
  const IntegerRanges *ranges() const;
  void suspectCast(const OpValues &values);
  void follow(const OpValues &values);
  void followRest(const OpValues &values);
  void access(const OpValues &values, size_t numOperands);
  void keepOther(const OpValues &load, int mask);
  /// Counts a lane of a use, and returns whether it counts: deviations that are meant do so only
  /// in addresses.
  bool count(Found &found, OriginId id, int64_t lane) const;
  void report(const Found &found);
  Finding describe(const Found &found, const Fault &birth, OperandTexts names) const;
  void tellLimits();
  void forgetOld();

  FindingCollector &collector_;
  Wanted wanted_;
  int64_t leastFactor_;
  const LaunchInfo *launch_ = nullptr;
  bool mayGoWrong_ = true;
  std::atomic<bool> isCastWrong_ = false; ///< seen in the trial: a float out of range
  ShadowValues shadows_;
  Deviations deviations_;
  size_t mostDeviations_ = 0;
  Moves moves_;
  llvm::DenseMap<const OpInfo *, Type> types_;         ///< of what was born
  llvm::DenseMap<const OpInfo *, OperandTexts> names_; ///< of its operands
  uint64_t sequence_ = 0;
};

} // namespace blockscope::sanitizer
