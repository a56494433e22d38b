// Columns of runs: layout checked, chunks inflated in parallel, every run checked.
#include "core/trace/access_reader.h"

#include "core/trace/trace_column.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

namespace blockscope {
namespace {

constexpr uint64_t kMaxRows = uint64_t{1} << 33;
constexpr uint64_t kMaxRunElements = uint64_t{1} << 31;

/// Inflates chunks on other threads while the file is read on this one.
class ChunkInflater {
public:
  ChunkInflater() {
    const unsigned count = std::clamp(std::thread::hardware_concurrency(), 1U, 8U);
    for (unsigned index = 0; index < count; ++index)
      threads_.emplace_back([this] { work(); });
  }
  ~ChunkInflater() { finish(); }

  void add(PackedChunk packed, size_t width, size_t chunkRows, size_t rows, unsigned char *to) {
    std::unique_lock<std::mutex> lock(mutex_);
    room_.wait(lock, [this] { return jobs_.size() < 64; });
    jobs_.push_back({std::move(packed), width, chunkRows, rows, to});
    ready_.notify_one();
  }
  /// True when every chunk was good.
  bool finish() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      done_ = true;
    }
    ready_.notify_all();
    for (std::thread &thread : threads_)
      thread.join();
    threads_.clear();
    return good_;
  }

private:
  struct Job {
    PackedChunk packed;
    size_t width;
    size_t chunkRows;
    size_t rows; ///< of the chunk that are in the dataset
    unsigned char *to;
  };

  void work() {
    std::vector<unsigned char> chunk;
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex_);
      ready_.wait(lock, [this] { return done_ || !jobs_.empty(); });
      if (jobs_.empty())
        return;
      const Job job = std::move(jobs_.front());
      jobs_.pop_front();
      room_.notify_one();
      lock.unlock();
      if (job.rows == job.chunkRows) {
        if (!unpackChunk(job.packed, job.width, job.rows, job.to))
          good_ = false;
        continue;
      }
      chunk.resize(job.chunkRows * job.width);
      if (unpackChunk(job.packed, job.width, job.chunkRows, chunk.data()))
        std::memcpy(job.to, chunk.data(), job.rows * job.width);
      else
        good_ = false;
    }
  }

  std::mutex mutex_;
  std::condition_variable ready_;
  std::condition_variable room_;
  std::deque<Job> jobs_;
  std::vector<std::thread> threads_;
  bool done_ = false;
  std::atomic<bool> good_{true};
};

/// How a column of accesses lies in the file.
struct ColumnLayout {
  Hdf5Dataset dataset;
  uint64_t rows = 0;
  uint64_t chunkRows = 0;
  uint64_t storedBytes = 0; ///< 0: no chunk was written, every row is the default
};

