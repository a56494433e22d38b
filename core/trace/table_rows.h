// Rows of small tables as structs: a list of columns, each with its name and where a row has it.
#pragma once

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace blockscope {

/// A column with text or numbers: its name in the file, and where a row has its value.
template <typename Row, typename Value> struct RowColumn {
  using Type = Value;
  const char *name;
  Value Row::*value;
};

/// Calls `visit(name, values)` for each column of `rows`.
template <typename Row, typename Columns, typename Visit>
void forEachColumnOf(const std::vector<Row> &rows, const Columns &columns, Visit &&visit) {
  const auto one = [&](const auto &column) {
    std::vector<typename std::remove_cvref_t<decltype(column)>::Type> values;
    values.reserve(rows.size());
    for (const Row &row : rows)
      values.push_back(row.*column.value);
    visit(column.name, values);
  };
  std::apply([&](const auto &...each) { (one(each), ...); }, columns);
}

/// Writes rows as columns with a `TraceTableWriter`.
template <typename Table, typename Row, typename Columns>
void writeRowsAsColumns(Table &table, const std::vector<Row> &rows, const Columns &columns) {
  forEachColumnOf(rows, columns, [&](const char *name, const auto &values) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(values)>, std::vector<std::string>>)
      table.text(name, values);
    else
      table.numbers(name, values);
  });
}

/// Reads columns as rows with a `TraceTableReader`, as many as the first column has.
/// Errors: the table's, with rows that say nothing.
template <typename Row, typename Table, typename Columns>
std::vector<Row> readColumnsAsRows(Table &table, const Columns &columns) {
  std::vector<Row> rows;
  bool isFirst = true;
  const auto one = [&](const auto &column) {
    using Value = typename std::remove_cvref_t<decltype(column)>::Type;
    std::vector<Value> values;
    if constexpr (std::is_same_v<Value, std::string>)
      values = table.text(column.name);
    else
      values = table.template numbers<Value>(column.name);
    if (std::exchange(isFirst, false))
      rows.resize(values.size());
    for (size_t row = 0; table.error().empty() && row < rows.size(); ++row)
      rows[row].*column.value = std::move(values[row]);
  };
  std::apply([&](const auto &...each) { (one(each), ...); }, columns);
  return rows;
}

} // namespace blockscope
