// Binds findings: as dicts, as text, and the table of their codes.
#include "python/src/findings.h"

#include "core/report.h"
#include "core/source_text.h"
#include "python/src/python_lock.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace blockscope::python {

namespace {

using Row = std::tuple<std::string, std::string, std::string>;

/// The text of a file as Python's linecache has it.
std::optional<std::string> textFromPython(const std::string &file) {
  if (!Py_IsInitialized())
    return std::nullopt;
  const LockPython lock;
  try {
    const py::object lines = py::module_::import("linecache").attr("getlines")(file);
    const auto text = py::str("").attr("join")(lines).cast<std::string>();
    return text.empty() ? std::nullopt : std::optional(text);
  } catch (const std::exception &) { // also text that is no Unicode: the report does without
    return std::nullopt;
  }
}

std::string textOf(const py::object &finding, bool color) {
  const auto json = py::module_::import("json").attr("dumps")(finding).cast<std::string>();
  const std::optional<Finding> read = findingFromJson(json);
  if (!read)
    throw py::value_error("this is no finding: " + json);
  return findingAsText(*read, color);
}

/// Rows of code, default severity and summary.
std::vector<Row> codes(bool notes) {
  std::vector<Row> rows;
  for (const FindingCodeInfo &info : findingCodes())
    if (info.isNote == notes)
      rows.emplace_back(info.text, severityName(info.severity), info.summary);
  return rows;
}

} // namespace

py::object findingDicts(llvm::ArrayRef<Finding> findings) {
  return py::module_::import("json").attr("loads")(findingsAsJson(findings));
}

void bindFindings(py::module_ &module) {
  setSourceProvider(textFromPython);
  module.def("finding_text", &textOf, py::arg("finding"), py::arg("color") = false);
  module.def("finding_codes", [] { return codes(/*notes=*/false); });
  module.def("note_codes", [] { return codes(/*notes=*/true); });
}

} // namespace blockscope::python
