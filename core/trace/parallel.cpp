// std::thread throws where no thread can be made; here that only means fewer hands.
#include "core/trace/parallel.h"

#include <algorithm>
#include <atomic>
#include <pthread.h>
#include <vector>

namespace blockscope {
namespace {

struct Shared {
  const std::function<void(size_t)> &work;
  size_t count;
  std::atomic<size_t> next{0};

  void run() {
    for (size_t index = next++; index < count; index = next++)
      work(index);
  }
};

} // namespace

void forEachInParallel(size_t count, size_t most, const std::function<void(size_t)> &work) {
  Shared shared{work, count};
  std::vector<pthread_t> threads;
  for (size_t thread = 1; thread < std::min(count, most); ++thread) {
    pthread_t made{};
    const auto body = [](void *all) -> void * {
      static_cast<Shared *>(all)->run();
      return nullptr;
    };
    if (pthread_create(&made, nullptr, body, &shared) != 0)
      break;
    threads.push_back(made);
  }
  shared.run();
  for (const pthread_t thread : threads)
    pthread_join(thread, nullptr);
}

} // namespace blockscope
