// Histories of elements: the runs that touch one are found as for its story.
#include "viz/model/element_history.h"

#include "viz/model/trace_model.h"
#include "viz/model/value_text.h"

#include <algorithm>

namespace blockscope::viz {
namespace {

/// The first value of each run that has some, by its place in `TraceValues`.
std::optional<size_t> firstValueOf(const TraceValues &values, size_t row) {
  const auto at = std::lower_bound(values.run.begin(), values.run.end(), static_cast<int64_t>(row));
  if (at == values.run.end() || *at != static_cast<int64_t>(row))
    return std::nullopt;
  return static_cast<size_t>(at - values.run.begin());
}

} // namespace

ElementHistory historyOf(const TraceModel &model, int argument, int64_t slot) {
  ElementHistory history;
  model.forEachRunAt(argument, slot, [&](size_t row, const TraceRun &run) {
    const TraceValues &values = model.values();
    const std::optional<size_t> first = firstValueOf(values, row);
    HistoryEntry entry;
    entry.row = row;
    entry.program = run.program;
    entry.op = static_cast<int32_t>(run.op);
    entry.kind = run.kind;
    entry.elementBytes = run.elementBytes;
    entry.hasValues = first.has_value();
    for (uint32_t outer = 0; outer < run.outerCount; ++outer) {
      const auto [begin, end] = model.lanesAt(argument, slot, run, outer);
      history.count += static_cast<uint64_t>(end - begin);
      for (int64_t inner = begin; inner < end; ++inner) {
        if (history.entries.size() == ElementHistory::kMaxEntries)
          break;
        entry.element = outer * run.innerCount + static_cast<uint32_t>(inner);
        if (first) {
          entry.before = static_cast<uint64_t>(values.before[*first + entry.element]);
          entry.after = static_cast<uint64_t>(values.after[*first + entry.element]);
        }
        history.entries.push_back(entry);
      }
    }
  });
  return history;
}

const char *accessVerb(TraceAccessKind kind) {
  switch (kind) {
  case TraceAccessKind::Read:
    return "read";
  case TraceAccessKind::Write:
    return "written";
  case TraceAccessKind::Atomic:
    return "atomic";
  }
  return "";
}

std::string historyValue(const TraceModel &model, int argument, const HistoryEntry &entry,
                         bool isAfter) {
  if (!entry.hasValues)
    return "";
  return valueText(model.launch().arguments[static_cast<size_t>(argument)].dtype,
                   entry.elementBytes, isAfter ? entry.after : entry.before);
}

} // namespace blockscope::viz
