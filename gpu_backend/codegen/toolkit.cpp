// Finds ptxas and libdevice, runs ptxas in a process of its own.
#include "gpu_backend/codegen/toolkit.h"

#include "gpu_backend/codegen/loads_first.h"
#include "gpu_backend/codegen/pinned_loads.h"
#include "gpu_backend/codegen/register_demand.h"
#include "gpu_backend/codegen/run_program.h"
#include "gpu_backend/codegen/warp_time.h"
#include "gpu_backend/codegen/wgmma_waits.h"
#include "gpu_backend/codegen/wide_sums.h"
#include "gpu_backend/codegen/write_file.h"
#include "gpu_backend/kernel_names.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <tuple>

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

/// Times the registers of a thread, by LLVM's order of instructions, which ptxas improves on: two
/// times them may still fit. Of 13 public kernels without tensor cores between them, 11 spilled; to
/// four of these ptxas gave 32 or 64 registers.
constexpr double kLikelyToSpill = 1.55, kCertainToSpill = 4;

/// Whether a kernel that spills may spill less with sums of addresses apart from their products
/// (`withWideSumsApart`), where a thread has `most` registers: there are many of them, and with the
/// few registers that each leaves it would have enough, by its demand or by what it spills.
bool mayNeedSumsApart(const GpuKernel &kernel, int most) {
  constexpr int64_t kMany = 12, kLeft = 3, kLeftBytes = 8;
  const auto sums = static_cast<int64_t>(llvm::StringRef(kernel.ptx).count("\tmad.wide."));
  return sums >= kMany && (kernel.spillBytes <= kLeftBytes * sums ||
                           registerDemand(kernel.ptx) - most <= kLeft * sums);
}

/// The machine code in a cubin, one piece for each function.
llvm::SmallVector<llvm::StringRef, 1> codeOf(llvm::StringRef cubin) {
  llvm::SmallVector<llvm::StringRef, 1> code;
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(cubin, "cubin"));
  if (!file) {
    llvm::consumeError(file.takeError());
    return code;
  }
  for (const llvm::object::SectionRef section : (*file)->sections()) {
    if (!section.isText())
      continue;
    if (auto text = section.getContents())
      code.push_back(*text);
    else
      llvm::consumeError(text.takeError());
  }
  return code;
}

