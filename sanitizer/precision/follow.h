// How errors go through an op: what it rounds, and what it makes of the errors of its operands.
//
// An element has its value in the kernel, its exact value, and the parts of the difference by
// cause. An op brings what its result differs from its exact function of the kernel's own operands:
// the part of its line. Each part of an operand goes on as the difference that it makes to the
// exact function, which is to first order what the op does with a small change; so the parts of
// lines add up to the error, but for terms of second order. Where an error grows by much in one op,
// what comes through it is marked with a part of its own, which does not count in that sum.
#pragma once

#include "sanitizer/precision/exact_blocks.h"
#include "sanitizer/precision/wide_op.h"

#include <set>

namespace blockscope::sanitizer {

/// Elements of one operand or result in float64.
std::vector<double> readFloats(const ValueView &view, int64_t count);

/// Finds the exact results of ops, but not of those of memory.
class Follower {
public:
  Follower(ExactBlocks &blocks, Causes &causes) : blocks_(blocks), causes_(causes) {}

  void follow(const OpValues &values);
  void forgetOps() {
    wideOps_.clear();
    unknown_.clear();
  }
  /// Lines of this launch with floats that are exact from there on: what they do is not known.
  const std::set<int32_t> &unknown() const { return unknown_; }

private:
  class Step;

  ExactBlocks &blocks_;
  Causes &causes_;
  WideOps wideOps_;
  std::set<int32_t> unknown_;
};

} // namespace blockscope::sanitizer
