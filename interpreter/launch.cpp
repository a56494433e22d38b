// Checks the grid and memory, then lets the workers of a scheduler run.
#include "interpreter/launch.h"

#include "interpreter/flat/frame_memory.h"
#include "interpreter/flat/scheduler.h"
#include "interpreter/flat/thread_pool.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

namespace blockscope {
namespace {

constexpr std::chrono::milliseconds kPollInterval{20};
constexpr int64_t kMostPrograms = int64_t{1} << 62;

std::string checkGrid(const std::array<int32_t, 3> &grid) {
  int64_t total = 1;
  for (const int32_t size : grid) {
    if (size <= 0)
      return llvm::formatv("grid ({0}, {1}, {2}) has a dimension that is not positive", grid[0],
                           grid[1], grid[2]);
    if (total > kMostPrograms / size)
      return llvm::formatv("grid ({0}, {1}, {2}) has more than 2^62 programs", grid[0], grid[1],
                           grid[2]);
    total *= size;
  }
  return "";
}

std::string gibibytes(uint64_t bytes) {
  return llvm::formatv("{0:f1} GiB", static_cast<double>(bytes) / (1ULL << 30));
}

int chooseWorkers(const FlatProgram &program, const LaunchState &launch) {
  const auto sequential = [&](Observer *observer) {
    return observer->wantsSequentialPrograms(launch.info);
  };
  if (llvm::any_of(launch.observers, sequential))
    return 1;
  const auto &grid = launch.info.grid;
  const uint64_t programs = static_cast<uint64_t>(grid[0]) * grid[1] * grid[2];
  const uint64_t fitting = flat::frameMemoryLimit() / 2 / std::max<uint64_t>(program.frameBytes, 1);
  return static_cast<int>(std::clamp<uint64_t>(std::min(programs, fitting), 1,
                                               static_cast<uint64_t>(defaultThreadCount())));
}

} // namespace

LaunchResult launchFlat(const FlatProgram &program, LaunchState &launch,
                        llvm::ArrayRef<ArgumentValue> arguments, llvm::function_ref<bool()> poll) {
  LaunchResult result;
  result.failure = checkGrid(launch.info.grid);
  if (result.failure.empty() && arguments.size() != program.parameters.size())
    result.failure = llvm::formatv("the kernel has {0} parameters, but {1} values were passed",
                                   program.parameters.size(), arguments.size());
  if (result.failure.empty() && program.frameBytes > flat::frameMemoryLimit())
    result.failure = llvm::formatv(
        "one program needs {0} for its blocks, but only {1} can be used on this machine",
        gibibytes(program.frameBytes), gibibytes(flat::frameMemoryLimit()));
  if (!result.failure.empty())
    return result;

  std::vector<ArgumentValue> values = arguments.vec();
  std::vector<void *> addresses;
  for (ArgumentValue &value : values)
    addresses.push_back(&value.bits);

  launch.info.memory = &launch.memory;
  launch.info.hasAtomics = program.hasAtomics;
  launch.info.workers = chooseWorkers(program, launch);
  for (Observer *observer : launch.observers)
    observer->onLaunchBegin(launch.info);

  Scheduler scheduler(program, launch, std::move(addresses), launch.info.workers);
  runOnThreads(
      launch.info.workers, [&](int worker) { scheduler.work(worker); },
      [&] {
        if (poll && !result.interrupted && poll()) {
          result.interrupted = true;
          launch.stop = true;
        }
      },
      kPollInterval);

  for (Observer *observer : launch.observers)
    observer->onLaunchEnd();
  const std::lock_guard lock(launch.errorMutex);
  result.errors = launch.errors;
  if (scheduler.isOutOfMemory())
    result.failure =
        llvm::formatv("out of memory: too many programs wait at once, each with {0} of blocks",
                      gibibytes(program.frameBytes));
  return result;
}

} // namespace blockscope
