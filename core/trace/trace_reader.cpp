// The robust reader. Damage is found by the envelope first; what follows is for hostile files.
#include "core/trace/trace_reader.h"

#include "core/trace/trace_column.h"
#include "core/trace/trace_envelope.h"
#include "core/trace/trace_table.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <limits>
#include <mutex>
#include <sys/stat.h>
#include <thread>

namespace blockscope {
namespace {

constexpr uint64_t kMaxLaunches = 1'000'000;
constexpr uint64_t kMaxRows = uint64_t{1} << 33;
constexpr uint64_t kMaxRunElements = uint64_t{1} << 31;

Hdf5Group openGroup(hid_t parent, const std::string &name) {
  H5L_info_t link;
  if (H5Lget_info(parent, name.c_str(), &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD)
    return {};
  return Hdf5Group(H5Gopen2(parent, name.c_str(), H5P_DEFAULT));
}

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
      error = std::string("'accesses/") + name + "' can not be read";
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

class TraceReader::Impl {
public:
  std::string path;
  Hdf5File file;
  uint64_t fileBytes = 0;
  uint64_t launches = 0;
  std::vector<TraceSource> sources;

  std::string named(const std::string &problem) const {
    return "trace file '" + path + "': " + problem;
  }
  bool readSources(std::string &error);
  bool readLaunchTables(hid_t group, const std::string &label, TraceLaunch &launch,
                        std::string &error) const;
};

bool TraceReader::Impl::readSources(std::string &error) {
  const Hdf5Group group = openGroup(file.get(), "sources");
  if (!group) {
    error = named("'sources' is missing");
    return false;
  }
  TraceTableReader table(group.get(), "sources", fileBytes);
  const std::vector<std::string> paths = table.text("path");
  const std::vector<int32_t> firstLines = table.numbers<int32_t>("first_line");
  std::vector<std::string> texts = table.text("text");
  if (!table.error().empty()) {
    error = named(table.error());
    return false;
  }
  for (size_t row = 0; row < paths.size(); ++row)
    sources.push_back({paths[row], std::move(texts[row]), firstLines[row]});
  return true;
}

TraceReader::TraceReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TraceReader::~TraceReader() = default;

const std::string &TraceReader::path() const { return impl_->path; }
const std::vector<TraceSource> &TraceReader::sources() const { return impl_->sources; }
size_t TraceReader::launchCount() const { return impl_->launches; }

std::unique_ptr<TraceReader> TraceReader::open(const std::string &path, std::string &error) {
  silenceHdf5();
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  std::string problem;
  if (!checkEnvelope(path, problem)) {
    error = impl->named(problem);
    return nullptr;
  }
  struct stat info{};
  if (stat(path.c_str(), &info) == 0)
    impl->fileBytes = static_cast<uint64_t>(info.st_size);
  impl->file = Hdf5File(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
  if (!impl->file) {
    error = impl->named("the HDF5 part can not be opened");
    return nullptr;
  }
  TraceTableReader root(impl->file.get(), "", impl->fileBytes);
  const std::string format = root.textAttribute("format");
  const int64_t version = root.numberAttribute("version", 1)[0];
  if (format != "blockscope-trace" || version != kTraceFormatVersion) {
    error = impl->named(root.error().empty() ? "has the wrong format or version" : root.error());
    return nullptr;
  }
  const Hdf5Group launches = openGroup(impl->file.get(), "launches");
  H5G_info_t group{};
  if (!launches || H5Gget_info(launches.get(), &group) < 0 || group.nlinks > kMaxLaunches) {
    error = impl->named("'launches' is missing or has too many members");
    return nullptr;
  }
  impl->launches = group.nlinks;
  if (!impl->readSources(error))
    return nullptr;
  return std::unique_ptr<TraceReader>(new TraceReader(std::move(impl)));
}

namespace {

bool readNamedValues(TraceTableReader table, std::vector<TraceNamedValue> &values,
                     std::string &error) {
  const std::vector<std::string> names = table.text("name");
  const std::vector<std::string> texts = table.text("value");
  error = table.error();
  for (size_t row = 0; error.empty() && row < names.size(); ++row)
    values.push_back({names[row], texts[row]});
  return error.empty();
}

bool readArguments(TraceTableReader table, std::vector<TraceArgument> &arguments,
                   std::string &error) {
  const std::vector<std::string> names = table.text("name");
  const std::vector<std::string> dtypes = table.text("dtype");
  const std::vector<int32_t> ranks = table.numbers<int32_t>("rank");
  const std::vector<std::vector<int64_t>> shapes = table.matrix("shape");
  const std::vector<std::vector<int64_t>> strides = table.matrix("strides");
  const std::vector<int64_t> elementBytes = table.numbers<int64_t>("element_bytes");
  const std::vector<int64_t> storageBytes = table.numbers<int64_t>("storage_bytes");
  const std::vector<int64_t> baseOffsets = table.numbers<int64_t>("base_offset_bytes");
  const std::vector<std::string> values = table.text("value");
  constexpr int64_t kMaxBytes = int64_t{1} << 56;
  for (size_t row = 0; table.error().empty() && row < names.size(); ++row) {
    const auto rank = static_cast<size_t>(ranks[row]);
    if (ranks[row] < 0 || rank > shapes[row].size() || rank > strides[row].size()) {
      table.fail("rank", "of '" + names[row] + "' is " + std::to_string(ranks[row]));
      break;
    }
    TraceArgument argument;
    argument.name = names[row];
    argument.dtype = dtypes[row];
    argument.shape.assign(shapes[row].begin(), shapes[row].begin() + rank);
    argument.strides.assign(strides[row].begin(), strides[row].begin() + rank);
    argument.elementBytes = elementBytes[row];
    argument.storageBytes = storageBytes[row];
    argument.baseOffsetBytes = baseOffsets[row];
    argument.value = values[row];
    bool sane = argument.elementBytes >= 0 && argument.elementBytes <= 64 &&
                argument.storageBytes >= 0 && argument.storageBytes <= kMaxBytes &&
                std::abs(argument.baseOffsetBytes) <= kMaxBytes;
    int64_t elements = 1;
    for (size_t dim = 0; sane && dim < rank; ++dim) {
      int64_t span = 0;
      sane = argument.shape[dim] >= 0 &&
             !__builtin_mul_overflow(elements, argument.shape[dim], &elements) &&
             elements <= kMaxBytes &&
             !__builtin_mul_overflow(argument.shape[dim], argument.strides[dim], &span) &&
             span <= kMaxBytes && span >= -kMaxBytes;
    }
    if (!sane) {
      table.fail("shape", "or the strides or extent of '" + argument.name + "' make no sense");
      break;
    }
    arguments.push_back(std::move(argument));
  }
  error = table.error();
  return error.empty();
}

bool readOps(TraceTableReader table, size_t sourceCount, std::vector<TraceOp> &ops,
             std::string &error) {
  const std::vector<std::string> names = table.text("name");
  const std::vector<uint8_t> kinds = table.numbers<uint8_t>("kind");
  const std::vector<int32_t> sources = table.numbers<int32_t>("source");
  const std::vector<int32_t> lines = table.numbers<int32_t>("line");
  const std::vector<int32_t> columns = table.numbers<int32_t>("column");
  const std::vector<std::string> variables = table.text("variable");
  const std::vector<std::string> callChains = table.text("call_chain");
  for (size_t row = 0; table.error().empty() && row < names.size(); ++row) {
    if (sources[row] < -1 || sources[row] >= static_cast<int64_t>(sourceCount) || kinds[row] > 3) {
      table.fail("source", "or kind of op " + std::to_string(row) + " names nothing in the file");
      break;
    }
    ops.push_back({names[row], static_cast<TraceOpKind>(kinds[row]), sources[row], lines[row],
                   columns[row], variables[row], callChains[row]});
  }
  error = table.error();
  return error.empty();
}

bool readFindings(TraceTableReader table, size_t sourceCount, TraceLaunch &launch,
                  std::string &error) {
  const std::vector<std::string> codes = table.text("code");
  const std::vector<std::string> severities = table.text("severity");
  const std::vector<std::string> messages = table.text("message");
  const std::vector<int32_t> ops = table.numbers<int32_t>("op");
  const std::vector<int32_t> arguments = table.numbers<int32_t>("argument");
  const std::vector<int64_t> programs = table.numbers<int64_t>("program");
  const std::vector<int32_t> sources = table.numbers<int32_t>("source");
  const std::vector<int32_t> lines = table.numbers<int32_t>("line");
  const std::vector<int32_t> columns = table.numbers<int32_t>("column");
  const std::vector<int64_t> counts = table.numbers<int64_t>("count");
  const std::vector<std::string> jsons = table.text("json");
  for (size_t row = 0; table.error().empty() && row < codes.size(); ++row) {
    const auto outside = [](int64_t index, int64_t size) { return index < -1 || index >= size; };
    if (outside(ops[row], static_cast<int64_t>(launch.ops.size())) ||
        outside(arguments[row], static_cast<int64_t>(launch.arguments.size())) ||
        outside(programs[row], launch.programCount()) ||
        outside(sources[row], static_cast<int64_t>(sourceCount))) {
      table.fail("op", "or another number of finding " + std::to_string(row) +
                           " names nothing in the file");
      break;
    }
    launch.findings.push_back({codes[row], severities[row], messages[row], ops[row], arguments[row],
                               programs[row], sources[row], lines[row], columns[row], counts[row],
                               jsons[row]});
  }
  error = table.error();
  return error.empty();
}

} // namespace

bool TraceReader::Impl::readLaunchTables(hid_t group, const std::string &label, TraceLaunch &launch,
                                         std::string &error) const {
  const auto table = [&](const char *name, Hdf5Group &owner) {
    owner = openGroup(group, name);
    return TraceTableReader(owner.get(), label + "/" + name, fileBytes);
  };
  TraceTableReader attributes(group, label, fileBytes);
  launch.kernel = attributes.textAttribute("kernel");
  const std::vector<int64_t> grid = attributes.numberAttribute("grid", 3);
  std::copy(grid.begin(), grid.end(), launch.grid.begin());
  for (const int64_t extent : grid)
    if (extent < 1 || extent > std::numeric_limits<int32_t>::max())
      attributes.fail("grid", "has an extent of " + std::to_string(extent));
  if (attributes.error().empty() &&
      static_cast<double>(grid[0]) * grid[1] * grid[2] > std::numeric_limits<uint32_t>::max())
    attributes.fail("grid", "has more than 2^32 programs");
  error = attributes.error();
  std::array<Hdf5Group, 5> owners;
  return error.empty() && readArguments(table("arguments", owners[0]), launch.arguments, error) &&
         readNamedValues(table("parameters", owners[1]), launch.parameters, error) &&
         readNamedValues(table("options", owners[2]), launch.options, error) &&
         readOps(table("ops", owners[3]), sources.size(), launch.ops, error) &&
         readFindings(table("findings", owners[4]), sources.size(), launch, error);
}

std::optional<TraceLaunch> TraceReader::readLaunch(size_t index, std::string &error) const {
  if (index >= impl_->launches) {
    error = impl_->named("has no launch " + std::to_string(index) + "; it holds " +
                         std::to_string(impl_->launches));
    return std::nullopt;
  }
  const std::string label = "launches/" + std::to_string(index);
  const Hdf5Group group = openGroup(impl_->file.get(), label);
  std::string problem = "'" + label + "' is missing";
  TraceLaunch launch;
  if (!group || !impl_->readLaunchTables(group.get(), label, launch, problem)) {
    error = impl_->named(problem);
    return std::nullopt;
  }
  return launch;
}

std::optional<TraceAccesses> TraceReader::readAccesses(size_t index, const TraceLaunch &launch,
                                                       std::string &error) const {
  const std::string label = "launches/" + std::to_string(index);
  const Hdf5Group group = openGroup(impl_->file.get(), label + "/accesses");
  if (!group) {
    error = impl_->named("'" + label + "/accesses' is missing");
    return std::nullopt;
  }
  TraceAccesses accesses;
  bool good = true;
  bool first = true;
  std::string problem;
  {
    ChunkInflater inflater;
    forEachAccessColumn([&](const char *name, auto defaultValue, auto column, auto) {
      good = good && readColumn(group.get(), name, defaultValue, impl_->fileBytes, accesses.rows,
                                first, inflater, accesses.*column, problem);
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
  if (!good) {
    error = impl_->named(problem);
    return std::nullopt;
  }
  return accesses;
}

} // namespace blockscope
