// Finds ptxas and libdevice, runs ptxas in a process of its own.
#include "gpu_backend/codegen/toolkit.h"

#include "gpu_backend/codegen/register_demand.h"
#include "gpu_backend/codegen/run_program.h"
#include "gpu_backend/codegen/wgmma_waits.h"
#include "gpu_backend/codegen/write_file.h"
#include "gpu_backend/kernel_names.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"

#include <cstdlib>

namespace blockscope::gpu {
namespace {

std::string below(llvm::StringRef root, llvm::StringRef path) {
  llvm::SmallString<128> full(root);
  llvm::sys::path::append(full, path);
  return llvm::sys::fs::exists(full) ? full.str().str() : std::string();
}

std::string inToolkit(llvm::StringRef path) {
  for (const char *root : std::initializer_list<const char *>{
           std::getenv("CUDA_HOME"), std::getenv("CUDA_PATH"), "/usr/local/cuda"})
    if (root)
      if (std::string found = below(root, path); !found.empty())
        return found;
  return {};
}

/// The number that follows or precedes in `text`, by the first group of `pattern`.
int numberIn(llvm::StringRef text, llvm::StringRef pattern) {
  llvm::SmallVector<llvm::StringRef> groups;
  int number = 0;
  if (llvm::Regex(pattern).match(text, &groups))
    groups[1].getAsInteger(10, number);
  return number;
}

} // namespace

std::string findLibdevice(const std::string &given, std::string *error) {
  if (!given.empty())
    return given;
  std::string found = inToolkit("nvvm/libdevice/libdevice.10.bc");
  if (found.empty())
    *error = "libdevice.10.bc was not found; install Python's nvidia-cuda-nvcc package or set "
             "CUDA_HOME";
  return found;
}

std::string findPtxas(const std::string &given, std::string *error) {
  if (!given.empty())
    return given;
  if (const char *path = std::getenv("TRITON_PTXAS_PATH"))
    return path;
  if (auto found = llvm::sys::findProgramByName("ptxas"))
    return *found;
  std::string found = inToolkit("bin/ptxas");
  if (found.empty())
    *error = "ptxas was not found; install Python's nvidia-cuda-nvcc package, or set CUDA_HOME or "
             "TRITON_PTXAS_PATH";
  return found;
}

namespace {

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

/// As `assemble`, with the PTX as it is.
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

/// Times the registers of a thread. By LLVM's order of instructions, which ptxas improves on: two
/// times them may still fit.
constexpr int kCertainToSpill = 4;

/// Bytes of instructions.
uint64_t codeBytes(llvm::StringRef cubin) {
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(cubin, "cubin"));
  if (!file) {
    llvm::consumeError(file.takeError());
    return 0;
  }
  uint64_t bytes = 0;
  for (const llvm::object::SectionRef section : (*file)->sections())
    if (section.isText())
      bytes += section.getSize();
  return bytes;
}

/// Asks for so few registers that `ctas` CTAs run on a multiprocessor at the same time. One: ptxas
/// gives some kernels that need many registers very few, and lets them spill, so that more of them
/// run; where one CTA will do, it gives them all.
std::string withCtas(llvm::StringRef ptx, int ctas) {
  constexpr llvm::StringLiteral kBefore = "\n.reqntid ";
  const size_t begin = ptx.find(kBefore);
  if (begin == llvm::StringRef::npos)
    return {};
  const size_t end = ptx.find('\n', begin + kBefore.size());
  return (ptx.take_front(end) + "\n.minnctapersm " + llvm::Twine(ctas) + ptx.drop_front(end)).str();
}

/// How many CTAs could run at the same time with a few registers less than ptxas took, where that
/// is more than do now; 0 where it is not, or where a kernel has tensor cores to feed, which wants
/// registers for what comes next. What waits for memory hides it behind other CTAs.
int moreCtas(const GpuKernel &kernel) {
  constexpr double kFew = 0.78; // of the registers
  constexpr int kMost = 128;    // above, one CTA more is far
  // Times the registers: of kernels whose values ask for more, ptxas made no code that was taken
  // (15 of 64 that were tried; the 9 that were taken are below 2.3).
  constexpr double kHopeless = 2.5;
  const GpuTarget &target = kernel.target;
  const llvm::StringRef ptx = kernel.ptx;
  if (kernel.registers > kMost || ptx.contains("mma.sync.") || ptx.contains("mma_async."))
    return 0;
  const auto atATime = [&](int registers) {
    return target.ctasAtATime(kernel.numWarps, registers, kernel.sharedBytes);
  };
  const int now = atATime(kernel.registers);
  const auto few = static_cast<int>(kFew * kernel.registers);
  const int more = now > 0 ? atATime(few) : 0;
  if (more <= now)
    return 0;
  int allowed = few;
  while (atATime(allowed + 1) >= more)
    ++allowed;
  return static_cast<double>(registerDemand(ptx)) > kHopeless * allowed ? 0 : more;
}

/// Whether ptxas runs wgmma one by one because it finds that their sums are read too early.
bool hasSerializedDots(const GpuKernel &kernel) {
  return llvm::any_of(kernel.warnings,
                      [](llvm::StringRef warning) { return warning.contains("(C7514)"); });
}

} // namespace

bool assemble(GpuKernel &kernel, const GpuOptions &options, std::string *error) {
  const int most = kernel.target.registersPerThread(options.numWarps);
  GpuKernel other;
  other.name = kernel.name;
  other.target = kernel.target;
  const auto takeOther = [&] {
    kernel.ptx = std::move(other.ptx);
    kernel.cubin = std::move(other.cubin);
    kernel.registers = other.registers;
    kernel.spillBytes = other.spillBytes;
    kernel.warnings = std::move(other.warnings);
    return true;
  };
  // What is certain to spill has all registers at once: with few of them ptxas takes three times
  // as long, only for the result to be thrown away.
  if (!options.maxRegisters && registerDemand(kernel.ptx) > kCertainToSpill * most) {
    other.ptx = withCtas(kernel.ptx, 1);
    if (!other.ptx.empty()) {
      if (!assembleOnce(other, options, error))
        return false;
      if (other.spillBytes != 0)
        return takeOther();
    }
  }
  if (!assembleOnce(kernel, options, error))
    return false;
  std::string ignored;
  if (hasSerializedDots(kernel)) {
    other.ptx = withWaitsFirst(kernel.ptx, /*inLoops=*/true);
    if (other.ptx != kernel.ptx && assembleOnce(other, options, &ignored) &&
        !hasSerializedDots(other) && other.spillBytes <= kernel.spillBytes)
      takeOther();
    other.warnings.clear();
  }
  if (options.maxRegisters)
    return true;
  if (kernel.spillBytes == 0) {
    const int ctas = moreCtas(kernel);
    other.ptx = ctas > 0 ? withCtas(kernel.ptx, ctas) : std::string();
    // Code that grows computes again what it does not keep, or loads one after the other.
    const bool isGood = !other.ptx.empty() && assembleOnce(other, options, &ignored) &&
                        other.spillBytes == 0 && other.registers < kernel.registers &&
                        codeBytes(other.cubin) <= codeBytes(kernel.cubin);
    return isGood ? takeOther() : true;
  }
  if (kernel.registers + kernel.target.registerStep() >= most)
    return true;
  other.ptx = withCtas(kernel.ptx, 1);
  if (other.ptx.empty() || !assembleOnce(other, options, &ignored) ||
      other.spillBytes >= kernel.spillBytes)
    return true;
  return takeOther();
}

} // namespace blockscope::gpu
