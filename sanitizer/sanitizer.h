// The table of sanitizers. Each is one file or one folder that registers itself:
//
//   const Registration kMine({.name = "mine", .help = "...", .codes = kCodes, .plan = kPlan,
//                             .make = [](const SanitizerContext &context) { ... }});
//
// The command line, Python and the docs read this table, and nothing else names a sanitizer. The
// library is made of objects, not an archive (CMakeLists.txt): a linker leaves out what of an
// archive nobody calls, and with it what would have registered itself.
#pragma once

#include "sanitizer/collector.h"
#include "sanitizer/observation.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>

namespace blockscope::sanitizer {

/// A choice that users have, as `--NAME CHOICE` and `check(..., NAME="CHOICE")`.
struct SanitizerOption {
  llvm::StringRef name;
  llvm::ArrayRef<llvm::StringLiteral> choices; ///< the first one holds where nothing is said
  llvm::StringRef help;
};

/// What a session gives the sanitizers that it makes.
struct SanitizerContext {
  FindingCollector &collector;                 ///< outlives the sanitizer
  bool isNamed;                                ///< asked for, and not only part of every check
  const llvm::StringMap<std::string> &choices; ///< of options, by name; those not said are missing

  /// Returns what was chosen for an option of this sanitizer.
  llvm::StringRef choice(const SanitizerOption &option) const {
    const auto chosen = choices.find(option.name);
    return chosen != choices.end() ? llvm::StringRef(chosen->second)
                                   : llvm::StringRef(option.choices.front());
  }
};

struct SanitizerInfo {
  llvm::StringRef name; ///< in `--checks`; empty: cannot be named
  llvm::StringRef help; ///< what it finds, in one line
  llvm::ArrayRef<FindingCode> codes;
  ObserverPlan plan; ///< of the observer that `make` gives
  bool isInEveryCheck = false;
  llvm::ArrayRef<SanitizerOption> options = {};
  std::unique_ptr<Observer> (*make)(const SanitizerContext &) = nullptr;
};

/// Puts a sanitizer into the table while the program starts. The arrays must live as long.
class Registration {
public:
  explicit Registration(const SanitizerInfo &info);
};

/// Returns all sanitizers, those of every check first, then by name.
llvm::ArrayRef<SanitizerInfo> sanitizers();
/// Returns the sanitizer with this name, or null.
const SanitizerInfo *findSanitizer(llvm::StringRef name);
/// Returns the option of any sanitizer with this name, or null.
const SanitizerOption *findOption(llvm::StringRef name);

} // namespace blockscope::sanitizer