bool openColumn(hid_t group, const char *name, hid_t type, ColumnLayout &layout,
                std::string &error) {
  const std::string label = std::string("'accesses/") + name + "' ";
  H5L_info_t link;
  if (H5Lget_info(group, name, &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD) {
    error = label + "is missing";
    return false;
  }
  layout.dataset = Hdf5Dataset(H5Dopen2(group, name, H5P_DEFAULT));
  const hid_t id = layout.dataset.get();
  const Hdf5Type found(layout.dataset ? H5Dget_type(id) : -1);
  const Hdf5Space space(layout.dataset ? H5Dget_space(id) : -1);
  const Hdf5Properties made(layout.dataset ? H5Dget_create_plist(id) : -1);
  if (!found || !space || !made || H5Tequal(found.get(), type) <= 0) {
    error = label + "has the wrong type";
    return false;
  }
  hsize_t rows = 0;
  hsize_t chunkRows = 0;
  if (H5Sget_simple_extent_ndims(space.get()) != 1 ||
      H5Sget_simple_extent_dims(space.get(), &rows, nullptr) != 1 ||
      H5Pget_layout(made.get()) != H5D_CHUNKED || H5Pget_chunk(made.get(), 1, &chunkRows) != 1 ||
      chunkRows == 0 || chunkRows > kTraceChunkRows || rows > kMaxRows) {
    error = label + "has a shape or chunks that no trace has";
    return false;
  }
  const int filters = H5Pget_nfilters(made.get());
  for (int index = 0; index < filters; ++index) {
    unsigned flags = 0;
    size_t values = 0;
    unsigned config = 0;
    const H5Z_filter_t filter = H5Pget_filter2(made.get(), static_cast<unsigned>(index), &flags,
                                               &values, nullptr, 0, nullptr, &config);
    const bool last = index + 1 == filters;
    if (filter != (last ? H5Z_FILTER_DEFLATE : H5Z_FILTER_SHUFFLE)) {
      error = label + "is not shuffled and deflated";
      return false;
    }
  }
  if (filters != (H5Tget_size(type) > 1 ? 2 : 1)) {
    error = label + "is not shuffled and deflated";
    return false;
  }
  layout.rows = rows;
  layout.chunkRows = chunkRows;
  layout.storedBytes = H5Dget_storage_size(id);
  return true;
}

template <typename T>
bool readColumn(hid_t group, const char *name, T defaultValue, uint64_t fileBytes, size_t &rows,
                bool first, ChunkInflater &inflater, TraceColumn<T> &column, std::string &error) {
  ColumnLayout layout;
  if (!openColumn(group, name, hdf5TypeOf<T>(), layout, error))
    return false;
  if (first)
    rows = layout.rows;
  if (layout.rows != rows) {
    error = std::string("'accesses/") + name + "' has " + std::to_string(layout.rows) +
            " rows, its neighbours have " + std::to_string(rows);
    return false;
  }
  if (layout.storedBytes == 0) {
    column = TraceColumn<T>(defaultValue);
    return true;
  }
  std::vector<T> values;
  values.resize(rows, defaultValue);
  for (uint64_t begin = 0; begin < rows; begin += layout.chunkRows) {
    const hsize_t offset = begin;
    hsize_t packedBytes = 0;
    if (H5Dget_chunk_storage_size(layout.dataset.get(), &offset, &packedBytes) < 0 ||
        packedBytes == 0)
      continue; // not written: the default
    uint32_t skipped = 0;
    PackedChunk packed(packedBytes <= fileBytes ? packedBytes : 0);
    if (packed.empty() ||
        H5Dread_chunk(layout.dataset.get(), H5P_DEFAULT, &offset, &skipped, packed.data()) < 0 ||
        skipped != 0) {
      error = std::string("'accesses/") + name + "' cannot be read";
      return false;
    }
    inflater.add(std::move(packed), sizeof(T), layout.chunkRows,
                 std::min<uint64_t>(layout.chunkRows, rows - begin),
                 reinterpret_cast<unsigned char *>(values.data() + begin));
  }
  column = TraceColumn<T>(std::move(values));
  return true;
}

bool spanFits(int64_t offset, uint64_t count, int64_t stride, int64_t &end) {
  int64_t distance = 0;
  return !__builtin_mul_overflow(static_cast<int64_t>(count), stride, &distance) &&
         !__builtin_add_overflow(offset, distance, &end);
}

/// Empty when the run can be used without further checks, else what is wrong.
std::string problemOf(const TraceRun &run, const TraceLaunch &launch) {
  if (run.program >= static_cast<uint64_t>(launch.programCount()))
    return "names program " + std::to_string(run.program) + " of " +
           std::to_string(launch.programCount());
  if (run.op >= launch.ops.size())
    return "names op " + std::to_string(run.op) + " of " + std::to_string(launch.ops.size());
  if (run.argument < -1 || run.argument >= static_cast<int64_t>(launch.arguments.size()))
    return "names argument " + std::to_string(run.argument) + " of " +
           std::to_string(launch.arguments.size());
  if (static_cast<uint8_t>(run.kind) > static_cast<uint8_t>(TraceAccessKind::Atomic))
    return "has kind " + std::to_string(static_cast<int>(run.kind)) + ", 0 to 2 are expected";
  int64_t end = 0;
  if (uint64_t{run.innerCount} * run.outerCount > kMaxRunElements ||
      !spanFits(run.offsetBytes, run.innerCount, run.innerStrideBytes, end) ||
      !spanFits(end, run.outerCount, run.outerStrideBytes, end) ||
      !spanFits(run.offsetBytes, run.outerCount, run.outerStrideBytes, end) ||
      !spanFits(end, 1, 255, end))
    return "is longer than any block";
  return {};
}
} // namespace

bool readAccessColumns(hid_t group, const TraceLaunch &launch, uint64_t fileBytes,
                       TraceAccesses &accesses, std::string &problem) {
  bool good = true;
  bool first = true;
  {
    ChunkInflater inflater;
    forEachAccessColumn([&](const char *name, auto defaultValue, auto column, auto) {
      good = good && readColumn(group, name, defaultValue, fileBytes, accesses.rows, first,
                                inflater, accesses.*column, problem);
      first = false;
    });
    if (!inflater.finish() && good) {
      good = false;
      problem = "an access column is damaged";
    }
  }
  for (size_t row = 0; good && row < accesses.rows; ++row) {
    const std::string what = problemOf(accesses[row], launch);
    if (!what.empty()) {
      problem = "access run " + std::to_string(row) + " " + what;
      good = false;
    }
  }
  return good;
}

} // namespace blockscope
