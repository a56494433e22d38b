// Compiles a kernel for the GPU: layouts, LLVM IR, PTX, cubin.
#include "gpu_backend/compile.h"

#include "core/ir/ir_emitter.h"
#include "core/passes/pass_dumps.h"
#include "gpu_backend/codegen/nvptx.h"
#include "gpu_backend/codegen/stage_timer.h"
#include "gpu_backend/codegen/toolkit.h"
#include "gpu_backend/codegen/write_file.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/lowering/lower_kernel.h"
#include "gpu_backend/lowering/lowering.h"
#include "gpu_backend/report/kernel_notes.h"
#include "gpu_backend/reproducer.h"
#include "gpu_backend/run_pipeline.h"

#include "core/ir/convert.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
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

void dumpLlvm(const GpuOptions &options, const llvm::Module &code, llvm::StringRef when) {
  if (!options.dumpLlvm)
    return;
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "; *** LLVM IR of '" << code.getName() << "' " << when << " ***\n" << code << "\n";
  writeDump(text);
}

/// Adds to an error of ours, found after the passes, where the IR is that shows it again.
void addReproducer(const GpuOptions &options, const GpuKernel &kernel, std::string &error) {
  if (!gpu::isOurMistake(error))
    return;
  const std::string emit = llvm::formatv("builtin.module(tlg-emit{{debug={0} fp-fusion={1}})",
                                         options.debug, options.enableFpFusion);
  error += gpu::writeReproducer(kernel.tlg, emit, kernel.name, error, options);
}

/// The passes and all that comes after; lowers the module in place. Null with the text in `text`.
std::unique_ptr<GpuKernel> compileModule(ModuleOp module, llvm::StringRef tl,
                                         const GpuTarget &target, const GpuOptions &options,
                                         std::string &text) {
  func::FuncOp function = *module.getOps<func::FuncOp>().begin();
  auto kernel = std::make_unique<GpuKernel>();
  kernel->name = function.getName().str();
  kernel->target = target;
  kernel->numWarps = options.numWarps;
  kernel->numCtas = options.numCtas;
  kernel->tl = tl.str();
  if (!dump(options, kernel->name, "tl", kernel->tl, &text))
    return nullptr;
  const OwningOpRef<ModuleOp> before = module.clone();
  {
    const StageTimer timer(kernel->times, "tlg");
    if (!gpu::runGpuPipeline(module, target, options, *kernel, text))
      return nullptr;
  }
  kernel->tlg = printed(module);
  if (!dump(options, kernel->name, "tlg", kernel->tlg, &text))
    return nullptr;
  function = *module.getOps<func::FuncOp>().begin(); // passes made a new one
  {
    const StageTimer timer(kernel->times, "notes");
    gpu::noteKernel(function, target, options, *kernel);
  }
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code;
  {
    const StageTimer timer(kernel->times, "lower");
    code = gpu::lowerKernel(function, context, target, options, *kernel);
  }
  if (!code) {
    addReproducer(options, *kernel, text);
    return nullptr;
  }
  if (module->hasAttr(tlg::kMoreBlocksAttribute) && kernel->sharedBytes > target.sharedBytes()) {
    GpuOptions fewer = options;
    fewer.moreBlocks = false;
    return compileModule(*before, tl, target, fewer, text);
  }
  llvm::raw_string_ostream stream(kernel->llir);
  if (!gpu::prepareModule(*code, target, &text))
    return nullptr;
  dumpLlvm(options, *code, "as lowered");
  kernel->ptx = gpu::emitPtx(*code, target, options, kernel->times, &text);
  code->print(stream, nullptr);
  dumpLlvm(options, *code, "optimised");
  if (kernel->ptx.empty())
    addReproducer(options, *kernel, text);
  if (!dump(options, kernel->name, "ll", kernel->llir, &text) || kernel->ptx.empty())
    return nullptr;
  if (!dump(options, kernel->name, "ptx", kernel->ptx, &text))
    return nullptr;
  const StageTimer timer(kernel->times, "ptxas");
  if (!gpu::assemble(*kernel, options, &text) ||
      !dump(options, kernel->name, "ptx", kernel->ptx, &text) ||
      !dump(options, kernel->name, "cubin", kernel->cubin, &text))
    return nullptr;
  gpu::noteAssembled(function, options, *kernel);
  gpu::sortNotes(kernel->notes);
  return kernel;
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
  return compileModule(module, emitter.text(), target, options, text);
}

std::vector<std::string> gpuOps() { return gpu::loweredOps(); }

} // namespace blockscope
