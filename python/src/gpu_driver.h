// GPU kernels as Python holds them, and the errors of launches.
#pragma once

#include "gpu_backend/driver/loaded_kernel.h"
#include "python/src/storage_overlap.h"

#include <pybind11/pybind11.h>

#include <memory>

namespace blockscope::python {

/// A loaded kernel. Who launches it holds the Python object while it does.
struct PyGpuKernel {
  std::shared_ptr<const LoadedKernel> kernel;
};

/// Launches without holding Python's lock, and waits if BLOCKSCOPE_SYNC or CUDA_LAUNCH_BLOCKING is
/// set and the stream is not being captured. `arguments` are 8-byte cells, as in LoadedKernel.
///
/// Errors: false, with blockscope.errors.LaunchError set.
bool launchOnGpu(const LoadedKernel &kernel, const std::array<uint32_t, 3> &grid,
                 uint64_t *arguments, int count, uint64_t stream);

/// The compilation of a kernel for launches of which these pairs of arguments overlap, or, without
/// pairs, that relies on nothing about arguments: without TMA, and for any that overlap or are
/// small. It is made when it is first asked for.
///
/// Errors: null, with Python's error set.
const LoadedKernel *carefulKernel(const LoadedKernel &kernel, const ArgumentPairs &pairs = {});

/// Returns the LoadedKernel of a Python object that is a `_core.gpu.Kernel`, else null.
const LoadedKernel *loadedKernelOf(PyObject *object);

void bindGpuDriver(pybind11::module_ &module);
void bindGpuCompile(pybind11::module_ &module);

} // namespace blockscope::python
