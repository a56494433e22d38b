// Prints the LLVM IR or PTX of a module of the GPU level to stdout, as compileForGpu makes it, or
// the notes of its speed:
//   blk-opt FILE --pass-pipeline='builtin.module(tlg-pipeline{arch=sm_80},tlg-emit)' -o /dev/null
#include "gpu_backend/tools/emit_code.h"

#include "gpu_backend/codegen/nvptx.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/lowering/lower_kernel.h"
#include "gpu_backend/named_passes.h"
#include "gpu_backend/report/kernel_notes.h"

#include "core/report.h"

#include "mlir/Pass/Pass.h"
#include "llvm/IR/Verifier.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

struct EmitCodePass : PassWrapper<EmitCodePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EmitCodePass)
  EmitCodePass() = default;
  EmitCodePass(const EmitCodePass &other) : PassWrapper(other) {}

  llvm::StringRef getArgument() const final { return "tlg-emit"; }
  llvm::StringRef getDescription() const final {
    return "print the PTX (or the LLVM IR, or notes) of a kernel of the GPU level to stdout";
  }

  void runOnOperation() final {
    const LogicalResult done = emit();
    if (failed(done))
      signalPassFailure();
  }

  LogicalResult emit() {
    ModuleOp module = getOperation();
    if (failed(requireLayouts(module)))
      return failure();
    std::optional<GpuTarget> target = targetOf(module, arch);
    if (!target)
      return failure();
    GpuOptions options;
    options.numWarps = numWarpsOf(module, 0);
    options.debug = debug;
    options.enableFpFusion = fpFusion;
    llvm::LLVMContext context;
    GpuKernel kernel;
    func::FuncOp function = *module.getOps<func::FuncOp>().begin();
    noteKernel(function, *target, options, kernel);
    const std::unique_ptr<llvm::Module> code =
        lowerKernel(function, context, *target, options, kernel);
    if (!code)
      return failure();
    if (to == "notes") {
      sortNotes(kernel.notes);
      for (const Finding &note : kernel.notes)
        llvm::outs() << severityName(note.severity) << "[" << codeText(note.code)
                     << "]: " << note.message << "\n";
      llvm::outs() << function.getName() << ": " << counted(kernel.notes.size(), "note") << "\n";
      return success();
    }
    std::string error;
    if (!prepareModule(*code, *target, &error))
      return module.emitError(error);
    if (to == "llvm") {
      llvm::raw_string_ostream stream(error);
      if (llvm::verifyModule(*code, &stream))
        return module.emitError("the LLVM IR is not valid (a mistake in blockscope): " + error);
      code->print(llvm::outs(), nullptr);
      return success();
    }
    if (to != "ptx")
      return module.emitError("'" + to +
                              "' is nothing that tlg-emit prints, expected ptx, llvm or notes");
    const std::string ptx =
        emitPtx(*code, *target, options, kernel.libraries, kernel.times, &error);
    if (ptx.empty())
      return module.emitError(error);
    llvm::outs() << ptx;
    return success();
  }

  Option<std::string> to{*this, "to", llvm::cl::desc("ptx, llvm or notes"), llvm::cl::init("ptx")};
  Option<std::string> arch{*this, "arch", llvm::cl::desc("sm_90a and so on"), llvm::cl::init("")};
  Option<bool> debug{*this, "debug", llvm::cl::desc("with device_assert"), llvm::cl::init(false)};
  Option<bool> fpFusion{*this, "fp-fusion", llvm::cl::desc("a * b + c may be fused"),
                        llvm::cl::init(true)};
};

} // namespace

void registerEmitCodePass() { PassRegistration<EmitCodePass>(); }

} // namespace blockscope::gpu
