// Two counters and no lock, so that nothing has to be renewed in a child.
#include "core/no_fork.h"

#include <atomic>
#include <chrono>
#include <pthread.h>
#include <thread>

namespace blockscope {
namespace {

constexpr std::chrono::microseconds kPollInterval{50};

std::atomic<int> holders{0}; ///< threads in a scope
std::atomic<int> forks{0};   ///< threads that fork, or wait until they may
thread_local int depth = 0;  ///< scopes of this thread

int ownHolders() { return depth > 0 ? 1 : 0; }

void beforeFork() {
  ++forks;
  while (holders > ownHolders())
    std::this_thread::sleep_for(kPollInterval);
}

void afterForkInParent() { --forks; }

void afterForkInChild() {
  forks = 0;
  holders = ownHolders();
}

/// When the module is loaded: a thread in the guard of a static would be lost in a child as well.
[[maybe_unused]] const int kRegistered =
    pthread_atfork(beforeFork, afterForkInParent, afterForkInChild);

} // namespace

NoFork::NoFork() {
  if (depth++ > 0)
    return;
  for (;;) {
    ++holders;
    if (forks == 0)
      return;
    --holders; // a fork goes first
    while (forks != 0)
      std::this_thread::sleep_for(kPollInterval);
  }
}

NoFork::~NoFork() {
  if (--depth == 0)
    --holders;
}

void NoFork::abandon() {
  holders -= ownHolders();
  depth = 0;
}

} // namespace blockscope
