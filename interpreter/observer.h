// What watches a run: sanitizers, the trace recorder, counters. The machine names none of them.
//
// Events come from the thread that runs the program; `worker` is that thread's index, so an
// observer can keep per-worker state without locks. onLaunchBegin/End come from the launching
// thread.
#pragma once

#include "core/finding.h"
#include "interpreter/access_run.h"
#include "interpreter/memory.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace blockscope::interpreter {

enum class AtomicSemantics : uint8_t { Relaxed, Acquire, Release, AcquireRelease };
enum class AtomicScope : uint8_t { Cta, Gpu, System };

/// One static op that accesses memory, prints or asserts; the same for all programs of a launch.
struct OpInfo {
  uint32_t id = 0;  ///< index into LaunchInfo::ops
  std::string name; ///< "tl.load"
  SourceLocation location;
};

struct LaunchInfo {
  std::string kernel;
  std::array<int32_t, 3> grid = {1, 1, 1};
  std::vector<std::pair<std::string, std::string>> metaParameters; ///< constexprs and options
  std::vector<std::pair<std::string, std::string>> sources; ///< file name, whole text of the file
  int64_t launchIndex = 0;
  int workers = 1;
  const MemoryMap *memory = nullptr;
  /// Whether the kernel has atomics or volatile loads (when false, programs need no clocks).
  bool hasAtomics = false;
  /// This run may be thrown away and done again, programs one after another (see wantsRepeat). Then
  /// what one program does depends on others only through plain loads of what they store.
  bool mayRepeat = false;
};

/// One executed memory operation of one program, before its effect on memory (for atomics: after).
struct Access {
  const OpInfo *op;
  AccessKind kind;
  AtomicSemantics semantics = AtomicSemantics::Relaxed; ///< atomics only
  AtomicScope scope = AtomicScope::Gpu;
  bool isVolatile = false;
  int64_t program; ///< linear: x + grid.x * (y + grid.y * z)
  int worker;
  uint64_t sequence; ///< counts the events of this program
  int64_t lanes;     ///< elements of the block
  llvm::ArrayRef<int64_t> blockShape;
  int elementBytes;
  /// Per lane. Null when all active lanes lie inside the dense view of `allocation`, without
  /// overlap: then offsets and `box` (or runs) say all, and `mask` is null too.
  const DeviceAddress *addresses;
  const AccessBox *box;         ///< null when `addresses` is not
  const uint8_t *mask;          ///< per lane, null when all are active
  const void *values;           ///< store: what is stored; atomics: the old values (see kind)
  const void *operandValues;    ///< atomics: the operand; else null
  bool valuesAreScalar = false; ///< `values` is one element for all lanes
  /// The one allocation of all active lanes; null when lanes differ (then see addresses).
  const Allocation *allocation;
  /// Lowest and highest byte offset of active lanes in `allocation` (start of the element).
  int64_t minOffset;
  int64_t maxOffset;
  /// Maximal runs over active in-bounds lanes, in lane order. Filled when an observer wants runs.
  llvm::ArrayRef<AccessRun> runs;
  /// Loop counters of the enclosing loops, outermost first.
  llvm::ArrayRef<int64_t> loopIterations;
  int64_t activeLanes;
};

/// A lane whose access the machine refused (it is outside every extent, null, or misaligned).
struct BadLane {
  enum class Reason : uint8_t { OutOfStorage, Null, Wild, Misaligned, ReadOnly };
  int64_t lane;
  DeviceAddress address;
  const Allocation *allocation; ///< null for wild and null pointers
  Reason reason;
};

class Observer {
public:
  virtual ~Observer() = default;

  /// Whether `Access::runs` must be filled.
  virtual bool wantsRuns() const { return false; }
  /// Whether programs must run one after another in order of their number (yielding at spins).
  virtual bool wantsSequentialPrograms(const LaunchInfo &) const { return false; }

  virtual void onLaunchBegin(const LaunchInfo &) {}
  virtual void onProgramBegin(int64_t /*program*/, int /*worker*/) {}
  virtual void onAccess(const Access &) {}
  /// Lanes of `access` that were refused; comes before onAccess, which then has only the others.
  virtual void onBadLanes(const Access &, llvm::ArrayRef<BadLane>) {}
  virtual void onBarrier(int64_t /*program*/, int /*worker*/) {}
  /// A failing device_assert: lane by lane where `failed` is set.
  virtual void onAssert(const OpInfo &, int64_t /*program*/,
                        llvm::ArrayRef<int64_t> /*failedLanes*/,
                        llvm::ArrayRef<int64_t> /*blockShape*/, llvm::StringRef /*message*/,
                        llvm::ArrayRef<std::pair<std::string, std::string>> /*values*/) {}
  virtual void onProgramEnd(int64_t /*program*/, int /*worker*/) {}
  /// All live programs spin and no memory changes. One site per stuck program.
  virtual void onDeadlock(llvm::ArrayRef<AccessSite>) {}
  virtual void onLaunchEnd() {}

  /// Whether a launch may be done again while this watches. It then gets onLaunchRepeat, and all
  /// events from onLaunchBegin on for a second time.
  virtual bool canRepeat() const { return false; }
  /// Asked when all programs of a launch that `mayRepeat` have ended: whether it must be done
  /// again, from the memory that it began with, programs one after another.
  virtual bool wantsRepeat() { return false; }
  /// What this launch has found so far is void.
  virtual void onLaunchRepeat() {}

  /// Whether refused accesses are handled here (recorded), so that the run goes on. When no
  /// observer handles them, the launch ends with an error.
  virtual bool handlesBadLanes() const { return false; }
};

} // namespace blockscope::interpreter
