// The facts of ops for Python: `_core.op_facts()`, for tests, docs/ops.md and `verify`.
#include "python/src/op_facts.h"

#include "core/op_facts.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace blockscope::python {
namespace {

py::str text(llvm::StringRef word) { return {word.data(), word.size()}; }

py::dict factsAsDict(const OpFacts &facts) {
  py::dict row;
  row["name"] = text(facts.name);
  row["family"] = text(wordOf(facts.family));
  row["elementwise"] = facts.isElementwise;
  row["operands"] = text(wordOf(facts.operands));
  row["memory"] = text(wordOf(facts.memory));
  row["identity"] = py::none();
  row["any_order"] = false;
  if (facts.combining) {
    row["identity"] = text(wordOf(facts.combining->identity));
    row["any_order"] = facts.combining->isAnyOrder;
  }
  const OpError &error = facts.error;
  row["ulps"] = py::make_tuple(error.cpu32, error.gpu32, error.cpu64, error.gpu64);
  row["same_everywhere"] = error.isSameEverywhere(/*isMarked=*/true);
  row["cost"] = text(wordOf(facts.cost));
  return row;
}

} // namespace

void bindOpFacts(py::module_ &module) {
  module.def("op_facts", [] {
    py::list rows;
    for (const OpFacts *facts : allOpFacts())
      rows.append(factsAsDict(*facts));
    return rows;
  });
  module.def("named_combines", [] {
    py::list names;
    for (const NamedCombine &combine : allNamedCombines())
      names.append(text(combine.name));
    return names;
  });
}

} // namespace blockscope::python
