// The streaming writer: runs are split into column buffers, full buffers become compressed chunks.
#include "core/trace/trace_writer.h"

#include "core/no_fork.h"
#include "core/trace/access_columns.h"
#include "core/trace/finding_writer.h"
#include "core/trace/gpu_columns.h"
#include "core/trace/table_writer.h"
#include "core/trace/trace_chunk.h"
#include "core/trace/trace_envelope.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <sys/file.h>
#include <unistd.h>
#include <vector>

namespace blockscope {
namespace {

/// An attribute of HDF5 has 64 KiB at most, with its description.
constexpr size_t kMostNameBytes = 60000;

/// One column of the launch that is being written.
struct OpenColumn {
  Hdf5Dataset dataset;
  size_t width = 0;
  std::vector<unsigned char> defaultValue;
};

template <typename T> std::vector<unsigned char> bytesOf(T value) {
  std::vector<unsigned char> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

void writeArguments(hid_t group, const std::vector<TraceArgument> &arguments, bool &good) {
  TraceTableWriter table(group);
  size_t width = 1;
  for (const TraceArgument &argument : arguments)
    width = std::max(width, argument.shape.size());
  std::vector<int32_t> rank;
  std::vector<int64_t> shape(arguments.size() * width);
  std::vector<int64_t> strides(arguments.size() * width);
  for (size_t row = 0; row < arguments.size(); ++row) {
    rank.push_back(static_cast<int32_t>(arguments[row].shape.size()));
    std::copy(arguments[row].shape.begin(), arguments[row].shape.end(),
              shape.begin() + row * width);
    std::copy_n(arguments[row].strides.begin(),
                std::min(arguments[row].strides.size(), arguments[row].shape.size()),
                strides.begin() + row * width);
  }
  table.text("name", columnOf(arguments, &TraceArgument::name));
  table.text("dtype", columnOf(arguments, &TraceArgument::dtype));
  table.numbers("rank", rank);
  table.matrix("shape", shape, width);
  table.matrix("strides", strides, width);
  table.numbers("element_bytes", columnOf(arguments, &TraceArgument::elementBytes));
  table.numbers("storage_bytes", columnOf(arguments, &TraceArgument::storageBytes));
  table.numbers("base_offset_bytes", columnOf(arguments, &TraceArgument::baseOffsetBytes));
  table.text("value", columnOf(arguments, &TraceArgument::value));
  good = good && table.good();
}

void writeNamedValues(hid_t group, const std::vector<TraceNamedValue> &values, bool &good) {
  TraceTableWriter table(group);
  table.text("name", columnOf(values, &TraceNamedValue::name));
  table.text("value", columnOf(values, &TraceNamedValue::value));
  good = good && table.good();
}

void writeOps(hid_t group, const std::vector<TraceOp> &ops, bool &good) {
  TraceTableWriter table(group);
  std::vector<uint8_t> kind;
  for (const TraceOp &op : ops)
    kind.push_back(static_cast<uint8_t>(op.kind));
  table.text("name", columnOf(ops, &TraceOp::name));
  table.numbers("kind", kind);
  table.numbers("source", columnOf(ops, &TraceOp::source));
  table.numbers("line", columnOf(ops, &TraceOp::line));
  table.numbers("column", columnOf(ops, &TraceOp::column));
  table.text("variable", columnOf(ops, &TraceOp::variable));
  table.text("call_chain", columnOf(ops, &TraceOp::callChain));
  good = good && table.good();
}

template <typename Row>
void writeGpuTable(hid_t launch, const char *name, const std::vector<Row> &rows, bool &good) {
  const Hdf5Group group = createGroup(launch, name);
  TraceTableWriter table(group.get());
  writeRowsAsColumns(table, rows, kGpuColumns<Row>);
  good = good && table.good();
}

void writeGpu(hid_t launch, const TraceGpu &gpu, bool &good) {
  if (!gpu.isThere())
    return;
  writeGpuTable(launch, "gpu_target", std::vector<TraceGpuTarget>{gpu.target}, good);
  writeGpuTable(launch, "gpu_peaks", gpu.peaks, good);
  writeGpuTable(launch, "gpu_traffic", gpu.traffic, good);
  writeGpuTable(launch, "gpu_exchanges", gpu.exchanges, good);
  writeGpuTable(launch, "gpu_work", gpu.work, good);
}

/// HDF5 leaves the lock on a file to the end of its descriptor, of which forked children have one.
void unlockFile(hid_t file) {
  void *descriptor = nullptr;
  if (H5Fget_vfd_handle(file, H5P_DEFAULT, &descriptor) >= 0 && descriptor)
    flock(*static_cast<int *>(descriptor), LOCK_UN);
}

} // namespace

class TraceWriter::Impl {
public:
  const pid_t owner = getpid();
  std::string path;
  Hdf5File file;
  Hdf5Group launches;
  Hdf5Group launch;
  Hdf5Group accesses;
  std::vector<OpenColumn> columns;
  std::vector<TraceSource> sources;
  std::vector<TraceRun> pending; ///< fewer than kTraceChunkRows
  size_t chunkRows = kTraceChunkRows;
  uint64_t chunksTaken = 0;
  uint64_t rowsWritten = 0;
  uint64_t maxRuns = kMaxRuns;
  uint64_t droppedRuns = 0;
  std::vector<std::vector<TraceFinding>> findings; ///< of each ended launch
  std::mutex mutex;                                ///< pending, chunksTaken, droppedRuns
  std::mutex fileMutex;                            ///< HDF5, taken in a NoFork
  std::mutex errorMutex;
  std::atomic<bool> failed{false};
  std::string error;

