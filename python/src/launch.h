// One launch as Python opens it: arguments, what watches it, how it is run.
#pragma once

#include "interpreter/execution_context.h"
#include "interpreter/flat/flat_program.h"
#include "python/src/callback_errors.h"

#include <pybind11/pybind11.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace blockscope::python {

using TextPairs = std::vector<std::pair<std::string, std::string>>;

/// Owned by Python until the launch has run; observers outlive it (their sessions are kept).
struct PyLaunch {
  interpreter::LaunchState state;
  CallbackErrors callbackErrors;
  std::vector<pybind11::object> kept; ///< sessions whose observers are attached
  std::vector<uint64_t> arguments;    ///< of a stepped launch whose program is known
  /// Of a launch that nothing watches, its constants, scalars and options, for the texts of errors.
  std::function<TextPairs()> describe;
};

void bindLaunch(pybind11::module_ &module);
void bindStepRunner(pybind11::module_ &module);
void bindSessions(pybind11::module_ &module);
void bindTraceSession(pybind11::module_ &module);
void bindVerifyObservers(pybind11::module_ &module);

/// A scalar argument as the kernel gets it.
std::string scalarText(DType dtype, uint64_t bits);

/// Opens a launch with the next number, described by texts (constants, scalars, options) or by what
/// gives them when an error asks.
std::unique_ptr<PyLaunch> openLaunch(std::string kernel, std::array<int32_t, 3> grid,
                                     TextPairs metaParameters, bool asserts,
                                     std::function<TextPairs()> describe = {});

/// A tensor: addresses of its first element and of its storage; strides in elements. `address` is
/// that of its first element as kernels see it, where it is a copy; else 0.
interpreter::Allocation makeAllocation(std::string name, std::string dtype, uint64_t view,
                                       uint64_t storage, int64_t storageBytes,
                                       std::vector<int64_t> shape, std::vector<int64_t> strides,
                                       int64_t elementBytes, bool readOnly, uint64_t address = 0);

/// Lets `answer` say how many programs of the kernel a multiprocessor holds, and why: (int, str),
/// or None where it is not known. Called at the end of a launch, at most once, and only by checks.
void answerResidency(PyLaunch &launch, pybind11::function answer);

/// Runs a launch without holding Python's lock. Throws as throwLaunchErrors, and std::runtime_error
/// for a launch that cannot run.
void runProgram(PyLaunch &launch, const interpreter::FlatProgram &program,
                llvm::ArrayRef<uint64_t> bits);

/// Throws what a callback has raised, or blockscope.errors.SanitizerError when the launch recorded
/// errors.
void throwLaunchErrors(PyLaunch &launch);

} // namespace blockscope::python
