// Registers of a thread, and how many CTAs run with them.
#include "gpu_backend/codegen/cta_counts.h"

#include "gpu_backend/codegen/register_demand.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace blockscope::gpu {
std::string withCtas(llvm::StringRef ptx, int ctas) {
  constexpr llvm::StringLiteral kBefore = "\n.reqntid ";
  const size_t begin = ptx.find(kBefore);
  if (begin == llvm::StringRef::npos)
    return {};
  const size_t end = ptx.find('\n', begin + kBefore.size());
  return (ptx.take_front(end) + "\n.minnctapersm " + llvm::Twine(ctas) + ptx.drop_front(end)).str();
}

bool hasMatrixInstructions(llvm::StringRef ptx) {
  return ptx.contains("mma.sync.") || ptx.contains("mma_async.");
}

int ctasAtATime(const GpuKernel &kernel, int registers) {
  return kernel.target.ctasAtATime(kernel.numWarps, registers, kernel.sharedBytes);
}

int registersFor(const GpuKernel &kernel, int ctas) {
  int allowed = 1;
  while (allowed < GpuTarget::kThreadRegisters && ctasAtATime(kernel, allowed + 1) >= ctas)
    ++allowed;
  return allowed;
}

std::optional<int> oneCtaMore(const GpuKernel &kernel, double share) {
  const int now = ctasAtATime(kernel, kernel.registers);
  if (now == 0 || ctasAtATime(kernel, static_cast<int>(share * kernel.registers)) <= now)
    return std::nullopt;
  return now + 1;
}

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
  // One that is far is tried where all values have room in it: mamba_triton/selective_scan took
  // 281 us with 160 registers, 250 with 128 (H200).
  if (const std::optional<int> far = oneCtaMore(kernel, kLeast);
      !ctas && far && all <= registersFor(kernel, *far))
    return far;
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

} // namespace blockscope::gpu
