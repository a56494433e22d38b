// blk-opt: reads IR, runs the passes named on the command line, prints IR. For tests and people.
#include "core/ir/tl_dialect.h"
#include "core/passes/passes.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/named_passes.h"
#include "gpu_backend/tools/emit_code.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  blockscope::tl::registerDialects(registry);
  registry.insert<blockscope::tlg::TLGDialect>();
  blockscope::registerPasses();
  blockscope::gpu::registerGpuPasses();
  blockscope::gpu::registerEmitCodePass();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Blockscope IR transformation driver\n", registry));
}
