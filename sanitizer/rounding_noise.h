// An observer that changes each result of an inexact op by about as much as two executors may
// differ in it. What the kernel stores then shows, element by element, how far the errors of its
// ops reach.
#pragma once

#include "core/op_facts.h"
#include "sanitizer/observation.h"

namespace blockscope::sanitizer {

/// Watches one launch; the same seed gives the same results, whatever the number of threads.
///
/// Bounds are those of core/op_facts.def, the CPU's error and the GPU's together; ops that are
/// correctly rounded change too, as their operands may differ by so little that only the rounding
/// shows it. Every change is half of its bound or more, up or down; 0 stays. Sums (dots,
/// reductions, scans, float atomics) change by what another order may change in them. Conversions
/// to integers change where their operand is so near a whole number that its error may decide:
/// always with seed 0, else in half of the cases.
///
/// For flat programs: step mode does not say how a combine region rounds.
class RoundingNoise : public Observer {
public:
  struct Options {
    uint64_t seed = 0;
    double amplification = 1; ///< of every change; large ones show whether errors reach at all
    bool hasAtomics = false;  ///< programs then run in order, as their sums are changed in memory
  };
  explicit RoundingNoise(const Options &options) : options_(options) {}

  ObserverPlan plan() const override {
    ObserverPlan plan;
    plan.needs.values = true;
    plan.needs.programOrder = options_.hasAtomics;
    return plan;
  }
  void onLaunchBegin(const LaunchInfo &launch) override { memory_ = launch.memory; }
  void onValues(const OpValues &values) override;

private:
  class Change;

  void changeElements(const OpValues &values, const OpFacts &facts) const;
  void changeWholeNumber(const OpValues &values) const;
  void changeDot(const OpValues &values) const;
  void changeAlongAxis(const OpValues &values) const;
  void changeMemory(const OpValues &values) const;

  const Options options_;
  const MemoryMap *memory_ = nullptr;
};

} // namespace blockscope::sanitizer
