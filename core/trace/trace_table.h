// Small tables of a trace file: a group of equally long columns of numbers and text, and
// attributes.
#pragma once

#include "core/trace/hdf5_handle.h"

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

/// Reads columns of a group, with every size checked against what the file can hold.
/// Errors: `error()` has the first problem; after it every call gives an empty result.
class TraceTableReader {
public:
  TraceTableReader(hid_t group, std::string path, uint64_t fileBytes)
      : group_(group), path_(std::move(path)), fileBytes_(fileBytes) {}
  /// Columns after the first must have as many rows as the first.
  template <typename T> std::vector<T> numbers(const char *name) {
    std::vector<T> values;
    const std::vector<uint64_t> dims = open(name, hdf5TypeOf<T>(), 1);
    if (!dims.empty() && checkSize(name, dims[0], sizeof(T))) {
      values.resize(dims[0]);
      read(name, hdf5TypeOf<T>(), values.data());
    }
    return values;
  }
  std::vector<std::vector<int64_t>> matrix(const char *name);
  std::vector<std::string> text(const char *name);
  std::string textAttribute(const char *name);
  std::vector<int64_t> numberAttribute(const char *name, size_t count);

  const std::string &error() const { return error_; }
  void fail(const std::string &name, const std::string &what);

private:
  std::vector<uint64_t> open(const char *name, hid_t type, int rank);
  bool checkSize(const char *name, uint64_t rows, uint64_t rowBytes);
  void read(const char *name, hid_t type, void *values);
  hid_t group_;
  std::string path_;
  uint64_t fileBytes_;
  int64_t rows_ = -1;
  Hdf5Dataset dataset_;
  std::string error_;
};

} // namespace blockscope
