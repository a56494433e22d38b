// ptxas as often as a kernel is worth it.
#include "gpu_backend/codegen/assemble.h"

#include "gpu_backend/codegen/cta_counts.h"
#include "gpu_backend/codegen/pace.h"
#include "gpu_backend/codegen/ptxas.h"
#include "gpu_backend/codegen/register_choice.h"
#include "gpu_backend/codegen/register_demand.h"
#include "gpu_backend/codegen/wgmma_waits.h"
#include "gpu_backend/codegen/wide_sums.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

namespace blockscope::gpu {
namespace {

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

/// Whether ptxas runs wgmma one by one because it finds that their sums are read too early.
bool hasSerializedDots(const GpuKernel &kernel) {
  return llvm::any_of(kernel.warnings,
                      [](llvm::StringRef warning) { return warning.contains("(C7514)"); });
}

/// Whether other code of a kernel with wgmma, which keeps less from being dispatched, is not worse
/// by what can be counted.
bool isNoWorse(const GpuKernel &other, const GpuKernel &kernel) {
  constexpr double kAbout = 1.03, kNotMuch = 1.05;
  constexpr int kFewBytes = 16; // for one CTA more
  if (kernel.spillBytes != 0)   // it is short of registers, and shifts are not what it needs
    return false;
  // By registers alone: shared memory may take less, too, if it is worth it.
  const auto ctas = [](const GpuKernel &of) {
    return of.target.ctasAtATime(of.numWarps, of.registers, /*sharedBytes=*/0);
  };
  if (ctas(other) < ctas(kernel) || other.spillBytes > (ctas(other) > ctas(kernel) ? kFewBytes : 0))
    return false;
  const std::optional<Pace> pace = paceOf(other), than = paceOf(kernel);
  return pace && than &&
         static_cast<double>(pace->warp.instructions) <=
             kAbout * static_cast<double>(than->warp.instructions) &&
         static_cast<double>(pace->warp.cycles) <=
             kNotMuch * static_cast<double>(than->warp.cycles);
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
  if (!hasAll) {
    const GpuKernel before = kernel;
    AheadAssemblies ahead(before, options);
    std::string shifted = options.maxRegisters ? std::string() : withOffsetsShifted(kernel.ptx);
    if (shifted == kernel.ptx)
      shifted.clear();
    ahead.begin(shifted);
    if (!assembleOnce(kernel, options, error))
      return false;
    std::optional<GpuKernel> better =
        shifted.empty() ? std::nullopt : ahead.take(std::move(shifted));
    if (better && isNoWorse(*better, kernel)) {
      other = std::move(*better);
      takeOther();
      other.warnings.clear();
    }
  }
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