size_t codeBytesOf(const GpuKernel &kernel) {
  size_t bytes = 0;
  for (const llvm::StringRef code : codeOf(kernel.cubin))
    bytes += code.size();
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

/// Whether a kernel has tensor cores to feed: it wants registers for what comes next, and waits for
/// other things than loads.
bool hasMatrixInstructions(llvm::StringRef ptx) {
  return ptx.contains("mma.sync.") || ptx.contains("mma_async.");
}

int ctasAtATime(const GpuKernel &kernel, int registers) {
  return kernel.target.ctasAtATime(kernel.numWarps, registers, kernel.sharedBytes);
}

/// The most registers of a thread with which `ctas` CTAs run at the same time.
int registersFor(const GpuKernel &kernel, int ctas) {
  int allowed = 1;
  while (allowed < GpuTarget::kThreadRegisters && ctasAtATime(kernel, allowed + 1) >= ctas)
    ++allowed;
  return allowed;
}

/// One CTA more than run now, if this share of the registers that ptxas took allows it: what waits
/// for memory hides it behind other CTAs. Of 868 public kernels none took a second one more.
std::optional<int> oneCtaMore(const GpuKernel &kernel, double share) {
  const int now = ctasAtATime(kernel, kernel.registers);
  if (now == 0 || ctasAtATime(kernel, static_cast<int>(share * kernel.registers)) <= now)
    return std::nullopt;
  return now + 1;
}

/// The same, where the kernel's values may well fit.
std::optional<int> oneCtaMoreIfItFits(const GpuKernel &kernel) {
  constexpr int kMany = 128; // where one CTA more is far
  // The first three are shares of the registers, the others times the registers that are allowed.
  // Of 51 public kernels that were tried, 18 lie outside of these bounds, and for none of those was
  // the result taken; of the other 33 it was for 10.
  constexpr double kLeast = 0.78, kLeastOfMany = 0.9, kFew = 0.83, kFits = 1.05, kHopeless = 1.6,
                   kHopelessForSeveral = 1.7;
  constexpr double kAlmost = 0.93, kHopelessForFew = 2; // where hardly a register has to go
  const std::optional<int> ctas =
      oneCtaMore(kernel, kernel.registers > kMany ? kLeastOfMany : kLeast);
  const double all = registerDemand(kernel.ptx);
  // A step of registers makes room for four warps, which may be several small CTAs.
  if (const int more = ctasAtATime(kernel, kMany); !ctas && kMany >= kLeast * kernel.registers &&
                                                   all <= kHopelessForSeveral * kMany &&
                                                   more > ctasAtATime(kernel, kernel.registers) + 1)
    return more;
  if (!ctas)
    return std::nullopt;
  const double demand = all / registersFor(kernel, *ctas);
  if (demand > (oneCtaMore(kernel, kAlmost) ? kHopelessForFew : kHopeless) ||
      (demand > kFits && !oneCtaMore(kernel, kFew)))
    return std::nullopt;
  return ctas;
}

/// How many CTAs can run at the same time if a thread has a third more registers than ptxas gave
/// it, or a few: loads that wait for registers begin earlier.
llvm::SmallVector<int, 2> fewerCtas(const GpuKernel &kernel) {
  constexpr double kThirdMore = 1.35;
  constexpr int kSlack = 2;
  constexpr int kManyWarps = 16; // of a CTA: few others hide its barriers, and none is given up
  const int step = kernel.target.registerStep();
  // With no more registers all warps would run: where ptxas left some of them, loads do not wait
  // for registers.
  if (kernel.registers + kSlack <= kernel.target.registersForAllWarps())
    return {};
  const auto few =
      static_cast<int>(llvm::alignTo(kernel.registers + step, static_cast<uint64_t>(step)));
  const int third = std::max(few, static_cast<int>(kThirdMore * kernel.registers));
  llvm::SmallVector<int, 2> counts;
  for (const int registers : {third, few})
    if (const int ctas = ctasAtATime(kernel, std::min(registers, int{GpuTarget::kThreadRegisters}));
        few <= GpuTarget::kThreadRegisters && ctas > 0 && !llvm::is_contained(counts, ctas) &&
        (kernel.numWarps < kManyWarps || ctas == ctasAtATime(kernel, kernel.registers)))
      counts.push_back(ctas);
  return counts;
}

constexpr double kSchedulers = 4; // of a multiprocessor

/// How quickly a kernel's warps get on.
struct Pace {
  WarpTime warp; ///< one alone
  /// Cycles of a scheduler, for each of as many as run at the same time, where loads come from
  /// memory and where they come from a cache.
  double fromMemory = 0, fromCache = 0;
  int warps = 0; ///< that run at the same time
};

/// Nothing for code of several functions, or of which ptxas takes long to make more. `like` is the
/// pace of other code of the kernel, for whose work it is.
std::optional<Pace> paceOf(const GpuKernel &kernel, const Pace *like = nullptr) {
  constexpr size_t kMostBytes = 64 << 10;
  const auto code = codeOf(kernel.cubin);
  const int warps = ctasAtATime(kernel, kernel.registers) * kernel.numWarps;
  if (code.size() != 1 || code.front().size() > kMostBytes || warps == 0)
    return std::nullopt;
  const bool byWords = kernel.target.branchesByWords();
  auto far = warpTime(code.front(), byWords),
       near = warpTime(code.front(), byWords, WarpTime::kCache);
  if (!far || !near)
    return std::nullopt;
  if (like) {
    far = far->forLoadsOf(like->warp);
    near = near->forLoadsOf(like->warp);
  }
  const double share = kSchedulers / warps;
  return Pace{*far, share * static_cast<double>(far->cycles),
              share * static_cast<double>(near->cycles), warps};
}

/// How much of other code's time better code may take at most: of the work of a scheduler, of the
/// cycles of a warp that is alone, as where a launch has few programs, and of both together.
struct Limits {
  double work, alone, time = 0.92;
};

/// Which share of other code's time some code takes; nothing where that is not clearly less, or not
/// within the limits, or where it takes longer with loads that come from a cache.
///
/// A scheduler begins one instruction in a cycle, and all of its warps wait at the same time; but
/// not every wait of one falls into instructions of others, so neither alone is the time. Fitted to
/// 45 kernels at five numbers of registers each (H200), then tried on 168 others for which it took
/// another number than ptxas: their cases are 1.06 times as fast, and 14 of them over 3 % slower.
/// The limits of RegisterChoice exclude nine of these.
std::optional<double> shareOfTime(const Pace &pace, const Pace &than, Limits limits) {
  constexpr double kAbout = 1.03, kWeightAlone = 0.35;
  const auto work = [](const Pace &of, double cycles) {
    return std::hypot(static_cast<double>(of.warp.instructions), cycles);
  };
  const double far = work(pace, pace.fromMemory) / work(than, than.fromMemory),
               near = work(pace, pace.fromCache) / work(than, than.fromCache),
               alone =
                   static_cast<double>(pace.warp.cycles) / static_cast<double>(than.warp.cycles);
  const double share = std::pow(far, 1 - kWeightAlone) * std::pow(alone, kWeightAlone);
  if (near > kAbout || far > limits.work || alone > limits.alone || share > limits.time)
    return std::nullopt;
  return share;
}

/// Whether ptxas runs wgmma one by one because it finds that their sums are read too early.
bool hasSerializedDots(const GpuKernel &kernel) {
  return llvm::any_of(kernel.warnings,
                      [](llvm::StringRef warning) { return warning.contains("(C7514)"); });
}

/// How many CTAs can run if a thread has some registers more than those with which all warps run,
/// where ptxas gave it all of these: what it has no register for it computes again. Whose values
/// ask for hardly more gets the same code (12 public kernels).
llvm::SmallVector<int, 2> nextToAllWarps(const GpuKernel &kernel) {
  constexpr int kSlack = 2;
  constexpr double kMore = 1.1; // times the registers
  const int all = kernel.target.registersForAllWarps();
  llvm::SmallVector<int, 2> counts;
  if (kernel.registers + kSlack <= all || kernel.registers > all ||
      static_cast<double>(registerDemand(kernel.ptx)) < kMore * all)
    return counts;
  for (const int steps : {1, 3})
    if (const int ctas = ctasAtATime(kernel, all + steps * kernel.target.registerStep());
        ctas > 0 && ctas < ctasAtATime(kernel, all) && !llvm::is_contained(counts, ctas))
      counts.push_back(ctas);
  return counts;
}

/// Whether a scheduler has less to do for code than for other code, among as many warps as have
/// room: it begins one instruction in a cycle, or waits for all of them. It does not wait for
/// memory where as much is under way as the memory can bring in the time of an answer, if each load
/// brings a number to each lane.
bool isLessWork(const Pace &pace, const Pace &than) {
  constexpr double kLess = 0.93;
  constexpr double kLoadBytes = 128, kBytesUnderWay = 16 << 10;
  const auto isLess = [&](double cycles, double before) {
    return std::max(static_cast<double>(pace.warp.instructions), cycles) <=
           kLess * std::max(static_cast<double>(than.warp.instructions), before);
  };
  const double underWay = pace.warps * static_cast<double>(pace.warp.loads) * kLoadBytes;
  return isLess(pace.fromCache, than.fromCache) &&
         (underWay >= kBytesUnderWay || isLess(pace.fromMemory, than.fromMemory));
}

constexpr double kClearly = 0.9; // of the cycles of a warp

/// Whether a warp alone waits in rounds for the loads of its loop.
bool waitsInRounds(const Pace &pace) {
  return static_cast<double>(pace.warp.inRounds) >=
         (1 - kClearly) * static_cast<double>(pace.warp.cycles);
}

/// How many answers of memory a warp waits for, one after the other.
double roundsOf(const Pace &pace) {
  return (pace.fromMemory - pace.fromCache) * pace.warps / kSchedulers /
         (WarpTime::kMemory - WarpTime::kCache);
}

/// Whether a warp waits for memory in each iteration of its loop, however early loads are meant to
/// begin.
bool waitsInEachIteration(const Pace &pace) {
  constexpr int64_t kLeast = WarpTime::kTrips * (WarpTime::kMemory - WarpTime::kCache);
  return (pace.fromMemory - pace.fromCache) * pace.warps >= kLeast * kSchedulers;
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

/// Has a kernel that spills nothing assembled with other numbers of registers, and takes what is
/// better: fewer, so that more CTAs run at the same time, or more, so that the loads of its loop do
/// not wait for registers. ptxas decides neither by how long memory takes. Kernels whose loops do
/// not load have a program for each piece of their data, and others of these hide what one waits.
class RegisterChoice {
public:
  RegisterChoice(const GpuKernel &kernel, const Pace &before, const GpuOptions &options)
      : kernel_(kernel), before_(before), options_(options) {}

  /// Better code, or nothing.
  std::optional<GpuKernel> run() {
    if (waitsInRounds(before_))
      sparesRounds();
    else
      sparesWork();
    return std::move(best_);
  }

private:
  static constexpr Limits kForLoads{.work = 0.94, .alone = kClearly},
      kForHalf{.work = 0.76, .alone = kClearly},
      kForCta{.work = 0.94, .alone = 1.01, .time = 0.945},
      kForThirdMore{.work = 0.94, .alone = 1.1, .time = 0.945},
      kForPtx{.work = 0.97, .alone = kClearly};

  void sparesRounds() {
    constexpr double kHalf = 0.65;
    for (const int ctas : fewerCtas(kernel_)) {
      // Where so many fewer run, barriers and what the clock does not know are hidden by few.
      const std::optional<Pace> pace =
          tryCtas(ctas, ctas <= kHalf * ctasNow() ? kForHalf : kForLoads);
      // A warp alone is no quicker, for all its registers.
      if (!pace || static_cast<double>(pace->warp.cycles) >
                       kClearly * static_cast<double>(before_.warp.cycles))
        break;
    }
    constexpr double kNext = 0.8;
    if (const std::optional<int> ctas = oneCtaMore(kernel_, kNext))
      tryCtas(*ctas, kForCta);
    // With as many registers ptxas may still begin loads one after the other.
    if (!best_)
      tryPtx(withPinnedLoads(kernel_.ptx), kForPtx);
  }

  void sparesWork() {
    const llvm::SmallVector<int, 2> fewer =
        before_.warp.loads != 0 ? nextToAllWarps(kernel_) : llvm::SmallVector<int, 2>();
    for (const int ctas : fewer)
      if (!best_)
        tryCtas(ctas, kForLoads, [&](const Pace &pace) { return isLessWork(pace, before_); });
    // Several small CTAs more: a scan over a sequence has hardly more programs than run at once
    // (kalman_attention/affine_scan: 1.19 times as fast on an H200).
    constexpr double kThirdMore = 1.3, kAbout = 1.03;
    if (const std::optional<int> ctas = fewer.empty() ? oneCtaMoreIfItFits(kernel_) : std::nullopt)
      tryCtas(*ctas, *ctas >= kThirdMore * ctasNow() ? kForThirdMore : kForCta,
              [&](const Pace &pace) {
                return *ctas > ctasNow() + 1 &&
                       static_cast<double>(pace.warp.instructions) <=
                           kAbout * static_cast<double>(before_.warp.instructions);
              });
    if (kernel_.loadsEarly && !best_ && waitsInEachIteration(before_))
      pinEarlyLoads();
    if (before_.warp.loads == 0) {
      leaveMasksTheirPredicates();
      pinLoadsOfStraightCode();
    }
  }

  /// Loads of straight code that ptxas begins in more rounds than they need. Code in whose loops
  /// the clock finds no loads counts as straight, too. Where uses are between them, loads go first.
  void pinLoadsOfStraightCode() {
    constexpr double kQuicker = 0.95, kClearlyQuicker = 0.85;
    constexpr double kWords = 0.6; // of the registers, for what was loaded
    if (pinsGroupsIn(kernel_.ptx, kQuicker))
      return;
    const int most = static_cast<int>(kWords * registersFor(kernel_, ctasNow()));
    const std::string loadsFirst = withLoadsFirst(kernel_.ptx, most);
    if (loadsFirst != kernel_.ptx)
      pinsGroupsIn(loadsFirst, kClearlyQuicker);
  }

  /// Whether a warp waits for more rounds than there are groups of loads in `ptx`, so that it is
  /// tried with pinned ones: a warp alone has to take at most `quicker` of the time.
  bool pinsGroupsIn(llvm::StringRef ptx, double quicker) {
    constexpr double kMoreRounds = 1.9, kAbout = 1.03;
    int groups = 0;
    std::string pinned = withPinnedLoads(ptx, &groups);
    if (groups == 0 || roundsOf(before_) < groups + kMoreRounds)
      return false;
    tryPtx(std::move(pinned), kForPtx, [&](const Pace &pace) {
      return pace.warps >= before_.warps &&
             static_cast<double>(pace.warp.cycles) <=
                 quicker * static_cast<double>(before_.warp.cycles) &&
             static_cast<double>(pace.warp.instructions) <=
                 kAbout * static_cast<double>(before_.warp.instructions);
    });
    return true;
  }

  /// Of an address and its offset ptxas makes two additions by mad.wide, with a carry in one of the
  /// seven predicates of a thread. Where masks need these, loads wait for each other, or masks
  /// become bits of registers.
  void leaveMasksTheirPredicates() {
    constexpr size_t kMany = 5;
    constexpr double kFewer = 0.92;
    if (masksOfLoads(kernel_.ptx) < kMany ||
        llvm::StringRef(kernel_.ptx).count("mad.wide.") < kMany)
      return;
    tryPtx(withWideSumsApart(kernel_.ptx), kForPtx, [&](const Pace &pace) {
      return pace.warp.instructions <= kFewer * static_cast<double>(before_.warp.instructions) &&
             pace.fromMemory <= before_.fromMemory && pace.fromCache <= before_.fromCache;
    });
  }

  /// Loads that are to begin an iteration early, and do not. Such a loop carries what it computes
  /// from one iteration to the next: a launch often has as many programs of it as run at once.
  void pinEarlyLoads() {
    constexpr double kAboutAsMany = 0.85;
    tryPtx(withPinnedLoads(kernel_.ptx), kForPtx);
    if (best_ && ctasAtATime(*best_, best_->registers) < kAboutAsMany * ctasNow())
      best_.reset();
  }

  int ctasNow() const { return ctasAtATime(kernel_, kernel_.registers); }

  /// How many predicates the loads have.
  static size_t masksOfLoads(llvm::StringRef ptx) {
    llvm::StringSet<> masks;
    while (!ptx.empty()) {
      llvm::StringRef line;
      std::tie(line, ptx) = ptx.split('\n');
      const size_t at = line.find('@');
      if (at != llvm::StringRef::npos && line.contains("ld.global"))
        masks.insert(line.substr(at).take_until([](char c) { return c == ' '; }));
    }
    return masks.size();
  }

  using IsGood = llvm::function_ref<bool(const Pace &)>;

  std::optional<Pace> tryCtas(int ctas, Limits limits, IsGood isGood = {}) {
    return tryPtx(withCtas(kernel_.ptx, ctas), limits, isGood);
  }

  /// Keeps the result if it is the best so far. Returns its pace, if it does not spill.
  std::optional<Pace> tryPtx(std::string ptx, Limits limits, IsGood isGood = {}) {
    std::optional<GpuKernel> other = assembledFrom(kernel_, std::move(ptx), options_);
    std::optional<Pace> pace =
        other && other->spillBytes == 0 ? paceOf(*other, &before_) : std::nullopt;
    if (!pace)
      return std::nullopt;
    const std::optional<double> share =
        isGood && isGood(*pace) ? kClearly : shareOfTime(*pace, before_, limits);
    if (share && *share < share_) {
      share_ = *share;
      best_ = std::move(other);
    }
    return pace;
  }

  const GpuKernel &kernel_;
  const Pace &before_;
  const GpuOptions &options_;
  std::optional<GpuKernel> best_;
  double share_ = 1; ///< of the kernel's time
};

void chooseRegisters(GpuKernel &kernel, const GpuOptions &options) {
  const std::optional<Pace> before = paceOf(kernel);
  if (!before)
    return;
  if (std::optional<GpuKernel> better = RegisterChoice(kernel, *before, options).run())
    kernel = std::move(*better);
}

/// For a kernel that spills: has its loads begin together, where it waits for them in rounds. It
/// may spill more for them.
void pinLoads(GpuKernel &kernel, const GpuOptions &options) {
  const std::optional<Pace> before = paceOf(kernel);
  if (!before || !waitsInRounds(*before))
    return;
  std::optional<GpuKernel> other = assembledFrom(kernel, withPinnedLoads(kernel.ptx), options);
  const std::optional<Pace> after = other ? paceOf(*other, &*before) : std::nullopt;
  if (after &&
      static_cast<double>(after->warp.cycles) <=
          kClearly * static_cast<double>(before->warp.cycles) &&
      isLessWork(*after, *before))
    kernel = std::move(*other);
}

/// For a kernel with tensor cores that spills nothing and leaves a scheduler with at most two
/// warps: assembles it with so few registers that one more CTA runs at the same time. Other warps
/// then multiply while one waits or computes something else. The result is taken if it has about as
/// many instructions and spills next to nothing.
void makeRoomForWarps(GpuKernel &kernel, const GpuOptions &options) {
  constexpr int kFewWarps = 8;       // of a multiprocessor
  constexpr int kNextToNothing = 64; // bytes
  constexpr double kFew = 0.65;      // of the registers
  constexpr double kHopeless = 1.5;  // times what they may be
  const int now = ctasAtATime(kernel, kernel.registers);
  if (now == 0 || now * kernel.numWarps > kFewWarps)
    return;
  const double about = now == 1 ? 1.08 : 1.05; // twice the warps are worth more
  const int allowed = registersFor(kernel, now + 1);
  if (allowed < kFew * kernel.registers || registerDemand(kernel.ptx) > kHopeless * allowed)
    return;
  std::optional<GpuKernel> other = assembledFrom(kernel, withCtas(kernel.ptx, now + 1), options);
  if (other && other->registers <= allowed && other->spillBytes <= kNextToNothing &&
      other->warnings.size() <= kernel.warnings.size() &&
      static_cast<double>(codeBytesOf(*other)) <= about * static_cast<double>(codeBytesOf(kernel)))
    kernel = std::move(*other);
}

} // namespace

bool assemble(GpuKernel &kernel, const GpuOptions &options, std::string *error) {
  // What needs too much shared memory cannot be launched, as many a tuner's configuration: no other
  // code is looked for.
  if (kernel.sharedBytes > kernel.target.sharedBytes())
    return assembleOnce(kernel, options, error);
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
  // What is likely to spill has all registers at once: ptxas gives some of it few, and takes longer
  // for them, only for the result to be thrown away.
  const auto demand = static_cast<double>(registerDemand(kernel.ptx));
  const bool isCertain = demand > kCertainToSpill * most;
  bool hasAll = false;
  if (!options.maxRegisters &&
      (isCertain || (demand > kLikelyToSpill * most && !hasMatrixInstructions(kernel.ptx)))) {
    other.ptx = withCtas(isCertain ? withWideSumsApart(kernel.ptx) : kernel.ptx, 1);
    if (!other.ptx.empty()) {
      if (!assembleOnce(other, options, error))
        return false;
      hasAll = other.spillBytes != 0 && takeOther();
      if (hasAll && isCertain)
        return true;
      other.warnings.clear();
    }
  }
  if (!hasAll && !assembleOnce(kernel, options, error))
    return false;
  std::string ignored;
  if (hasSerializedDots(kernel)) {
    other.ptx = withWaitsFirst(kernel.ptx, /*inLoops=*/true);
    if (other.ptx != kernel.ptx && assembleOnce(other, options, &ignored) &&
        !hasSerializedDots(other) && other.spillBytes <= kernel.spillBytes)
      takeOther();
    other.warnings.clear();
  }
  if (kernel.spillBytes != 0 && mayNeedSumsApart(kernel, most)) {
    other.ptx = withWideSumsApart(kernel.ptx);
    if (other.ptx != kernel.ptx && assembleOnce(other, options, &ignored) &&
        other.spillBytes < kernel.spillBytes)
      takeOther();
    other.warnings.clear();
  }
  if (options.maxRegisters)
    return true;
  if (kernel.spillBytes == 0) {
    if (hasAll) // its PTX asks for one CTA
      return true;
    if (hasMatrixInstructions(kernel.ptx))
      makeRoomForWarps(kernel, options);
    else
      chooseRegisters(kernel, options);
    return true;
  }
  if (!hasAll && kernel.registers + kernel.target.registerStep() < most) {
    other.ptx = withCtas(kernel.ptx, 1);
    if (!other.ptx.empty() && assembleOnce(other, options, &ignored) &&
        other.spillBytes < kernel.spillBytes)
      takeOther();
  }
  if (!hasMatrixInstructions(kernel.ptx))
    pinLoads(kernel, options);
  return true;
}

} // namespace blockscope::gpu
