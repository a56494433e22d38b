// The passes of the GPU level by name, and the pipeline `tlg-pipeline` of them.
//
// A pass takes the architecture, warps and stages from its options, else from the module's
// attributes, which compileForGpu sets, else (warps and stages) the defaults of GpuOptions. So the
// same text is a pipeline for every kernel.
#pragma once

#include "gpu_backend/gpu_kernel.h"
#include "gpu_backend/gpu_options.h"
#include "gpu_backend/gpu_target.h"
#include "gpu_backend/report/loop_notes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <string>
#include <vector>

namespace blockscope::gpu {

/// What the pipelining of a kernel's loops tells its caller.
struct PipelineReport {
  std::string plan; ///< as text
  std::vector<Finding> notes;
  std::vector<FewerBuffers> fewerBuffers;
  bool hasExtraBuffers = false; ///< some ring has a buffer more than stages
  bool loadsEarly = false;      ///< a loop without a ring loads for its next iteration
  int64_t ringBytes = 0;        ///< of shared memory, of the loop whose rings take most
  gpu::SpareRing spareRing;     ///< of that loop
  int64_t oneBufferBytes = 0;   ///< that it would take less with GpuOptions::oneBuffer
};

/// Registers the passes and the pipeline, together with the upstream passes it uses. Once is
/// enough; more calls do nothing.
void registerGpuPasses();

/// Adds the passes that every kernel goes through to `manager`, which is for modules.
void buildGpuPipeline(mlir::OpPassManager &manager, const GpuTarget &target,
                      const GpuOptions &options);
/// Has the manager's pass that pipelines loops take `options.extraBuffers`, `ringBytes` and
/// `oneBuffer`, and fill `report`, which lives as long as the passes run.
void connectPipelineReport(mlir::OpPassManager &manager, const GpuOptions &options,
                           PipelineReport &report);

/// Writes target and options into attributes of the module.
void setTarget(mlir::ModuleOp module, const GpuTarget &target, const GpuOptions &options);

/// The target: `arch`, or if that is empty the module's. Errors: an error of the module where there
/// is none, or an unknown one.
std::optional<GpuTarget> targetOf(mlir::ModuleOp module, llvm::StringRef arch);
/// The number of warps: `numWarps`, or if that is 0 the module's.
int numWarpsOf(mlir::ModuleOp module, int numWarps);

/// Fails, with an error at the op, when a block has no layout yet.
mlir::LogicalResult requireLayouts(mlir::ModuleOp module);

} // namespace blockscope::gpu
