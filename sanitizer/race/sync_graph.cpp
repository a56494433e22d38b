// Walks releases and acquires backwards when a clock is asked for.
#include "sanitizer/race/sync_graph.h"

#include "llvm/ADT/STLExtras.h"

namespace blockscope::sanitizer {

void SyncGraph::clear() {
  logOf_.clear();
  logs_.clear();
  placesOf_.clear();
  nodes_.clear();
  looks_.clear();
}

void SyncGraph::acquire(uint32_t program, uint64_t host) {
  if (const auto log = logOf_.find(host); log != logOf_.end())
    acquire(program, {log->second, static_cast<uint32_t>(logs_[log->second].size())});
}

void SyncGraph::look(uint32_t program, uint64_t host) {
  if (const auto log = logOf_.find(host); log != logOf_.end())
    looks_[program][log->second] = static_cast<uint32_t>(logs_[log->second].size());
}

void SyncGraph::acquireAllAsLooked(uint32_t program) {
  if (const auto looks = looks_.find(program); looks != looks_.end())
    for (const auto &[log, length] : looks->second)
      acquire(program, Acquire{log, length});
}

bool SyncGraph::acquireAsLooked(uint32_t program, uint64_t host) {
  const auto log = logOf_.find(host);
  if (log == logOf_.end())
    return true;
  const uint32_t length = looks_[program][log->second];
  if (length > 0)
    acquire(program, {log->second, length});
  return length == logs_[log->second].size();
}

bool SyncGraph::isReleasedAt(uint64_t host, uint32_t program, uint32_t epoch) const {
  const auto log = logOf_.find(host);
  return log != logOf_.end() && llvm::any_of(logs_[log->second], [&](const Release &release) {
           return release.program == program && release.epoch >= epoch;
         });
}

void SyncGraph::acquire(uint32_t program, Acquire acquire) {
  std::vector<Acquire> &acquires = nodes_[program].acquires;
  if (!acquires.empty() && acquires.back().log == acquire.log &&
      acquires.back().length == acquire.length)
    return; // a spin that saw nothing new
  acquires.push_back(acquire);
}

void SyncGraph::release(uint32_t program, uint64_t host, uint32_t epoch, uint32_t barrierEpoch) {
  const auto [log, isNew] = logOf_.try_emplace(host, static_cast<uint32_t>(logs_.size()));
  if (isNew)
    logs_.emplace_back();
  const auto node = nodes_.find(program);
  const size_t acquires = node == nodes_.end() ? 0 : node->second.acquires.size();
  std::vector<Release> &releases = logs_[log->second];
  placesOf_[{log->second, program}].push_back(static_cast<uint32_t>(releases.size()));
  releases.push_back({program, epoch, barrierEpoch, static_cast<uint32_t>(acquires)});
}

/// Whether one of the last acquires of a program saw a release of `other` that `tells` what is
/// asked. Holders of a lock, and readers of a flag, mostly meet what these did.
bool SyncGraph::seesDirectly(const Node &node, uint32_t other,
                             llvm::function_ref<bool(const Release &)> tells) const {
  constexpr int kMostAcquires = 4;
  int left = kMostAcquires;
  for (const Acquire &acquire : llvm::reverse(node.acquires)) {
    if (left-- == 0)
      return false;
    const auto places = placesOf_.find({acquire.log, other});
    if (places == placesOf_.end())
      continue;
    // Epochs rise, so the last release that was seen tells most.
    const auto last = llvm::lower_bound(places->second, acquire.length);
    if (last != places->second.begin() && tells(logs_[acquire.log][*std::prev(last)]))
      return true;
  }
  return false;
}

void SyncGraph::update(Node &node) {
  std::vector<Acquire> open(node.acquires.begin() + static_cast<ptrdiff_t>(node.known),
                            node.acquires.end());
  node.known = node.acquires.size();
  while (!open.empty()) {
    const Acquire acquire = open.back();
    open.pop_back();
    uint32_t &walked = node.walkedReleases[acquire.log];
    const uint32_t first = walked;
    walked = std::max(walked, acquire.length);
    for (uint32_t i = first; i < acquire.length; ++i) {
      const Release &release = logs_[acquire.log][i];
      node.clock.raise(release.program, release.epoch);
      node.warpClock.raise(release.program, release.barrierEpoch);
      uint32_t &count = node.walkedAcquires[release.program];
      if (count >= release.acquires)
        continue;
      const std::vector<Acquire> &theirs = nodes_[release.program].acquires;
      open.insert(open.end(), theirs.begin() + count, theirs.begin() + release.acquires);
      count = release.acquires;
    }
  }
}

bool SyncGraph::sees(uint32_t program, uint32_t other, uint32_t epoch) {
  const auto node = nodes_.find(program);
  if (node == nodes_.end() || node->second.acquires.empty())
    return false;
  if (seesDirectly(node->second, other,
                   [&](const Release &release) { return release.epoch >= epoch; }))
    return true;
  update(node->second);
  return epoch <= node->second.clock.get(other);
}

bool SyncGraph::seesInWarps(uint32_t program, uint32_t other, uint32_t epoch) {
  const auto node = nodes_.find(program);
  if (node == nodes_.end() || node->second.acquires.empty())
    return false;
  if (seesDirectly(node->second, other,
                   [&](const Release &release) { return release.barrierEpoch >= epoch; }))
    return true;
  update(node->second);
  return epoch <= node->second.warpClock.get(other);
}

} // namespace blockscope::sanitizer
