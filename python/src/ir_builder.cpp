// Binds the IR emitter for the front end: positions, control flow, and what comes out.
#include "python/src/ir_builder.h"

#include "core/ir/ir_emitter.h"
#include "core/passes/passes.h"
#include "interpreter/flat/flat_text.h"
#include "python/src/current_emitter.h"
#include "python/src/tensor.h"

#include "llvm/ADT/STLExtras.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace blockscope::python {

PyIrBuilder::PyIrBuilder(bool checksOverflow, bool hasPayloads)
    : checksOverflow(checksOverflow), hasPayloads(hasPayloads),
      emitter([this](llvm::StringRef message) { errors += message.str() + "\n"; }) {}

void PyIrBuilder::setLocation(std::string file, int line, int column, std::string function) {
  throwErrors();
  if ((files.empty() || files.back() != file) && !llvm::is_contained(files, file))
    files.push_back(file);
  location = std::make_shared<SourceLocation>();
  location->file = std::move(file);
  location->line = line;
  location->column = column;
  location->function = std::move(function);
  location->caller = calls.empty() ? nullptr : calls.back();
  emitter.setLocation(*location);
}

void PyIrBuilder::popCall() {
  location = std::make_shared<SourceLocation>(*calls.back());
  calls.pop_back();
  emitter.setLocation(*location);
}

void PyIrBuilder::throwErrors() {
  if (errors.empty())
    return;
  std::string text = std::move(errors);
  errors.clear();
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  throw py::value_error(text);
}

std::shared_ptr<interpreter::FlatProgram> PyIrBuilder::compile() {
  throwErrors();
  std::string failure;
  if (!emitter.verify(&failure) || !runPasses(emitter, &failure))
    throw std::runtime_error("the block IR is not valid (this is a mistake in blockscope):\n" +
                             failure + "\n" + emitter.text());
  return build({});
}

std::shared_ptr<interpreter::FlatProgram> PyIrBuilder::compileForClaims() {
  interpreter::FlatOptions options;
  options.claims = true;
  return build(options);
}

std::shared_ptr<interpreter::FlatProgram>
PyIrBuilder::compileForValues(const std::shared_ptr<interpreter::FlatProgram> &fast) {
  interpreter::FlatOptions options;
  options.values = true;
  options.fuse = false; // a value then has one place for all its elements (ShadowValues)
  const std::shared_ptr<interpreter::FlatProgram> program = build(options);
  program->fast = fast;
  return program;
}

std::shared_ptr<interpreter::FlatProgram>
PyIrBuilder::build(const interpreter::FlatOptions &options) {
  std::string failure;
  auto program = std::make_shared<interpreter::FlatProgram>(
      interpreter::buildFlatProgram(emitter, &failure, options));
  if (!failure.empty())
    throw py::value_error(failure);
  program->files = files;
  return program;
}

namespace {

using Values = std::vector<Value>;

Values toVector(const ValueList &values) { return {values.begin(), values.end()}; }

struct PyBlock {
  BlockHandle handle;
};

} // namespace

