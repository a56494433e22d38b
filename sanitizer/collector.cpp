// Folds repeats; keeps the earliest occurrence of each cause.
#include "sanitizer/collector.h"

#include <algorithm>
#include <tuple>

namespace blockscope::sanitizer {

namespace {

/// Programs of different launches are different programs.
int64_t programKey(const Occurrence &when) { return (when.launch << 40) ^ when.program; }

/// Whether a finding is the cause of what others see behind it: a wrong value, which it follows to
/// where it is used.
bool namesCause(const Finding &finding) {
  return llvm::any_of(finding.related, [](const Site &site) {
    return site.role == SiteRole::UsedAt || site.role == SiteRole::ArrivesAt;
  });
}

} // namespace

void FindingCollector::add(const std::string &cause, const Occurrence &when, int64_t count,
                           llvm::function_ref<Finding()> describe, const FoundElements &elements) {
  std::lock_guard lock(mutex_);
  auto found = entries_.find(cause);
  if (found == entries_.end()) {
    if (hasStopped() || unwanted_.contains(cause))
      return;
    // The limit guards memory. Up to four times as many causes are kept than are shown, so that the
    // shown ones are nearly always the earliest whatever the order in which they were found.
    if (entries_.size() >= 4 * maxFindings_) {
      dropped_[cause] = true;
      return;
    }
    Finding finding = describe();
    if (!setSeverity(finding)) {
      if (unwanted_.size() < 4 * maxFindings_)
        unwanted_[cause] = true;
      return;
    }
    found = entries_.try_emplace(cause).first;
    found->second.first = when;
    found->second.finding = std::move(finding);
    hasError_ |= found->second.finding.severity == Severity::Error;
    if (hasStopped() && stop_)
      *stop_ = true;
  } else if (when < found->second.first) {
    found->second.first = when;
    found->second.finding = describe();
    setSeverity(found->second.finding);
  }
  Entry &entry = found->second;
  entry.count += count;
  if (when.program >= 0)
    entry.programs.insert(programKey(when));
  entry.elements.add(elements);
}

bool FindingCollector::setSeverity(Finding &finding) const {
  const auto changed = severities_.find(finding.code);
  if (changed == severities_.end())
    return true;
  if (changed->second)
    finding.severity = *changed->second;
  return changed->second.has_value();
}

void FindingCollector::withdraw(const std::string &cause) {
  const std::lock_guard lock(mutex_);
  entries_.erase(cause);
  dropped_.erase(cause);
  hasError_ = llvm::any_of(
      entries_, [](const auto &entry) { return entry.second.finding.severity == Severity::Error; });
}

std::vector<const FindingCollector::Entry *> FindingCollector::shown() const {
  std::vector<const Entry *> sorted;
  for (const auto &entry : entries_)
    sorted.push_back(&entry.second);
  const auto key = [](const Entry *entry) {
    const Finding &finding = entry->finding;
    const SourceLocation &at = finding.site.location;
    return std::tuple_cat(std::tie(entry->first.launch, at.file, at.line),
                          std::tuple(-static_cast<int>(finding.severity), !namesCause(finding)),
                          std::tie(at.column), std::tuple(codeText(finding.code)),
                          std::tie(entry->first, finding.message));
  };
  std::sort(sorted.begin(), sorted.end(),
            [&](const Entry *a, const Entry *b) { return key(a) < key(b); });
  sorted.resize(std::min(sorted.size(), maxFindings_));
  return sorted;
}

Finding FindingCollector::findingOf(const Entry &entry) {
  Finding finding = entry.finding;
  finding.count = entry.count;
  finding.programCount = static_cast<int64_t>(entry.programs.size());
  return finding;
}

std::vector<Finding> FindingCollector::findings() const {
  std::lock_guard lock(mutex_);
  std::vector<Finding> result;
  for (const Entry *entry : shown())
    result.push_back(findingOf(*entry));
  return result;
}

std::vector<CollectedFinding> FindingCollector::collected() const {
  std::lock_guard lock(mutex_);
  std::vector<CollectedFinding> result;
  for (const Entry *entry : shown())
    result.push_back({findingOf(*entry), entry->elements.all()});
  return result;
}

size_t FindingCollector::errorCount() const {
  std::lock_guard lock(mutex_);
  return static_cast<size_t>(std::count_if(entries_.begin(), entries_.end(), [](const auto &entry) {
    return entry.second.finding.severity == Severity::Error;
  }));
}

size_t FindingCollector::droppedCauses() const {
  std::lock_guard lock(mutex_);
  const size_t hidden = entries_.size() > maxFindings_ ? entries_.size() - maxFindings_ : 0;
  return dropped_.size() + hidden;
}

void FindingCollector::clear() {
  std::lock_guard lock(mutex_);
  entries_.clear();
  dropped_.clear();
  hasError_ = false;
}

void FindingCollector::remember() {
  std::lock_guard lock(mutex_);
  rememberedEntries_ = entries_;
  rememberedDropped_ = dropped_;
  rememberedError_ = hasError_;
}

void FindingCollector::revert() {
  std::lock_guard lock(mutex_);
  entries_ = rememberedEntries_;
  dropped_ = rememberedDropped_;
  hasError_ = rememberedError_;
}

} // namespace blockscope::sanitizer
