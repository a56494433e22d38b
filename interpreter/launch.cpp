// Checks the grid and memory, then lets the workers of a scheduler run.
#include "interpreter/launch.h"

#include "interpreter/flat/frame_memory.h"
#include "interpreter/flat/machine.h"
#include "interpreter/flat/scheduler.h"
#include "interpreter/flat/thread_pool.h"
#include "interpreter/residency.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

namespace blockscope::interpreter {
namespace {

constexpr int64_t kMostPrograms = int64_t{1} << 62;

std::string checkGrid(const std::array<int32_t, 3> &grid) {
  int64_t total = 1;
  for (const int32_t size : grid) {
    if (size <= 0)
      return llvm::formatv("grid ({0}, {1}, {2}) has a dimension that is not positive", grid[0],
                           grid[1], grid[2]);
    if (total > kMostPrograms / size)
      return llvm::formatv("grid ({0}, {1}, {2}) has more than 2^62 programs", grid[0], grid[1],
                           grid[2]);
    total *= size;
  }
  return "";
}

std::string gibibytes(uint64_t bytes) {
  return llvm::formatv("{0:f1} GiB", static_cast<double>(bytes) / (1ULL << 30));
}

int chooseWorkers(const FlatProgram &program, const LaunchState &launch) {
  const RunNeeds &needs = launch.observers.needs();
  if (needs.programOrder ||
      (needs.residency && program.memoryUse.mayLoopForever && mayExceedResidency(launch.info)))
    return 1;
  const auto &grid = launch.info.grid;
  const uint64_t programs = static_cast<uint64_t>(grid[0]) * grid[1] * grid[2];
  const uint64_t fitting = flat::frameMemoryLimit() / 2 / std::max<uint64_t>(program.frameBytes, 1);
  return static_cast<int>(std::clamp<uint64_t>(std::min(programs, fitting), 1,
                                               static_cast<uint64_t>(defaultThreadCount())));
}

bool overlap(const Allocation &a, const Allocation &b) {
  return a.storage < b.storage + b.storageBytes && b.storage < a.storage + a.storageBytes;
}

/// Marks the allocations that the kernel cannot load from, or cannot store to.
void markUse(const MemoryUse &use, MemoryMap &memory, llvm::ArrayRef<ArgumentValue> arguments) {
  if (!use.isKnown)
    return;
  std::vector<bool> loaded(memory.arguments().size()), stored(memory.arguments().size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!use.loaded[i] && !use.stored[i])
      continue;
    const Allocation *target =
        hasProvenance(arguments[i].bits) ? memory.find(arguments[i].bits) : nullptr;
    if (!target)
      return; // a host address: it may lead anywhere
    for (const std::unique_ptr<Allocation> &other : memory.arguments())
      if (other.get() == target || overlap(*other, *target)) {
        loaded[other->number] = loaded[other->number] || use.loaded[i];
        stored[other->number] = stored[other->number] || use.stored[i];
      }
  }
  for (const std::unique_ptr<Allocation> &allocation : memory.arguments()) {
    allocation->mayBeLoaded = loaded[allocation->number];
    allocation->mayBeStored = stored[allocation->number];
  }
}

/// Whether programs may load what the launch stores. When they cannot, a second run does the same
/// as the first, whatever that has left in memory.
bool readsItsOutput(const MemoryUse &use, const MemoryMap &memory) {
  return !use.isKnown || llvm::any_of(memory.arguments(), [](const auto &allocation) {
    return allocation->mayBeLoaded && allocation->mayBeStored;
  });
}

using GridPlace = std::array<int32_t, 3>;

/// One program that the grid does not have, on this thread.
bool runOne(const FlatProgram &program, LaunchState &launch, llvm::ArrayRef<void *> arguments,
            const GridPlace &place) {
  Frame frame(program, arguments);
  if (!frame.isValid())
    return false;
  ExecutionContext context;
  context.launch = &launch;
  context.program = place;
  uint32_t pc = 0;
  return run(program, frame, pc, context) == RunStatus::Done;
}

bool runOutside(const FlatProgram &program, LaunchState &launch, llvm::ArrayRef<uint64_t> arguments,
                const GridPlace &first, const GridPlace &count, Observer &observer) {
  const MemoryUse &use = program.memoryUse;
  if (use.orders || use.prints || use.mayLoopForever || launch.stop || launch.abandoned)
    return false;
  std::vector<uint64_t> bits = arguments.vec();
  std::vector<void *> addresses;
  for (uint64_t &each : bits)
    addresses.push_back(&each);
  ObserverList alone;
  alone.add(observer);
  std::swap(launch.observers, alone);
  launch.saved = std::make_unique<SavedMemory>();
  bool isDone = true;
  for (int32_t z = 0; z < count[2] && isDone; ++z)
    for (int32_t y = 0; y < count[1] && isDone; ++y)
      for (int32_t x = 0; x < count[0] && isDone; ++x)
        isDone = runOne(program, launch, addresses, {first[0] + x, first[1] + y, first[2] + z});
  launch.saved->restore();
  launch.saved.reset();
  std::swap(launch.observers, alone);
  launch.takeErrors();
  launch.stop = false;
  return isDone;
}

/// One launch of a program; the second run of `repeat` takes the place of the trial.
class LaunchRuns {
public:
  LaunchRuns(const FlatProgram &program, LaunchState &launch, std::vector<void *> arguments,
             llvm::function_ref<bool()> poll)
      : program_(program), launch_(launch), arguments_(std::move(arguments)), poll_(poll) {}

