// Runs ptxas in a process of its own.
#include "gpu_backend/codegen/ptxas.h"

#include "gpu_backend/codegen/run_program.h"
#include "gpu_backend/codegen/toolkit.h"
#include "gpu_backend/codegen/write_file.h"
#include "gpu_backend/kernel_names.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <pthread.h>
#include <thread>
#include <tuple>

namespace blockscope::gpu {
namespace {

/// The number that follows or precedes in `text`, by the first group of `pattern`.
int numberIn(llvm::StringRef text, llvm::StringRef pattern) {
  llvm::SmallVector<llvm::StringRef> groups;
  int number = 0;
  if (llvm::Regex(pattern).match(text, &groups))
    groups[1].getAsInteger(10, number);
  return number;
}

/// Errors: empty where ptxas can be run.
std::string whyNotRun(llvm::StringRef ptxas) {
  if (llvm::sys::fs::can_execute(ptxas))
    return {};
  const char *named = std::getenv("TRITON_PTXAS_PATH");
  return (llvm::Twine("ptxas: ") + (named && ptxas == named ? "TRITON_PTXAS_PATH" : "its path") +
          " is '" + ptxas + "', expected a program that can be run")
      .str();
}

/// The files of one run of ptxas, removed at the end.
struct Files {
  llvm::SmallString<128> input, output, log;
  llvm::FileRemover removeInput, removeOutput, removeLog;

  bool make(llvm::StringRef kernel) {
    const std::string stem = fileStem(kernel);
    for (auto [path, remover, suffix] :
         {std::tuple(&input, &removeInput, "ptx"), std::tuple(&output, &removeOutput, "cubin"),
          std::tuple(&log, &removeLog, "log")}) {
      if (llvm::sys::fs::createTemporaryFile(stem, suffix, *path))
        return false;
      remover->setFile(*path);
    }
    return true;
  }
};

std::vector<std::string> argumentsFor(llvm::StringRef ptxas, const GpuKernel &kernel,
                                      const GpuOptions &options, const Files &files) {
  llvm::SmallVector<llvm::StringRef> words{ptxas, "-v",         "-arch",    kernel.target.arch,
                                           "-o",  files.output, files.input};
  if (options.lineInfo)
    words.push_back("-lineinfo");
  llvm::SplitString(options.ptxasOptions, words);
  std::vector<std::string> arguments;
  for (const llvm::StringRef word : words)
    arguments.push_back(word.str());
  return arguments;
}

/// The kernel's line, "k.py:12", that the first line of PTX comes from which ptxas complains of: of
/// inline assembly that is the user's. Empty where it is not known.
std::string kernelPlace(llvm::StringRef ptx, llvm::StringRef said) {
  llvm::SmallVector<llvm::StringRef, 4> found;
  size_t wanted = 0;
  if (!llvm::Regex(", line ([0-9]+);").match(said, &found) || found[1].getAsInteger(10, wanted))
    return {};
  llvm::SmallVector<llvm::StringRef, 0> lines;
  ptx.split(lines, '\n');
  const llvm::Regex location("^[ \t]*\\.loc[ \t]+([0-9]+)[ \t]+([0-9]+)");
  for (size_t i = std::min(wanted, lines.size()); i-- > 0;) {
    if (!location.match(lines[i], &found))
      continue;
    const std::string number = found[2].str();
    const llvm::Regex file("^[ \t]*\\.file[ \t]+" + found[1].str() + "[ \t]+\"([^\"]*)\"");
    for (const llvm::StringRef line : lines)
      if (file.match(line, &found))
        return found[1].str() + ":" + number;
  }
  return {};
}

/// What a run of ptxas that gave no cubin says.
std::string failureText(const ProgramEnd &end, llvm::StringRef said, llvm::StringRef input,
                        llvm::StringRef ptx) {
  using How = ProgramEnd::How;
  std::string text = "ptxas " + end.text + " on " + input.str();
  if (end.how == How::TimedOut)
    return text + " and was stopped; BLOCKSCOPE_PTXAS_SECONDS gives it more time (0: no limit), "
                  "smaller tiles, fewer num_stages and less unrolling give it less to do";
  if (const std::string place = kernelPlace(ptx, said); !place.empty())
    text += ", from " + place;
  if (end.how == How::Exited || end.how == How::Killed)
    text += (": " + said).str();
  return text;
}

/// Runs of ptxas in this process.
std::atomic<int> running = 0;

struct CountedRun {
  CountedRun() { ++running; }
  ~CountedRun() { --running; }
};

void readReport(llvm::StringRef said, GpuKernel &kernel) {
  kernel.registers = numberIn(said, "Used ([0-9]+) registers");
  kernel.spillBytes =
      numberIn(said, "([0-9]+) bytes spill stores") + numberIn(said, "([0-9]+) bytes spill loads");
  llvm::SmallVector<llvm::StringRef> lines;
  said.split(lines, '\n');
  for (const llvm::StringRef line : lines)
    if (line.contains("(C75") || line.contains("warning"))
      kernel.warnings.push_back(line.trim().str());
}

} // namespace

bool assembleOnce(GpuKernel &kernel, const GpuOptions &options, std::string *error) {
  const std::string ptxas = findPtxas(options.ptxasPath, error);
  if (ptxas.empty())
    return false;
  if (*error = whyNotRun(ptxas); !error->empty())
    return false;
  Files files;
  if (!files.make(kernel.name)) {
    *error = "cannot make temporary files for ptxas";
    return false;
  }
  if (const std::error_code code = writeFile(files.input, kernel.ptx)) {
    *error = ("cannot write '" + files.input + "' for ptxas: " + code.message()).str();
    return false;
  }
  const CountedRun counted;
  const ProgramEnd end =
      runProgram(ptxas, argumentsFor(ptxas, kernel, options, files), options.environment,
                 files.log.str().str(), options.ptxasSeconds, options.isInterrupted);
  const auto log = llvm::MemoryBuffer::getFile(files.log);
  const llvm::StringRef said = log ? (*log)->getBuffer() : llvm::StringRef();
  if (end.how != ProgramEnd::How::Exited || end.status != 0) {
    files.removeInput.releaseFile();
    *error = failureText(end, said, files.input, kernel.ptx);
    return false;
  }
  readReport(said, kernel);
  const auto cubin = llvm::MemoryBuffer::getFile(files.output);
  if (!cubin) {
    *error = "ptxas wrote no cubin";
    return false;
  }
  kernel.cubin = (*cubin)->getBuffer().str();
  return true;
}

/// The kernel, assembled from other PTX.
std::optional<GpuKernel> assembledFrom(const GpuKernel &kernel, std::string ptx,
                                       const GpuOptions &options) {
  if (ptx.empty() || ptx == kernel.ptx)
    return std::nullopt;
  GpuKernel other = kernel;
  std::string ignored;
  other.warnings.clear();
  other.ptx = std::move(ptx);
  if (!assembleOnce(other, options, &ignored))
    return std::nullopt;
  return other;
}

/// In a thread that is not a std::thread, which throws where none can be made: this code knows no
/// exceptions.
struct AheadAssemblies::Run {
  Run(const GpuKernel &kernel, const GpuOptions &options, std::string ptx)
      : kernel(kernel), options(options), ptx(std::move(ptx)) {
    // Python's signals are for the thread that compiles.
    this->options.isInterrupted = [this] { return isUnwanted.load(); };
    isThere = pthread_create(&thread, /*attr=*/nullptr, body, this) == 0;
  }
  ~Run() {
    isUnwanted = true;
    if (isThere)
      pthread_join(thread, /*retval=*/nullptr);
  }
  Run(const Run &) = delete;
  Run &operator=(const Run &) = delete;

