// A process group of its own, so that a kill reaches the program's children, and the program's end
// with the process that waits for it, however that is killed: posix_spawn cannot ask for that.
// LLVM's ExecuteAndWait reaches the program alone, and uses the one alarm that the process has.
#include "gpu_backend/codegen/run_program.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
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

/// Where the child says why it could not become the program. In memory that both share: a vfork
/// that is made by a fork, as tools that watch a process do, leaves the child a copy of all other.
class ChildError {
public:
  ChildError()
      : memory_(mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                     0)) {}
  ~ChildError() {
    if (isThere())
      munmap(memory_, sizeof(int));
  }
  ChildError(const ChildError &) = delete;
  ChildError &operator=(const ChildError &) = delete;

  bool isThere() const { return memory_ != MAP_FAILED; }
  volatile int &number() const { return *static_cast<int *>(memory_); }

private:
  void *memory_;
};

/// What the child does, in the memory of its parent: calls of the system alone. Returns the number
/// of the error, or not at all.
int becomeProgram(pid_t parent, const char *program, char *const *arguments,
                  char *const *environment, const char *output) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || setpgid(0, 0) != 0)
    return errno;
  if (getppid() != parent)
    return ESRCH;
  const int input = open("/dev/null", O_RDONLY);
  const int printed = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (input < 0 || printed < 0 || dup2(input, STDIN_FILENO) < 0 ||
      dup2(printed, STDOUT_FILENO) < 0 || dup2(printed, STDERR_FILENO) < 0)
    return errno;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(program, arguments, environment);
  return errno;
}

/// Starts the child. Returns 0, or the number of the error. What goes wrong in the child is in
/// `childError` when it has ended.
int start(pid_t &pid, const std::string &program, llvm::ArrayRef<std::string> arguments,
          llvm::ArrayRef<std::string> environment, const std::string &output,
          const ChildError &childError) {
  const std::vector<char *> words = pointersTo(arguments), variables = pointersTo(environment);
  const pid_t parent = getpid();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); // no handler runs in the child
  pid = vfork();
  if (pid == 0) {
    childError.number() =
        becomeProgram(parent, program.c_str(), words.data(), variables.data(), output.c_str());
    _exit(127);
  }
  const int error = pid < 0 ? errno : 0;
  if (pid > 0)
    setpgid(pid, pid); // where a fork was made, the child may not have come so far
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

/// A descriptor that can be read from once a process has ended; the kernel has them since 5.3. -1
/// where it has none.
class EndOfProcess {
public:
  explicit EndOfProcess(pid_t pid)
      : descriptor_(static_cast<int>(syscall(kPidfdOpen, pid, /*flags=*/0))) {}
  ~EndOfProcess() {
    if (descriptor_ >= 0)
      close(descriptor_);
  }
  EndOfProcess(const EndOfProcess &) = delete;
  EndOfProcess &operator=(const EndOfProcess &) = delete;

  /// Waits for it, for a while: the caller looks after other things in between.
  void wait() const {
    constexpr int kMilliseconds = 20;
    pollfd wanted{descriptor_, POLLIN, 0};
    if (descriptor_ < 0 || poll(&wanted, 1, kMilliseconds) < 0) {
      const timespec time{0, 1'000'000};
      nanosleep(&time, nullptr);
    }
  }

private:
  static constexpr long kPidfdOpen = 434; // on all architectures; older headers do not name it
  int descriptor_;
};

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
  const auto notStarted = [](int error) -> ProgramEnd {
    return {How::NotStarted, error, std::string("cannot be started: ") + strerror(error)};
  };
  const ChildError childError;
  if (!childError.isThere())
    return notStarted(errno);
  pid_t pid = 0;
  if (const int error = start(pid, program, arguments, environment, output, childError))
    return notStarted(error);
  const EndOfProcess ended(pid);
  const Clock::time_point end = Clock::now() + std::chrono::seconds(seconds);
  int status = 0;
  for (int round = 0;; ++round) {
    const pid_t found = waitpid(pid, &status, WNOHANG);
    if (found == pid)
      return childError.number() != 0 ? notStarted(childError.number()) : endOf(status);
    if (found < 0 && errno != EINTR)
      return {How::NotStarted, errno, std::string("cannot be waited for: ") + strerror(errno)};
    const bool isLate = seconds > 0 && Clock::now() >= end;
    // It may wait for Python's lock: not asked for programs that end soon, and then seldom.
    const bool asks = isInterrupted && round % 5 == 4;
    if (isLate || (asks && isInterrupted())) {
      kill(-pid, SIGKILL);
      waitpid(pid, &status, 0);
      if (isLate)
        return {How::TimedOut, 0, "did not end within " + std::to_string(seconds) + " seconds"};
      return {How::Interrupted, 0, "was interrupted"};
    }
    ended.wait();
  }
}

} // namespace blockscope::gpu
