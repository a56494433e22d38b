// posix_spawn into a process group of its own, so that a kill reaches the program's children.
// LLVM's ExecuteAndWait reaches the program alone, and uses the one alarm that the process has.
#include "gpu_backend/codegen/run_program.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace blockscope::gpu {
namespace {

std::vector<char *> pointersTo(llvm::ArrayRef<std::string> texts) {
  std::vector<char *> pointers;
  for (const std::string &text : texts)
    pointers.push_back(const_cast<char *>(text.c_str())); // the program gets a copy
  pointers.push_back(nullptr);
  return pointers;
}

/// Starts the program. Returns 0, or the number of the error.
int start(pid_t &pid, const std::string &program, llvm::ArrayRef<std::string> arguments,
          llvm::ArrayRef<std::string> environment, const std::string &output) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, output.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  const int error = posix_spawn(&pid, program.c_str(), &files, &attributes,
                                pointersTo(arguments).data(), pointersTo(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

/// Sleeps: shortly at first, so that short programs are not waited for in vain.
void nap(int round) {
  const long microseconds = round < 100 ? 200 : round < 1000 ? 1000 : 10000;
  const timespec time{0, microseconds * 1000};
  nanosleep(&time, nullptr);
}

ProgramEnd endOf(int status) {
  using How = ProgramEnd::How;
  if (WIFEXITED(status))
    return {How::Exited, WEXITSTATUS(status),
            "ended with status " + std::to_string(WEXITSTATUS(status))};
  return {How::Killed, WTERMSIG(status),
          "was killed by signal " + std::to_string(WTERMSIG(status)) + " (" +
              strsignal(WTERMSIG(status)) + ")"};
}

} // namespace

ProgramEnd runProgram(const std::string &program, llvm::ArrayRef<std::string> arguments,
                      llvm::ArrayRef<std::string> environment, const std::string &output,
                      int seconds, const std::function<bool()> &isInterrupted) {
  using How = ProgramEnd::How;
  using Clock = std::chrono::steady_clock;
  pid_t pid = 0;
  if (const int error = start(pid, program, arguments, environment, output))
    return {How::NotStarted, error, std::string("cannot be started: ") + strerror(error)};
  const Clock::time_point end = Clock::now() + std::chrono::seconds(seconds);
  int status = 0;
  for (int round = 0;; ++round) {
    const pid_t found = waitpid(pid, &status, WNOHANG);
    if (found == pid)
      return endOf(status);
    if (found < 0 && errno != EINTR)
      return {How::NotStarted, errno, std::string("cannot be waited for: ") + strerror(errno)};
    const bool isLate = seconds > 0 && Clock::now() >= end;
    if (isLate || (isInterrupted && round % 50 == 49 && isInterrupted())) {
      kill(-pid, SIGKILL);
      waitpid(pid, &status, 0);
      if (isLate)
        return {How::TimedOut, 0, "did not end within " + std::to_string(seconds) + " seconds"};
      return {How::Interrupted, 0, "was interrupted"};
    }
    nap(round);
  }
}

} // namespace blockscope::gpu
