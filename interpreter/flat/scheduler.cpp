// The scheduler. A deadlock is proved, not guessed: every live program is suspended, memory has not
// changed since each of them last ran, and each has come back to a state of its registers that it
// was in before. A program whose registers go on changing (it counts its tries) gets a million
// tries.
#include "interpreter/flat/scheduler.h"

#include "interpreter/flat/frame_memory.h"
#include "interpreter/progress.h"
#include "interpreter/residency.h"
#include "interpreter/stuck.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace blockscope::interpreter {
namespace {

constexpr int64_t kMostChunk = 256;
constexpr size_t kMostWaiting = 256; // while anything else can run
constexpr uint32_t kMostTries = 1U << 20;
constexpr int kPausesBeforeNap = 64;
constexpr std::chrono::microseconds kNap{20};

} // namespace

struct Scheduler::Instance {
  Instance(const FlatProgram &program, llvm::ArrayRef<void *> arguments)
      : frame(program, arguments) {}

  Frame frame;
  uint32_t pc = 0;
  ExecutionContext context;
  /// LaunchState::progress when it last began to run.
  uint64_t progressSeen = 0;
  /// It was resumed although memory had not changed, to see whether its own state still does.
  bool isProbing = false;

  // Looking for a cycle of states since memory last changed (Brent).
  uint64_t quietProgress = ~0ULL;
  uint64_t reference = 0;
  uint32_t tries = 0;
  uint32_t nextReference = 1;
  bool isStuck = false;

  void lookForCycle() {
    if (quietProgress != progressSeen) {
      quietProgress = progressSeen;
      tries = 0;
      nextReference = 1;
      isStuck = false;
    }
    const uint64_t state =
        llvm::xxh3_64bits(llvm::ArrayRef<uint8_t>(
            reinterpret_cast<const uint8_t *>(frame.bytes().data()), frame.bytes().size())) ^
        (static_cast<uint64_t>(pc) * 0x9e3779b97f4a7c15ULL);
    if ((tries > 0 && state == reference) || tries >= kMostTries)
      isStuck = true;
    if (++tries == nextReference) {
      reference = state;
      nextReference *= 2;
    }
  }
};

Scheduler::Scheduler(const FlatProgram &program, LaunchState &launch, std::vector<void *> arguments,
                     int workers)
    : program_(program), launch_(launch), arguments_(std::move(arguments)), workers_(workers),
      total_(static_cast<int64_t>(launch.info.grid[0]) * launch.info.grid[1] * launch.info.grid[2]),
      observed_(!launch.observers.empty()), busy_(workers) {
  mostInstances_ = flat::frameMemoryLimit() / std::max<uint64_t>(program.frameBytes, 1);
  // With more workers it is not known of those that run whether they will wait.
  if (launch.observers.needs().residency && workers == 1 && mayExceedResidency(launch.info))
    crowd_ = kMultiprocessors;
}

Scheduler::~Scheduler() = default;

bool Scheduler::takeChunk(Chunk &chunk) {
  int64_t begin = next_.load(std::memory_order_relaxed);
  int64_t count = 0;
  do {
    if (begin >= total_)
      return false;
    count = std::clamp<int64_t>((total_ - begin) / (4 * workers_), 1, kMostChunk);
  } while (!next_.compare_exchange_weak(begin, begin + count, std::memory_order_relaxed));
  chunk = {begin, begin + count};
  noteProgress({chunk.end, total_});
  return true;
}

Scheduler::InstancePtr Scheduler::makeInstance() {
  InstancePtr instance;
  {
    const std::lock_guard lock(mutex_);
    if (!spare_.empty()) {
      instance = std::move(spare_.back());
      spare_.pop_back();
      return instance;
    }
    if (numInstances_++ >= mostInstances_)
      outOfMemory_ = true;
  }
  if (!outOfMemory_)
    instance = std::make_unique<Instance>(program_, arguments_);
  if (instance && instance->frame.isValid())
    return instance;
  outOfMemory_ = true;
  launch_.stop = true;
  return nullptr;
}

void Scheduler::start(Instance &instance, int64_t number, int worker) {
  const auto &grid = launch_.info.grid;
  ExecutionContext &context = instance.context;
  context.launch = &launch_;
  context.linearProgram = number;
  context.program = {static_cast<int32_t>(number % grid[0]),
                     static_cast<int32_t>(number / grid[0] % grid[1]),
                     static_cast<int32_t>(number / grid[0] / grid[1])};
  context.sequence = 0;
  context.op = nullptr;
  context.loopIterations.clear();
  context.spinning = false;
  context.lastSeen.clear();
  instance.pc = 0;
  instance.quietProgress = ~0ULL;
  instance.isStuck = false;
  if (observed_)
    for (Observer *observer : launch_.observers)
      observer->onProgramBegin(number, worker);
}

void Scheduler::finish(Instance &instance, int worker) {
  ExecutionContext &context = instance.context;
  if (observed_)
    for (Observer *observer : launch_.observers)
      observer->onProgramEnd(context.linearProgram, worker);
  if (!context.printed.empty()) {
    if (launch_.print)
      launch_.print(context.printed);
    context.printed.clear();
  }
}

