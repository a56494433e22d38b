// One pool for the process. It is never destroyed, and forgotten in a forked child, where its
// threads do not exist.
#include "interpreter/flat/thread_pool.h"

#include "core/settings.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <thread>

namespace blockscope::interpreter {
namespace {

constexpr int kMostThreads = 1024;
constexpr std::chrono::milliseconds kPollInterval{20};
/// Longer than a small launch, and than what Python does between two of them.
constexpr std::chrono::microseconds kSpin{50};

/// Tells the processor that this thread only waits.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb"); // as long as a pause; yield takes no time on most processors
#endif
}

/// Waits a little without sleeping: to wake a thread on an idle processor takes longer than a small
/// launch. Not on a single processor, which the other thread needs.
template <typename Condition> void spinUntil(Condition isTrue) {
  static const bool hasOtherProcessors = std::thread::hardware_concurrency() > 1;
  const auto end = std::chrono::steady_clock::now() + kSpin;
  while (hasOtherProcessors && !isTrue() && std::chrono::steady_clock::now() < end)
    relax();
}

struct Job {
  llvm::function_ref<void(int)> task;
  std::atomic<int> left; // tasks that are not done; changes under the pool's mutex
  std::condition_variable done;
};

class ThreadPool {
public:
  static void forget() { current_ = nullptr; }

  static ThreadPool &instance() {
    ThreadPool *pool = current_.load();
    if (!pool) {
      auto *fresh = new ThreadPool;
      if (current_.compare_exchange_strong(pool, fresh))
        return *fresh;
      delete fresh;
    }
    return *pool;
  }

  int lease(int wanted, Poll poll, std::string &error) {
    std::unique_lock lock(mutex_);
    for (;;) {
      while (threads_ - leased_ < wanted && threads_ < kMostThreads && startThread(error))
        ++threads_;
      if (threads_ == 0)
        return 0;
      if (const int count = std::min(wanted, threads_ - leased_)) {
        leased_ += count;
        return count;
      }
      returned_.wait_for(lock, kPollInterval);
      lock.unlock();
      if (poll())
        return 0;
      lock.lock();
    }
  }

  void giveBack(int count) {
    const std::lock_guard lock(mutex_);
    leased_ -= count;
    returned_.notify_all();
  }

  /// `workers` are leased, so there is a thread for each task.
  void run(int workers, llvm::function_ref<void(int)> task, Poll poll) {
    Job job{task, {workers}, {}};
    std::unique_lock lock(mutex_);
    for (int worker = 0; worker < workers; ++worker)
      queue_.push_back({&job, worker});
    queued_ = queue_.size();
    lock.unlock();
    wake_.notify_all();
    spinUntil([&] { return job.left == 0; });
    lock.lock(); // also when all is done: the last worker has the job until it gives up the lock
    while (job.left != 0) {
      if (job.done.wait_for(lock, kPollInterval) != std::cv_status::timeout)
        continue;
      lock.unlock();
      poll();
      lock.lock();
    }
  }

private:
  struct Task {
    Job *job;
    int worker;
  };

  /// Not a std::thread, which throws where none can be made: this code knows no exceptions.
  bool startThread(std::string &error) {
    pthread_t thread;
    const auto start = [](void *pool) -> void * { static_cast<ThreadPool *>(pool)->serve(); };
    if (const int code = pthread_create(&thread, nullptr, start, this)) {
      error = std::strerror(code);
      return false;
    }
    pthread_detach(thread);
    return true;
  }

  [[noreturn]] void serve() {
    pthread_setname_np(pthread_self(), "blk-worker"); // as debuggers and profilers show it
    std::unique_lock lock(mutex_);
    for (;;) {
      if (queue_.empty()) {
        lock.unlock();
        spinUntil([this] { return queued_ != 0; });
        lock.lock();
      }
      wake_.wait(lock, [this] { return !queue_.empty(); });
      const Task task = queue_.front();
      queue_.pop_front();
      queued_ = queue_.size();
      lock.unlock();
      task.job->task(task.worker);
      lock.lock();
      if (--task.job->left == 0)
        task.job->done.notify_one();
    }
  }

  static std::atomic<ThreadPool *> current_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable returned_;
  std::deque<Task> queue_;
  std::atomic<size_t> queued_ = 0; ///< its size, for threads that spin
  int threads_ = 0;
  int leased_ = 0;
};

std::atomic<ThreadPool *> ThreadPool::current_{nullptr};

[[maybe_unused]] const int kRegistered = pthread_atfork(nullptr, nullptr, &ThreadPool::forget);

} // namespace

int defaultThreadCount() {
  if (const auto threads = static_cast<int>(numberOf(Setting::Threads)); threads > 0)
    return std::min(threads, kMostThreads);
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
    return std::min(CPU_COUNT(&set), kMostThreads);
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

ThreadLease::ThreadLease(int wanted, Poll poll)
    : error_(), count_(ThreadPool::instance().lease(wanted, poll, error_)) {}

ThreadLease::~ThreadLease() {
  if (count_ > 0)
    ThreadPool::instance().giveBack(count_);
}

void ThreadLease::run(llvm::function_ref<void(int)> task, Poll poll) {
  ThreadPool::instance().run(count_, task, poll);
}

} // namespace blockscope::interpreter
