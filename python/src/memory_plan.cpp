// Places go along with their callers: an op is known again by them.
#include "python/src/memory_plan.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace blockscope::python {
namespace {

using Numbers = std::vector<uint32_t>;

/// [(file, line, column, function), ...], innermost first.
py::list placeRows(const SourceLocation &location) {
  py::list places;
  for (const SourceLocation *at = &location; at != nullptr; at = at->caller.get())
    places.append(py::make_tuple(at->file, at->line, at->column, at->function));
  return places;
}

SourceLocation placeOf(const py::handle &rows) {
  std::shared_ptr<const SourceLocation> caller;
  const auto places = py::reinterpret_borrow<py::sequence>(rows);
  for (size_t at = places.size(); at-- > 0;) {
    const auto row = py::reinterpret_borrow<py::sequence>(places[at]);
    SourceLocation place;
    place.file = row[0].cast<std::string>();
    place.line = row[1].cast<int32_t>();
    place.column = row[2].cast<int32_t>();
    place.function = row[3].cast<std::string>();
    place.caller = std::move(caller);
    caller = std::make_shared<const SourceLocation>(std::move(place));
  }
  return caller ? *caller : SourceLocation();
}

} // namespace

py::tuple memoryPlanRows(const MemoryPlan &plan) {
  py::list accesses;
  for (const AccessPlan &each : plan.accesses)
    accesses.append(py::make_tuple(
        placeRows(each.location), static_cast<int>(each.kind), static_cast<int>(each.way),
        each.elementBytes, each.elementsPerThread, each.instructions, each.lanes, each.warps));
  py::list exchanges;
  for (const ExchangePlan &each : plan.exchanges)
    exchanges.append(py::make_tuple(placeRows(each.location), each.what, each.bytesPerThread,
                                    each.wavefronts, each.leastWavefronts, each.isInLoop));
  return py::make_tuple(accesses, exchanges);
}

MemoryPlan memoryPlanOf(const py::object &rows) {
  MemoryPlan plan;
  const auto tables = py::reinterpret_borrow<py::sequence>(rows);
  for (const py::handle each : py::reinterpret_borrow<py::sequence>(tables[0])) {
    const auto row = py::reinterpret_borrow<py::sequence>(each);
    plan.accesses.push_back({placeOf(row[0]), static_cast<AccessPlan::Kind>(row[1].cast<int>()),
                             static_cast<AccessPlan::Way>(row[2].cast<int>()), row[3].cast<int>(),
                             row[4].cast<int>(), row[5].cast<Numbers>(), row[6].cast<Numbers>(),
                             row[7].cast<Numbers>()});
  }
  for (const py::handle each : py::reinterpret_borrow<py::sequence>(tables[1])) {
    const auto row = py::reinterpret_borrow<py::sequence>(each);
    plan.exchanges.push_back({placeOf(row[0]), row[1].cast<std::string>(), row[2].cast<int>(),
                              row[3].cast<int>(), row[4].cast<int>(), row[5].cast<bool>()});
  }
  return plan;
}

} // namespace blockscope::python
