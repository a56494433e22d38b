// Small tables of a launch, every number checked.
#include "core/trace/launch_reader.h"

#include "core/trace/trace_table.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>

namespace blockscope {
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

Hdf5Group openGroup(hid_t parent, const std::string &name) {
  H5L_info_t link;
  if (H5Lget_info(parent, name.c_str(), &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD)
    return {};
  return Hdf5Group(H5Gopen2(parent, name.c_str(), H5P_DEFAULT));
}

bool readLaunchTables(hid_t group, const std::string &label, uint64_t fileBytes, size_t sourceCount,
                      TraceLaunch &launch, std::string &error) {
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
         readOps(table("ops", owners[3]), sourceCount, launch.ops, error) &&
         readFindings(table("findings", owners[4]), sourceCount, launch, error);
}
} // namespace blockscope
