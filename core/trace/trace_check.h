// What must hold of the data of a trace, wherever it comes from. A viewer computes with it without
// further checks.
#pragma once

#include "core/trace/access_columns.h"
#include "core/trace/trace.h"

#include <string>
#include <vector>

namespace blockscope {

/// Elements of the largest block of a kernel: no run has more.
inline constexpr uint64_t kMaxRunElements = uint64_t{1} << 20;

/// Elements that the findings of one launch name, all together.
inline constexpr uint64_t kMaxFindingElements = uint64_t{1} << 22;

/// Elements of one launch whose values are kept.
inline constexpr size_t kMaxTraceValues = size_t{1} << 20;
/// The widest element that has values.
inline constexpr int kMaxValueBytes = 8;

/// Rows of each table of the GPU, and the largest number in one: sums of all rows do not overflow.
inline constexpr size_t kMaxGpuRows = size_t{1} << 16;
inline constexpr int64_t kMaxGpuCount = int64_t{1} << 46;

/// Byte offsets of the elements of a tensor, from its element (0, ..., 0), are within plus and
/// minus this; those of the runs of a tensor within plus and minus 16 times this.
inline constexpr int64_t kMaxTensorBytes = int64_t{1} << 56;

// Each gives one sentence part, or "" when all is well: every index names something that is there
// or is -1, no sum of what the viewer adds overflows.
std::string problemOf(const std::vector<TraceSource> &sources);
std::string problemOf(const TraceLaunch &launch, size_t sourceCount);
std::string problemOf(const TraceRun &run, const TraceLaunch &launch);
std::string problemOf(const TraceAccesses &accesses, const TraceLaunch &launch);
std::string problemOf(const TraceValues &values, const TraceAccesses &accesses);

} // namespace blockscope
