// Binds the GPU driver: devices, loading kernels, launching them, copies. Errors of launches.
#include "python/src/gpu_driver.h"

#include "core/no_fork.h"
#include "core/settings.h"
#include "gpu_backend/driver/capture.h"
#include "gpu_backend/driver/devices.h"
#include "python/src/made_once.h"
#include "python/src/python_lock.h"

#include <pybind11/stl.h>

#include <atomic>
#include <cstdlib>
#include <pthread.h>
#include <unordered_map>

namespace py = pybind11;

namespace blockscope::python {

namespace {

/// What was launched last, for the report of an error that shows up later.
struct RecentLaunch {
  const LoadedKernel *kernel = nullptr; ///< null once it is gone
  std::array<uint32_t, 3> grid = {};
  std::string name; ///< of a kernel that is gone
};
constexpr size_t kRecentCount = 4;
RecentLaunch recentLaunches[kRecentCount]; // guarded by Python's lock
size_t launchCount = 0;

std::string launchText(const std::string &name, const std::array<uint32_t, 3> &grid) {
  return "'" + name + "' on grid (" + std::to_string(grid[0]) + ", " + std::to_string(grid[1]) +
         ", " + std::to_string(grid[2]) + ")";
}

/// Errors of a kernel that ran before: after one of them the context is lost.
bool isLeftByAKernel(CUresult result) {
  switch (static_cast<int>(result)) {
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_MISALIGNED_ADDRESS:
  case CUDA_ERROR_INVALID_ADDRESS_SPACE:
  case CUDA_ERROR_INVALID_PC:
  case CUDA_ERROR_ILLEGAL_INSTRUCTION:
  case CUDA_ERROR_HARDWARE_STACK_ERROR:
  case CUDA_ERROR_LAUNCH_FAILED:
  case CUDA_ERROR_LAUNCH_TIMEOUT:
  case CUDA_ERROR_ASSERT:
    return true;
  default:
    return false;
  }
}

constexpr const char *kCheckHint = "\n  hint: 'blockscope check --checks asan FILE' runs the same "
                                   "launches on the CPU and names the line";

void setLaunchError(const std::string &text) {
  py::object type = py::module_::import("blockscope.errors").attr("LaunchError");
  PyErr_SetObject(type.ptr(), py::str(text).ptr());
}

/// The last launches, the newest first, without the newest `skipped`.
std::vector<std::string> launchesBefore(size_t skipped) {
  std::vector<std::string> texts;
  for (size_t back = skipped + 1; back <= kRecentCount && back <= launchCount; ++back) {
    const RecentLaunch &launch = recentLaunches[(launchCount - back) % kRecentCount];
    texts.push_back(launchText(launch.kernel ? launch.kernel->name() : launch.name, launch.grid));
  }
  return texts;
}

void reportLaunch(CUresult result, const LoadedKernel &kernel,
                  const std::array<uint32_t, 3> &grid) {
  const std::string place = " on GPU " + std::to_string(kernel.device());
  if (!isLeftByAKernel(result)) {
    setLaunchError("kernel " + launchText(kernel.name(), grid) + " with " +
                   std::to_string(kernel.numWarps()) + " warps cannot be launched" + place + ": " +
                   describeCudaError(result));
    return;
  }
  std::string before;
  for (const std::string &launch : launchesBefore(1))
    before += (before.empty() ? "" : ", ") + launch;
  setLaunchError("a kernel failed" + place + ": " + describeCudaError(result) +
                 "\n  found by: the launch of " + launchText(kernel.name(), grid) +
                 "\n  launched before it: " +
                 (before.empty() ? "no kernel of blockscope" : before) + kCheckHint);
}

bool waitsForLaunches() {
  static constinit MadeOnce<bool> made;
  return made.get([] {
    const char *blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
    return flagOf(Setting::Sync) || (blocking && *blocking && *blocking != '0');
  });
}

bool isCapturing(uint64_t stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cudaApi()->cuStreamIsCapturing(reinterpret_cast<CUstream>(stream), &status);
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

CUresult waitFor(const LoadedKernel &kernel, uint64_t stream) {
  const ContextScope scope(kernel.device());
  if (isCapturing(stream))
    return CUDA_SUCCESS;
  return cudaApi()->cuStreamSynchronize(reinterpret_cast<CUstream>(stream));
}

void throwCuda(CUresult result, const std::string &what) {
  if (result == CUDA_SUCCESS)
    return;
  setLaunchError(what + ": " + describeCudaError(result) +
                 (isLeftByAKernel(result) ? kCheckHint : ""));
  throw py::error_already_set();
}

constexpr char kForked[] =
    "CUDA was started before this process was forked, and does not work in it: start processes by "
    "'spawn' or 'forkserver', or before the first launch";

std::atomic<bool> isDriverStarted{false};
std::atomic<bool> isDriverOfParent{false};

void noteFork() { isDriverOfParent = isDriverStarted && !gpuDevices().empty(); }

/// Starts the driver, which may take a second: no thread waits for it with Python's lock held.
/// Returns false in a forked child whose parent has started it: there is no second start.
bool startDriver() {
  if (!isDriverStarted) {
    const UnlockPython others;
    const NoFork whole;
    gpuDevices();
    isDriverStarted = true;
  }
  return !isDriverOfParent;
}

const CudaApi &requireApi() {
  if (!startDriver())
    throw std::runtime_error(kForked);
  std::string error;
  const CudaApi *api = cudaApi(&error);
  if (!api)
    throw std::runtime_error(error);
  return *api;
}

py::dict propertiesOf(int ordinal) {
  startDriver();
  std::string error;
  const auto &devices = gpuDevices(&error);
  if (ordinal < 0 || static_cast<size_t>(ordinal) >= devices.size())
    throw std::runtime_error(error.empty() ? "there is no GPU " + std::to_string(ordinal) : error);
  const DeviceInfo &info = devices[ordinal];
  py::dict result;
  result["name"] = info.name;
  result["capability"] = info.capability;
  result["max_shared_mem"] = info.maxSharedBytes;
  result["shared_mem_per_multiprocessor"] = info.sharedBytesPerMultiprocessor;
  result["max_num_regs"] = info.registersPerCta;
  result["multiprocessor_count"] = info.multiprocessors;
  result["warpSize"] = info.warpSize;
  result["max_threads_per_sm"] = info.maxThreadsPerMultiprocessor;
  result["max_threads_per_block"] = info.maxThreadsPerCta;
  result["sm_clock_rate"] = info.clockKhz;
  result["mem_clock_rate"] = info.memoryClockKhz;
  result["mem_bus_width"] = info.memoryBusBits;
  result["l2_cache_size"] = info.l2CacheBytes;
  result["total_memory"] = info.memoryBytes;
  return result;
}

/// What is launched where a kernel does not fit the arguments: `make` gives it once for each set of
/// pairs that overlap. There are few.
struct CarefulKernels {
  py::object make;
  std::vector<std::pair<ArgumentPairs, py::object>> made = {};

  const LoadedKernel *find(const ArgumentPairs &pairs) const {
    for (const auto &[known, handle] : made)
      if (known == pairs)
        return loadedKernelOf(handle.ptr());
    return nullptr;
  }
};

/// By kernel; guarded by Python's lock.
std::unordered_map<const LoadedKernel *, CarefulKernels> &carefulKernels() {
  static constinit MadeOnce<std::unordered_map<const LoadedKernel *, CarefulKernels>> all;
  return all.get();
}

/// Ends a kernel that no Python object holds any more.
void forgetKernel(const LoadedKernel *kernel) {
  for (RecentLaunch &launch : recentLaunches)
    if (launch.kernel == kernel)
      launch = {nullptr, launch.grid, kernel->name()};
  const auto careful = carefulKernels().extract(kernel); // freed last: it may hold kernels too
  delete kernel;
}

std::vector<TensorMap> tensorMapsFrom(const py::list &maps) {
  std::vector<TensorMap> result;
  for (const py::handle map : maps)
    result.push_back({map["element_bytes"].cast<int>(), map["swizzle_bytes"].cast<int>(),
                      map["box"].cast<std::vector<int64_t>>(), map["base"].cast<std::string>(),
                      map["sizes"].cast<std::vector<std::string>>(),
                      map["strides"].cast<std::vector<std::string>>()});
  return result;
}

/// Loads a kernel. Errors: OutOfResources, or LaunchError.
PyGpuKernel loadKernel(std::string name, const py::bytes &binary, int device, int numWarps,
                       int numCtas, int sharedBytes, bool cooperative, bool programmaticDependent,
                       const py::list &tensorMaps, const py::object &makeCareful) {
  KernelImage image{
      std::move(name),       std::string(binary),       numWarps, numCtas, sharedBytes, cooperative,
      programmaticDependent, tensorMapsFrom(tensorMaps)};
  LoadFailure failure;
  std::unique_ptr<LoadedKernel> kernel;
  {
    const UnlockPython others;
    kernel = LoadedKernel::load(std::move(image), device, failure);
  }
  if (!kernel && failure.resource.empty()) {
    setLaunchError(failure.text);
    throw py::error_already_set();
  }
  if (!kernel) {
    py::object type = py::module_::import("blockscope.errors").attr("OutOfResources");
    py::object error = type(failure.required, failure.limit, failure.resource);
    PyErr_SetObject(type.ptr(), error.ptr());
    throw py::error_already_set();
  }
  if (!makeCareful.is_none())
    carefulKernels()[kernel.get()] = {makeCareful};
  return {std::shared_ptr<const LoadedKernel>(kernel.release(), &forgetKernel)};
}

/// The driver's addresses of the code, module and function. Errors: LaunchError.
std::pair<uint64_t, uint64_t> addressesOf(const PyGpuKernel &self) {
  std::pair<uint64_t, uint64_t> addresses;
  CUresult result;
  {
    const UnlockPython others;
    result = self.kernel->addresses(addresses.first, addresses.second);
  }
  throwCuda(result, "kernel '" + self.kernel->name() + "' cannot be loaded again");
  return addresses;
}

void launchFromPython(const PyGpuKernel &self, std::array<uint32_t, 3> grid,
                      std::vector<uint64_t> bits, uint64_t stream) {
  if (!launchOnGpu(*self.kernel, grid, bits.data(), static_cast<int>(bits.size()), stream))
    throw py::error_already_set();
}

/// Calls the driver in the context of a device; it may wait for the GPU.
template <typename Call> CUresult inContext(int device, Call call) {
  const UnlockPython others(UnlockPython::AtExit::LeaveAlone);
  const ContextScope scope(device);
  return scope.result() == CUDA_SUCCESS ? call() : scope.result();
}

/// Memory of the host that the GPU reaches too: what a kernel writes is there even if it traps. It
/// can be had and given back during a capture.
struct HostBuffer {
  HostBuffer(int device, size_t sizeBytes) : device(device), sizeBytes(sizeBytes) {
    const CudaApi &api = requireApi();
    CUdeviceptr pointer = 0;
    const CUresult result = inContext(device, [&] {
      const BesideCaptures beside;
      const CUresult made = api.cuMemHostAlloc(&memory, sizeBytes, CU_MEMHOSTALLOC_DEVICEMAP);
      return made == CUDA_SUCCESS ? api.cuMemHostGetDevicePointer(&pointer, memory, 0) : made;
    });
    throwCuda(result, "a buffer of " + std::to_string(sizeBytes) + " bytes cannot be allocated");
    address = pointer;
  }
  ~HostBuffer() {
    if (!memory)
      return;
    const ContextScope scope(device);
    const BesideCaptures beside;
    cudaApi()->cuMemFreeHost(memory);
  }
  HostBuffer(const HostBuffer &) = delete;
  HostBuffer &operator=(const HostBuffer &) = delete;

  int device;
  size_t sizeBytes;
  void *memory = nullptr;
  uint64_t address = 0;
};

void bindMemory(py::module_ &gpu) {
  py::class_<HostBuffer>(gpu, "HostBuffer")
      .def(py::init<int, size_t>())
      .def_readonly("address", &HostBuffer::address)
      .def_property_readonly("bytes", [](const HostBuffer &self) {
        return py::memoryview::from_memory(self.memory, static_cast<py::ssize_t>(self.sizeBytes),
                                           /*readonly=*/false);
      });
  gpu.def("device_of_address", [](uint64_t address) -> py::object {
    uint64_t pointer = 0;
    const int device = startDriver() ? deviceOfAddress(address, pointer) : -1;
    return device < 0 ? py::object(py::none()) : py::make_tuple(device, pointer);
  });
  gpu.def("copy_to_host", [](uint64_t host, uint64_t address, size_t sizeBytes, int device) {
    const CudaApi &api = requireApi();
    throwCuda(inContext(device,
                        [&] {
                          return api.cuMemcpyDtoH(reinterpret_cast<void *>(host), address,
                                                  sizeBytes);
                        }),
              "a copy of " + std::to_string(sizeBytes) + " bytes from the GPU failed");
  });
  gpu.def("copy_to_device", [](uint64_t address, uint64_t host, size_t sizeBytes, int device) {
    const CudaApi &api = requireApi();
    throwCuda(inContext(device,
                        [&] {
                          return api.cuMemcpyHtoD(address, reinterpret_cast<void *>(host),
                                                  sizeBytes);
                        }),
              "a copy of " + std::to_string(sizeBytes) + " bytes to the GPU failed");
  });
  gpu.def("allocate", [](size_t sizeBytes, int device) {
    const CudaApi &api = requireApi();
    CUdeviceptr address = 0;
    throwCuda(inContext(device, [&] { return api.cuMemAlloc(&address, sizeBytes); }),
              std::to_string(sizeBytes) + " bytes of GPU memory cannot be allocated");
    return static_cast<uint64_t>(address);
  });
  gpu.def("free", [](uint64_t address, int device) {
    const CudaApi &api = requireApi();
    inContext(device, [&] { return api.cuMemFree(address); });
  });
}

} // namespace

const LoadedKernel *loadedKernelOf(PyObject *object) {
  return py::isinstance<PyGpuKernel>(object)
             ? py::cast<const PyGpuKernel &>(py::handle(object)).kernel.get()
             : nullptr;
}

const LoadedKernel *carefulKernel(const LoadedKernel &kernel, const ArgumentPairs &pairs) {
  const auto found = carefulKernels().find(&kernel);
  if (found == carefulKernels().end()) {
    setLaunchError("kernel '" + kernel.name() + "' has tensors that it cannot be launched for");
    return nullptr;
  }
  if (const LoadedKernel *known = found->second.find(pairs))
    return known;
  const py::object make = found->second.make; // others may change the map meanwhile
  const auto made =
      py::reinterpret_steal<py::object>(PyObject_CallOneArg(make.ptr(), py::cast(pairs).ptr()));
  if (!made)
    return nullptr;
  carefulKernels()[&kernel].made.emplace_back(pairs, made);
  return loadedKernelOf(made.ptr());
}

bool launchOnGpu(const LoadedKernel &kernel, const std::array<uint32_t, 3> &grid,
                 uint64_t *arguments, int count, uint64_t stream) {
  if (isDriverOfParent) {
    setLaunchError(kForked);
    return false;
  }
  RecentLaunch &recent = recentLaunches[launchCount++ % kRecentCount];
  recent.kernel = &kernel;
  recent.grid = grid;
  const bool waits = waitsForLaunches();
  using enum UnlockPython::AtExit;
  CUresult result;
  {
    const UnlockPython others(waits ? LeaveAlone : WaitFor);
    result = kernel.launch(grid, arguments, count, reinterpret_cast<CUstream>(stream));
    if (result == CUDA_SUCCESS && waits)
      result = waitFor(kernel, stream);
  }
  if (result == CUDA_SUCCESS)
    return true;
  if (result == kNoTensorMap) {
    const LoadedKernel *other = carefulKernel(kernel);
    return other && launchOnGpu(*other, grid, arguments, count, stream);
  }
  reportLaunch(result, kernel, grid);
  return false;
}

void bindGpuDriver(py::module_ &module) {
  pthread_atfork(nullptr, nullptr, noteFork);
  py::module_ gpu = module.def_submodule("gpu");
  gpu.def("why_unavailable", []() -> py::object {
    if (!startDriver())
      return py::str(kForked);
    std::string error;
    return gpuDevices(&error).empty() ? py::object(py::str(error)) : py::none();
  });
  gpu.def("driver_version", [] { return requireApi().driverVersion; });
  gpu.def("recent_launches", [] { return launchesBefore(0); });
  gpu.def("device_count", [] {
    startDriver();
    return gpuDevices().size();
  });
  gpu.def("device_properties", &propertiesOf);
  gpu.def("current_device", [] {
    CUdevice device = 0;
    if (isDriverOfParent) // launches on the CPU ask, too
      return 0;
    // Ask for the context first: without one cuCtxGetDevice fails, and compute-sanitizer counts
    // each call that fails as an error of the program.
    const CudaApi &api = requireApi();
    CUcontext current = nullptr;
    if (api.cuCtxGetCurrent(&current) != CUDA_SUCCESS || current == nullptr)
      return 0;
    return api.cuCtxGetDevice(&device) == CUDA_SUCCESS ? static_cast<int>(device) : 0;
  });
  gpu.def("is_capturing", &isCapturing);
  gpu.def("synchronize", [](int device, uint64_t stream) {
    const CudaApi &api = requireApi();
    const CUresult result = inContext(
        device, [&] { return api.cuStreamSynchronize(reinterpret_cast<CUstream>(stream)); });
    throwCuda(result, "waiting for GPU " + std::to_string(device));
  });
  py::class_<PyGpuKernel>(gpu, "Kernel")
      .def_property_readonly("name", [](const PyGpuKernel &k) { return k.kernel->name(); })
      .def_property_readonly("device", [](const PyGpuKernel &k) { return k.kernel->device(); })
      .def_property_readonly("n_regs", [](const PyGpuKernel &k) { return k.kernel->registers(); })
      .def_property_readonly("local_bytes",
                             [](const PyGpuKernel &k) { return k.kernel->localBytes(); })
      .def_property_readonly("max_threads",
                             [](const PyGpuKernel &k) { return k.kernel->maxThreads(); })
      .def_property_readonly("module", [](const PyGpuKernel &k) { return addressesOf(k).first; })
      .def_property_readonly("function", [](const PyGpuKernel &k) { return addressesOf(k).second; })
      .def("launch", &launchFromPython, py::arg("grid"), py::arg("bits"), py::arg("stream") = 0);
  gpu.def("module_limit", &moduleLimit);
  gpu.def("set_module_limit", &setModuleLimit);
  gpu.def("loaded_modules", [](int device) {
    requireApi();
    return loadedModules(device);
  });
  gpu.def("load", &loadKernel, py::arg("name"), py::arg("binary"), py::arg("device"),
          py::arg("num_warps") = 4, py::arg("num_ctas") = 1, py::arg("shared_bytes") = 0,
          py::arg("cooperative") = false, py::arg("programmatic_dependent") = false,
          py::arg("tensor_maps") = py::list(), py::arg("careful") = py::none());
  bindMemory(gpu);
}

} // namespace blockscope::python
