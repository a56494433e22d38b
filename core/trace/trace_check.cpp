// Checks of the data of a trace.
#include "core/trace/trace_check.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace blockscope {
namespace {

constexpr int32_t kMaxLine = 100'000'000;
constexpr size_t kMaxRank = 64;
constexpr size_t kMaxDetails = 1000; ///< of one finding: each is drawn
constexpr int64_t kMaxOffset = 16 * kMaxTensorBytes;

bool isOutside(int64_t index, size_t size) {
  return index < -1 || index >= static_cast<int64_t>(size);
}

bool isPlace(int32_t line, int32_t column) {
  return line >= 0 && line <= kMaxLine && column >= 0 && column <= kMaxLine;
}

bool within(int64_t value, int64_t limit) { return value >= -limit && value <= limit; }

/// Whether `count` steps of `stride` bytes, and one, are within `limit`; how long they are goes to
/// `length`.
bool spanFits(int64_t count, int64_t stride, int64_t limit, int64_t &length) {
  if (!within(stride, limit) || __builtin_mul_overflow(count, stride, &length) ||
      !within(length, limit))
    return false;
  length = std::abs(length);
  return true;
}

std::string problemOfGrid(const TraceLaunch &launch) {
  uint64_t programs = 1;
  for (const int64_t extent : launch.grid) {
    if (extent < 1 || extent > std::numeric_limits<int32_t>::max())
      return "'grid' has an extent of " + std::to_string(extent);
    if (__builtin_mul_overflow(programs, static_cast<uint64_t>(extent), &programs) ||
        programs > uint64_t{1} << 32)
      return "'grid' has more than 2^32 programs";
  }
  return {};
}

bool isSane(const TraceArgument &argument) {
  if (argument.elementBytes < 0 || argument.elementBytes > 64 || argument.storageBytes < 0 ||
      argument.storageBytes > kMaxTensorBytes ||
      !within(argument.baseOffsetBytes, kMaxTensorBytes) || argument.shape.size() > kMaxRank ||
      argument.shape.size() != argument.strides.size())
    return false;
  const int64_t elementBytes = std::max<int64_t>(1, argument.elementBytes);
  int64_t elements = 1;
  int64_t span = elementBytes; // from the lowest byte to the end of the highest
  for (size_t dim = 0; dim < argument.shape.size(); ++dim) {
    const int64_t extent = argument.shape[dim];
    int64_t stride = 0;
    int64_t length = 0;
    if (extent < 0 || __builtin_mul_overflow(elements, extent, &elements) ||
        elements > kMaxTensorBytes ||
        __builtin_mul_overflow(argument.strides[dim], elementBytes, &stride) ||
        !spanFits(extent, stride, kMaxTensorBytes, length))
      return false;
    span += length;
    if (span > kMaxTensorBytes)
      return false;
  }
  return true;
}

/// Whether a run of elements is one of a tensor; adds to `total`, which is bounded, too.
bool areElements(const TraceElements &run, const TraceLaunch &launch, uint64_t &total) {
  if (run.argument < 0 || isOutside(run.argument, launch.arguments.size()) || run.innerCount < 1 ||
      run.outerCount < 1 || run.innerCount > static_cast<int64_t>(kMaxFindingElements) ||
      run.outerCount > static_cast<int64_t>(kMaxFindingElements))
    return false;
  const TraceArgument &argument = launch.arguments[static_cast<size_t>(run.argument)];
  int64_t length = 0;
  total += static_cast<uint64_t>(run.innerCount) * static_cast<uint64_t>(run.outerCount);
  return argument.isTensor() && total <= kMaxFindingElements &&
         spanFits(run.innerCount, argument.elementBytes, kMaxOffset, length) &&
         spanFits(run.outerCount, run.outerStrideBytes, kMaxOffset, length) &&
         within(run.offsetBytes, kMaxOffset);
}

} // namespace

std::string problemOf(const std::vector<TraceSource> &sources) {
  for (size_t row = 0; row < sources.size(); ++row)
    if (!isPlace(sources[row].firstLine, 0))
      return "source " + std::to_string(row) + " begins with line " +
             std::to_string(sources[row].firstLine);
  return {};
}

