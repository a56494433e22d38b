// Binds check sessions, what watches the launches of a `with` block, and the table of sanitizers.
#include "core/report.h"
#include "python/src/findings.h"
#include "python/src/launch.h"
#include "sanitizer/check_session.h"
#include "sanitizer/sanitizer.h"

#include "llvm/ADT/STLExtras.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace blockscope::python {

namespace {

/// Errors: ValueError for an unknown code or severity.
sanitizer::ChangedSeverities severitiesFrom(const py::dict &wanted) {
  sanitizer::ChangedSeverities result;
  for (const auto &[key, value] : wanted) {
    const auto code = key.cast<std::string>(), name = value.cast<std::string>();
    const std::optional<FindingCode> found = parseFindingCode(code);
    const std::optional<Severity> severity = parseSeverity(name);
    if (!found)
      throw py::value_error("'" + code + "' is no code of a finding");
    if (!severity && name != "off")
      throw py::value_error("the severity of '" + code + "' is '" + name +
                            "', expected error, warning, note or off");
    result[*found] = severity;
  }
  return result;
}

/// Errors: ValueError for an unknown check or a wrong choice, as sanitizer::problemOf says it.
sanitizer::CheckOptions optionsFrom(const py::dict &options) {
  sanitizer::CheckOptions result;
  for (const auto &[key, value] : options) {
    const auto name = key.cast<std::string>();
    if (name == "checks")
      result.checks = value.cast<std::vector<std::string>>();
    else if (name == "max_findings")
      result.maxFindings = value.cast<size_t>();
    else if (name == "stop_at_first")
      result.stopAtFirst = value.cast<bool>();
    else if (name == "severity")
      result.severities = severitiesFrom(value.cast<py::dict>());
    else
      result.choices[name] = py::str(value).cast<std::string>();
  }
  if (const std::string problem = sanitizer::problemOf(result); !problem.empty())
    throw py::value_error(problem);
  return result;
}

SourceLocation placeOf(const std::string &file, int line, int column, const std::string &function) {
  SourceLocation place;
  place.file = file;
  place.line = line;
  place.column = column;
  place.function = function;
  return place;
}

/// Address, element size, shape, strides in bytes; begin and bytes of the storage.
using PyElements =
    std::tuple<uint64_t, uint64_t, std::vector<int64_t>, std::vector<int64_t>, uint64_t, uint64_t>;

sanitizer::HostElements elementsFrom(const PyElements &elements) {
  const auto &[address, elementBytes, shape, strides, begin, bytes] = elements;
  return {address, elementBytes, shape, strides, {begin, bytes}};
}

std::vector<sanitizer::HostElements> elementsFrom(const std::vector<PyElements> &several) {
  std::vector<sanitizer::HostElements> all;
  for (const PyElements &elements : several)
    all.push_back(elementsFrom(elements));
  return all;
}

py::dict rowOf(const sanitizer::SanitizerInfo &info) {
  using namespace py::literals;
  py::list codes, options;
  for (const FindingCode code : info.codes)
    codes.append(codeText(code));
  for (const sanitizer::SanitizerOption &option : info.options) {
    py::list choices;
    for (const llvm::StringRef choice : option.choices)
      choices.append(choice.str());
    options.append(py::dict("name"_a = option.name.str(), "choices"_a = choices,
                            "help"_a = option.help.str()));
  }
  const interpreter::RunNeeds &needs = info.plan.needs;
  return py::dict("name"_a = info.name.str(), "alias"_a = info.alias.str(),
                  "help"_a = info.help.str(), "codes"_a = codes, "options"_a = options,
                  "in_every_check"_a = info.isInEveryCheck, "is_report"_a = info.isReport,
                  "needs"_a =
                      py::dict("runs"_a = needs.runs, "values"_a = needs.values,
                               "claims"_a = needs.claims, "program_order"_a = needs.programOrder));
}

} // namespace