void bindIrBuilder(py::module_ &module) {
  py::class_<PyBlock>(module, "IrBlock");
  py::class_<interpreter::FlatProgram, std::shared_ptr<interpreter::FlatProgram>>(module,
                                                                                  "FlatProgram")
      .def_property_readonly("name", [](const interpreter::FlatProgram &p) { return p.name; })
      .def("text", &interpreter::flatText)
      .def_property_readonly("has_atomics",
                             [](const interpreter::FlatProgram &p) { return p.hasAtomics; })
      .def_property_readonly("frame_bytes",
                             [](const interpreter::FlatProgram &p) { return p.frameBytes; });

  py::class_<PyIrBuilder>(module, "IrBuilder")
      .def(py::init<bool, bool>(), py::arg("checks_overflow"), py::arg("has_payloads"))
      .def(
          "__enter__",
          [](PyIrBuilder &self) -> PyIrBuilder & {
            self.scope = std::make_unique<EmitterScope>(
                self.emitter, [&self] { self.throwErrors(); }, self.checksOverflow,
                self.hasPayloads);
            return self;
          },
          py::return_value_policy::reference)
      .def("__exit__", [](PyIrBuilder &self, const py::args &) { self.scope.reset(); })
      .def("read",
           [](PyIrBuilder &self, const std::string &text) {
             std::string error;
             const auto signature = self.emitter.read(text, &error);
             if (!signature)
               throw py::value_error(error);
             std::vector<std::pair<std::string, Type>> arguments;
             for (const KernelSignature::Argument &argument : signature->arguments)
               arguments.emplace_back(argument.name, argument.type);
             return std::make_pair(signature->name, arguments);
           })
      .def("set_location", &PyIrBuilder::setLocation)
      .def("set_unrolled", [](PyIrBuilder &self, size_t depth,
                              int32_t iteration) { self.emitter.setUnrolled(depth, iteration); })
      .def("push_call", [](PyIrBuilder &self) { self.calls.push_back(self.location); })
      .def("pop_call", &PyIrBuilder::popCall)
      .def("name_value", [](PyIrBuilder &self, const Value &value,
                            const std::string &name) { self.emitter.nameValue(value, name); })
      .def("begin_function",
           [](PyIrBuilder &self, const std::string &name, const std::vector<Type> &types,
              const std::vector<std::string> &names) {
             return toVector(self.emitter.beginFunction(name, types, names));
           })
      .def("finish_function",
           [](PyIrBuilder &self) {
             self.throwErrors();
             self.emitter.finishFunction();
           })
      .def("push_block",
           [](PyIrBuilder &self, const std::vector<Type> &types) {
             return toVector(self.emitter.pushBlock(types));
           })
      .def("pop_block", [](PyIrBuilder &self) { return PyBlock{self.emitter.popBlock()}; })
      .def("create_if",
           [](PyIrBuilder &self, const Value &condition, PyBlock thenBlock,
              const Values &thenYields, PyBlock elseBlock, const Values &elseYields) {
             self.throwErrors();
             return toVector(self.emitter.createIf(condition, thenBlock.handle, thenYields,
                                                   elseBlock.handle, elseYields));
           })
      .def("create_for",
           [](PyIrBuilder &self, const Value &begin, const Value &end, const Value &step,
              const Values &initial, PyBlock body, const Values &yields,
              std::optional<int> numStages, std::optional<int> unrollFactor, bool disableLicm,
              bool flatten, bool warpSpecialize) {
             self.throwErrors();
             return toVector(self.emitter.createFor(
                 begin, end, step, initial, body.handle, yields,
                 /*unsignedCompare=*/false,
                 {numStages, unrollFactor, disableLicm, flatten, warpSpecialize}));
           })
      .def(
          "create_while",
          [](PyIrBuilder &self, const Values &initial, PyBlock before, const Value &condition,
             const Values &forwarded, PyBlock after, const Values &yields, bool disableLicm) {
            self.throwErrors();
            return toVector(self.emitter.createWhile(initial, before.handle, condition, forwarded,
                                                     after.handle, yields, disableLicm));
          },
          py::arg("initial"), py::arg("before"), py::arg("condition"), py::arg("forwarded"),
          py::arg("after"), py::arg("yields"), py::arg("disable_licm") = false)
      .def("note_inlined_call",
           [](PyIrBuilder &self, const std::string &callee) {
             self.emitter.noteInlinedCall(callee);
           })
      .def(
          "text",
          [](const PyIrBuilder &self, bool locations) { return self.emitter.text(locations); },
          py::arg("with_locations") = false)
      .def("compile", &PyIrBuilder::compile)
      .def("compile_for_claims", &PyIrBuilder::compileForClaims)
      .def("compile_for_values", &PyIrBuilder::compileForValues);
}

} // namespace blockscope::python
