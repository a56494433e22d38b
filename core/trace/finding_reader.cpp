// Tables with any number of rows for each finding.
#include "core/trace/finding_reader.h"

#include "core/trace/finding_columns.h"
#include "core/trace/finding_roles.h"
#include "core/trace/launch_reader.h"
#include "core/trace/table_reader.h"

#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

namespace blockscope {
namespace {

constexpr std::array<std::pair<SiteRole, std::string_view>, 9> kRoles = {{
    {SiteRole::Here, "here"},
    {SiteRole::OtherSide, "other"},
    {SiteRole::AllocatedAt, "allocated_at"},
    {SiteRole::BornAt, "born_at"},
    {SiteRole::Through, "through"},
    {SiteRole::ReadAt, "read_at"},
    {SiteRole::ArrivesAt, "arrives_at"},
    {SiteRole::UsedAt, "used_at"},
    {SiteRole::ChangedAt, "changed_at"},
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

/// The rows of a table, as many as it has findings. Errors: the table's, with rows that say
/// nothing.
template <typename Row> std::vector<Row> rowsOf(TraceTableReader &table, size_t count) {
  std::vector<Row> rows(count);
  const auto read = [&](const auto &column) {
    using Value = typename std::remove_cvref_t<decltype(column)>::Type;
    std::vector<Value> values;
    if constexpr (std::is_same_v<Value, std::string>)
      values = table.text(column.name);
    else
      values = table.numbers<Value>(column.name);
    for (size_t row = 0; table.error().empty() && row < count; ++row)
      rows[row].*column.value = std::move(values[row]);
  };
  std::apply([&](const auto &...columns) { (read(columns), ...); }, kFindingColumns<Row>);
  return rows;
}

void readPlaces(TraceTableReader &table, TraceLaunch &launch) {
  const std::vector<TraceFinding *> findings = findingsOf(table, launch);
  const std::vector<std::string> roles = table.text("role");
  std::vector<TracePlace> places = rowsOf<TracePlace>(table, findings.size());
  for (size_t row = 0; table.error().empty() && row < findings.size(); ++row)
    if (const auto role = parseSiteRole(roles[row])) { // else of a later version
      places[row].role = *role;
      findings[row]->places.push_back(std::move(places[row]));
    }
}

template <auto field> void readRowsOf(TraceTableReader &table, TraceLaunch &launch) {
  using Row =
      typename std::remove_cvref_t<decltype(std::declval<TraceFinding>().*field)>::value_type;
  const std::vector<TraceFinding *> findings = findingsOf(table, launch);
  std::vector<Row> rows = rowsOf<Row>(table, findings.size());
  for (size_t row = 0; table.error().empty() && row < findings.size(); ++row)
    (findings[row]->*field).push_back(std::move(rows[row]));
}

void readValues(TraceTableReader &table, TraceLaunch &launch) {
  const std::vector<TraceFinding *> findings = findingsOf(table, launch);
  std::vector<std::string> names = table.text("name");
  std::vector<std::string> values = table.text("value");
  for (size_t row = 0; table.error().empty() && row < findings.size(); ++row)
    findings[row]->values.emplace_back(std::move(names[row]), std::move(values[row]));
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
  static constexpr std::array<std::pair<const char *, Read>, 6> kTables = {{
      {"finding_details", readDetails},
      {"finding_places", readPlaces},
      {"finding_values", readValues},
      {"finding_elements", readRowsOf<&TraceFinding::elements>},
      {"finding_shares", readRowsOf<&TraceFinding::lineShares>},
      {"finding_waits", readRowsOf<&TraceFinding::waits>},
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