void bindSessions(py::module_ &module) {
  py::class_<sanitizer::CheckSession>(module, "CheckSession")
      .def(py::init([](const py::dict &options) {
        return std::make_unique<sanitizer::CheckSession>(optionsFrom(options));
      }))
      .def("attach",
           [](py::object self, PyLaunch &launch) {
             self.cast<sanitizer::CheckSession &>().watch(launch.state);
             launch.kept.push_back(std::move(self));
           })
      .def(
          "note",
          [](sanitizer::CheckSession &self, const std::string &code, const std::string &function,
             const std::string &file, int line, const std::string &message, const std::string &hint,
             const std::string &subject) {
            self.note(parseFindingCode(code).value_or(FindingCode::Unknown),
                      placeOf(file, line, 1, function), message, hint, subject);
          },
          py::arg("code"), py::arg("function"), py::arg("file"), py::arg("line"),
          py::arg("message"), py::arg("hint"), py::arg("subject") = "")
      .def("watches_host",
           [](const sanitizer::CheckSession &self) { return !self.hostWatchers().empty(); })
      .def("may_be_undefined",
           [](const sanitizer::CheckSession &self, uint64_t begin, uint64_t bytes) {
             return llvm::any_of(self.hostWatchers(), [&](const sanitizer::HostWatcher *watcher) {
               return watcher->mayBeUndefined({begin, bytes});
             });
           })
      .def("host_allocation",
           [](const sanitizer::CheckSession &self, uint64_t begin, uint64_t bytes,
              const std::string &file, int line, int column, const std::string &function) {
             for (sanitizer::HostWatcher *watcher : self.hostWatchers())
               watcher->onHostAllocation({begin, bytes}, placeOf(file, line, column, function));
           })
      .def("host_free",
           [](const sanitizer::CheckSession &self, uint64_t begin, uint64_t bytes) {
             for (sanitizer::HostWatcher *watcher : self.hostWatchers())
               watcher->onHostFree({begin, bytes});
           })
      .def("host_write",
           [](const sanitizer::CheckSession &self, const PyElements &elements) {
             for (sanitizer::HostWatcher *watcher : self.hostWatchers())
               watcher->onHostWrite(elementsFrom(elements));
           })
      .def("host_read",
           [](const sanitizer::CheckSession &self, const PyElements &elements,
              const std::string &file, int line, int column, const std::string &function) {
             for (sanitizer::HostWatcher *watcher : self.hostWatchers())
               watcher->onHostRead(elementsFrom(elements), placeOf(file, line, column, function));
           })
      .def("host_share",
           [](const sanitizer::CheckSession &self, const PyElements &elements,
              const std::string &file, int line, int column, const std::string &function) {
             for (sanitizer::HostWatcher *watcher : self.hostWatchers())
               watcher->onHostShare(elementsFrom(elements), placeOf(file, line, column, function));
           })
      .def("host_copy",
           [](const sanitizer::CheckSession &self, const PyElements &from, const PyElements &to) {
             for (sanitizer::HostWatcher *watcher : self.hostWatchers())
               watcher->onHostCopy(elementsFrom(from), elementsFrom(to));
           })
      .def("host_compute",
           [](const sanitizer::CheckSession &self, const std::vector<PyElements> &from,
              const PyElements &to, const std::string &file, int line, int column,
              const std::string &function) {
             for (sanitizer::HostWatcher *watcher : self.hostWatchers())
               watcher->onHostCompute(elementsFrom(from), elementsFrom(to),
                                      placeOf(file, line, column, function));
           })
      .def("host_move",
           [](const sanitizer::CheckSession &self, const std::vector<PyElements> &from,
              const py::buffer &numbers, const PyElements &to) {
             const py::buffer_info info = numbers.request(); // of int64, one behind the other
             const llvm::ArrayRef<int64_t> all(static_cast<const int64_t *>(info.ptr),
                                               static_cast<size_t>(info.size));
             for (sanitizer::HostWatcher *watcher : self.hostWatchers())
               watcher->onHostMove(elementsFrom(from), all, elementsFrom(to));
           })
      .def("is_undefined",
           [](const sanitizer::CheckSession &self, const PyElements &elements) {
             return llvm::any_of(self.hostWatchers(), [&](const sanitizer::HostWatcher *watcher) {
               return watcher->isUndefined(elementsFrom(elements));
             });
           })
      .def("findings",
           [](const sanitizer::CheckSession &self) { return findingDicts(self.findings()); })
      .def("described",
           [](const sanitizer::CheckSession &self) {
             const std::vector<Finding> findings = self.findings();
             py::list pairs;
             const py::list dicts = findingDicts(findings);
             for (size_t i = 0; i < findings.size(); ++i)
               pairs.append(py::make_tuple(dicts[i], findingAsText(findings[i], /*color=*/false)));
             return pairs;
           })
      .def(
          "report_text",
          [](const sanitizer::CheckSession &self, bool color,
             const std::vector<std::tuple<std::string, std::string, int32_t, std::string>>
                 &leftOut) {
            std::vector<sanitizer::CodeAtLine> places;
            for (const auto &[code, file, line, kernel] : leftOut)
              places.push_back({code, file, line, kernel});
            return self.reportText(color, places);
          },
          py::arg("color") = false, py::arg("left_out") = py::tuple())
      .def("report_json", &sanitizer::CheckSession::reportJson)
      .def("error_count", &sanitizer::CheckSession::errorCount)
      .def("dropped_causes", &sanitizer::CheckSession::droppedCauses);

  module.def("problem_of_checks", [](const std::vector<std::string> &names) {
    sanitizer::CheckOptions options;
    options.checks = names;
    return sanitizer::problemOf(options);
  });
  module.def("sanitizers", [] {
    py::list rows;
    for (const sanitizer::SanitizerInfo &info : sanitizer::sanitizers())
      rows.append(rowOf(info));
    return rows;
  });
}

} // namespace blockscope::python
