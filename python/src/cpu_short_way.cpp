// From classified arguments to a flat program that runs.
#include "interpreter/flat/flat_program.h"
#include "interpreter/residency.h"
#include "python/src/launch.h"
#include "python/src/made_once.h"
#include "python/src/short_way.h"
#include "python/src/torch_types.h"
#include "python/src/writable_memory.h"

#include "llvm/ADT/STLExtras.h"

#include <pybind11/stl.h>

#include <memory>

namespace py = pybind11;

namespace blockscope::python {

namespace {

constexpr uint32_t kMostOnGpus = 65535; // programs along y and z

struct Names {
  PyObject *shape = PyUnicode_InternFromString("shape");
  PyObject *stride = PyUnicode_InternFromString("stride");
  PyObject *untypedStorage = PyUnicode_InternFromString("untyped_storage");
  PyObject *dataPtr = PyUnicode_InternFromString("data_ptr");
  PyObject *nbytes = PyUnicode_InternFromString("nbytes");
  PyObject *resizable = PyUnicode_InternFromString("resizable");
  PyObject *isNeg = PyUnicode_InternFromString("is_neg");
};

const Names &names() {
  static constinit MadeOnce<Names> made;
  return made.get();
}

/// Reads a tuple of ints; false, without a Python error, for anything else.
bool readInts(const py::object &tuple, std::vector<int64_t> &result) {
  if (!tuple || !PyTuple_Check(tuple.ptr())) {
    PyErr_Clear();
    return false;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple.ptr()); ++i)
    result.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(tuple.ptr(), i)));
  const bool isGood = !PyErr_Occurred();
  PyErr_Clear();
  return isGood;
}

