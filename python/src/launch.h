// One launch as Python opens it: arguments, what watches it, how it is run.
#pragma once

#include "interpreter/execution_context.h"
#include "python/src/callback_errors.h"

#include <pybind11/pybind11.h>

#include <memory>
#include <vector>

namespace blockscope::python {

/// Owned by Python until the launch has run; observers outlive it (their sessions are kept).
struct PyLaunch {
  interpreter::LaunchState state;
  CallbackErrors callbackErrors;
  std::vector<pybind11::object> kept; ///< sessions whose observers are attached
};

void bindLaunch(pybind11::module_ &module);
void bindStepRunner(pybind11::module_ &module);
void bindSessions(pybind11::module_ &module);
void bindTraceSession(pybind11::module_ &module);
void bindVerifyObservers(pybind11::module_ &module);

/// Throws what a callback has raised, or blockscope.errors.SanitizerError when the launch recorded
/// errors.
void throwLaunchErrors(PyLaunch &launch);

} // namespace blockscope::python
