// blk-opt: reads IR, runs the passes named on the command line, prints IR. For tests and people.
#include "core/ir/ir_text.h"
#include "core/ir/tl_dialect.h"
#include "core/passes/passes.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/named_passes.h"
#include "gpu_backend/tools/emit_code.h"

#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

namespace {

int fail(llvm::StringRef message) {
  llvm::errs() << "blk-opt: error: " << message << "\n";
  return EXIT_FAILURE;
}

/// mlir-opt with a look at the text before it is parsed.
int run(llvm::StringRef input, llvm::StringRef output, mlir::DialectRegistry &registry) {
  const auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> text = mlir::openInputFile(input, &error);
  if (!text)
    return fail(error);
  error = blockscope::problemOfText(text->getBuffer());
  if (!error.empty())
    return fail((input + ": " + error).str());
  const std::unique_ptr<llvm::ToolOutputFile> file = mlir::openOutputFile(output, &error);
  if (!file)
    return fail(error);
  if (mlir::failed(mlir::MlirOptMain(file->os(), std::move(text), registry, config)))
    return EXIT_FAILURE;
  file->keep();
  return EXIT_SUCCESS;
}

} // namespace

int main(int argc, char **argv) {
  const llvm::InitLLVM setup(argc, argv);
  mlir::DialectRegistry registry;
  blockscope::tl::registerDialects(registry);
  registry.insert<blockscope::tlg::TLGDialect>();
  blockscope::registerPasses();
  blockscope::gpu::registerGpuPasses();
  blockscope::gpu::registerEmitCodePass();
  const auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv, "Blockscope IR transformation driver\n", registry);
  return run(input, output, registry);
}
