// Findings as tables.
#include "core/trace/finding_writer.h"

#include "core/trace/finding_columns.h"
#include "core/trace/finding_roles.h"
#include "core/trace/table_writer.h"

#include <type_traits>

namespace blockscope {
namespace {

/// `valueOf` of all rows.
template <typename Row, typename ValueOf>
auto valuesOf(const std::vector<Row> &rows, ValueOf valueOf) {
  std::vector<decltype(valueOf(rows.front()))> values;
  values.reserve(rows.size());
  for (const Row &row : rows)
    values.push_back(valueOf(row));
  return values;
}

/// Rows of all findings together, and the number of the finding of each.
template <typename Row> struct RowsOfFindings {
  std::vector<int32_t> findings;
  std::vector<Row> rows;
  RowsOfFindings(const std::vector<TraceFinding> &all, std::vector<Row> TraceFinding::*field) {
    for (size_t number = 0; number < all.size(); ++number)
      for (const Row &row : all[number].*field) {
        findings.push_back(static_cast<int32_t>(number));
        rows.push_back(row);
      }
  }
};

bool writeRows(hid_t group, const std::vector<TraceFinding> &findings) {
  TraceTableWriter table(group);
  using Row = TraceFinding;
  table.text("code",
             valuesOf(findings, [](const Row &f) { return std::string(codeText(f.code)); }));
  table.text("severity", valuesOf(findings, [](const Row &f) {
               return std::string(severityName(f.severity));
             }));
  table.text("message", valuesOf(findings, [](const Row &f) { return f.message; }));
  table.numbers("op", columnOf(findings, &TraceFinding::op));
  table.numbers("argument", columnOf(findings, &TraceFinding::argument));
  table.numbers("program", columnOf(findings, &TraceFinding::program));
  table.numbers("source", columnOf(findings, &TraceFinding::source));
  table.numbers("line", valuesOf(findings, [](const Row &f) { return f.site.location.line; }));
  table.numbers("column", valuesOf(findings, [](const Row &f) { return f.site.location.column; }));
  table.numbers("count", valuesOf(findings, [](const Row &f) { return f.count; }));
  table.text("json", columnOf(findings, &TraceFinding::json));
  return table.good();
}

bool writeDetails(hid_t group, const std::vector<TraceFinding> &findings) {
  TraceTableWriter table(group);
  using Row = TraceFinding;
  std::vector<int32_t> numbers;
  for (size_t number = 0; number < findings.size(); ++number)
    numbers.push_back(static_cast<int32_t>(number));
  table.numbers("finding", numbers);
  table.text("hint", valuesOf(findings, [](const Row &f) { return f.hint; }));
  table.text("model", valuesOf(findings, [](const Row &f) { return f.model; }));
  table.numbers("has_element", valuesOf(findings, [](const Row &f) {
                  return uint8_t{f.elementOffsetBytes.has_value()};
                }));
  table.numbers("element_offset",
                valuesOf(findings, [](const Row &f) { return f.elementOffsetBytes.value_or(0); }));
  table.numbers("has_more_elements",
                valuesOf(findings, [](const Row &f) { return uint8_t{f.hasMoreElements}; }));
  table.numbers("is_elsewhere",
                valuesOf(findings, [](const Row &f) { return uint8_t{f.isElsewhere}; }));
  return table.good();
}

template <typename Row> void writeColumns(TraceTableWriter &table, const std::vector<Row> &rows) {
  const auto write = [&](const auto &column) {
    using Value = typename std::remove_cvref_t<decltype(column)>::Type;
    if constexpr (std::is_same_v<Value, std::string>)
      table.text(column.name, columnOf(rows, column.value));
    else
      table.numbers(column.name, columnOf(rows, column.value));
  };
  std::apply([&](const auto &...columns) { (write(columns), ...); }, kFindingColumns<Row>);
}

template <typename Row>
bool writeRowsOf(hid_t group, const std::vector<TraceFinding> &findings,
                 std::vector<Row> TraceFinding::*field) {
  const RowsOfFindings all(findings, field);
  TraceTableWriter table(group);
  table.numbers("finding", all.findings);
  if constexpr (std::is_same_v<Row, TracePlace>)
    table.text("role", valuesOf(all.rows, [](const TracePlace &place) {
                 return std::string(siteRoleName(place.role));
               }));
  writeColumns(table, all.rows);
  return table.good();
}

bool writeValues(hid_t group, const std::vector<TraceFinding> &findings) {
  std::vector<int32_t> numbers;
  NamedValues values;
  for (size_t number = 0; number < findings.size(); ++number)
    for (const auto &value : findings[number].values) {
      numbers.push_back(static_cast<int32_t>(number));
      values.push_back(value);
    }
  TraceTableWriter table(group);
  table.numbers("finding", numbers);
  table.text("name", valuesOf(values, [](const auto &value) { return value.first; }));
  table.text("value", valuesOf(values, [](const auto &value) { return value.second; }));
  return table.good();
}

} // namespace

bool writeFindings(hid_t launch, const std::vector<TraceFinding> &findings) {
  if (!writeRows(createGroup(launch, "findings").get(), findings))
    return false;
  if (findings.empty())
    return true;
  return writeDetails(createGroup(launch, "finding_details").get(), findings) &&
         writeRowsOf(createGroup(launch, "finding_places").get(), findings,
                     &TraceFinding::places) &&
         writeValues(createGroup(launch, "finding_values").get(), findings) &&
         writeRowsOf(createGroup(launch, "finding_elements").get(), findings,
                     &TraceFinding::elements) &&
         writeRowsOf(createGroup(launch, "finding_shares").get(), findings,
                     &TraceFinding::lineShares) &&
         writeRowsOf(createGroup(launch, "finding_waits").get(), findings, &TraceFinding::waits);
}

} // namespace blockscope
