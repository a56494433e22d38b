// Collects the findings of a session: repeats of one cause are one finding with a count.
#pragma once

#include "core/finding.h"
#include "sanitizer/found_elements.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace blockscope::sanitizer {

/// When an occurrence happened; of several occurrences of a cause the earliest is shown, so that
/// the report does not depend on the order in which threads found them.
struct Occurrence {
  int64_t launch = 0;
  int64_t program = -1; ///< none: it is of the launch, or of what the host reads
  uint64_t sequence = 0;
  int64_t lane = 0;

  auto operator<=>(const Occurrence &) const = default;
};

/// The severities that a user wants in place of those of the table; none: no finding at all.
using ChangedSeverities = std::map<FindingCode, std::optional<Severity>>;

/// A finding with the elements that all its occurrences are about.
struct CollectedFinding {
  Finding finding;
  std::vector<TensorElements> elements;
};

/// Thread safe.
class FindingCollector {
public:
  explicit FindingCollector(size_t maxFindings = 100, bool stopsAtFirst = false,
                            ChangedSeverities severities = {})
      : maxFindings_(maxFindings), stopsAtFirst_(stopsAtFirst), severities_(std::move(severities)) {
  }

  /// The flag that ends the launch which is watched from now on; set at the first error when the
  /// collector stops at it. Further causes are then no longer kept.
  void watch(std::atomic<bool> &stop) { stop_ = &stop; }
  /// Ends that launch, whose programs would go on for ever.
  void endLaunch() {
    if (stop_)
      *stop_ = true;
  }

  /// Adds `count` occurrences of a cause. `cause` names it: code, line, tensor. `describe` is
  /// called only when this occurrence is the earliest one known. `elements` are what it is about.
  void add(const std::string &cause, const Occurrence &when, int64_t count,
           llvm::function_ref<Finding()> describe, const FoundElements &elements = {});

  /// Takes a cause back: what came later has shown that it is none.
  void withdraw(const std::string &cause);
  /// Returns the findings by launch and line; in a line errors first, and causes before what comes
  /// of them.
  std::vector<Finding> findings() const;
  /// The same, with their elements.
  std::vector<CollectedFinding> collected() const;
  /// Returns how many causes of error severity there are.
  size_t errorCount() const;
  /// Returns how many further causes were dropped because there were more than the limit.
  size_t droppedCauses() const;
  void clear();
  /// Remembers what is known now; `revert` forgets what came after the last `remember`.
  void remember();
  void revert();

private:
  struct Entry {
    Finding finding;
    Occurrence first;
    int64_t count = 0;
    llvm::DenseSet<int64_t> programs; ///< launch and program, hashed together
    ElementsOfCause elements;
  };

  /// The entries that are shown, in their order.
  std::vector<const Entry *> shown() const;
  static Finding findingOf(const Entry &entry);

  /// Gives a finding the severity that the user wants. Returns false when he wants none of it.
  bool setSeverity(Finding &finding) const;
  /// Returns whether an error is known after which nothing else counts.
  bool hasStopped() const { return stopsAtFirst_ && hasError_; }

  mutable std::mutex mutex_;
  llvm::StringMap<Entry> entries_;
  llvm::StringMap<bool> dropped_;
  llvm::StringMap<bool> unwanted_; ///< causes whose findings are switched off
  llvm::StringMap<Entry> rememberedEntries_;
  llvm::StringMap<bool> rememberedDropped_;
  bool rememberedError_ = false;
  size_t maxFindings_;
  bool stopsAtFirst_;
  ChangedSeverities severities_;
  bool hasError_ = false;
  std::atomic<bool> *stop_ = nullptr; ///< of the launch that runs now
};

} // namespace blockscope::sanitizer
