// Puts the sanitizers of a session together.
#include "sanitizer/check_session.h"

#include "core/report.h"
#include "sanitizer/sanitizer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace blockscope::sanitizer {

namespace {

/// "asan, tsan or undefined".
std::string listed(llvm::ArrayRef<std::string> names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return text;
}

std::string knownNames() {
  std::vector<std::string> names;
  for (const SanitizerInfo &info : sanitizers())
    if (!info.name.empty())
      names.push_back(info.name.str());
  llvm::sort(names);
  names.push_back("all");
  return listed(names);
}

/// Takes back what the sanitizers have found in a trial that is done again.
class TrialKeeper : public Observer {
public:
  TrialKeeper(FindingCollector &collector, bool stopsAtFirst)
      : collector_(collector), stopsAtFirst_(stopsAtFirst) {}

  /// Where the first error ends the launch, programs run in order of their numbers, so that it is
  /// the same in every run.
  ObserverPlan plan() const override {
    ObserverPlan plan;
    plan.needs.accesses = plan.trialNeeds.accesses = RunNeeds::Accesses::Outside;
    plan.needs.programOrder = stopsAtFirst_;
    plan.repeat = stopsAtFirst_ ? ObserverPlan::Repeat::Refuses : ObserverPlan::Repeat::Asks;
    return plan;
  }
  void onLaunchBegin(const LaunchInfo &launch) override {
    if (launch.isTrial)
      collector_.remember();
  }
  void onLaunchRepeat() override { collector_.revert(); }

private:
  FindingCollector &collector_;
  bool stopsAtFirst_;
};

} // namespace

std::string problemOf(const CheckOptions &options) {
  if (options.checks.empty())
    return "no check was named, expected " + knownNames();
  for (const std::string &name : options.checks)
    if (!findSanitizer(name))
      return "unknown check '" + name + "', expected " + knownNames();
  for (const auto &[name, choice] : options.choices) {
    const SanitizerOption *option = findOption(name);
    if (!option)
      return "unknown option '" + name.str() + "' of a check";
    if (!llvm::is_contained(option->choices, llvm::StringRef(choice)))
      return name.str() + " is '" + choice + "', expected " +
             listed(llvm::to_vector(llvm::map_range(
                 option->choices, [](llvm::StringRef each) { return each.str(); })));
  }
  return "";
}

CheckSession::CheckSession(const CheckOptions &options)
    : collector_(options.maxFindings, options.stopAtFirst, options.severities) {
  observers_.push_back(std::make_unique<TrialKeeper>(collector_, options.stopAtFirst));
  for (const SanitizerInfo &info : sanitizers()) {
    const bool isNamed = llvm::any_of(
        options.checks, [&](const std::string &name) { return findSanitizer(name) == &info; });
    if (isNamed)
      names_.emplace_back(info.name);
    if (isNamed || info.isInEveryCheck)
      observers_.push_back(
          info.make({collector_, isNamed, options.choices, hostWatchers_, options.checks}));
  }
}

void CheckSession::watch(interpreter::LaunchState &launch) {
  collector_.watch(launch.stop);
  const LaunchInfo &info = launch.info;
  last_ = {info.kernel, info.grid, info.metaParameters, info.launchIndex};
  for (const auto &observer : observers_)
    launch.observers.add(*observer);
}

void CheckSession::note(FindingCode code, const SourceLocation &kernel, const std::string &message,
                        const std::string &hint, const std::string &subject) {
  const std::string cause = std::string(codeText(code)) + " " + placeKey(kernel) + subject;
  collector_.add(cause, {last_.index}, 1, [&] {
    Finding finding;
    finding.code = code;
    finding.severity = infoOf(code).severity;
    finding.site.location = kernel;
    finding.launch = last_;
    finding.message = message;
    finding.hint = hint;
    return finding;
  });
}

std::string CheckSession::reportText(bool color, llvm::ArrayRef<CodeAtLine> leftOut) const {
  std::vector<Finding> all = findings();
  llvm::erase_if(all, [&](const Finding &finding) {
    const SourceLocation &at = finding.site.location;
    const llvm::StringRef kernel = finding.launch ? llvm::StringRef(finding.launch->kernel) : "";
    return llvm::any_of(leftOut, [&](const CodeAtLine &each) {
      return each.code == codeText(finding.code) && each.file == at.file && each.line == at.line &&
             each.kernel == kernel;
    });
  });
  if (all.empty())
    return "no findings (" + llvm::join(names_, ", ") + ")";
  std::string text = findingsAsText(all, color);
  if (const size_t dropped = droppedCauses())
    text += "; " + std::to_string(dropped) + " further causes are not shown (--max-findings)";
  return text;
}

std::string CheckSession::reportJson() const { return findingsAsJson(findings()); }

} // namespace blockscope::sanitizer
