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

bool isCount(int64_t value) { return value >= 0 && value <= kMaxGpuCount; }

bool isRate(int64_t value) { return value >= 0 && value <= int64_t{1} << 60; }

/// What the viewer shows of a GPU: counts that can be added, rows that can be drawn.
std::string problemOfGpu(const TraceLaunch &launch, size_t sourceCount) {
  const TraceGpu &gpu = launch.gpu;
  if (gpu.target.warps < 1 || gpu.target.warps > 1024 || !isRate(gpu.target.bytesPerSecond))
    return "the target of 'gpu_target' makes no sense";
  for (const size_t rows :
       {gpu.peaks.size(), gpu.traffic.size(), gpu.exchanges.size(), gpu.work.size()})
    if (rows > kMaxGpuRows)
      return "a table of the GPU has " + std::to_string(rows) + " rows, at most " +
             std::to_string(kMaxGpuRows) + " are expected";
  for (const TracePeak &peak : gpu.peaks)
    if (!isRate(peak.flopsPerSecond))
      return "a peak of 'gpu_peaks' makes no sense";
  for (const TraceTraffic &row : gpu.traffic)
    if (row.op < 0 || isOutside(row.op, launch.ops.size()) || row.bytes < 0 || row.bytes > 1024 ||
        !isCount(row.accesses) || !isCount(row.requests) || !isCount(row.sectors) ||
        !isCount(row.leastSectors))
      return "a row of 'gpu_traffic' names nothing in the file, or makes no sense";
  for (const TraceExchange &row : gpu.exchanges)
    if (isOutside(row.source, sourceCount) || !isPlace(row.line, row.column) || row.bytes < 0 ||
        row.bytes > 1024 || !isCount(row.wavefronts) || !isCount(row.leastWavefronts))
      return "a row of 'gpu_exchanges' names nothing in the file, or makes no sense";
  for (const TraceWork &row : gpu.work)
    if (isOutside(row.source, sourceCount) || !isPlace(row.line, 0) || !isCount(row.flops))
      return "a row of 'gpu_work' names nothing in the file, or makes no sense";
  return {};
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
        finding.lineShares.size() > kMaxDetails || finding.waits.size() > kMaxDetails)
      return "finding " + std::to_string(row) + " has more than " + std::to_string(kMaxDetails) +
             " places, values, shares or programs that wait";
    for (const TraceWait &wait : finding.waits)
      if (isOutside(wait.program, static_cast<size_t>(launch.programCount())) ||
          isOutside(wait.holder, static_cast<size_t>(launch.programCount())) ||
          isOutside(wait.source, sourceCount) || !isPlace(wait.line, 0))
        return "a program that waits in finding " + std::to_string(row) +
               " names nothing in the file";
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
  return problemOfGpu(launch, sourceCount);
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

std::string problemOf(const TraceValues &values, const TraceAccesses &accesses) {
  if (values.run.size() > kMaxTraceValues)
    return "has " + std::to_string(values.run.size()) + " rows, at most " +
           std::to_string(kMaxTraceValues) + " are expected";
  if (values.before.size() != values.run.size() || values.after.size() != values.run.size())
    return "has columns of different lengths";
  if (values.dropped < 0)
    return "has dropped " + std::to_string(values.dropped) + " elements";
  for (size_t first = 0, next = 0; first < values.run.size(); first = next) {
    const int64_t run = values.run[first];
    const int64_t last = first == 0 ? -1 : values.run[first - 1];
    if (run <= last || run >= static_cast<int64_t>(accesses.rows))
      return "names run " + std::to_string(run) + " of " + std::to_string(accesses.rows) +
             " behind run " + std::to_string(last);
    while (next < values.run.size() && values.run[next] == run)
      ++next;
    const auto row = static_cast<size_t>(run);
    const uint64_t elements = uint64_t{accesses.innerCount[row]} * accesses.outerCount[row];
    if (next - first != elements || accesses.elementBytes[row] > kMaxValueBytes)
      return "has " + std::to_string(next - first) + " values of run " + std::to_string(run) +
             ", which has " + std::to_string(elements) + " elements of " +
             std::to_string(accesses.elementBytes[row]) + " bytes";
  }
  return {};
}

} // namespace blockscope
