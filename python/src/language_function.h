// Binds `_core.LanguageFunction`, a function of the language as kernels call it.
#pragma once

#include <pybind11/pybind11.h>

namespace blockscope::python {

/// `LanguageFunction(function)` calls `function`, but drops the keywords that Triton's builtins
/// hand to each other (`_core.KEYWORDS_FROM_TRITON`), and is a method where a class has it. It is
/// C++ since step mode calls one for nearly every op: the same in Python took a tenth of its time.
void bindLanguageFunction(pybind11::module_ &module);

} // namespace blockscope::python
