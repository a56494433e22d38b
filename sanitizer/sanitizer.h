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

/// A range of real addresses: the storage of a tensor.
struct HostRange {
  uint64_t begin = 0, bytes = 0;
};

/// The elements of a tensor as the host sees them. Strides are in bytes.
struct HostElements {
  uint64_t address = 0; ///< of element (0, ..., 0)
  uint64_t elementBytes = 1;
  std::vector<int64_t> shape, strides;
  HostRange storage;

  uint64_t count() const;
  /// Calls `visit(begin, end)` for each range of elements that lie behind one another, in row-major
  /// order; stops where it says true.
  void forEachRun(llvm::function_ref<bool(uint64_t, uint64_t)> visit) const;
};

/// What the host does with memory between launches; never during one.
class HostWatcher {
public:
  virtual ~HostWatcher() = default;
  /// A storage was allocated, with no values in it.
  virtual void onHostAllocation(const HostRange &storage, const SourceLocation &where) = 0;
  virtual void onHostWrite(const HostElements &elements) = 0;
  virtual void onHostRead(const HostElements &elements, const SourceLocation &where) = 0;
  /// Something that cannot be seen is given the elements, to read or to write them.
  virtual void onHostShare(const HostElements &elements, const SourceLocation &where) = 0;
  /// Of as many elements, one by one in row-major order.
  virtual void onHostCopy(const HostElements &from, const HostElements &to) = 0;
  /// Each element of `to` is computed of those of `from` at its place; all have the same shape.
  virtual void onHostCompute(llvm::ArrayRef<HostElements> from, const HostElements &to,
                             const SourceLocation &where) = 0;
  /// Each element of `to` is the one with its number: from 1 on, through all of `from`. Number 0 is
  /// an element that has a value.
  virtual void onHostMove(llvm::ArrayRef<HostElements> from, llvm::ArrayRef<int64_t> numbers,
                          const HostElements &to) = 0;
  virtual void onHostFree(const HostRange &storage) = 0;
  /// Whether a storage may have elements without a value.
  virtual bool mayBeUndefined(const HostRange &storage) const = 0;
  /// Whether one of these elements has none.
  virtual bool isUndefined(const HostElements &elements) const = 0;
};

/// What a session gives the sanitizers that it makes.
struct SanitizerContext {
  FindingCollector &collector;                 ///< outlives the sanitizer
  bool isNamed;                                ///< asked for, and not only part of every check
  const llvm::StringMap<std::string> &choices; ///< of options, by name; those not said are missing
  std::vector<HostWatcher *> &hostWatchers;    ///< what the sanitizer adds itself to
  llvm::ArrayRef<std::string> checks = {};     ///< all that were asked for

  /// Whether a sanitizer was asked for: what it tells of need not be told twice.
  bool isOn(llvm::StringRef name) const;
  /// Returns what was chosen for an option of this sanitizer.
  llvm::StringRef choice(const SanitizerOption &option) const {
    const auto chosen = choices.find(option.name);
    return chosen != choices.end() ? llvm::StringRef(chosen->second)
                                   : llvm::StringRef(option.choices.front());
  }
};

struct SanitizerInfo {
  llvm::StringRef name;       ///< in `--checks`; empty: cannot be named
  llvm::StringRef alias = ""; ///< another name for the same
  llvm::StringRef help;       ///< what it finds, in one line
  llvm::ArrayRef<FindingCode> codes;
  ObserverPlan plan; ///< of the observer that `make` gives
  bool isInEveryCheck = false;
  bool isReport = false; ///< tells of right kernels too: `all` leaves it out
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
/// Returns the sanitizer with this name or alias, or null.
const SanitizerInfo *findSanitizer(llvm::StringRef name);
/// Returns the option of any sanitizer with this name, or null.
const SanitizerOption *findOption(llvm::StringRef name);

} // namespace blockscope::sanitizer
