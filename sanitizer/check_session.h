// A check session: the sanitizers that were asked for, over any number of launches.
#pragma once

#include "interpreter/execution_context.h"
#include "sanitizer/collector.h"
#include "sanitizer/observation.h"
#include "sanitizer/sanitizer.h"

#include "llvm/ADT/StringMap.h"

#include <memory>
#include <string>
#include <vector>

namespace blockscope::sanitizer {

struct CheckOptions {
  std::vector<std::string> checks = {};      ///< names of sanitizers
  llvm::StringMap<std::string> choices = {}; ///< of options of sanitizers, by name
  size_t maxFindings = 100;
  bool stopAtFirst = false; ///< the launch ends at the first error
  ChangedSeverities severities = {};
};

/// Returns what is wrong with the checks and choices: an unknown one, or none at all; else "".
std::string problemOf(const CheckOptions &options);

/// The findings of a kernel with a code at a line of a file.
struct CodeAtLine {
  std::string code, file;
  int32_t line = 0;
  std::string kernel; ///< empty for what is of no launch
};

class CheckSession {
public:
  /// Options without a problem.
  explicit CheckSession(const CheckOptions &options);

  /// Lets the sanitizers watch a launch that is about to run. The session must outlive it.
  void watch(interpreter::LaunchState &launch);
  /// Adds what the host knows of the last launch: a kernel that stands for configurations that were
  /// not checked, that is not what its arguments ask for, or that autotune cannot repeat. Of one
  /// kernel, what is noted for the same `subject` is one finding, with the first message.
  void note(FindingCode code, const SourceLocation &kernel, const std::string &message,
            const std::string &hint, const std::string &subject = "");
  std::vector<Finding> findings() const { return collector_.findings(); }
  std::vector<CollectedFinding> collected() const { return collector_.collected(); }
  size_t errorCount() const { return collector_.errorCount(); }
  size_t droppedCauses() const { return collector_.droppedCauses(); }
  /// The sanitizers that want to know what the host does.
  const std::vector<HostWatcher *> &hostWatchers() const { return hostWatchers_; }
  /// Returns the report of all findings but those `leftOut`; says so when further ones were not
  /// kept, and, when there are none, under which checks.
  std::string reportText(bool color, llvm::ArrayRef<CodeAtLine> leftOut = {}) const;
  std::string reportJson() const;

private:
  FindingCollector collector_;
  std::vector<std::string> names_; ///< of the checks that were asked for
  LaunchFacts last_;               ///< the launch that was watched last
  std::vector<std::unique_ptr<Observer>> observers_;
  std::vector<HostWatcher *> hostWatchers_; ///< among the observers
};

} // namespace blockscope::sanitizer
