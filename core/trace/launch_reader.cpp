// Small tables of a launch.
#include "core/trace/launch_reader.h"

#include "core/trace/finding_reader.h"
#include "core/trace/gpu_columns.h"
#include "core/trace/table_reader.h"

#include <algorithm>

namespace blockscope {
namespace {

void readNamedValues(TraceTableReader &table, std::vector<TraceNamedValue> &values) {
  const std::vector<std::string> names = table.text("name");
  const std::vector<std::string> texts = table.text("value");
  for (size_t row = 0; table.error().empty() && row < names.size(); ++row)
    values.push_back({names[row], texts[row]});
}

void readArguments(TraceTableReader &table, std::vector<TraceArgument> &arguments) {
  const std::vector<std::string> names = table.text("name");
  const std::vector<std::string> dtypes = table.text("dtype");
  const std::vector<int32_t> ranks = table.numbers<int32_t>("rank");
  const std::vector<std::vector<int64_t>> shapes = table.matrix("shape");
  const std::vector<std::vector<int64_t>> strides = table.matrix("strides");
  const std::vector<int64_t> elementBytes = table.numbers<int64_t>("element_bytes");
  const std::vector<int64_t> storageBytes = table.numbers<int64_t>("storage_bytes");
  const std::vector<int64_t> baseOffsets = table.numbers<int64_t>("base_offset_bytes");
  const std::vector<std::string> values = table.text("value");
  for (size_t row = 0; table.error().empty() && row < names.size(); ++row) {
    const auto rank = static_cast<size_t>(ranks[row]);
    if (ranks[row] < 0 || rank > shapes[row].size() || rank > strides[row].size()) {
      table.fail("rank", "of '" + names[row] + "' is " + std::to_string(ranks[row]));
      return;
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
    arguments.push_back(std::move(argument));
  }
}

void readOps(TraceTableReader &table, std::vector<TraceOp> &ops) {
  const std::vector<std::string> names = table.text("name");
  const std::vector<uint8_t> kinds = table.numbers<uint8_t>("kind");
  const std::vector<int32_t> sources = table.numbers<int32_t>("source");
  const std::vector<int32_t> lines = table.numbers<int32_t>("line");
  const std::vector<int32_t> columns = table.numbers<int32_t>("column");
  const std::vector<std::string> variables = table.text("variable");
  const std::vector<std::string> callChains = table.text("call_chain");
  for (size_t row = 0; table.error().empty() && row < names.size(); ++row)
    ops.push_back({names[row], static_cast<TraceOpKind>(kinds[row]), sources[row], lines[row],
                   columns[row], variables[row], callChains[row]});
}

void readRecording(TraceTableReader &table, int64_t &droppedRuns) {
  for (const int64_t each : table.numbers<int64_t>("dropped_runs"))
    droppedRuns = each;
}

template <typename Row> void readGpuRows(TraceTableReader &table, std::vector<Row> &rows) {
  rows = readColumnsAsRows<Row>(table, kGpuColumns<Row>);
}

void readGpuTarget(TraceTableReader &table, TraceGpuTarget &target) {
  std::vector<TraceGpuTarget> rows;
  readGpuRows(table, rows);
  if (table.error().empty() && rows.size() != 1)
    table.fail("target", "has " + std::to_string(rows.size()) + " rows, expected one");
  else if (table.error().empty())
    target = std::move(rows.front());
}

void readFindings(TraceTableReader &table, std::vector<TraceFinding> &findings) {
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
    TraceFinding finding;
    finding.code = parseFindingCode(codes[row]).value_or(FindingCode::Unknown);
    finding.severity = parseSeverity(severities[row]).value_or(Severity::Error);
    // The code of a later version is not lost.
    const bool isKnown = finding.code != FindingCode::Unknown;
    finding.message = isKnown ? messages[row] : codes[row] + ": " + messages[row];
    finding.site.location.line = lines[row];
    finding.site.location.column = columns[row];
    finding.count = counts[row];
    finding.op = ops[row];
    finding.argument = arguments[row];
    finding.program = programs[row];
    finding.source = sources[row];
    finding.json = jsons[row];
    findings.push_back(std::move(finding));
  }
}

} // namespace

bool openGroup(const hdf5::File &file, const hdf5::Group &parent, const std::string &name,
               hdf5::Group &group) {
  return group.open(file, parent.find(name));
}

bool readLaunchTables(const hdf5::File &file, const hdf5::Group &group, const std::string &label,
                      MemoryBudget &budget, TraceLaunch &launch, std::string &error) {
  TraceTableReader attributes(file, group, label, budget);
  launch.kernel = attributes.textAttribute("kernel");
  const std::vector<int64_t> grid = attributes.numberAttribute("grid", 3);
  std::copy(grid.begin(), grid.end(), launch.grid.begin());
  error = attributes.error();
  const auto read = [&](const char *name, auto readRows, auto &rows) {
    hdf5::Group member;
    if (!error.empty())
      return;
    if (!openGroup(file, group, name, member)) {
      error = "'" + label + "/" + name + "' is missing";
      return;
    }
    TraceTableReader table(file, member, label + "/" + name, budget);
    readRows(table, rows);
    error = table.error();
  };
  read("arguments", readArguments, launch.arguments);
  read("parameters", readNamedValues, launch.parameters);
  read("options", readNamedValues, launch.options);
  read("ops", readOps, launch.ops);
  read("findings", readFindings, launch.findings);
  if (group.find("recording") != hdf5::kNowhere)
    read("recording", readRecording, launch.droppedRuns);
  if (group.find("gpu_target") != hdf5::kNowhere) {
    read("gpu_target", readGpuTarget, launch.gpu.target);
    read("gpu_peaks", readGpuRows<TracePeak>, launch.gpu.peaks);
    read("gpu_traffic", readGpuRows<TraceTraffic>, launch.gpu.traffic);
    read("gpu_exchanges", readGpuRows<TraceExchange>, launch.gpu.exchanges);
    read("gpu_work", readGpuRows<TraceWork>, launch.gpu.work);
  }
  return error.empty() && readFindingDetails(file, group, label, budget, launch, error);
}

} // namespace blockscope
