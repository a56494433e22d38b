// What may cost a kernel speed: its accesses to global memory, its dots and their loops, what
// ptxas said. Bank conflicts are noted where accesses of shared memory are lowered.
//
// Notes are read off the kernel as it is before it is lowered, so they speak of the code that runs:
// there is no note of what a pass mended.
#pragma once

#include "gpu_backend/gpu_kernel.h"
#include "gpu_backend/gpu_options.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// Notes of loads, stores and atomics that touch more memory than they need, or by small pieces.
void noteAccesses(mlir::func::FuncOp function, std::vector<Finding> &notes);
/// Notes of dots that do not use the target's best instructions.
void noteDots(mlir::func::FuncOp function, const GpuTarget &target, const GpuOptions &options,
              std::vector<Finding> &notes);
/// Notes of options without an effect, of the kernel as it is before the passes.
void noteOptions(mlir::func::FuncOp function, std::vector<Finding> &notes);
/// Notes of dots of fp8 where the target has no instructions for it, of the kernel as it is before
/// the passes.
void noteEmulation(mlir::func::FuncOp function, const GpuTarget &target,
                   std::vector<Finding> &notes);
/// All that is seen before the kernel is lowered.
void noteKernel(mlir::func::FuncOp function, const GpuTarget &target, const GpuOptions &options,
                GpuKernel &kernel);
/// What the assembled kernel adds: spills, and wgmma that ptxas runs one by one.
void noteAssembled(mlir::func::FuncOp function, const GpuOptions &options, GpuKernel &kernel);
/// Puts notes in the order of the source; those that say the same become one with several places.
void sortNotes(std::vector<Finding> &notes);

/// Begins a note, of its code's severity.
Finding noteAt(FindingCode code, const SourceLocation &place);
/// Says that the same holds at another place.
void addPlace(Finding &note, const SourceLocation &place);

/// "16 bytes", "1 byte".
std::string counted(int64_t count, llvm::StringRef noun);

} // namespace blockscope::gpu
