// Compiles a kernel for the GPU: layouts, LLVM IR, PTX, cubin.
#include "gpu_backend/compile.h"

#include "core/ir/ir_emitter.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/lowering/lower_kernel.h"
#include "gpu_backend/passes/passes.h"
#include "gpu_backend/passes/shared_operands.h"
#include "gpu_backend/target/nvptx.h"
#include "gpu_backend/target/stage_timer.h"
#include "gpu_backend/target/toolkit.h"
#include "gpu_backend/target/write_file.h"

#include "core/ir/convert.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace blockscope {
namespace {

using gpu::StageTimer;

std::string printed(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  OpPrintingFlags flags;
  flags.printNameLocAsPrefix();
  module.print(stream, flags);
  return text;
}

/// "file:line: message" for every error that passes and lowering report.
class ErrorCollector {
public:
  ErrorCollector(MLIRContext *context, std::string *text)
      : handler_(context, [text](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
            return success();
          const SourceLocation location = fromMlirLocation(diagnostic.getLocation());
          if (!text->empty())
            *text += "\n";
          if (location.isKnown())
            *text += llvm::formatv("{0}:{1}:{2}: ", location.file, location.line, location.column);
          *text += diagnostic.str();
          return success();
        }) {}

private:
  ScopedDiagnosticHandler handler_;
};

bool dump(const GpuOptions &options, llvm::StringRef name, llvm::StringRef suffix,
          llvm::StringRef stage, std::string *error) {
  if (options.dumpDir.empty())
    return true;
  llvm::SmallString<128> path(options.dumpDir);
  llvm::sys::path::append(path, name + "." + suffix);
  std::error_code code = llvm::sys::fs::create_directories(options.dumpDir);
  if (!code)
    code = gpu::writeFile(path, stage);
  if (code)
    *error += llvm::formatv("cannot write '{0}' into the folder of dumps: {1}", path.str(),
                            code.message());
  return !code;
}

bool toGpuLevel(ModuleOp module, func::FuncOp function, const GpuTarget &target,
                const GpuOptions &options, GpuKernel &kernel) {
  const StageTimer timer(kernel.times, "tlg");
  module->setAttr(tlg::kNumWarpsAttribute,
                  Builder(module.getContext()).getI32IntegerAttr(options.numWarps));
  if (failed(gpu::assignLayouts(function, target, options)))
    return false;
  PassManager manager(module.getContext());
  manager.enableVerifier(std::getenv("BLOCKSCOPE_VERIFY_IR") != nullptr);
  manager.addPass(createCSEPass());
  manager.addPass(createLoopInvariantCodeMotionPass());
  if (failed(manager.run(module)))
    return false;
  function = *module.getOps<func::FuncOp>().begin();
  gpu::pipelineLoops(function, options);
  gpu::stageOperands(function);
  PassManager after(module.getContext());
  after.enableVerifier(std::getenv("BLOCKSCOPE_VERIFY_IR") != nullptr);
  after.addPass(createCSEPass());
  after.addPass(createLoopInvariantCodeMotionPass());
  return succeeded(after.run(module));
}

} // namespace

std::unique_ptr<GpuKernel> compileForGpu(IrEmitter &emitter, const GpuTarget &target,
                                         const GpuOptions &options, std::string *error) {
  std::string ignored;
  std::string &text = error ? *error : ignored;
  text.clear();
  ModuleOp module = emitter.module();
  module.getContext()->loadDialect<tlg::TLGDialect>();
  const ErrorCollector collector(module.getContext(), &text);
  auto functions = module.getOps<func::FuncOp>();
  func::FuncOp function = *functions.begin();
  auto kernel = std::make_unique<GpuKernel>();
  kernel->name = function.getName().str();
  kernel->target = target;
  kernel->numWarps = options.numWarps;
  kernel->numCtas = options.numCtas;
  kernel->tl = emitter.text();
  if (!dump(options, kernel->name, "tl", kernel->tl, &text))
    return nullptr;
  if (!toGpuLevel(module, function, target, options, *kernel))
    return nullptr;
  kernel->tlg = printed(module);
  if (!dump(options, kernel->name, "tlg", kernel->tlg, &text))
    return nullptr;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code;
  {
    const StageTimer timer(kernel->times, "lower");
    code =
        gpu::lowerKernel(*module.getOps<func::FuncOp>().begin(), context, target, options, *kernel);
  }
  if (!code)
    return nullptr;
  llvm::raw_string_ostream stream(kernel->llir);
  if (!gpu::prepareModule(*code, target, &text))
    return nullptr;
  kernel->ptx = gpu::emitPtx(*code, target, options, kernel->times, &text);
  code->print(stream, nullptr);
  if (!dump(options, kernel->name, "ll", kernel->llir, &text) || kernel->ptx.empty())
    return nullptr;
  if (!dump(options, kernel->name, "ptx", kernel->ptx, &text))
    return nullptr;
  const StageTimer timer(kernel->times, "ptxas");
  if (!gpu::assemble(*kernel, options, &text))
    return nullptr;
  return kernel;
}

} // namespace blockscope
