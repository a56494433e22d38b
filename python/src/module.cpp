// The extension module blockscope._core.
#include "core/version.h"

#include <pybind11/pybind11.h>

PYBIND11_MODULE(_core, module) {
  module.doc() = "Blockscope's C++ part; use the package blockscope instead.";
  module.attr("__version__") = blockscope::versionString();
}
