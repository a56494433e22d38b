// What brings a part of an error: a source line that rounds, or an op that an error grows in.
#pragma once

#include "sanitizer/observation.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace blockscope::sanitizer {

using CauseId = uint32_t;
constexpr CauseId kOtherLines = 0; ///< what is too small to have a cause of its own
/// Set in the number of a cause in which errors grow: its part is not one of those that add up.
constexpr CauseId kGrowth = CauseId{1} << 31;
inline bool isGrowth(CauseId id) { return (id & kGrowth) != 0; }

/// An element at which an error grew in an op.
struct GrowthExample {
  double error = 0; ///< of the result
  llvm::SmallVector<double, 3> operands;
  double result = 0, exact = 0;
  int64_t program = 0, lane = 0;
  Type type; ///< of the result
  llvm::SmallVector<int64_t, 4> loopIterations;
};

struct Cause {
  /// One op of a line that rounds.
  struct Rounding {
    std::string what; ///< "an addition in fp32"
    SourceLocation location;
    double energy = 0; ///< sum of the squares of its errors
    bool isNarrowSum = false;
  };
  std::vector<Rounding> roundings; ///< empty: an error grows here
  SourceLocation location;
  std::string op = {};   ///< in which it grows: its name
  GrowthExample example; ///< the one with the largest error

  /// The op of the line that rounds most.
  const Rounding &main() const;
};

/// Causes outlive launches, since errors in memory do.
class Causes {
public:
  Causes() : causes_(1) {}

  /// The line of an op that rounds. `what` says how.
  CauseId rounding(const OpInfo &op, const std::string &what, double energy, bool isNarrowSum);
  /// The line of an op, before anything is known of its errors.
  CauseId lineOf(const OpInfo &op);
  /// An op in which errors grow.
  CauseId growth(const OpInfo &op, llvm::StringRef name, const GrowthExample &example);
  const Cause &operator[](CauseId id) const { return causes_[id & ~kGrowth]; }
  /// Ops of the launch before are no more.
  void forgetOps() { lines_.clear(); }

private:
  std::vector<Cause> causes_;
  llvm::StringMap<CauseId> byPlace_;
  llvm::DenseMap<const OpInfo *, CauseId> lines_;
};

} // namespace blockscope::sanitizer
