// Columns of runs: layout checked, memory counted, then chunks inflated in parallel.
#include "core/trace/access_reader.h"

#include "core/trace/hdf5/dataset.h"
#include "core/trace/parallel.h"
#include "core/trace/trace_chunk.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string_view>
#include <thread>

namespace blockscope {
namespace {

constexpr uint64_t kMaxThreads = 8;

/// A column of the file, and where its values go.
struct OpenColumn {
  hdf5::Dataset dataset;
  std::vector<hdf5::Chunk> chunks; ///< empty: every row is the default
  std::span<unsigned char> values;
};

/// Version 1 of the format cut numbers of ops and arguments to 16 bits.
struct NarrowColumns {
  TraceColumn<uint16_t> op;
  TraceColumn<int16_t> argument;
};

class AccessReader {
public:
  AccessReader(const hdf5::File &file, const hdf5::Group &group, const std::string &label,
               MemoryBudget &budget, TraceAccesses &accesses, std::string &problem)
      : file_(file), group_(group), label_(label), budget_(budget), accesses_(accesses),
        problem_(problem) {}

  /// Reads how the next column lies in the file. All are opened before memory is taken for one.
  bool open(std::string_view name, hdf5::ElementType type);
  /// Whether the file has room for the rows that its columns say they have.
  bool checkRows();
  /// Takes the memory of a column, in the order in which they were opened, and gives every row the
  /// default.
  template <typename T> bool prepare(T defaultValue, TraceColumn<T> &column) {
    OpenColumn &opened = columns_[prepared_++];
    column = TraceColumn<T>(defaultValue);
    if (opened.chunks.empty())
      return true;
    if (!budget_.take(accesses_.rows, sizeof(T)))
      return fail("needs " + budget_.excuse());
    column = TraceColumn<T>(std::vector<T>(accesses_.rows, defaultValue));
    opened.values = {reinterpret_cast<unsigned char *>(column.values().data()),
                     accesses_.rows * sizeof(T)};
    return true;
  }
  /// Fills the columns with what the chunks hold.
  bool readChunks();

private:
  bool readChunk(const OpenColumn &column, const hdf5::Chunk &chunk) const;
  bool fail(const std::string &what) {
    problem_ = "'" + label_ + "' " + what;
    return false;
  }

  const hdf5::File &file_;
  const hdf5::Group &group_;
  const std::string &label_;
  MemoryBudget &budget_;
  TraceAccesses &accesses_;
  std::string &problem_;
  std::vector<OpenColumn> columns_;
  size_t prepared_ = 0;
  uint64_t storedRows_ = 0; ///< of all chunks
};

bool AccessReader::open(std::string_view name, hdf5::ElementType type) {
  const auto failHere = [&](const std::string &what) {
    problem_ = "'" + label_ + "/" + std::string(name) + "' " + what;
    return false;
  };
  const uint64_t address = group_.find(name);
  std::string problem;
  if (address == hdf5::kNowhere)
    return failHere("is missing");
  OpenColumn column;
  hdf5::Dataset &dataset = column.dataset;
  if (!dataset.open(file_, address, problem))
    return failHere(problem);
  if (dataset.type != type)
    return failHere("has the wrong type");
  if (dataset.extents.size() != 1 || dataset.chunkRows == 0 || dataset.chunkRows > kTraceChunkRows)
    return failHere("has a shape or chunks that no trace has");
  if (dataset.isShuffled != (type.bytes > 1))
    return failHere("is not shuffled and deflated");
  if (columns_.empty())
    accesses_.rows = dataset.rows();
  if (dataset.rows() != accesses_.rows)
    return failHere("has " + std::to_string(dataset.rows()) + " rows, its neighbours have " +
                    std::to_string(accesses_.rows));
  if (!dataset.readChunks(file_, column.chunks))
    return failHere("has chunks that cannot be read");
  storedRows_ += column.chunks.size() * dataset.chunkRows;
  columns_.push_back(std::move(column));
  return true;
}

/// Each row is in a chunk of one column at least; so the file's size bounds the rows.
bool AccessReader::checkRows() {
  return accesses_.rows <= storedRows_ ||
         fail("says it has " + std::to_string(accesses_.rows) + " rows and holds at most " +
              std::to_string(storedRows_));
}

bool AccessReader::readChunk(const OpenColumn &column, const hdf5::Chunk &chunk) const {
  const hdf5::Dataset &dataset = column.dataset;
  std::vector<unsigned char> packed(chunk.bytes);
  if (!file_.read(chunk.address, packed))
    return false;
  const std::span<unsigned char> to = column.values.subspan(chunk.row * dataset.rowBytes);
  if (to.size() >= dataset.chunkBytes)
    return unpackChunk(packed, dataset.rowBytes, to.first(dataset.chunkBytes));
  std::vector<unsigned char> whole(dataset.chunkBytes);
  if (!unpackChunk(packed, dataset.rowBytes, whole))
    return false;
  std::memcpy(to.data(), whole.data(), to.size());
  return true;
}

bool AccessReader::readChunks() {
  struct Job {
    const OpenColumn *column;
    const hdf5::Chunk *chunk;
  };
  std::vector<Job> jobs;
  for (const OpenColumn &column : columns_)
    for (const hdf5::Chunk &chunk : column.chunks)
      jobs.push_back({&column, &chunk});
  std::atomic<bool> good{true};
  const uint64_t threads =
      storedRows_ < kTraceChunkRows
          ? 1
          : std::clamp<uint64_t>(std::thread::hardware_concurrency(), 1, kMaxThreads);
  forEachInParallel(jobs.size(), threads, [&](size_t job) {
    if (!readChunk(*jobs[job].column, *jobs[job].chunk))
      good = false;
  });
  return good || fail("has a damaged chunk");
}

template <typename Narrow, typename T>
void widen(const TraceColumn<Narrow> &from, size_t rows, TraceColumn<T> &to) {
  if (from.isConstant()) {
    to = TraceColumn<T>(T{from[0]});
    return;
  }
  std::vector<T> values(rows);
  for (size_t row = 0; row < rows; ++row)
    values[row] = from[row];
  to = TraceColumn<T>(std::move(values));
}

} // namespace

bool readAccessColumns(const hdf5::File &file, const hdf5::Group &group, const std::string &label,
                       int version, MemoryBudget &budget, TraceAccesses &accesses,
                       std::string &problem) {
  AccessReader reader(file, group, label, budget, accesses, problem);
  NarrowColumns narrow;
  // Calls visit(name, default, column) until one gives false.
  const auto forEachColumn = [&](auto visit) {
    bool good = true;
    forEachAccessColumn([&](std::string_view name, auto defaultValue, auto member, auto) {
      if (!good)
        return;
      if (version == 1 && name == "op")
        good = visit(name, uint16_t{0}, narrow.op);
      else if (version == 1 && name == "argument")
        good = visit(name, int16_t{0}, narrow.argument);
      else
        good = visit(name, defaultValue, accesses.*member);
    });
    return good;
  };
  const auto open = [&](std::string_view name, auto defaultValue, auto &) {
    return reader.open(name, hdf5::ElementType::of<decltype(defaultValue)>());
  };
  const auto prepare = [&](std::string_view, auto defaultValue, auto &column) {
    return reader.prepare(defaultValue, column);
  };
  if (!forEachColumn(open) || !reader.checkRows() || !forEachColumn(prepare) ||
      !reader.readChunks())
    return false;
  if (version == 1) {
    widen(narrow.op, accesses.rows, accesses.op);
    widen(narrow.argument, accesses.rows, accesses.argument);
  }
  return true;
}

} // namespace blockscope
