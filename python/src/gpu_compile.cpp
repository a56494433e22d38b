// Binds the GPU compiler: a kernel's block IR in, what GpuKernel holds out, as a dict that the
// cache on disk can keep.
#include "core/passes/passes.h"
#include "gpu_backend/compile.h"
#include "gpu_backend/gpu_device.h"
#include "gpu_backend/kernel_names.h"
#include "python/src/findings.h"
#include "python/src/gpu_driver.h"
#include "python/src/ir_builder.h"
#include "python/src/memory_plan.h"
#include "python/src/python_lock.h"

#include <pybind11/stl.h>

#include <unistd.h>

namespace py = pybind11;

namespace blockscope::python {

namespace {

/// The row of the table of targets.
py::dict asDict(const GpuTarget &target) {
  const Multiprocessor &processor = target.multiprocessor;
  py::list features;
#define BLK_GPU_FEATURE(field, name)                                                               \
  if (target.field)                                                                                \
    features.append(name);
#include "gpu_backend/gpu_features.def"
#undef BLK_GPU_FEATURE
  py::dict result;
  result["arch"] = target.arch.str();
  result["capability"] = target.capability;
  result["features"] = features;
  result["shared_bytes"] = target.sharedBytes();
  result["reserved_shared_bytes"] = GpuTarget::kReservedSharedBytes;
  result["registers"] = processor.registers;
  result["thread_registers"] = GpuTarget::kThreadRegisters;
  result["register_unit"] = processor.registerUnit;
  result["warp_unit"] = processor.warpUnit;
  result["warps"] = processor.warps;
  result["ctas"] = processor.ctas;
  result["vector_operations"] = processor.vectorOperations;
  result["matrix_operations"] = processor.matrixOperations;
  return result;
}

GpuTarget targetNamed(const std::string &arch) {
  std::string error;
  const std::optional<GpuTarget> target = GpuTarget::parse(arch, &error);
  if (!target)
    throw py::value_error(error);
  return *target;
}

GpuOptions optionsFrom(const py::dict &options) {
  GpuOptions result;
  for (const auto &[key, value] : options) {
    const auto name = key.cast<std::string>();
    if (name == "num_warps")
      result.numWarps = value.cast<int>();
    else if (name == "num_stages")
      result.numStages = value.cast<int>();
    else if (name == "ptx_version")
      result.ptxVersion = value.cast<int>();
    else if (name == "num_ctas")
      result.numCtas = value.cast<int>();
    else if (name == "maxnreg")
      result.maxRegisters = value.cast<std::optional<int>>();
    else if (name == "enable_fp_fusion")
      result.enableFpFusion = value.cast<bool>();
    else if (name == "debug")
      result.debug = value.cast<bool>();
    else if (name == "line_info")
      result.lineInfo = value.cast<bool>();
    else if (name == "tma")
      result.tma = value.cast<bool>();
    else if (name == "may_overlap")
      result.mayOverlap = value.cast<bool>();
    else if (name == "known_disjoint")
      result.knownDisjoint = value.cast<std::vector<std::pair<int, int>>>();
    else if (name == "may_be_negative")
      result.mayBeNegative = value.cast<bool>();
    else if (name == "dump_dir")
      result.dumpDir = value.cast<std::string>();
    else if (name == "pass_pipeline")
      result.passPipeline = value.cast<std::string>();
    else if (name == "dump_passes")
      result.dumpPasses = value.cast<std::string>();
    else if (name == "dump_llvm")
      result.dumpLlvm = value.cast<bool>();
    else if (name == "ptxas_path")
      result.ptxasPath = value.cast<std::string>();
    else if (name == "ptxas_options")
      result.ptxasOptions = value.cast<std::string>();
    else if (name == "ptxas_seconds")
      result.ptxasSeconds = value.cast<int>();
    else if (name == "libdevice_path")
      result.libdevicePath = value.cast<std::string>();
    else
      throw py::type_error("unknown option '" + name + "' of the GPU compiler");
  }
  for (char **variable = environ; variable && *variable; ++variable)
    result.environment.emplace_back(*variable);
  return result;
}

py::dict siteAsDict(const DebugSite &site) {
  py::list values;
  for (const DType dtype : site.values)
    values.append(dtypeName(dtype).str());
  py::dict result;
  result["is_assert"] = site.isAssert;
  result["text"] = site.text;
  result["file"] = site.location.file;
  result["line"] = site.location.line;
  result["function"] = site.location.function;
  result["values"] = values;
  result["shape"] = site.shape;
  result["hex"] = site.hex;
  return result;
}

/// A device, with the peaks as (unit, dtype, flops per second).
py::dict asDict(const GpuDevice &device) {
  py::list peaks;
  for (const GpuPeak &peak : device.peaks)
    peaks.append(py::make_tuple(peak.isTensor ? "tensor" : "vector", peak.dtype.str(),
                                static_cast<int64_t>(peak.teraflops * 1e12)));
  py::dict result;
  result["name"] = device.name.str();
  result["alias"] = device.alias.str();
  result["arch"] = device.arch.str();
  result["bytes_per_second"] = static_cast<int64_t>(device.gigabytesPerSecond * 1e9);
  result["peaks"] = peaks;
  return result;
}

py::dict asDict(const GpuKernel &kernel) {
  py::dict result;
  result["name"] = kernel.name;
  result["tl"] = kernel.tl;
  result["tlg"] = kernel.tlg;
  result["llir"] = kernel.llir;
  result["ptx"] = kernel.ptx;
  result["plan"] = kernel.plan;
  result["cubin"] = py::bytes(kernel.cubin);
  result["arch"] = kernel.target.arch.str();
  result["num_warps"] = kernel.numWarps;
  result["num_ctas"] = kernel.numCtas;
  result["shared"] = kernel.sharedBytes;
  result["registers"] = kernel.registers;
  result["spill_bytes"] = kernel.spillBytes;
  result["global_scratch_size"] = kernel.globalScratchBytes;
  result["global_scratch_align"] = kernel.globalScratchAlign;
  result["takes_debug_buffer"] = kernel.takesDebugBuffer;
  py::list maps;
  for (const TensorMap &map : kernel.tensorMaps) {
    using namespace py::literals;
    maps.append(py::dict("element_bytes"_a = map.elementBytes, "swizzle_bytes"_a = map.swizzleBytes,
                         "box"_a = map.box, "base"_a = map.base, "sizes"_a = map.sizes,
                         "strides"_a = map.strides));
  }
  result["tensor_maps"] = maps;
  result["disjoint"] = kernel.disjoint;
  result["at_least"] = kernel.atLeast;
  py::list sites;
  for (const DebugSite &site : kernel.debugSites)
    sites.append(siteAsDict(site));
  result["debug_sites"] = sites;
  py::list times;
  for (const StageTime &time : kernel.times)
    times.append(py::make_tuple(time.stage, time.elapsedNs));
  result["times"] = times;
  result["warnings"] = kernel.warnings;
  result["notes"] = findingDicts(kernel.notes);
  result["memory_plan"] = memoryPlanRows(kernel.memory);
  return result;
}

constexpr int32_t kIsOne = -1; ///< IS_ONE of runtime/alignment.py

/// Runs the passes of the block IR and returns its text, which is what a compiled kernel depends
/// on.
std::string simplify(PyIrBuilder &builder, const py::list &divisors, bool withLocations) {
  builder.throwErrors();
  for (size_t i = 0; i < divisors.size(); ++i)
    if (const auto divisor = divisors[i].cast<int32_t>(); divisor == kIsOne)
      builder.emitter.setOne(static_cast<unsigned>(i));
    else if (divisor != 1)
      builder.emitter.setDivisibility(static_cast<unsigned>(i), divisor);
  std::string failure;
  if (!builder.emitter.verify(&failure) || !runPasses(builder.emitter, &failure))
    throw std::runtime_error("the block IR is not valid (this is a mistake in blockscope):\n" +
                             failure + "\n" + builder.emitter.text());
  return builder.emitter.text(withLocations);
}

/// Whether a signal, Ctrl-C say, has raised an exception on this thread, or Python ends.
bool isInterrupted() {
  if (isPythonEnding())
    return true;
  const LockPython lock;
  return PyErr_CheckSignals() != 0;
}

/// Returns (result, None) or (None, text of the error): Python gives the error its class.
py::tuple compile(PyIrBuilder &builder, const std::string &arch, const py::dict &options) {
  const GpuTarget target = targetNamed(arch);
  GpuOptions chosen = optionsFrom(options);
  chosen.isInterrupted = isInterrupted;
  std::unique_ptr<GpuKernel> kernel;
  std::string error;
  {
    const UnlockPython others;
    kernel = compileForGpu(builder.emitter, target, chosen, &error);
  }
  if (PyErr_Occurred())
    throw py::error_already_set();
  if (!kernel)
    return py::make_tuple(py::none(), error);
  return py::make_tuple(asDict(*kernel), py::none());
}

} // namespace

void bindGpuCompile(py::module_ &module) {
  py::module_ gpu = module.attr("gpu").cast<py::module_>();
  gpu.def("simplify", &simplify);
  gpu.def("compile", &compile);
  gpu.def("lowered_ops", &gpuOps);
  gpu.def("file_stem", [](const std::string &name) { return gpu::fileStem(name); });
  gpu.def("targets", [] {
    py::list rows;
    for (const GpuTarget &target : GpuTarget::all())
      rows.append(asDict(target));
    return rows;
  });
  gpu.def("devices", [] {
    py::list rows;
    for (const GpuDevice &device : GpuDevice::all())
      rows.append(asDict(device));
    return rows;
  });
  gpu.def("target_named", [](const std::string &arch) { return asDict(targetNamed(arch)); });
  gpu.def("target_of_capability", [](int capability) {
    std::string error;
    const std::optional<GpuTarget> target = GpuTarget::ofCapability(capability, &error);
    if (!target)
      throw std::runtime_error(error);
    return asDict(*target);
  });
}

} // namespace blockscope::python
