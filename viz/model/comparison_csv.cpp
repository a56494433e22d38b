// Tables of a comparison.
#include "viz/model/comparison.h"
#include "viz/model/csv.h"

namespace blockscope::viz {
namespace {

std::string number(uint64_t value) { return std::to_string(value); }

std::vector<std::string> countFields(const CountPair &counts) {
  return {number(counts.a.loads),
          number(counts.a.stores),
          number(counts.a.atomics),
          number(counts.b.loads),
          number(counts.b.stores),
          number(counts.b.atomics),
          std::to_string(counts.difference(HeatMode::Reads)),
          std::to_string(counts.difference(HeatMode::Writes))};
}

void append(std::vector<std::string> &to, const std::vector<std::string> &more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// Every element that either run touched. Reads and writes both count atomics.
std::string elementTable(const Comparison &comparison, const CompareView &view) {
  const DifferenceMap *map = comparison.difference(view.tensor);
  if (map == nullptr)
    return "";
  const TensorLayout &layout =
      comparison.run(Side::A).layout(comparison.tensors()[view.tensor].argument[0]);
  std::vector<std::string> header;
  for (size_t dim = 0; dim < layout.shape().size(); ++dim)
    header.push_back("index" + std::to_string(dim));
  append(header, {"a_loads", "a_stores", "a_atomics", "b_loads", "b_stores", "b_atomics",
                  "read_difference", "write_difference", "inside"});
  std::string text = csvLine(header);
  const Plane &plane = map->plane(-1);
  for (int64_t row = 0; row < plane.rows(); ++row)
    for (int64_t column = 0; column < plane.columnsOf(row); ++column) {
      const CountPair counts = map->at(-1, {row, column});
      if (!counts.isTouched(HeatMode::Both))
        continue;
      std::vector<std::string> fields;
      for (const int64_t index : layout.indexOf(plane.slotOf({row, column})))
        fields.push_back(std::to_string(index));
      append(fields, countFields(counts));
      fields.emplace_back("1");
      text += csvLine(fields);
    }
  // Places outside have the index that they would have in a plane: what is beside it.
  for (const OutsideDifference &each : map->outside(-1)) {
    std::vector<std::string> fields(layout.shape().size());
    if (fields.size() == 1)
      fields[0] = std::to_string(each.cell.row * plane.columns() + each.cell.column);
    else if (fields.size() >= 2) {
      fields[fields.size() - 2] = std::to_string(each.cell.row);
      fields[fields.size() - 1] = std::to_string(each.cell.column);
    }
    append(fields, countFields(each.counts));
    fields.emplace_back("0");
    text += csvLine(fields);
  }
  return text;
}

std::string tensorTable(const Comparison &comparison) {
  std::string text = "tensor,a_reads,a_writes,a_outside,b_reads,b_writes,b_outside,"
                     "more_in_a,more_in_b,equal,problem\n";
  for (size_t tensor = 0; tensor < comparison.tensors().size(); ++tensor) {
    const TensorPair &pair = comparison.tensors()[tensor];
    std::vector<std::string> fields = {pair.name};
    for (const Side side : kSides) {
      const int argument = pair.argument[static_cast<size_t>(side)];
      if (argument < 0) {
        append(fields, {"", "", ""});
        continue;
      }
      const AccessCounts &counts =
          comparison.run(side).argumentCounts()[static_cast<size_t>(argument)];
      append(fields, {number(counts.loads + counts.atomics), number(counts.stores + counts.atomics),
                      number(counts.outside)});
    }
    if (const DifferenceMap *map = comparison.difference(tensor)) {
      const DifferenceTotals &totals = map->totals(HeatMode::Both);
      append(fields, {number(totals.more), number(totals.fewer), number(totals.equal)});
    } else {
      append(fields, {"", "", ""});
    }
    fields.push_back(pair.problem);
    text += csvLine(fields);
  }
  return text;
}

std::string launchTable(const Comparison &comparison) {
  std::string text = "kernel,a_launch,b_launch\n";
  for (const LaunchPair &pair : comparison.launches()) {
    std::vector<std::string> fields = {pair.kernel};
    for (const int64_t launch : pair.launch)
      fields.push_back(launch >= 0 ? std::to_string(launch) : "");
    text += csvLine(fields);
  }
  return text;
}

} // namespace

std::string csvOf(const Comparison &comparison, const CompareView &view, CompareTable table) {
  switch (table) {
  case CompareTable::Heat:
    return elementTable(comparison, view);
  case CompareTable::Tensors:
    return tensorTable(comparison);
  case CompareTable::Launches:
    return launchTable(comparison);
  }
  return "";
}

} // namespace blockscope::viz
