// The extension module blockscope._core.
#include "core/version.h"
#include "python/src/gpu_driver.h"
#include "python/src/ir_builder.h"
#include "python/src/launch.h"
#include "python/src/storage_overlap.h"
#include "python/src/tensor.h"

#include <pybind11/pybind11.h>

PYBIND11_MODULE(_core, module) {
  module.doc() = "Blockscope's C++ part; use the package blockscope instead.";
  module.attr("__version__") = blockscope::versionString();
  blockscope::bindTypes(module);
  blockscope::bindTensor(module);
  blockscope::bindSemantic(module);
  blockscope::bindIrBuilder(module);
  blockscope::bindLaunch(module);
  blockscope::bindStepRunner(module);
  blockscope::bindSessions(module);
  blockscope::bindTraceSession(module);
  blockscope::bindLastWriter(module);
  blockscope::bindGpuDriver(module);
  blockscope::bindGpuCompile(module);
  blockscope::bindGpuLauncher(module);
  blockscope::bindStorageOverlap(module);
}
