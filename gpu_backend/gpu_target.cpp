// The GPU architectures that kernels are compiled for.
#include "gpu_backend/compile.h"

#include "llvm/ADT/Twine.h"

namespace blockscope {

namespace {

struct KnownTarget {
  int capability;
  llvm::StringLiteral arch;
  int ptxVersion;
  int sharedKiB;
};

// The `a` variants have the matrix instructions that the plain ones lack, and run only there.
constexpr KnownTarget kTargets[] = {
    {80, "sm_80", 90, 163},    {86, "sm_86", 90, 99},    {87, "sm_87", 90, 163},
    {89, "sm_89", 90, 99},     {90, "sm_90a", 90, 227},  {100, "sm_100a", 90, 227},
    {103, "sm_103a", 90, 227}, {120, "sm_120a", 90, 99}, {121, "sm_121a", 90, 99},
};

GpuTarget targetFrom(const KnownTarget &known) {
  return {known.capability, known.arch.str(), known.ptxVersion, known.sharedKiB};
}

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
      return targetFrom(known);
  if (error)
    *error = ("unknown GPU architecture '" + arch + "', expected one of " + knownNames()).str();
  return std::nullopt;
}

std::optional<GpuTarget> GpuTarget::ofCapability(int capability, std::string *error) {
  for (const KnownTarget &known : kTargets)
    if (capability == known.capability)
      return targetFrom(known);
  if (error)
    *error = "kernels are not compiled for GPUs of compute capability " +
             std::to_string(capability / 10) + "." + std::to_string(capability % 10) +
             ", expected one of " + knownNames();
  return std::nullopt;
}

} // namespace blockscope
