// How quickly warps get on, from the machine code of ptxas.
#include "gpu_backend/codegen/pace.h"

#include "gpu_backend/codegen/cta_counts.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <cmath>

namespace blockscope::gpu {
namespace {

constexpr double kSchedulers = 4; // of a multiprocessor

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

} // namespace

size_t codeBytesOf(const GpuKernel &kernel) {
  size_t bytes = 0;
  for (const llvm::StringRef code : codeOf(kernel.cubin))
    bytes += code.size();
  return bytes;
}

std::optional<Pace> paceOf(const GpuKernel &kernel, const Pace *like) {
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

bool waitsInRounds(const Pace &pace) {
  return static_cast<double>(pace.warp.inRounds) >=
         (1 - kClearly) * static_cast<double>(pace.warp.cycles);
}

double roundsOf(const Pace &pace) {
  return (pace.fromMemory - pace.fromCache) * pace.warps / kSchedulers /
         (WarpTime::kMemory - WarpTime::kCache);
}

bool waitsInEachIteration(const Pace &pace) {
  constexpr int64_t kLeast = WarpTime::kTrips * (WarpTime::kMemory - WarpTime::kCache);
  return (pace.fromMemory - pace.fromCache) * pace.warps >= kLeast * kSchedulers;
}

} // namespace blockscope::gpu
