// Tables with any number of rows for each finding.
#include "core/trace/finding_reader.h"

#include "core/trace/finding_roles.h"
#include "core/trace/launch_reader.h"
#include "core/trace/table_reader.h"

#include <array>
#include <utility>

namespace blockscope {
namespace {

constexpr std::array<std::pair<SiteRole, std::string_view>, 8> kRoles = {{
    {SiteRole::Here, "here"},
    {SiteRole::OtherSide, "other"},
    {SiteRole::AllocatedAt, "allocated_at"},
    {SiteRole::BornAt, "born_at"},
    {SiteRole::Through, "through"},
    {SiteRole::ReadAt, "read_at"},
    {SiteRole::ArrivesAt, "arrives_at"},
    {SiteRole::UsedAt, "used_at"},
}};

/// The finding of each row.
/// Errors: empty, where one names none.
std::vector<TraceFinding *> findingsOf(TraceTableReader &table, TraceLaunch &launch) {
  std::vector<TraceFinding *> result;
  for (const int32_t number : table.numbers<int32_t>("finding")) {
    if (number < 0 || static_cast<size_t>(number) >= launch.findings.size()) {
      table.fail("finding", "names finding " + std::to_string(number) + " of " +
                                std::to_string(launch.findings.size()));
      return {};
    }
    result.push_back(&launch.findings[static_cast<size_t>(number)]);
  }
  return result;
}

void readDetails(TraceTableReader &table, TraceLaunch &launch) {
  const std::vector<TraceFinding *> findings = findingsOf(table, launch);
  const std::vector<std::string> hints = table.text("hint");
  const std::vector<std::string> models = table.text("model");
  const std::vector<uint8_t> hasElement = table.numbers<uint8_t>("has_element");
  const std::vector<int64_t> offsets = table.numbers<int64_t>("element_offset");
  const std::vector<uint8_t> hasMore = table.numbers<uint8_t>("has_more_elements");
  const std::vector<uint8_t> isElsewhere = table.numbers<uint8_t>("is_elsewhere");
  for (size_t row = 0; table.error().empty() && row < findings.size(); ++row) {
    TraceFinding &finding = *findings[row];
    finding.hint = hints[row];
    finding.model = models[row];
    if (hasElement[row] != 0)
      finding.elementOffsetBytes = offsets[row];
    finding.hasMoreElements = hasMore[row] != 0;
    finding.isElsewhere = isElsewhere[row] != 0;
  }
}

void readPlaces(TraceTableReader &table, TraceLaunch &launch) {
  const std::vector<TraceFinding *> findings = findingsOf(table, launch);
  const std::vector<std::string> roles = table.text("role");
  const std::vector<int32_t> sources = table.numbers<int32_t>("source");
  const std::vector<int32_t> lines = table.numbers<int32_t>("line");
  const std::vector<int32_t> columns = table.numbers<int32_t>("column");
  const std::vector<int32_t> ops = table.numbers<int32_t>("op");
  const std::vector<int64_t> programs = table.numbers<int64_t>("program");
  std::vector<std::string> accesses = table.text("access");
  std::vector<std::string> lanes = table.text("lane");
  std::vector<std::string> loops = table.text("loop");
  std::vector<std::string> values = table.text("value");
  for (size_t row = 0; table.error().empty() && row < findings.size(); ++row)
    if (const auto role = parseSiteRole(roles[row])) // else of a later version
      findings[row]->places.push_back({*role, sources[row], lines[row], columns[row], ops[row],
                                       programs[row], std::move(accesses[row]),
                                       std::move(lanes[row]), std::move(loops[row]),
                                       std::move(values[row])});
}

void readValues(TraceTableReader &table, TraceLaunch &launch) {
  const std::vector<TraceFinding *> findings = findingsOf(table, launch);
  std::vector<std::string> names = table.text("name");
  std::vector<std::string> values = table.text("value");
  for (size_t row = 0; table.error().empty() && row < findings.size(); ++row)
    findings[row]->values.emplace_back(std::move(names[row]), std::move(values[row]));
}

void readElements(TraceTableReader &table, TraceLaunch &launch) {
  const std::vector<TraceFinding *> findings = findingsOf(table, launch);
  const std::vector<int32_t> arguments = table.numbers<int32_t>("argument");
  const std::vector<int64_t> offsets = table.numbers<int64_t>("offset");
  const std::vector<int64_t> inner = table.numbers<int64_t>("inner_count");
  const std::vector<int64_t> outer = table.numbers<int64_t>("outer_count");
  const std::vector<int64_t> strides = table.numbers<int64_t>("outer_stride");
  for (size_t row = 0; table.error().empty() && row < findings.size(); ++row)
    findings[row]->elements.push_back(
        {arguments[row], offsets[row], inner[row], outer[row], strides[row]});
}

void readShares(TraceTableReader &table, TraceLaunch &launch) {
  const std::vector<TraceFinding *> findings = findingsOf(table, launch);
  const std::vector<int32_t> sources = table.numbers<int32_t>("source");
  const std::vector<int32_t> lines = table.numbers<int32_t>("line");
  const std::vector<int32_t> shares = table.numbers<int32_t>("permille");
  std::vector<std::string> what = table.text("what");
  for (size_t row = 0; table.error().empty() && row < findings.size(); ++row)
    findings[row]->lineShares.push_back(
        {sources[row], lines[row], shares[row], std::move(what[row])});
}

} // namespace

std::string_view siteRoleName(SiteRole role) {
  for (const auto &[each, name] : kRoles)
    if (each == role)
      return name;
  return "";
}

std::optional<SiteRole> parseSiteRole(std::string_view name) {
  for (const auto &[role, each] : kRoles)
    if (each == name)
      return role;
  return std::nullopt;
}

bool readFindingDetails(const hdf5::File &file, const hdf5::Group &group, const std::string &label,
                        MemoryBudget &budget, TraceLaunch &launch, std::string &error) {
  using Read = void (*)(TraceTableReader &, TraceLaunch &);
  static constexpr std::array<std::pair<const char *, Read>, 5> kTables = {{
      {"finding_details", readDetails},
      {"finding_places", readPlaces},
      {"finding_values", readValues},
      {"finding_elements", readElements},
      {"finding_shares", readShares},
  }};
  for (const auto &[name, read] : kTables) {
    if (group.find(name) == hdf5::kNowhere)
      continue;
    hdf5::Group member;
    if (!openGroup(file, group, name, member)) {
      error = "'" + label + "/" + name + "' cannot be read";
      return false;
    }
    TraceTableReader table(file, member, label + "/" + name, budget);
    read(table, launch);
    error = table.error();
    if (!error.empty())
      return false;
  }
  return true;
}

} // namespace blockscope
