// From classified arguments to cuLaunchKernelEx.
#include "python/src/gpu_driver.h"
#include "python/src/short_way.h"
#include "python/src/storage_overlap.h"
#include "python/src/torch_types.h"

#include "llvm/Support/MathExtras.h"

#include <pybind11/stl.h>

#include <array>
#include <memory>

namespace py = pybind11;

namespace blockscope::python {

namespace {

/// Numbers of integer arguments, with their widths in bits and what they are at least.
using LeastArguments = std::vector<std::array<int, 3>>;

class GpuShortWay : public ShortWay {
public:
  GpuShortWay(py::object handle, size_t argumentCount, ArgumentPairs disjoint,
              LeastArguments atLeast, py::object scratch)
      : ShortWay(Place::Gpu, argumentCount), handle_(std::move(handle)),
        kernel_(loadedKernelOf(handle_.ptr())), disjoint_(std::move(disjoint)),
        atLeast_(std::move(atLeast)),
        scratch_(scratch.is_none() ? py::object() : std::move(scratch)) {
    if (!kernel_)
      throw py::type_error("'handle' is no loaded kernel");
  }

  Outcome launch(const Grid &grid, const LaunchArguments &arguments) override {
    llvm::SmallVector<uint64_t, 32> bits;
    for (const RunTimeArgument &argument : arguments.runTime)
      bits.push_back(argument.bits);
    const LoadedKernel *kernel = kernelFor(arguments);
    uint64_t stream = 0;
    if (!kernel || !currentStream(kernel->device(), stream))
      return Outcome::Failed;
    py::object memory;
    if (scratch_) {
      memory = py::reinterpret_steal<py::object>(
          PyObject_CallFunction(scratch_.ptr(), "((III)K)", grid[0], grid[1], grid[2], stream));
      const auto address = memory ? py::reinterpret_steal<py::object>(
                                        PyObject_CallMethod(memory.ptr(), "data_ptr", nullptr))
                                  : py::object();
      if (!address)
        return Outcome::Failed;
      bits.push_back(PyLong_AsUnsignedLongLongMask(address.ptr()));
    }
    return launchOnGpu(*kernel, grid, bits.data(), static_cast<int>(bits.size()), stream)
               ? Outcome::Launched
               : Outcome::Failed;
  }

  int traverse(visitproc visit, void *arg) const override {
    Py_VISIT(handle_.ptr());
    Py_VISIT(scratch_.ptr());
    return 0;
  }

private:
  bool areTooSmall(const LaunchArguments &arguments) const {
    return llvm::any_of(atLeast_, [&](const auto &argument) {
      const auto [number, width, least] = argument;
      return llvm::SignExtend64(arguments.runTime[number].bits, width) < least;
    });
  }

  /// Null where it cannot be made.
  const LoadedKernel *kernelFor(const LaunchArguments &arguments) const {
    if (areTooSmall(arguments))
      return carefulKernel(*kernel_);
    if (disjoint_.empty())
      return kernel_;
    llvm::SmallVector<PyObject *, 32> owners;
    for (const RunTimeArgument &argument : arguments.runTime)
      owners.push_back(argument.owner);
    const ArgumentPairs pairs = overlapping(disjoint_, owners.data(), owners.size());
    return pairs.empty() ? kernel_ : carefulKernel(*kernel_, pairs);
  }

  py::object handle_; ///< keeps the kernel
  const LoadedKernel *kernel_;
  ArgumentPairs disjoint_; ///< arguments that must not overlap, else another kernel is launched
  LeastArguments atLeast_; ///< nor be smaller
  py::object scratch_;     ///< a function of (grid, stream) that gives memory, or null
};

} // namespace

void bindGpuShortWay(py::module_ &module) {
  py::class_<GpuShortWay, ShortWay, std::shared_ptr<GpuShortWay>>(module, "GpuShortWay")
      .def(py::init<py::object, size_t, ArgumentPairs, LeastArguments, py::object>(), py::kw_only(),
           py::arg("handle"), py::arg("argument_count"), py::arg("disjoint"), py::arg("at_least"),
           py::arg("scratch"),
           "A kernel loaded on one GPU. Of the pairs `disjoint` of run-time arguments none may "
           "overlap, and the integers `at_least` (number, width, value) must be so much, else "
           "handle's careful kernel for that is launched. `scratch(grid, stream)` gives a tensor "
           "that the kernel takes as its last argument; None without.");
}

} // namespace blockscope::python
