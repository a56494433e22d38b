// Which program runs next: fresh programs in order of their number, and those suspended at a spin.
//
// Programs wait in a queue while nothing has changed in memory since they last looked
// (LaunchState::progress). So a lock's owner always gets on, on any number of threads, and a grid
// may be larger than memory: programs are made when they start.
#pragma once

#include "interpreter/flat/machine.h"

#include <atomic>
#include <deque>
#include <mutex>
#include <vector>

namespace blockscope::interpreter {

class Scheduler {
public:
  /// `arguments` are one address per parameter.
  Scheduler(const FlatProgram &program, LaunchState &launch, std::vector<void *> arguments,
            int workers);
  ~Scheduler();

  /// Takes programs until none is left or the launch stops. Called once by every worker.
  void work(int worker);

  /// Whether there was no memory for a program's registers.
  bool isOutOfMemory() const { return outOfMemory_; }

private:
  struct Instance;
  using InstancePtr = std::unique_ptr<Instance>;
  struct Chunk {
    int64_t next = 0;
    int64_t end = 0;
  };
  enum class Choice : uint8_t { Fresh, Waiting, Nap, Deadlock, Done };
  /// What one worker remembers between its programs.
  struct Worker {
    Chunk chunk;
    bool preferFresh = true;
    bool idle = false; ///< not counted in busy_
    int pauses = 0;
    InstancePtr instance;            ///< for the next fresh program
    std::vector<StuckProgram> stuck; ///< filled for Choice::Deadlock, and where a GPU is full
    bool holdsFresh() const { return chunk.next < chunk.end; }
  };

  bool takeChunk(Chunk &chunk);
  bool hasFresh() const { return next_.load(std::memory_order_relaxed) < total_; }
  InstancePtr makeInstance();
  void start(Instance &instance, int64_t number, int worker);
  /// Runs until done, suspended or stopped; a suspended instance goes into the queue and leaves
  /// `instance` empty.
  void resume(InstancePtr &instance, int worker);
  void suspend(InstancePtr instance);
  void finish(Instance &instance, int worker);
  /// Decides what to do while programs wait; takes `waiting` from the queue for Choice::Waiting.
  Choice choose(Worker &worker, InstancePtr &waiting);
  static void nap(int &pauses);
  void recycle(Worker &worker, InstancePtr instance);
  /// All waiting programs, by number; they stay as they are while the caller counts as busy.
  std::vector<StuckProgram> stuckPrograms();

  const FlatProgram &program_;
  LaunchState &launch_;
  const std::vector<void *> arguments_;
  const int workers_;
  const int64_t total_;
  const bool observed_;
  size_t mostInstances_; ///< that fit into memory
  size_t crowd_ = ~0ULL; ///< programs that wait when observers are told of them
  std::atomic<int64_t> next_{0};
  std::atomic<bool> outOfMemory_{false};

  std::mutex mutex_; // guards what follows
  std::deque<InstancePtr> waiting_;
  std::vector<InstancePtr> spare_;
  size_t numInstances_ = 0;
  int busy_;                          ///< workers that may change memory
  std::atomic<size_t> numWaiting_{0}; // read without the mutex
};

} // namespace blockscope::interpreter
