// Every access to one element, in the order of the recording, with what was there and what is there
// then, where values were recorded.
#pragma once

#include "core/trace/trace.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace blockscope::viz {

class TraceModel;

/// One access of one lane.
struct HistoryEntry {
  size_t row = 0;       ///< of the access runs: the time of the access
  uint32_t element = 0; ///< of the run, row by row
  uint32_t program = 0;
  int32_t op = -1;
  TraceAccessKind kind = TraceAccessKind::Read;
  uint8_t elementBytes = 0; ///< that it accessed; may differ from the tensor's
  bool hasValues = false;
  uint64_t before = 0; ///< bits, as in `TraceValues`
  uint64_t after = 0;
};

struct ElementHistory {
  std::vector<HistoryEntry> entries; ///< the first `kMaxEntries`
  uint64_t count = 0;                ///< of all
  static constexpr size_t kMaxEntries = size_t{1} << 20;
};

/// The accesses that touch the element-sized place `slot` of a tensor.
ElementHistory historyOf(const TraceModel &model, int argument, int64_t slot);

/// "read", "written" or "atomic".
const char *accessVerb(TraceAccessKind kind);

/// A value before or after an access as text: by the tensor's dtype, or as hexadecimal bits where
/// the access is of another width; "" where it was not recorded.
std::string historyValue(const TraceModel &model, int argument, const HistoryEntry &entry,
                         bool isAfter);

} // namespace blockscope::viz
