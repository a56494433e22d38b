// Reads a trace file and believes none of it: every size, type and index is checked.
#pragma once

#include "core/trace/access_columns.h"
#include "core/trace/trace.h"
#include "core/trace/trace_limits.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace blockscope {

/// An open trace file. What it gives was checked by `problemOf` (core/trace/trace_check.h).
///
/// Errors: null or nullopt, with one sentence in `error` that names the file and what is wrong.
class TraceReader {
public:
  static std::unique_ptr<TraceReader>
  open(const std::string &path, std::string &error,
       const TraceLimits &limits = TraceLimits::ofThisMachine());
  ~TraceReader();

  const std::string &path() const;
  const std::vector<TraceSource> &sources() const;
  size_t launchCount() const;

  /// Everything of launch `index` but the access runs.
  std::optional<TraceLaunch> readLaunch(size_t index, std::string &error) const;

  /// The access runs of launch `index`, which `launch` was read from.
  std::optional<TraceAccesses> readAccesses(size_t index, const TraceLaunch &launch,
                                            std::string &error) const;

  /// The values that launch `index` has recorded of `accesses`; empty where it has none.
  std::optional<TraceValues> readValues(size_t index, const TraceAccesses &accesses,
                                        std::string &error) const;

private:
  class Impl;
  explicit TraceReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace blockscope
