// The extension module blockscope._core.
#include "core/version.h"
#include "python/src/bound_launch.h"
#include "python/src/findings.h"
#include "python/src/gpu_driver.h"
#include "python/src/ir_builder.h"
#include "python/src/language_function.h"
#include "python/src/launch.h"
#include "python/src/launch_key.h"
#include "python/src/launcher.h"
#include "python/src/op_facts.h"
#include "python/src/python_lock.h"
#include "python/src/settings.h"
#include "python/src/storage_overlap.h"
#include "python/src/surroundings.h"
#include "python/src/tensor.h"
#include "python/src/torch_types.h"
#include "python/src/tuned_launcher.h"
#include "python/src/used_values.h"

#include <pybind11/pybind11.h>

PYBIND11_MODULE(_core, module) {
  module.doc() = "Blockscope's C++ part; use the package blockscope instead.";
  module.attr("__version__") = blockscope::versionString();
  blockscope::python::bindPythonLock(module);
  blockscope::python::bindTypes(module);
  blockscope::python::bindTensor(module);
  blockscope::python::bindOpFacts(module);
  blockscope::python::bindSettings(module);
  blockscope::python::bindSemantic(module);
  blockscope::python::bindLanguageFunction(module);
  blockscope::python::bindIrBuilder(module);
  blockscope::python::bindLaunch(module);
  blockscope::python::bindStepRunner(module);
  blockscope::python::bindFindings(module);
  blockscope::python::bindSessions(module);
  blockscope::python::bindTraceSession(module);
  blockscope::python::bindVerifyObservers(module);
  blockscope::python::bindGpuDriver(module);
  blockscope::python::bindGpuCompile(module);
  blockscope::python::bindStorageOverlap(module);
  blockscope::python::bindTorchTypes(module);
  blockscope::python::bindLaunchKey(module);
  blockscope::python::bindUsedValues(module);
  blockscope::python::bindSurroundings(module);
  blockscope::python::bindShortWays(module);
  blockscope::python::bindBoundLaunch(module);
  blockscope::python::bindLauncher(module);
  blockscope::python::bindTunedLauncher(module);
  blockscope::python::bindRepeatedLaunch(module);
}