py::object call(PyObject *object, PyObject *method) {
  PyObject *arguments[] = {object};
  return py::reinterpret_steal<py::object>(
      PyObject_VectorcallMethod(method, arguments, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}

/// Whether a storage may be written. torch does not know it of memory that comes from elsewhere
/// (torch.from_numpy of a np.memmap); what it has allocated itself, it can also resize.
bool isWritableStorage(const py::object &storage, uint64_t begin, uint64_t bytes) {
  const py::object isOwn = call(storage.ptr(), names().resizable);
  if (!isOwn)
    PyErr_Clear();
  return (isOwn && isOwn.ptr() == Py_True) || isWritable(begin, bytes);
}

/// Whether the view's elements lie in its storage, as far as its end is concerned.
bool fitsStorage(const interpreter::Allocation &allocation) {
  int64_t reach = 0;
  for (const auto [size, stride] :
       llvm::zip_equal(allocation.info.shape, allocation.info.strides)) {
    if (size == 0)
      return true;
    reach += std::max<int64_t>(0, (size - 1) * stride);
  }
  return allocation.view &&
         (reach + 1) * allocation.info.elementBytes + allocation.info.storageOffsetBytes <=
             allocation.storageBytes;
}

/// Whether torch negates the elements as it reads them, as of the imaginary part of a conjugate.
bool isNegated(PyObject *tensor) {
  const py::object negated = call(tensor, names().isNeg);
  if (!negated)
    PyErr_Clear();
  return negated.ptr() == Py_True;
}

/// The memory of a torch tensor; nothing, without a Python error, for what Python has to look at:
/// a tensor whose storage was freed, say, or that is negated.
std::optional<interpreter::Allocation> allocationOf(const RunTimeArgument &argument,
                                                    const std::string &name) {
  PyObject *tensor = argument.tensor;
  if (isNegated(tensor))
    return std::nullopt;
  const py::object storage = call(tensor, names().untypedStorage);
  if (!storage) {
    PyErr_Clear();
    return std::nullopt;
  }
  const auto begin = numberFrom(storage.ptr(), names().dataPtr);
  const auto bytes = numberFrom(storage.ptr(), names().nbytes);
  std::vector<int64_t> shape, strides;
  if (!begin || !bytes ||
      !readInts(py::reinterpret_steal<py::object>(PyObject_GetAttr(tensor, names().shape)),
                shape) ||
      !readInts(call(tensor, names().stride), strides) || shape.size() != strides.size())
    return std::nullopt;
  interpreter::Allocation allocation = makeAllocation(
      name, dtypeName(argument.dtype).str(), argument.bits, *begin, static_cast<int64_t>(*bytes),
      std::move(shape), std::move(strides), byteSize(argument.dtype),
      /*readOnly=*/!isWritableStorage(storage, *begin, *bytes));
  return fitsStorage(allocation) ? std::optional(std::move(allocation)) : std::nullopt;
}

class CpuShortWay : public ShortWay {
public:
  CpuShortWay(std::string kernel, std::shared_ptr<interpreter::FlatProgram> program,
              std::vector<std::string> names, bool asserts, py::object programFor,
              py::object describe)
      : ShortWay(Place::Cpu, names.size()), kernel_(std::move(kernel)),
        program_(std::move(program)), names_(std::move(names)), asserts_(asserts),
        programFor_(std::move(programFor)), describe_(std::move(describe)) {}

  Outcome launch(const Grid &grid, const LaunchArguments &arguments) override {
    const bool isWatched = surroundings().isWatched();
    const bool isCrowd = int64_t{grid[0]} * grid[1] * grid[2] > interpreter::kMultiprocessors;
    if (isWatched && (grid[1] > kMostOnGpus || grid[2] > kMostOnGpus ||
                      (isCrowd && program_->memoryUse.mayLoopForever)))
      return Outcome::Unusual; // there is, or may be, something to say of it
    if (isWatched)
      readParameters();
    llvm::SmallVector<uint64_t, 32> bits;
    llvm::SmallVector<std::pair<size_t, interpreter::Allocation>, 8> memory;
    for (const auto &[argument, name] : llvm::zip_equal(arguments.runTime, names_)) {
      if (argument.tensor) {
        auto allocation = allocationOf(argument, name);
        if (!allocation)
          return Outcome::Unusual;
        memory.emplace_back(bits.size(), std::move(*allocation));
      }
      bits.push_back(argument.bits);
    }
    std::unique_ptr<PyLaunch> launch = // now that it happens: launches are counted
        openLaunch(
            kernel_,
            {static_cast<int32_t>(grid[0]), static_cast<int32_t>(grid[1]),
             static_cast<int32_t>(grid[2])},
            isWatched ? parametersOf(arguments) : TextPairs(), asserts_,
            isWatched ? std::function<TextPairs()>() : [this, &arguments] {
              readParameters();
              return parametersOf(arguments);
            });
    for (auto &[position, allocation] : memory)
      bits[position] = launch->state.memory.add(std::move(allocation)).base;
    if (isWatched)
      runWatched(std::move(launch), bits);
    else
      runProgram(*launch, *program_, bits);
    return Outcome::Launched;
  }

  int traverse(visitproc visit, void *arg) const override {
    Py_VISIT(programFor_.ptr());
    Py_VISIT(describe_.ptr());
    return 0;
  }

private:
  void readParameters() {
    if (isDescribed_)
      return;
    parameters_ = describe_().cast<TextPairs>();
    isDescribed_ = true;
  }

  /// Scalars have no text in `parameters_`: each launch has others.
  TextPairs parametersOf(const LaunchArguments &arguments) const {
    TextPairs parameters = parameters_;
    auto scalar = parameters.begin();
    for (const auto &[argument, name] : llvm::zip_equal(arguments.runTime, names_)) {
      if (argument.tensor)
        continue;
      scalar = std::find_if(scalar, parameters.end(),
                            [&name](const auto &each) { return each.first == name; });
      if (scalar == parameters.end())
        break;
      scalar->second = scalarText(argument.dtype, argument.bits);
    }
    return parameters;
  }

  void runWatched(std::unique_ptr<PyLaunch> launch, llvm::ArrayRef<uint64_t> bits) const {
    PyLaunch &running = *launch;
    const py::object object = py::cast(std::move(launch)); // observers may keep it
    const auto begin = py::reinterpret_borrow<py::object>(surroundings().beginWatched());
    const auto end = py::reinterpret_borrow<py::object>(surroundings().endWatched());
    const py::object watched = begin(object);
    try {
      std::shared_ptr<interpreter::FlatProgram> program = program_;
      const interpreter::RunNeeds &needs = running.state.observers.plan().only;
      if (needs.values || needs.claims)
        program = programFor_(object).cast<std::shared_ptr<interpreter::FlatProgram>>();
      runProgram(running, *program, bits);
    } catch (...) {
      end(watched, /*failed=*/true);
      throw;
    }
    end(watched, /*failed=*/false);
  }

  std::string kernel_;
  std::shared_ptr<interpreter::FlatProgram> program_;
  std::vector<std::string> names_; ///< of the run-time arguments
  bool asserts_;
  py::object programFor_, describe_;
  bool isDescribed_ = false;
  TextPairs parameters_; ///< constants, scalars (without a text) and options
};

} // namespace

void bindCpuShortWay(py::module_ &module) {
  module.def("is_writable", isWritable, py::arg("begin"), py::arg("bytes"),
             "Whether a store to memory at an address does not end the process.");
  py::class_<CpuShortWay, ShortWay, std::shared_ptr<CpuShortWay>>(module, "CpuShortWay")
      .def(py::init<std::string, std::shared_ptr<interpreter::FlatProgram>,
                    std::vector<std::string>, bool, py::function, py::function>(),
           py::kw_only(), py::arg("kernel"), py::arg("program"), py::arg("names"),
           py::arg("asserts"), py::arg("program_for"), py::arg("describe"),
           "A flat program. `names` are those of its run-time arguments. While a check or a trace "
           "is open, `program_for(launch)` gives the program in the form that it needs, and "
           "`describe()` its constants and options as pairs of texts.");
}

} // namespace blockscope::python
