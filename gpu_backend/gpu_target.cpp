// The table of targets. A new architecture is a row here.
#include "gpu_backend/gpu_target.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace blockscope {

namespace {

constexpr int kPtxVersion = 90; // the newest that LLVM 22 writes

constexpr GpuFeatures kAmpere{.hasCpAsync = true};
constexpr GpuFeatures kAda{.hasCpAsync = true, .hasFp8 = true};
/// What all have since Hopper.
constexpr GpuFeatures kTmaGpu{.hasCpAsync = true,
                              .hasFp8 = true,
                              .hasBf16Atomics = true,
                              .hasBf16Integers = true,
                              .hasMatrixStore = true,
                              .hasDependentLaunch = true,
                              .hasClusters = true,
                              .hasTma = true};

/// Small Blackwells lack it: ptxas takes such copies there and says that they are slow.
constexpr GpuFeatures withMulticast(GpuFeatures features) {
  features.hasMulticast = true;
  return features;
}

constexpr GpuFeatures withWgmma(GpuFeatures features) {
  features.hasWgmma = true;
  return features;
}

constexpr GpuFeatures withTcgen05(GpuFeatures features) {
  features.hasTcgen05 = true;
  return features;
}

constexpr GpuFeatures withScaledMma(GpuFeatures features) {
  features.hasScaledMma = true;
  return features;
}

constexpr GpuFeatures kHopper = withWgmma(withMulticast(kTmaGpu)),
                      kBlackwell = withTcgen05(withMulticast(kTmaGpu)),
                      kSmallBlackwell = withScaledMma(kTmaGpu);

/// The rows. The `a` variants have the matrix instructions that the plain ones lack, and run only
/// there. A multiprocessor has warps, CTAs, KiB of shared memory, operations of its vector units
/// and of its tensor cores.
constexpr GpuTarget kTargets[] = {
    {kAmpere, "sm_80", 80, kPtxVersion, {64, 32, 164, 128, 2048}},
    {kAmpere, "sm_86", 86, kPtxVersion, {48, 16, 100, 256, 1024}},
    {kAmpere, "sm_87", 87, kPtxVersion, {48, 16, 164, 256, 2048}},
    {kAda, "sm_89", 89, kPtxVersion, {48, 24, 100, 256, 1024}},
    {kHopper, "sm_90a", 90, kPtxVersion, {64, 32, 228, 256, 4096}},
    {kBlackwell, "sm_100a", 100, kPtxVersion, {64, 32, 228, 256, 8192}},
    {kBlackwell, "sm_103a", 103, kPtxVersion, {64, 32, 228, 256, 8192}},
    {kSmallBlackwell, "sm_120a", 120, kPtxVersion, {48, 24, 100, 256, 1024}},
    {kSmallBlackwell, "sm_121a", 121, kPtxVersion, {48, 24, 100, 256, 1024}},
};

std::string knownNames() {
  std::string names;
  for (const GpuTarget &known : kTargets)
    names += (names.empty() ? "" : ", ") + known.arch.str();
  return names;
}

} // namespace

llvm::ArrayRef<GpuTarget> GpuTarget::all() { return kTargets; }

int GpuTarget::registersPerThread(int warps) const {
  return std::min(kThreadRegisters, multiprocessor.registers / (32 * warps));
}

int GpuTarget::ctasAtATime(int warps, int registers, int64_t sharedBytes) const {
  const Multiprocessor &has = multiprocessor;
  const auto ofWarp = static_cast<int>(
      llvm::alignTo(32 * std::min(registers, int{kThreadRegisters}), has.registerUnit));
  const auto warpsOfRegisters =
      static_cast<int>(llvm::alignDown(has.registers / ofWarp, has.warpUnit));
  const auto byShared =
      static_cast<int>(has.sharedKiB * 1024 / (sharedBytes + kReservedSharedBytes));
  return std::min({has.ctas, has.warps / warps, byShared, warpsOfRegisters / warps});
}

std::optional<GpuTarget> GpuTarget::parse(llvm::StringRef arch, std::string *error) {
  for (const GpuTarget &known : kTargets) {
    if (arch == known.arch || (known.arch.ends_with("a") && arch == known.arch.drop_back()))
      return known;
  }
  if (error)
    *error = ("unknown GPU architecture '" + arch + "', expected one of " + knownNames()).str();
  return std::nullopt;
}

std::optional<GpuTarget> GpuTarget::ofCapability(int capability, std::string *error) {
  for (const GpuTarget &known : kTargets)
    if (capability == known.capability)
      return known;
  if (error)
    *error = "kernels are not compiled for GPUs of compute capability " +
             std::to_string(capability / 10) + "." + std::to_string(capability % 10) +
             ", expected one of " + knownNames();
  return std::nullopt;
}

} // namespace blockscope