  bool fail(const std::string &what) {
    const std::lock_guard<std::mutex> lock(errorMutex);
    if (!failed.exchange(true))
      error = "trace file '" + path + "': " + what;
    return false;
  }
  bool createColumns(size_t rowsPerChunk);
  bool writeChunk(const std::vector<TraceRun> &runs, uint64_t chunkIndex);
  bool writeLaunchTables(const TraceLaunch &ended);
  bool writeValues(TraceValues values);
  bool dropLaunch();
  bool writeTail();
  std::string nextLaunchName() const { return std::to_string(findings.size()); }
  /// In a forked child the file is the parent's: it must not be written, nor closed.
  bool isInherited() const { return owner != getpid(); }
  bool cannotWrite() const { return failed || isInherited(); }
};

bool TraceWriter::Impl::createColumns(size_t rowsPerChunk) {
  const NoFork whole;
  chunkRows = std::max<size_t>(1, rowsPerChunk);
  forEachAccessColumn([&](const char *name, auto defaultValue, auto, auto) {
    using Value = decltype(defaultValue);
    OpenColumn column;
    column.dataset =
        createColumn(accesses.get(), name, hdf5TypeOf<Value>(), chunkRows, &defaultValue);
    column.width = sizeof(Value);
    column.defaultValue = bytesOf(defaultValue);
    columns.push_back(std::move(column));
  });
  return std::all_of(columns.begin(), columns.end(),
                     [](const OpenColumn &column) { return static_cast<bool>(column.dataset); }) ||
         fail("cannot create the columns of accesses" + hdf5Cause());
}

/// Compresses outside the lock, writes inside it. A chunk of nothing but defaults is written in the
/// last column even so: readers bound the number of rows by the chunks that a file has.
bool TraceWriter::Impl::writeChunk(const std::vector<TraceRun> &runs, uint64_t chunkIndex) {
  std::vector<PackedChunk> packed;
  bool anyStored = false;
  forEachAccessColumn([&](const char *, auto defaultValue, auto, auto valueOf) {
    using Value = decltype(defaultValue);
    std::vector<Value> values(runs.size());
    for (size_t row = 0; row < runs.size(); ++row)
      values[row] = valueOf(runs[row]);
    packed.push_back(packChunk(reinterpret_cast<const unsigned char *>(values.data()),
                               sizeof(Value), values.size(), chunkRows,
                               reinterpret_cast<const unsigned char *>(&defaultValue),
                               !anyStored && packed.size() + 1 == columns.size()));
    anyStored = anyStored || !packed.back().empty();
  });
  const NoFork whole;
  const std::lock_guard<std::mutex> lock(fileMutex);
  keepHdf5Errors();
  const hsize_t offset = chunkIndex * chunkRows;
  rowsWritten = std::max<uint64_t>(rowsWritten, offset + runs.size());
  const hsize_t extent = rowsWritten;
  for (size_t column = 0; column < columns.size(); ++column) {
    const hid_t dataset = columns[column].dataset.get();
    if (H5Dset_extent(dataset, &extent) < 0 ||
        (!packed[column].empty() &&
         H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, &offset, packed[column].size(),
                        packed[column].data()) < 0))
      return fail("cannot write" + hdf5Cause());
  }
  return true;
}

bool TraceWriter::Impl::writeLaunchTables(const TraceLaunch &ended) {
  const hid_t group = launch.get();
  TraceTableWriter attributes(group);
  attributes.attribute("kernel", ended.kernel);
  attributes.attribute("grid", std::vector<int64_t>(ended.grid.begin(), ended.grid.end()));
  bool good = attributes.good();
  writeArguments(createGroup(group, "arguments").get(), ended.arguments, good);
  writeNamedValues(createGroup(group, "parameters").get(), ended.parameters, good);
  writeNamedValues(createGroup(group, "options").get(), ended.options, good);
  writeOps(createGroup(group, "ops").get(), ended.ops, good);
  writeGpu(group, ended.gpu, good);
  if (droppedRuns == 0)
    return good;
  const Hdf5Group member = createGroup(group, "recording");
  TraceTableWriter recording(member.get());
  recording.numbers("dropped_runs", std::vector<int64_t>{static_cast<int64_t>(droppedRuns)});
  return good && recording.good();
}

/// Nothing where no values were recorded.
bool TraceWriter::Impl::writeValues(TraceValues values) {
  if (values.empty())
    return true;
  const auto kept =
      std::lower_bound(values.run.begin(), values.run.end(), static_cast<int64_t>(rowsWritten)) -
      values.run.begin();
  values.dropped += static_cast<int64_t>(values.run.size()) - kept;
  for (std::vector<int64_t> *column : {&values.run, &values.before, &values.after})
    column->resize(static_cast<size_t>(kept));
  const Hdf5Group group = createGroup(launch.get(), "values");
  TraceTableWriter table(group.get());
  table.attribute("dropped", std::vector<int64_t>{values.dropped});
  table.numbers("run", values.run);
  table.numbers("before", values.before);
  table.numbers("after", values.after);
  return table.good();
}

bool TraceWriter::Impl::dropLaunch() {
  columns.clear();
  pending.clear();
  accesses.close();
  launch.close();
  return H5Ldelete(launches.get(), nextLaunchName().c_str(), H5P_DEFAULT) >= 0;
}

/// What is known only at the end: findings and sources.
bool TraceWriter::Impl::writeTail() {
  bool good = true;
  for (size_t index = 0; index < findings.size() && good; ++index) {
    const Hdf5Group group(H5Gopen2(launches.get(), std::to_string(index).c_str(), H5P_DEFAULT));
    good = writeFindings(group.get(), findings[index]);
  }
  const Hdf5Group group = createGroup(file.get(), "sources");
  TraceTableWriter table(group.get());
  table.text("path", columnOf(sources, &TraceSource::path));
  table.numbers("first_line", columnOf(sources, &TraceSource::firstLine));
  table.text("text", columnOf(sources, &TraceSource::text));
  return good && table.good();
}

TraceWriter::TraceWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

TraceWriter::~TraceWriter() {
  close();
  if (impl_->isInherited()) {
    [[maybe_unused]] const Impl *left = impl_.release(); // to nobody
  }
}

const std::string &TraceWriter::error() const { return impl_->error; }

std::unique_ptr<TraceWriter> TraceWriter::create(const std::string &path, std::string &error,
                                                 uint64_t maxRuns) {
  const NoFork whole;
  H5dont_atexit(); // a forked child that exits would write to the files of its parent
  keepHdf5Errors();
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  impl->maxRuns = maxRuns;
  // HDF5 does not say why it cannot create a file; the system does.
  std::FILE *probe = std::fopen(path.c_str(), "wb");
  if (probe == nullptr || std::fclose(probe) != 0) {
    error = "trace file '" + path + "' cannot be created: " + std::strerror(errno);
    return nullptr;
  }
  const Hdf5Properties creation(H5Pcreate(H5P_FILE_CREATE));
  H5Pset_userblock(creation.get(), kTraceEnvelopeBytes);
  // The oldest form of the format, which is all that our reader knows, whatever the library's
  // default is.
  const Hdf5Properties access(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_libver_bounds(access.get(), H5F_LIBVER_EARLIEST, H5F_LIBVER_V18);
  impl->file = Hdf5File(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()));
  std::string reason;
  if (!impl->file) {
    error = "trace file '" + path + "' cannot be created by the HDF5 library" + hdf5Cause();
    return nullptr;
  }
  if (!writeUnfinishedEnvelope(path, reason)) {
    error = "trace file '" + path + "': " + reason;
    return nullptr;
  }
  TraceTableWriter root(impl->file.get());
  root.attribute("format", std::string("blockscope-trace"));
  root.attribute("version", std::vector<int64_t>{kTraceFormatVersion});
  impl->launches = createGroup(impl->file.get(), "launches");
  if (!root.good() || !impl->launches) {
    error = "trace file '" + path + "': cannot write its first tables" + hdf5Cause();
    return nullptr;
  }
  return std::unique_ptr<TraceWriter>(new TraceWriter(std::move(impl)));
}

int32_t TraceWriter::addSource(const TraceSource &source) {
  std::vector<TraceSource> &sources = impl_->sources;
  for (size_t index = 0; index < sources.size(); ++index)
    if (sources[index].path == source.path && sources[index].firstLine == source.firstLine)
      return static_cast<int32_t>(index);
  sources.push_back(source);
  return static_cast<int32_t>(sources.size() - 1);
}

bool TraceWriter::beginLaunch() {
  const NoFork whole;
  if (impl_->cannotWrite())
    return false;
  const std::lock_guard<std::mutex> lock(impl_->fileMutex);
  impl_->columns.clear();
  impl_->pending.clear();
  impl_->chunksTaken = impl_->rowsWritten = impl_->droppedRuns = 0;
  impl_->launch = createGroup(impl_->launches.get(), impl_->nextLaunchName().c_str());
  impl_->accesses = createGroup(impl_->launch.get(), "accesses");
  return impl_->accesses || impl_->fail("cannot begin a launch" + hdf5Cause());
}

bool TraceWriter::dropLaunch() {
  const NoFork whole;
  if (impl_->cannotWrite() || !impl_->launch)
    return false;
  const std::lock_guard<std::mutex> lock(impl_->fileMutex);
  return impl_->dropLaunch() || impl_->fail("cannot drop a launch" + hdf5Cause());
}

bool TraceWriter::appendRuns(std::span<const TraceRun> runs) {
  while (!runs.empty()) {
    if (impl_->cannotWrite())
      return false;
    std::vector<TraceRun> full;
    uint64_t chunkIndex = 0;
    {
      const std::lock_guard<std::mutex> lock(impl_->mutex);
      const uint64_t taken = impl_->chunksTaken * kTraceChunkRows + impl_->pending.size();
      const size_t room =
          std::min<uint64_t>(kTraceChunkRows - impl_->pending.size(), impl_->maxRuns - taken);
      if (room == 0) {
        impl_->droppedRuns += runs.size();
        return true;
      }
      const auto part = runs.first(std::min(room, runs.size()));
      impl_->pending.insert(impl_->pending.end(), part.begin(), part.end());
      runs = runs.subspan(part.size());
      if (impl_->pending.size() == kTraceChunkRows) {
        full.swap(impl_->pending);
        chunkIndex = impl_->chunksTaken++;
        if (chunkIndex == 0 && !impl_->createColumns(kTraceChunkRows))
          return false;
      }
    }
    if (!full.empty() && !impl_->writeChunk(full, chunkIndex))
      return false;
  }
  return true;
}

bool TraceWriter::endLaunch(const TraceLaunch &launch, TraceValues values) {
  const NoFork whole;
  keepHdf5Errors();
  if (impl_->cannotWrite() || !impl_->launch)
    return false;
  if (launch.kernel.size() > kMostNameBytes)
    return impl_->fail("the name of kernel '" + launch.kernel.substr(0, 40) + "...' has " +
                       std::to_string(launch.kernel.size()) + " bytes; a trace can keep " +
                       std::to_string(kMostNameBytes));
  if (launch.programCount() > int64_t{1} << 32)
    return impl_->fail("kernel '" + launch.kernel + "' was launched with " +
                       std::to_string(launch.programCount()) +
                       " programs; a trace can number 2^32");
  // A short launch gets chunks of its own length, not a full one padded.
  if (impl_->chunksTaken == 0 && !impl_->createColumns(impl_->pending.size()))
    return false;
  if (!impl_->pending.empty() && !impl_->writeChunk(impl_->pending, impl_->chunksTaken))
    return false;
  const std::lock_guard<std::mutex> lock(impl_->fileMutex);
  const bool good = impl_->writeLaunchTables(launch) && impl_->writeValues(std::move(values));
  impl_->pending.clear();
  impl_->columns.clear();
  impl_->accesses.close();
  impl_->launch.close();
  impl_->findings.push_back(launch.findings);
  return good || impl_->fail("cannot write the launch" + hdf5Cause());
}

bool TraceWriter::addFinding(size_t launch, TraceFinding finding) {
  if (launch >= impl_->findings.size())
    return false;
  impl_->findings[launch].push_back(std::move(finding));
  return true;
}

bool TraceWriter::close() {
  const NoFork whole;
  if (!impl_->file || impl_->isInherited())
    return !impl_->failed;
  if (impl_->launch) // begun and not ended
    impl_->dropLaunch();
  const bool written = impl_->writeTail();
  impl_->launches.close();
  unlockFile(impl_->file.get());
  const bool closed = impl_->file.close();
  std::string reason = "cannot finish the file" + hdf5Cause();
  if (impl_->failed || !written || !closed || !writeFinishedEnvelope(impl_->path, reason))
    return impl_->fail(reason);
  return true;
}

} // namespace blockscope
