// One pool for the process. It is never destroyed, and forgotten in a forked child, where its
// threads do not exist.
#include "interpreter/flat/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <thread>

namespace blockscope::interpreter {
namespace {

constexpr int kMostThreads = 1024;

struct Job {
  llvm::function_ref<void(int)> task;
  int left; // tasks that are not done, under the pool's mutex
  std::condition_variable done;
};

class ThreadPool {
public:
  static ThreadPool &instance() {
    ThreadPool *pool = current_.load();
    if (!pool) {
      static std::once_flag once;
      std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { current_ = nullptr; }); });
      auto *fresh = new ThreadPool;
      if (current_.compare_exchange_strong(pool, fresh))
        return *fresh;
      delete fresh;
    }
    return *pool;
  }

  void run(int workers, llvm::function_ref<void(int)> task, llvm::function_ref<void()> poll,
           std::chrono::milliseconds interval) {
    Job job{task, workers, {}};
    std::unique_lock lock(mutex_);
    for (int worker = 0; worker < workers; ++worker)
      queue_.push_back({&job, worker});
    const int wanted = std::min(busy_ + static_cast<int>(queue_.size()), kMostThreads);
    for (; threads_ < wanted; ++threads_)
      std::thread([this] { serve(); }).detach();
    lock.unlock();
    wake_.notify_all();
    lock.lock();
    while (job.left != 0) {
      if (job.done.wait_for(lock, interval) != std::cv_status::timeout)
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

  void serve() {
    pthread_setname_np(pthread_self(), "blk-worker"); // as debuggers and profilers show it
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return !queue_.empty(); });
      const Task task = queue_.front();
      queue_.pop_front();
      ++busy_;
      lock.unlock();
      task.job->task(task.worker);
      lock.lock();
      --busy_;
      if (--task.job->left == 0)
        task.job->done.notify_one();
    }
  }

  static std::atomic<ThreadPool *> current_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> queue_;
  int threads_ = 0;
  int busy_ = 0;
};

std::atomic<ThreadPool *> ThreadPool::current_{nullptr};

} // namespace

int defaultThreadCount() {
  if (const char *text = std::getenv("BLOCKSCOPE_THREADS")) {
    const int threads = std::atoi(text);
    if (threads > 0)
      return std::min(threads, kMostThreads);
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
    return std::min(CPU_COUNT(&set), kMostThreads);
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void runOnThreads(int workers, llvm::function_ref<void(int)> task, llvm::function_ref<void()> poll,
                  std::chrono::milliseconds interval) {
  ThreadPool::instance().run(workers, task, poll, interval);
}

} // namespace blockscope::interpreter
