// Reads small tables of a trace file. Private to the reader.
#pragma once

#include "core/trace/hdf5/dataset.h"
#include "core/trace/trace_limits.h"

#include <cstdint>
#include <string>
#include <vector>

namespace blockscope {

/// Reads columns of one group, with every size checked against what the file can hold.
/// Errors: `error()` has the first problem; after it every call gives an empty result.
class TraceTableReader {
public:
  /// `path` names the group in errors; its memory is taken from `budget`.
  TraceTableReader(const hdf5::File &file, const hdf5::Group &group, std::string path,
                   MemoryBudget &budget)
      : file_(file), group_(group), path_(std::move(path)), budget_(budget) {}

  /// Columns after the first must have as many rows as the first.
  template <typename T> std::vector<T> numbers(const char *name) {
    std::vector<T> values;
    if (open(name, hdf5::ElementType::of<T>(), 1) && take(name, dataset_.rows(), sizeof(T))) {
      values.resize(dataset_.rows());
      read(name, {reinterpret_cast<unsigned char *>(values.data()), values.size() * sizeof(T)});
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
  bool open(const char *name, std::optional<hdf5::ElementType> type, size_t rank);
  bool take(const char *name, uint64_t rows, uint64_t rowBytes);
  void read(const char *name, std::span<unsigned char> to);

  const hdf5::File &file_;
  const hdf5::Group &group_;
  std::string path_;
  MemoryBudget &budget_;
  std::optional<uint64_t> rows_; ///< of the first column
  hdf5::Dataset dataset_;
  std::string error_;
};

} // namespace blockscope
