// The columns of access runs: one table of name, type, default and accessor, for writer and reader.
#pragma once

#include "core/trace/trace.h"

#include <cstddef>
#include <vector>

namespace blockscope {

/// Values of one column; a column whose rows are all alike keeps one value.
template <typename T> class TraceColumn {
public:
  TraceColumn() = default;
  explicit TraceColumn(T everyRow) : values_{everyRow} {}
  explicit TraceColumn(std::vector<T> values) : values_(std::move(values)), step_(1) {}
  T operator[](size_t row) const { return values_[row * step_]; }
  bool isConstant() const { return step_ == 0; }
  std::vector<T> &values() { return values_; }

private:
  std::vector<T> values_{T{}};
  size_t step_ = 0;
};

/// Every access run of a launch, by columns; rows of one program are in program order.
struct TraceAccesses {
  size_t rows = 0;
  TraceColumn<uint32_t> program;
  TraceColumn<uint32_t> op;
  TraceColumn<int32_t> argument;
  TraceColumn<int64_t> offsetBytes;
  TraceColumn<uint8_t> elementBytes;
  TraceColumn<uint32_t> innerCount;
  TraceColumn<int64_t> innerStrideBytes;
  TraceColumn<uint32_t> outerCount;
  TraceColumn<int64_t> outerStrideBytes;
  TraceColumn<uint32_t> maskedLanes;
  TraceColumn<uint8_t> kind;
  TraceColumn<uint8_t> flags;

  TraceRun operator[](size_t row) const {
    TraceRun run;
    run.program = program[row];
    run.op = op[row];
    run.argument = argument[row];
    run.offsetBytes = offsetBytes[row];
    run.elementBytes = elementBytes[row];
    run.innerCount = innerCount[row];
    run.innerStrideBytes = innerStrideBytes[row];
    run.outerCount = outerCount[row];
    run.outerStrideBytes = outerStrideBytes[row];
    run.maskedLanes = maskedLanes[row];
    run.kind = static_cast<TraceAccessKind>(kind[row]);
    run.flags = flags[row];
    return run;
  }
};

/// Calls `visit(name, default, column of TraceAccesses, value from a TraceRun)` for every column.
template <typename Visit> void forEachAccessColumn(Visit &&visit) {
  using A = TraceAccesses;
  visit("program", uint32_t{0}, &A::program, [](const TraceRun &r) { return r.program; });
  visit("op", uint32_t{0}, &A::op, [](const TraceRun &r) { return r.op; });
  visit("argument", int32_t{0}, &A::argument, [](const TraceRun &r) { return r.argument; });
  visit("offset", int64_t{0}, &A::offsetBytes, [](const TraceRun &r) { return r.offsetBytes; });
  visit("element_bytes", uint8_t{4}, &A::elementBytes,
        [](const TraceRun &r) { return r.elementBytes; });
  visit("inner_count", uint32_t{1}, &A::innerCount, [](const TraceRun &r) { return r.innerCount; });
  visit("inner_stride", int64_t{0}, &A::innerStrideBytes,
        [](const TraceRun &r) { return r.innerStrideBytes; });
  visit("outer_count", uint32_t{1}, &A::outerCount, [](const TraceRun &r) { return r.outerCount; });
  visit("outer_stride", int64_t{0}, &A::outerStrideBytes,
        [](const TraceRun &r) { return r.outerStrideBytes; });
  visit("masked_lanes", uint32_t{0}, &A::maskedLanes,
        [](const TraceRun &r) { return r.maskedLanes; });
  visit("kind", uint8_t{0}, &A::kind,
        [](const TraceRun &r) { return static_cast<uint8_t>(r.kind); });
  visit("flags", uint8_t{0}, &A::flags, [](const TraceRun &r) { return r.flags; });
}

} // namespace blockscope