void Scheduler::resume(InstancePtr &instance, int worker) {
  instance->context.worker = worker;
  instance->context.waitsByLoads = false;
  if (launch_.info.countsChanges)
    instance->progressSeen = launch_.progress.load();
  switch (run(program_, instance->frame, instance->pc, instance->context)) {
  case RunStatus::Done:
  case RunStatus::Stopped:
    finish(*instance, worker);
    return;
  case RunStatus::Suspended:
    suspend(std::move(instance));
    return;
  }
}

void Scheduler::suspend(InstancePtr instance) {
  if (instance->context.waitsByLoads) { // its state repeats
    instance->quietProgress = instance->progressSeen;
    instance->isStuck = true;
  } else if (instance->isProbing && launch_.progress.load() == instance->progressSeen) {
    instance->lookForCycle();
  }
  instance->isProbing = false;
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(instance));
  numWaiting_ = waiting_.size();
}

Scheduler::Choice Scheduler::choose(Worker &worker, InstancePtr &waiting) {
  const std::lock_guard lock(mutex_);
  if (worker.idle)
    ++busy_;
  worker.idle = false;
  if (launch_.stop) // a deadlock may just have been found
    return Choice::Done;
  const bool fresh = worker.holdsFresh() || hasFresh();
  if (waiting_.empty())
    return fresh ? Choice::Fresh : Choice::Done;
  const uint64_t progress = launch_.progress.load();
  // The first has waited longest: when nothing has changed for it, nothing has for the others.
  auto chosen = waiting_.begin();
  const bool changed = (*chosen)->progressSeen != progress;
  if (fresh &&
      (!changed || (worker.preferFresh && waiting_.size() < std::min(kMostWaiting, crowd_)))) {
    worker.preferFresh = false;
    if (!changed && waiting_.size() >= crowd_) {
      crowd_ = waiting_.size() + kMultiprocessors;
      worker.stuck = stuckPrograms();
    }
    return Choice::Fresh;
  }
  worker.preferFresh = true;
  if (!changed) {
    if (busy_ > 1) {
      --busy_;
      worker.idle = true;
      return Choice::Nap;
    }
    chosen = std::find_if(waiting_.begin(), waiting_.end(), [&](const InstancePtr &instance) {
      return !instance->isStuck || instance->quietProgress != progress;
    });
    if (chosen == waiting_.end()) {
      worker.stuck = stuckPrograms();
      return Choice::Deadlock;
    }
    (*chosen)->isProbing = true;
  }
  waiting = std::move(*chosen);
  waiting_.erase(chosen);
  numWaiting_ = waiting_.size();
  return Choice::Waiting;
}

void Scheduler::nap(int &pauses) {
  if (++pauses < kPausesBeforeNap)
    std::this_thread::yield();
  else
    std::this_thread::sleep_for(kNap);
}

void Scheduler::recycle(Worker &worker, InstancePtr instance) {
  if (!instance)
    return; // suspended again
  if (!worker.instance) {
    worker.instance = std::move(instance);
    return;
  }
  const std::lock_guard lock(mutex_);
  spare_.push_back(std::move(instance));
}

std::vector<StuckProgram> Scheduler::stuckPrograms() {
  std::vector<StuckProgram> stuck;
  for (const InstancePtr &instance : waiting_) {
    DeviceAddress address = instance->context.waitsAt;
    if (!instance->context.waitsByLoads) {
      const Instruction &instruction = program_.instructions[instance->pc - 1];
      const uint32_t first = instruction.pointers + instruction.numResults;
      std::memcpy(&address, instance->frame.pointers()[first], sizeof address);
    }
    stuck.push_back(stuckProgram(instance->context, address));
  }
  llvm::sort(stuck,
             [](const StuckProgram &a, const StuckProgram &b) { return a.program < b.program; });
  return stuck;
}

void Scheduler::work(int number) {
  Worker worker;
  while (!launch_.stop.load(std::memory_order_relaxed)) {
    if (numWaiting_.load(std::memory_order_relaxed) != 0 ||
        !(worker.holdsFresh() || takeChunk(worker.chunk))) {
      InstancePtr waiting;
      const Choice choice = choose(worker, waiting);
      if (choice == Choice::Done)
        break;
      if (choice == Choice::Deadlock) { // reported without the lock: observers and Python may look
        endInDeadlock(launch_, std::move(worker.stuck));
        break;
      }
      if (choice == Choice::Nap) {
        nap(worker.pauses);
        continue;
      }
      worker.pauses = 0;
      if (choice == Choice::Waiting) {
        resume(waiting, number);
        recycle(worker, std::move(waiting));
        continue;
      }
      if (!worker.holdsFresh() && !takeChunk(worker.chunk))
        continue;
      if (!worker.stuck.empty()) {
        tellNotResident(launch_, std::move(worker.stuck), worker.chunk.next);
        worker.stuck.clear();
      }
    }
    if (!worker.instance && !(worker.instance = makeInstance()))
      break;
    start(*worker.instance, worker.chunk.next++, number);
    resume(worker.instance, number);
  }
  const std::lock_guard lock(mutex_);
  if (!worker.idle)
    --busy_;
}

} // namespace blockscope::interpreter
