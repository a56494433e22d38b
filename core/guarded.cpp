// A thread for each call, and one handler of fatal errors for the process.
#include "core/guarded.h"

#include "core/no_fork.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"

#include <condition_variable>
#include <csignal>
#include <cstring>
#include <mutex>

#include <pthread.h>
#include <unistd.h>

namespace blockscope {
namespace {

struct Guard {
  explicit Guard(llvm::function_ref<void()> body) : body(body) {}

  llvm::function_ref<void()> body;
  std::mutex mutex;
  std::condition_variable changed;
  bool hasEnded = false, hasFailed = false;
  std::string text;
};

thread_local Guard *current = nullptr;

/// Called by LLVM, which ends the process when this returns.
void onFatalError(void *, const char *reason, bool) {
  if (!current) {
    llvm::errs() << "LLVM ERROR: " << reason << "\n";
    return;
  }
  {
    const std::lock_guard lock(current->mutex);
    current->hasFailed = true;
    current->text = reason;
    current->changed.notify_all();
  }
  current = nullptr; // it is the caller's again
  NoFork::abandon();
  while (true)
    pause();
}

void *runBody(void *argument) {
  current = static_cast<Guard *>(argument);
  {
    const NoFork llvm;
    current->body();
  }
  const std::lock_guard lock(current->mutex);
  current->hasEnded = true;
  current->changed.notify_all();
  return nullptr;
}

/// Starts a thread to which no signal of the process is delivered. Returns 0 or an error's number.
int startThread(pthread_t &thread, Guard &guard) {
  constexpr size_t kStackBytes = 16 << 20; // LLVM recurses over long chains of values
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&thread, &attributes, runBody, &guard);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return error;
}

} // namespace

bool runGuarded(llvm::function_ref<void()> body, std::string &error) {
  {
    const NoFork whole;
    static std::once_flag once;
    std::call_once(once, [] { llvm::install_fatal_error_handler(onFatalError); });
  }
  Guard guard(body);
  pthread_t thread;
  if (const int code = startThread(thread, guard)) {
    error = std::string("a thread for LLVM cannot be made: ") + strerror(code);
    return false;
  }
  std::unique_lock lock(guard.mutex);
  guard.changed.wait(lock, [&] { return guard.hasEnded || guard.hasFailed; });
  lock.unlock();
  if (guard.hasEnded) {
    pthread_join(thread, nullptr);
    return true;
  }
  pthread_detach(thread);
  error = guard.text;
  return false;
}

} // namespace blockscope