std::string problemOf(const TraceLaunch &launch, size_t sourceCount) {
  if (std::string problem = problemOfGrid(launch); !problem.empty())
    return problem;
  for (const TraceArgument &argument : launch.arguments)
    if (!isSane(argument))
      return "the shape, strides or extent of argument '" + argument.name + "' make no sense";
  for (size_t row = 0; row < launch.ops.size(); ++row) {
    const TraceOp &op = launch.ops[row];
    if (isOutside(op.source, sourceCount) || op.kind > TraceOpKind::Atomic ||
        !isPlace(op.line, op.column))
      return "the source, line or kind of op " + std::to_string(row) + " names nothing in the file";
  }
  uint64_t elements = 0;
  for (size_t row = 0; row < launch.findings.size(); ++row) {
    const TraceFinding &finding = launch.findings[row];
    if (isOutside(finding.op, launch.ops.size()) ||
        isOutside(finding.argument, launch.arguments.size()) ||
        isOutside(finding.program, static_cast<size_t>(launch.programCount())) ||
        isOutside(finding.source, sourceCount) ||
        !isPlace(finding.site.location.line, finding.site.location.column) || finding.count < 0)
      return "a number of finding " + std::to_string(row) + " names nothing in the file";
    if (finding.places.size() > kMaxDetails || finding.values.size() > kMaxDetails ||
        finding.lineShares.size() > kMaxDetails)
      return "finding " + std::to_string(row) + " has more than " + std::to_string(kMaxDetails) +
             " places, values or shares";
    for (const TraceShare &share : finding.lineShares)
      if (isOutside(share.source, sourceCount) || !isPlace(share.line, 0) || share.permille < 0 ||
          share.permille > 1000)
        return "a share of finding " + std::to_string(row) + " makes no sense";
    for (const TracePlace &place : finding.places)
      if (isOutside(place.source, sourceCount) || isOutside(place.op, launch.ops.size()) ||
          isOutside(place.program, static_cast<size_t>(launch.programCount())) ||
          !isPlace(place.line, place.column))
        return "a place of finding " + std::to_string(row) + " names nothing in the file";
    for (const TraceElements &run : finding.elements)
      if (!areElements(run, launch, elements))
        return "the elements of finding " + std::to_string(row) + " make no sense";
    if (finding.elementOffsetBytes && !within(*finding.elementOffsetBytes, kMaxOffset))
      return "the element of finding " + std::to_string(row) + " makes no sense";
  }
  if (launch.droppedRuns < 0)
    return "'recording/dropped_runs' is " + std::to_string(launch.droppedRuns);
  return {};
}

std::string problemOf(const TraceRun &run, const TraceLaunch &launch) {
  if (run.program >= static_cast<uint64_t>(launch.programCount()))
    return "names program " + std::to_string(run.program) + " of " +
           std::to_string(launch.programCount());
  if (run.op >= launch.ops.size())
    return "names op " + std::to_string(run.op) + " of " + std::to_string(launch.ops.size());
  if (isOutside(run.argument, launch.arguments.size()))
    return "names argument " + std::to_string(run.argument) + " of " +
           std::to_string(launch.arguments.size());
  if (run.kind > TraceAccessKind::Atomic)
    return "has kind " + std::to_string(static_cast<int>(run.kind)) + ", 0 to 2 are expected";
  int64_t length = 0;
  if (uint64_t{run.innerCount} * run.outerCount > kMaxRunElements ||
      run.innerCount > kMaxRunElements || run.outerCount > kMaxRunElements ||
      !spanFits(run.innerCount, run.innerStrideBytes, kMaxOffset, length) ||
      !spanFits(run.outerCount, run.outerStrideBytes, kMaxOffset, length) ||
      (run.argument >= 0 && !within(run.offsetBytes, kMaxOffset)))
    return "is longer than any block";
  return {};
}

std::string problemOf(const TraceAccesses &accesses, const TraceLaunch &launch) {
  for (size_t row = 0; row < accesses.rows; ++row)
    if (std::string problem = problemOf(accesses[row], launch); !problem.empty())
      return "access run " + std::to_string(row) + " " + problem;
  return {};
}

} // namespace blockscope
