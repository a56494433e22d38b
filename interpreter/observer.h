// What watches a run: sanitizers, the trace recorder, counters. The machine names none of them.
//
// An observer declares once per launch what it needs of a run and what it takes over; what all
// observers of a launch need together is decided in observer_list.h. Events come from the thread
// that runs the program; `worker` is that thread's index, so an observer can keep per-worker state
// without locks. onLaunchBegin, onLaunchRepeat and onLaunchEnd come from the launching thread.
#pragma once

#include "interpreter/events.h"

namespace blockscope::interpreter {

/// What an observer must be given in a run. More may come, when others need it.
struct RunNeeds {
  enum class Accesses : uint8_t {
    Outside, ///< whose lanes are refused or lie outside of a dense view
    Stored,  ///< and those of memory that the launch may store to, and all but loads
    All,
  };
  Accesses accesses = Accesses::All; ///< of which onAccess comes
  bool runs = false;                 ///< `Access::runs` is filled
  /// onValues, onMove and onDecision come. The kernel is built in a slower form, which shows them.
  bool values = false;
  /// onValues comes of the ops whose operands are held against a claim, or leave the floats: hints
  /// and assumptions, floats that become integers or fp8, comparisons of floats that decide where
  /// a program goes. Nearly free, in the fast form. With `values` these are among all others.
  bool claims = false;
  /// Programs run one after another in order of their number, yielding at spins: what is found, and
  /// its values, is then the same in every run.
  bool programOrder = false;
  /// `OpInfo::address`, `OpInfo::resultUse` and `LaunchInfo::program` are there in step mode too:
  /// the kernel is compiled beside it, where it can be.
  bool program = false;
  /// onNotResident comes. Programs that may wait for one another, and of which there are more than
  /// a GPU holds, run one after another.
  bool residency = false;

  bool operator==(const RunNeeds &) const = default;
};

/// What an observer needs of a launch, and what it takes over of it. Plain data.
struct ObserverPlan {
  RunNeeds needs = {};
  /// Where programs cannot wait for one another, a launch may be tried first, on all threads, and
  /// be done again from the memory that it began with, in program order.
  enum class Repeat : uint8_t {
    Refuses, ///< cannot take back what it has seen: there is no trial
    Accepts, ///< forgets the trial in onLaunchRepeat
    Asks,    ///< forgets too; wants the trial, and says in `mustRepeat` whether it was enough
  };
  Repeat repeat = Repeat::Refuses;
  RunNeeds trialNeeds = {}; ///< of an observer that asks: `needs` in the trial

  /// What is recorded here, so that the launch goes on (after a deadlock: ends without an error).
  /// What no observer takes over ends the launch with an error.
  bool takesRefusedLanes = false;
  bool takesAsserts = false; ///< asserts are then enabled, whatever the launch says
  bool takesDeadlocks = false;
};

class Observer {
public:
  virtual ~Observer() = default;

  /// Asked once, when the observer is added to a launch.
  virtual ObserverPlan plan() const { return {}; }

  virtual void onLaunchBegin(const LaunchInfo &) {}
  virtual void onProgramBegin(int64_t /*program*/, int /*worker*/) {}
  virtual void onAccess(const Access &) {}
  /// Lanes of `access` that were refused; comes before onAccess, which then has only the others.
  virtual void onRefusedLanes(const Access &, llvm::ArrayRef<RefusedLane>) {}
  virtual void onBarrier(int64_t /*program*/, int /*worker*/) {}
  /// A fence of PTX, of the scope of a GPU at least.
  virtual void onFence(int64_t /*program*/) {}
  virtual void onAssert(const FailedAssert &) {}
  /// `text` is what one device_print adds to the output; all of a program comes out at its end.
  virtual void onPrint(const OpInfo *, int64_t /*program*/, llvm::StringRef /*text*/) {}
  virtual void onProgramEnd(int64_t /*program*/, int /*worker*/) {}
  /// All live programs spin and no memory changes. In order of their numbers.
  virtual void onDeadlock(llvm::ArrayRef<StuckProgram>) {}
  virtual void onEndlessLoop(const EndlessLoop &) {}
  /// Comes once in a launch, and where the observer needs it.
  virtual void onNotResident(const NotResident &) {}

  /// Come only where an observer needs values, or claims.
  virtual void onValues(const OpValues &) {}
  virtual void onMove(const ValueMove &) {}
  virtual void onDecision(const ValueDecision &) {}

  /// Asked at the end of a trial, of an observer that asked for it.
  virtual bool mustRepeat() { return false; }
  /// The trial is void; all events from onLaunchBegin on come a second time.
  virtual void onLaunchRepeat() {}
  virtual void onLaunchEnd() {}
};

} // namespace blockscope::interpreter
