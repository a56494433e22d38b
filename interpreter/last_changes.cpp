// Who changed memory last.
#include "interpreter/last_changes.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstring>

namespace blockscope::interpreter {
namespace {

constexpr size_t kMostChanges = 1U << 16; // of a worker: 5 MiB
constexpr size_t kMostRanges = 16;

} // namespace

void LastChanges::begin(int workers, bool mayWait) {
  workers_.clear();
  if (mayWait)
    workers_.resize(static_cast<size_t>(workers));
}

void LastChanges::note(int worker, const std::byte *host, const Change &change) {
  Worker &mine = workers_[worker];
  mine.latest = nullptr;
  if (mine.changes.size() >= kMostChanges && !mine.changes.contains(host)) {
    mine.isFull = true;
    return;
  }
  mine.latest = &(mine.changes[host] = change);
}

Change *LastChanges::unnamed(int worker) {
  Change *latest = isOn() ? workers_[worker].latest : nullptr;
  return latest && !latest->op ? latest : nullptr;
}

void LastChanges::noteRange(int worker, const std::byte *begin, const std::byte *end) {
  Worker &mine = workers_[worker];
  // Blocks lie in rows: a range that meets another one, or is the last of too many, widens it.
  for (Range &range : mine.ranges)
    if ((begin <= range.end && range.begin <= end) ||
        (mine.ranges.size() == kMostRanges && &range == &mine.ranges.back())) {
      range = {std::min(begin, range.begin), std::max(end, range.end)};
      return;
    }
  mine.ranges.push_back({begin, end});
}

std::optional<Change> LastChanges::find(const std::byte *host) const {
  const Change *latest = nullptr;
  for (const Worker &worker : workers_) {
    const auto found = worker.changes.find(host);
    if (found == worker.changes.end()) {
      if (worker.isFull)
        return std::nullopt;
      continue;
    }
    const Change &change = found->second;
    // Two workers may number their changes in another order than they made them, and stores of
    // blocks are not here: the value says who it was.
    if (std::memcmp(host, &change.after, change.elementBytes) == 0 &&
        (!latest || latest->when < change.when))
      latest = &change;
  }
  return latest ? std::optional(*latest) : std::nullopt;
}

bool LastChanges::isUntouched(const std::byte *host, int64_t bytes) const {
  return llvm::none_of(workers_, [&](const Worker &worker) {
    return worker.isFull ||
           llvm::any_of(worker.ranges,
                        [&](const Range &range) {
                          return host < range.end && range.begin < host + bytes;
                        }) ||
           llvm::any_of(worker.changes, [&](const auto &change) {
             return host < change.first + change.second.elementBytes && change.first < host + bytes;
           });
  });
}

} // namespace blockscope::interpreter
