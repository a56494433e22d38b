// The combine function of a stepped reduction or scan, called for many lanes at once.
#pragma once

#include "core/semantic/emitter.h"

#include <cstdint>
#include <string>

namespace blockscope::interpreter {

/// Gives the function whole blocks of lanes, and single lanes once it has asked for scalars.
class StepCombine {
public:
  StepCombine(llvm::ArrayRef<Value> operands, CombineFunction combine)
      : operands_(operands), combine_(combine) {}

  /// Combines n lanes of each operand; what CombineLanes calls.
  void operator()(int64_t n, void *const *out, const void *const *lhs, const void *const *rhs);

  /// False when the function failed or gave something else than it got; then results are not set.
  bool isValid() const { return isValid_; }
  /// Returns what was wrong with its results, if anything.
  const std::string &error() const { return error_; }

private:
  ValueList copyIn(int64_t n, const void *const *side, int64_t lane) const;
  void combineOnce(const ValueList &combined, int64_t n, void *const *out, int64_t lane);

  llvm::ArrayRef<Value> operands_;
  CombineFunction combine_;
  bool takesScalars_ = false;
  bool isValid_ = true;
  std::string error_;
};

} // namespace blockscope::interpreter
