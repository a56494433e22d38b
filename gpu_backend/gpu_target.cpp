// The GPU architectures that kernels are compiled for.
#include "gpu_backend/compile.h"

#include "llvm/ADT/Twine.h"

namespace blockscope {

namespace {

struct KnownTarget {
  int capability;
  llvm::StringLiteral arch;
  int ptxVersion;
};

// The `a` variants have the matrix instructions that the plain ones lack, and run only there.
constexpr KnownTarget kTargets[] = {
    {80, "sm_80", 90},    {86, "sm_86", 90},    {87, "sm_87", 90},
    {89, "sm_89", 90},    {90, "sm_90a", 90},   {100, "sm_100a", 90},
    {103, "sm_103a", 90}, {120, "sm_120a", 90}, {121, "sm_121a", 90},
};

std::string knownNames() {
  std::string names;
  for (const KnownTarget &known : kTargets)
    names += (names.empty() ? "" : ", ") + known.arch.str();
  return names;
}

} // namespace

std::optional<GpuTarget> GpuTarget::parse(llvm::StringRef arch, std::string *error) {
  for (const KnownTarget &known : kTargets)
    if (arch == known.arch || (known.arch.ends_with("a") && arch == known.arch.drop_back()))
      return GpuTarget{known.capability, known.arch.str(), known.ptxVersion};
  if (error)
    *error = ("unknown GPU architecture '" + arch + "', expected one of " + knownNames()).str();
  return std::nullopt;
}

std::optional<GpuTarget> GpuTarget::ofCapability(int capability, std::string *error) {
  for (const KnownTarget &known : kTargets)
    if (capability == known.capability)
      return GpuTarget{known.capability, known.arch.str(), known.ptxVersion};
  if (error)
    *error = "kernels are not compiled for GPUs of compute capability " +
             std::to_string(capability / 10) + "." + std::to_string(capability % 10) +
             ", expected one of " + knownNames();
  return std::nullopt;
}

} // namespace blockscope
