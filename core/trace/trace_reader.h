// Reads a trace file and believes none of it: every size, type and index is checked.
#pragma once

#include "core/trace/access_columns.h"
#include "core/trace/trace.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace blockscope {

/// An open trace file.
///
/// Errors: null or nullopt, with one sentence in `error` that names the file and what is wrong.
class TraceReader {
public:
  static std::unique_ptr<TraceReader> open(const std::string &path, std::string &error);
  ~TraceReader();

  const std::string &path() const;
  const std::vector<TraceSource> &sources() const;
  size_t launchCount() const;

  /// Everything of launch `index` but the access runs. Indices into sources and ops are valid or
  /// -1.
  std::optional<TraceLaunch> readLaunch(size_t index, std::string &error) const;

  /// The access runs of launch `index`: every program, op and argument number is one of `launch`,
  /// and offsets plus extents do not overflow.
  std::optional<TraceAccesses> readAccesses(size_t index, const TraceLaunch &launch,
                                            std::string &error) const;

private:
  class Impl;
  explicit TraceReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace blockscope