  static void *body(void *given) {
    auto &run = *static_cast<Run *>(given);
    run.result.set_value(assembledFrom(run.kernel, run.ptx, run.options));
    return nullptr;
  }

  const GpuKernel &kernel;
  GpuOptions options;
  std::string ptx;
  std::atomic<bool> isUnwanted = false;
  std::promise<std::optional<GpuKernel>> result;
  std::future<std::optional<GpuKernel>> awaited = result.get_future();
  bool isThere = false;
  pthread_t thread{};
};

AheadAssemblies::AheadAssemblies(const GpuKernel &kernel, const GpuOptions &options)
    : kernel_(kernel), options_(options) {}

AheadAssemblies::~AheadAssemblies() {
  for (const std::unique_ptr<Run> &run : runs_)
    run->isUnwanted = true; // all, before the first one is waited for
}

void AheadAssemblies::begin(const std::string &ptx) {
  const auto processors = static_cast<int>(std::thread::hardware_concurrency());
  if (ptx.empty() || ptx == kernel_.ptx || running + static_cast<int>(runs_.size()) >= processors)
    return;
  auto run = std::make_unique<Run>(kernel_, options_, ptx);
  if (run->isThere)
    runs_.push_back(std::move(run));
}

std::optional<GpuKernel> AheadAssemblies::take(std::string ptx) {
  constexpr std::chrono::milliseconds kBetweenSignals(100);
  const auto found = llvm::find_if(runs_, [&](const std::unique_ptr<Run> &run) {
    return run->ptx == ptx && run->awaited.valid();
  });
  if (found == runs_.end())
    return assembledFrom(kernel_, std::move(ptx), options_);
  Run &run = **found;
  while (run.awaited.wait_for(kBetweenSignals) == std::future_status::timeout)
    if (options_.isInterrupted && options_.isInterrupted())
      run.isUnwanted = true;
  return run.awaited.get();
}

} // namespace blockscope::gpu
