// Opens the parts of a trace file, one after another.
#include "core/trace/trace_reader.h"

#include "core/trace/access_reader.h"
#include "core/trace/launch_reader.h"
#include "core/trace/table_reader.h"
#include "core/trace/trace_check.h"
#include "core/trace/trace_envelope.h"

namespace blockscope {
namespace {

/// Version 1 kept 16 bits of the number of an op: with more ops than that, its lines are wrong.
constexpr size_t kMaxOpsOfVersion1 = size_t{1} << 16;

} // namespace

class TraceReader::Impl {
public:
  std::string path;
  TraceLimits limits;
  int version = 0;
  hdf5::File file;
  hdf5::Group launches;
  std::vector<TraceSource> sources;

  /// False, with the problem and the file's name in `error`.
  bool fail(const std::string &problem, std::string &error) const {
    error = "trace file '" + path + "': " + problem;
    return false;
  }
  bool open(std::string &error);
  bool readSources(const hdf5::Group &root, std::string &error);
  bool openLaunch(size_t index, hdf5::Group &group, std::string &error) const;
};

bool TraceReader::Impl::open(std::string &error) {
  FileBytes bytes;
  std::string problem;
  if (!bytes.open(path, problem))
    return fail(problem, error);
  version = checkEnvelope(bytes, problem);
  if (version == 0)
    return fail(problem, error);
  hdf5::Group root;
  if (!file.open(std::move(bytes), kTraceEnvelopeBytes) || !root.open(file, file.root()))
    return fail("the HDF5 part cannot be read, or is not of the form that traces have", error);
  MemoryBudget budget = limits.forTables();
  TraceTableReader attributes(file, root, "", budget);
  const std::string format = attributes.textAttribute("format");
  const int64_t written = attributes.numberAttribute("version", 1)[0];
  if (!attributes.error().empty() || format != "blockscope-trace" || written != version)
    return fail(attributes.error().empty() ? "has the wrong format or version" : attributes.error(),
                error);
  if (!openGroup(file, root, "launches", launches))
    return fail("'launches' is missing", error);
  return readSources(root, error);
}

bool TraceReader::Impl::readSources(const hdf5::Group &root, std::string &error) {
  hdf5::Group group;
  if (!openGroup(file, root, "sources", group))
    return fail("'sources' is missing", error);
  MemoryBudget budget = limits.forTables();
  TraceTableReader table(file, group, "sources", budget);
  const std::vector<std::string> paths = table.text("path");
  const std::vector<int32_t> firstLines = table.numbers<int32_t>("first_line");
  std::vector<std::string> texts = table.text("text");
  if (!table.error().empty())
    return fail(table.error(), error);
  for (size_t row = 0; row < paths.size(); ++row)
    sources.push_back({paths[row], std::move(texts[row]), firstLines[row]});
  const std::string problem = problemOf(sources);
  return problem.empty() || fail(problem, error);
}

bool TraceReader::Impl::openLaunch(size_t index, hdf5::Group &group, std::string &error) const {
  if (index >= launches.size())
    return fail("has no launch " + std::to_string(index) + "; it holds " +
                    std::to_string(launches.size()),
                error);
  return openGroup(file, launches, std::to_string(index), group) ||
         fail("'launches/" + std::to_string(index) + "' is missing", error);
}

TraceReader::TraceReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TraceReader::~TraceReader() = default;

const std::string &TraceReader::path() const { return impl_->path; }
const std::vector<TraceSource> &TraceReader::sources() const { return impl_->sources; }
size_t TraceReader::launchCount() const { return impl_->launches.size(); }

std::unique_ptr<TraceReader> TraceReader::open(const std::string &path, std::string &error,
                                               const TraceLimits &limits) {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  impl->limits = limits;
  if (!impl->open(error))
    return nullptr;
  return std::unique_ptr<TraceReader>(new TraceReader(std::move(impl)));
}

std::optional<TraceLaunch> TraceReader::readLaunch(size_t index, std::string &error) const {
  const std::string label = "launches/" + std::to_string(index);
  hdf5::Group group;
  if (!impl_->openLaunch(index, group, error))
    return std::nullopt;
  TraceLaunch launch;
  std::string problem;
  MemoryBudget budget = impl_->limits.forTables();
  if (readLaunchTables(impl_->file, group, label, budget, launch, problem)) {
    problem = problemOf(launch, impl_->sources.size());
    if (problem.empty() && impl_->version == 1 && launch.ops.size() > kMaxOpsOfVersion1)
      problem = "has " + std::to_string(launch.ops.size()) +
                " ops, more than version 1 can tell apart; record it again";
    if (problem.empty())
      return launch;
    problem = "'" + label + "': " + problem;
  }
  impl_->fail(problem, error);
  return std::nullopt;
}

std::optional<TraceAccesses> TraceReader::readAccesses(size_t index, const TraceLaunch &launch,
                                                       std::string &error) const {
  const std::string label = "launches/" + std::to_string(index) + "/accesses";
  hdf5::Group parent;
  hdf5::Group group;
  if (!impl_->openLaunch(index, parent, error))
    return std::nullopt;
  TraceAccesses accesses;
  std::string problem;
  MemoryBudget budget = impl_->limits.forAccesses();
  if (!openGroup(impl_->file, parent, "accesses", group)) {
    problem = "'" + label + "' is missing";
  } else if (readAccessColumns(impl_->file, group, label, impl_->version, budget, accesses,
                               problem)) {
    problem = problemOf(accesses, launch);
    if (problem.empty())
      return accesses;
  }
  impl_->fail(problem, error);
  return std::nullopt;
}

std::optional<TraceValues> TraceReader::readValues(size_t index, const TraceAccesses &accesses,
                                                   std::string &error) const {
  const std::string label = "launches/" + std::to_string(index) + "/values";
  hdf5::Group parent;
  if (!impl_->openLaunch(index, parent, error))
    return std::nullopt;
  TraceValues values;
  if (parent.find("values") == hdf5::kNowhere)
    return values;
  std::string problem;
  hdf5::Group group;
  if (!openGroup(impl_->file, parent, "values", group)) {
    problem = "'" + label + "' cannot be read";
  } else {
    MemoryBudget budget = impl_->limits.forTables();
    TraceTableReader table(impl_->file, group, label, budget);
    values.dropped = table.numberAttribute("dropped", 1)[0];
    values.run = table.numbers<int64_t>("run");
    values.before = table.numbers<int64_t>("before");
    values.after = table.numbers<int64_t>("after");
    problem = table.error();
    if (problem.empty())
      problem = problemOf(values, accesses);
    if (problem.empty())
      return values;
    if (table.error().empty())
      problem = "'" + label + "' " + problem;
  }
  impl_->fail(problem, error);
  return std::nullopt;
}

} // namespace blockscope