  /// Runs all programs once and fills the result, but for errors.
  void run(ObserverList::Run which, LaunchResult &result) {
    const auto poll = [&] {
      if (poll_ && !result.interrupted && poll_()) {
        result.interrupted = true;
        launch_.stop = true;
      }
      return result.interrupted;
    };
    launch_.observers.startRun(which);
    launch_.info.isTrial = which == ObserverList::Run::Trial;
    const FlatProgram &program =
        program_.fast && !launch_.observers.needs().values ? *program_.fast : program_;
    ThreadLease threads(chooseWorkers(program, launch_), poll);
    if (threads.count() == 0) {
      if (!result.interrupted)
        result.failure = llvm::formatv("no thread can be made to run its programs: {0} (is the "
                                       "limit on processes, 'ulimit -u', or on memory reached?)",
                                       threads.error());
      return;
    }
    launch_.info.workers = threads.count();
    launch_.changes.begin(threads.count(), launch_.info.mayWait);
    hasBegun_ = true;
    for (Observer *observer : launch_.observers)
      observer->onLaunchBegin(launch_.info);
    Scheduler scheduler(program, launch_, arguments_, launch_.info.workers);
    threads.run([&](int worker) { scheduler.work(worker); }, poll);
    if (scheduler.isOutOfMemory())
      result.failure =
          llvm::formatv("out of memory: too many programs wait at once, each with {0} of blocks",
                        gibibytes(program.frameBytes));
  }

  /// What ended a trial early may be another program's than in the next run, so it is done again.
  bool mustRepeat(const LaunchResult &result) const {
    const bool isContent = !launch_.observers.mustRepeat() && !launch_.stop;
    return hasBegun_ && !isContent && !result.interrupted && result.failure.empty() &&
           !launch_.abandoned;
  }

  /// Puts memory back and runs again, programs one after another.
  void repeat(LaunchResult &result) {
    if (launch_.saved)
      launch_.saved->restore();
    launch_.saved.reset();
    launch_.errors.clear();
    launch_.stop = false;
    for (Observer *observer : launch_.observers)
      observer->onLaunchRepeat();
    run(ObserverList::Run::Repeat, result);
  }

  void end() {
    if (!hasBegun_)
      return;
    const ObserverList observers = launch_.observers; // they may run programs by themselves
    for (Observer *observer : observers)
      observer->onLaunchEnd();
  }

private:
  const FlatProgram &program_;
  LaunchState &launch_;
  std::vector<void *> arguments_;
  llvm::function_ref<bool()> poll_;
  bool hasBegun_ = false; ///< observers know
};

} // namespace

void knowProgram(const FlatProgram &program, LaunchState &launch,
                 llvm::ArrayRef<uint64_t> arguments) {
  launch.info.program = &program;
  launch.info.arguments = arguments;
  launch.info.runOutside = [&launch, arguments, &fast = program.fast ? *program.fast : program](
                               const GridPlace &first, const GridPlace &count, Observer &observer) {
    return runOutside(fast, launch, arguments, first, count, observer);
  };
}

LaunchResult launchFlat(const FlatProgram &program, LaunchState &launch,
                        llvm::ArrayRef<ArgumentValue> arguments, llvm::function_ref<bool()> poll) {
  LaunchResult result;
  result.failure = checkGrid(launch.info.grid);
  if (result.failure.empty() && arguments.size() != program.parameters.size())
    result.failure = llvm::formatv("the kernel has {0} parameters, but {1} values were passed",
                                   program.parameters.size(), arguments.size());
  if (result.failure.empty() && program.frameBytes > flat::frameMemoryLimit())
    result.failure = llvm::formatv(
        "one program needs {0} for its blocks, but only {1} can be used on this machine",
        gibibytes(program.frameBytes), gibibytes(flat::frameMemoryLimit()));
  if (result.failure.empty() && launch.observers.plan().only.values && !program.showsValues)
    result.failure =
        "an observer needs the values of ops, which this program was not built to show";
  if (result.failure.empty() && launch.observers.plan().only.claims && !program.showsClaims)
    result.failure = "an observer needs claims, which this program was not built to show";
  if (!result.failure.empty())
    return result;

  std::vector<ArgumentValue> values = arguments.vec();
  std::vector<void *> addresses;
  for (ArgumentValue &value : values)
    addresses.push_back(&value.bits);

  const MemoryUse &use = program.memoryUse;
  std::vector<uint64_t> bits;
  if (!launch.observers.empty()) {
    for (const ArgumentValue &value : arguments)
      bits.push_back(value.bits);
    knowProgram(program, launch, bits);
  }
  launch.info.memory = &launch.memory;
  launch.info.hasAtomics = program.hasAtomics;
  launch.info.countsChanges = program.hasAtomics || program.waitsByLoads;
  launch.info.mayWait = use.orders || program.waitsByLoads;
  if (!launch.observers.empty())
    launch.info.files = program.files;
  if (!launch.observers.empty())
    markUse(use, launch.memory, values);
  LaunchRuns runs(program, launch, std::move(addresses), poll);
  if (launch.observers.plan().wantsTrial && !use.prints && !use.orders) {
    if (readsItsOutput(use, launch.memory))
      launch.saved = std::make_unique<SavedMemory>();
    runs.run(ObserverList::Run::Trial, result);
    if (runs.mustRepeat(result))
      runs.repeat(result);
    launch.saved.reset();
  } else {
    runs.run(ObserverList::Run::Only, result);
  }
  runs.end();
  launch.info.runOutside = nullptr; // its arguments end here
  launch.info.arguments = {};
  result.errors = launch.takeErrors();
  return result;
}

} // namespace blockscope::interpreter
