// One run of ptxas.
#pragma once

#include "gpu_backend/gpu_kernel.h"
#include "gpu_backend/gpu_options.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace blockscope::gpu {

/// As `assemble`, with the PTX as it is.
bool assembleOnce(GpuKernel &kernel, const GpuOptions &options, std::string *error);

/// The kernel, assembled from other PTX.
std::optional<GpuKernel> assembledFrom(const GpuKernel &kernel, std::string ptx,
                                       const GpuOptions &options);

/// Runs of ptxas for one kernel that begin before their results are asked for, if ever they are: as
/// many as this process has processors for. Those whose results nobody asks for are ended.
class AheadAssemblies {
public:
  AheadAssemblies(const GpuKernel &kernel, const GpuOptions &options);
  ~AheadAssemblies();
  AheadAssemblies(const AheadAssemblies &) = delete;
  AheadAssemblies &operator=(const AheadAssemblies &) = delete;

  /// Begins with other PTX of the kernel; nothing if it is empty or no processor is free.
  void begin(const std::string &ptx);
  /// As assembledFrom: waits for what was begun.
  std::optional<GpuKernel> take(std::string ptx);

private:
  struct Run;
  const GpuKernel &kernel_;
  const GpuOptions &options_;
  std::vector<std::unique_ptr<Run>> runs_;
};

} // namespace blockscope::gpu
