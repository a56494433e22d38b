// Writes a trace file as a stream, in bounded memory.
#pragma once

#include "core/trace/trace.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace blockscope {

/// Writer of one trace file. Launches follow one another: `beginLaunch`, `appendRuns`...,
/// `endLaunch`.
///
/// `appendRuns` may be called from several threads at once; the rest from one thread. Runs of one
/// program keep their order when they are appended in order.
/// Errors: every call gives false after the first failure; `error()` says what failed.
class TraceWriter {
public:
  /// Access runs that are kept of one launch: what follows is only counted, so that a file of a
  /// large launch stays within what can be shown (1.7 GiB of memory, at most as much on disk).
  static constexpr uint64_t kMaxRuns = uint64_t{1} << 25;

  /// Creates or replaces `path`.
  /// Errors: null, with the reason in `error`.
  static std::unique_ptr<TraceWriter> create(const std::string &path, std::string &error,
                                             uint64_t maxRuns = kMaxRuns);
  /// Closes the file; call `close` before to learn whether that went well.
  ~TraceWriter();

  /// Returns the number of the source `path`; the first text given for a path is kept.
  int32_t addSource(const TraceSource &source);

  bool beginLaunch();
  /// Throws away the launch that has begun, with its runs.
  bool dropLaunch();
  bool appendRuns(std::span<const TraceRun> runs);
  /// Ends the launch: arguments, ops and findings are known only now. Launches count from 0.
  /// `values` are of runs in the order in which they were appended; those of runs that were left
  /// out are, too.
  bool endLaunch(const TraceLaunch &launch, TraceValues values = {});

  /// Adds a finding to an ended launch; findings are written when the file is closed.
  bool addFinding(size_t launch, TraceFinding finding);

  /// Writes sources and checksum and closes the file; a launch that was not ended is left out.
  bool close();

  const std::string &error() const;

private:
  class Impl;
  explicit TraceWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace blockscope
