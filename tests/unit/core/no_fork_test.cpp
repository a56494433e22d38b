// Forks while other threads change what a child needs whole.
#include "core/no_fork.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using blockscope::NoFork;

namespace {

/// Whether `body`, called in a forked child, says true there. No answer in 10 s is a no.
template <typename Body> bool holdsInChild(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    _exit(body() ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  return status == 0;
}

TEST(NoFork, AChildFindsNoChangeHalfDone) {
  std::atomic<bool> ended{false};
  std::atomic<int> first{0}, second{0};
  std::thread other([&] {
    while (!ended) {
      const NoFork whole;
      ++first;
      std::this_thread::sleep_for(std::chrono::microseconds(500));
      const NoFork inner;
      ++second;
    }
  });
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(holdsInChild([&] {
      const NoFork mine;
      return first == second;
    }));
  ended = true;
  other.join();
}

TEST(NoFork, AThreadForksInItsOwnScope) {
  const NoFork mine;
  EXPECT_TRUE(holdsInChild([] { return holdsInChild([] { return true; }); }));
}

TEST(NoFork, NobodyWaitsForAnAbandonedScope) {
  std::thread([] {
    [[maybe_unused]] const auto *never = new NoFork;
    NoFork::abandon();
  }).join();
  EXPECT_TRUE(holdsInChild([] { return true; }));
}

} // namespace
