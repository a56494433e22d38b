// The robust reader. Damage is found by the envelope first; what follows is for hostile files.
#include "core/trace/trace_reader.h"

#include "core/trace/access_reader.h"
#include "core/trace/launch_reader.h"
#include "core/trace/trace_envelope.h"
#include "core/trace/trace_table.h"

#include <sys/stat.h>

namespace blockscope {
namespace {

constexpr uint64_t kMaxLaunches = 1'000'000;

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
    error = impl->named("the HDF5 part cannot be opened");
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
  if (!group || !readLaunchTables(group.get(), label, impl_->fileBytes, impl_->sources.size(),
                                  launch, problem)) {
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
  std::string problem;
  if (!readAccessColumns(group.get(), launch, impl_->fileBytes, accesses, problem)) {
    error = impl_->named(problem);
    return std::nullopt;
  }
  return accesses;
}

} // namespace blockscope
