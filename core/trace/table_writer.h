// Writes small tables of a trace file: a group of equally long columns of numbers and text, and
// attributes; and makes the columns of access runs.
#pragma once

#include "core/trace/hdf5_handle.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace blockscope {

/// Writes columns into a group. Text is fixed-length UTF-8, so a reader knows its size beforehand.
/// Errors: `good()` turns false and stays so.
class TraceTableWriter {
public:
  explicit TraceTableWriter(hid_t group) : group_(group) {}
  template <typename T> void numbers(const char *name, const std::vector<T> &values) {
    write(name, hdf5TypeOf<T>(), {values.size()}, values.data());
  }
  /// Rows of `width` numbers each.
  void matrix(const char *name, const std::vector<int64_t> &values, size_t width);
  void text(const char *name, const std::vector<std::string> &values);
  void attribute(const char *name, const std::string &value);
  void attribute(const char *name, const std::vector<int64_t> &values);
  bool good() const { return good_; }

private:
  void write(const char *name, hid_t type, const std::vector<hsize_t> &dims, const void *values);
  hid_t group_;
  bool good_ = true;
};

/// Makes an extendible, chunked, shuffled and deflated dataset of one dimension, for chunks that
/// `packChunk` makes.
Hdf5Dataset createColumn(hid_t group, const char *name, hid_t type, size_t chunkRows,
                         const void *defaultValue);

/// Errors: false.
Hdf5Group createGroup(hid_t parent, const char *name);

/// The values of one field of all rows.
template <typename Row, typename Field>
auto columnOf(const std::vector<Row> &rows, Field Row::*field) {
  std::vector<Field> values;
  values.reserve(rows.size());
  for (const Row &row : rows)
    values.push_back(row.*field);
  return values;
}

} // namespace blockscope
