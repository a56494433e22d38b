// Live ranges over the linear order of ops.
//
// A value used inside a loop that does not contain its definition lives until that loop ends.
// Around a loop the flowing values (phis) are cut at LoopTop, so that between its last use in the
// body and its new definition at the end the register is free. The same holds between the two
// definitions of the result of an `if`: ops between them belong to the other branch and do not run.
#include "interpreter/flat/live_ranges.h"

#include <algorithm>
#include <numeric>

namespace blockscope::interpreter::flat {
namespace {

using Kind = LoweredOp::Kind;

struct Loop {
  uint32_t end = 0; // half position
  uint32_t parent = kNone;
};

class RangeBuilder {
public:
  RangeBuilder(const Lowered &lowered, bool inPlace)
      : lowered_(lowered), inPlace_(inPlace), ranges_(lowered.values.size()),
        loopOfDefinition_(lowered.values.size(), kNone) {}

  std::vector<LiveRange> run() {
    findLoops();
    uint32_t loop = kNone;
    uint32_t nextLoop = 0;
    for (uint32_t i = 0; i < lowered_.ops.size(); ++i) {
      const LoweredOp &op = lowered_.ops[i];
      if (op.kind == Kind::LoopTop) {
        for (const ValueId value : op.phis)
          use(value, 2 * i, loop);
        loop = nextLoop++;
        for (const ValueId value : op.phis)
          define(value, 2 * i + 1, loop);
      }
      for (size_t k = 0; k < op.operands.size(); ++k)
        use(op.operands[k], 2 * i + (mayReplace(op, k) ? 0 : 1), loop);
      if (op.kind == Kind::ForNext || op.kind == Kind::WhileNext) {
        for (const ValueId value : op.phis)
          use(value, 2 * i + 1, loop);
        loop = loops_[loop].parent;
      } else if (op.kind == Kind::LoopEnd) {
        for (const ValueId value : op.phis)
          define(value, 2 * i + 1, loop);
      }
      for (const ValueId value : op.results)
        define(value, 2 * i + 1, loop);
    }
    return std::move(ranges_);
  }

private:
  bool mayReplace(const LoweredOp &op, size_t operand) const {
    return op.kind == Kind::Copy ||
           (inPlace_ && operand < 32 && (op.pointwiseOperands >> operand & 1));
  }

  void findLoops() {
    uint32_t current = kNone;
    for (uint32_t i = 0; i < lowered_.ops.size(); ++i) {
      const Kind kind = lowered_.ops[i].kind;
      if (kind == Kind::LoopTop) {
        loops_.push_back({0, current});
        current = static_cast<uint32_t>(loops_.size() - 1);
      } else if (kind == Kind::ForNext || kind == Kind::WhileNext) {
        loops_[current].end = 2 * i + 1;
        current = loops_[current].parent;
      }
    }
  }

  bool contains(uint32_t outer, uint32_t inner) const {
    if (outer == kNone)
      return true;
    for (; inner != kNone; inner = loops_[inner].parent)
      if (inner == outer)
        return true;
    return false;
  }

  void define(ValueId value, uint32_t position, uint32_t loop) {
    if (lowered_.values[value].home != LoweredValue::Home::Register)
      return;
    ranges_[value].push_back({position, position});
    loopOfDefinition_[value] = loop;
  }

  void use(ValueId value, uint32_t position, uint32_t loop) {
    if (lowered_.values[value].home != LoweredValue::Home::Register)
      return;
    LiveRange &range = ranges_[value];
    if (range.empty())
      return; // used before any definition: cannot come from SSA
    // Live to the end of the outermost loop around the use that has no definition in it.
    for (uint32_t l = loop; l != kNone; l = loops_[l].parent)
      if (!contains(l, loopOfDefinition_[value]))
        position = std::max(position, loops_[l].end);
    range.back().end = std::max(range.back().end, position);
  }

  const Lowered &lowered_;
  const bool inPlace_;
  std::vector<LiveRange> ranges_;
  std::vector<uint32_t> loopOfDefinition_; // of the last definition seen
  std::vector<Loop> loops_;
};

struct CopyPair {
  ValueId to;
  ValueId from;
  uint32_t depth;
  size_t order;
};

// Copies of inner loops come first, as they run most often; of equal depth the later one, which is
// the one around the loop.
std::vector<CopyPair> collectCopies(const Lowered &lowered) {
  std::vector<CopyPair> pairs;
  uint32_t depth = 0;
  for (const LoweredOp &op : lowered.ops) {
    if (op.kind == Kind::LoopTop)
      ++depth;
    else if (op.kind == Kind::ForNext || op.kind == Kind::WhileNext)
      --depth;
    else if (op.kind == Kind::Copy)
      for (size_t i = 0; i < op.results.size(); ++i)
        pairs.push_back({op.results[i], op.operands[i], depth, pairs.size()});
  }
  std::sort(pairs.begin(), pairs.end(), [](const CopyPair &a, const CopyPair &b) {
    return a.depth != b.depth ? a.depth > b.depth : a.order > b.order;
  });
  return pairs;
}

uint32_t findClass(std::vector<uint32_t> &classOf, uint32_t value) {
  while (classOf[value] != value)
    value = classOf[value] = classOf[classOf[value]];
  return value;
}

} // namespace

std::vector<LiveRange> computeLiveRanges(const Lowered &lowered, bool inPlace) {
  return RangeBuilder(lowered, inPlace).run();
}

bool overlap(const LiveRange &a, const LiveRange &b) {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].end < b[j].begin)
      ++i;
    else if (b[j].end < a[i].begin)
      ++j;
    else
      return true;
  }
  return false;
}

std::vector<uint32_t> coalesceCopies(const Lowered &lowered, std::vector<LiveRange> &ranges,
                                     bool enabled) {
  std::vector<uint32_t> classOf(lowered.values.size());
  std::iota(classOf.begin(), classOf.end(), 0);
  if (enabled) {
    for (const CopyPair &pair : collectCopies(lowered)) {
      const LoweredValue &to = lowered.values[pair.to];
      const LoweredValue &from = lowered.values[pair.from];
      if (to.home != LoweredValue::Home::Register || from.home != LoweredValue::Home::Register ||
          to.bytes() != from.bytes() || to.elementBytes != from.elementBytes)
        continue;
      const uint32_t a = findClass(classOf, pair.to);
      const uint32_t b = findClass(classOf, pair.from);
      if (a == b || overlap(ranges[a], ranges[b]))
        continue;
      classOf[b] = a;
      ranges[a].append(ranges[b].begin(), ranges[b].end());
      std::sort(ranges[a].begin(), ranges[a].end(),
                [](const Segment &x, const Segment &y) { return x.begin < y.begin; });
      ranges[b].clear();
    }
  }
  for (uint32_t value = 0; value < classOf.size(); ++value)
    classOf[value] = findClass(classOf, value);
  return classOf;
}

} // namespace blockscope::interpreter::flat
