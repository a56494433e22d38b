// Sorting and sums.
#include "viz/model/gpu_view.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace blockscope::viz {
namespace {

std::pair<int, int> placeOfOp(const TraceModel &model, int32_t op) {
  const TraceOp &each = model.launch().ops[static_cast<size_t>(op)];
  return {each.source, each.line};
}

template <typename Row, typename Key>
std::vector<size_t> orderOf(const std::vector<Row> &rows, Key key) {
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t left, size_t right) {
    return std::tuple(key(rows[left]), left) < std::tuple(key(rows[right]), right);
  });
  return order;
}

/// The peak of a kind. Vector units compute narrow floats in fp32 where they have no peak of
/// theirs.
int64_t peakOf(const TraceGpu &gpu, const std::string &unit, const std::string &dtype) {
  int64_t fallback = 0;
  for (const TracePeak &peak : gpu.peaks) {
    if (peak.unit == unit && peak.dtype == dtype)
      return peak.flopsPerSecond;
    if (unit == "vector" && peak.unit == unit && peak.dtype == "fp32")
      fallback = peak.flopsPerSecond;
  }
  return dtype == "fp64" ? 0 : fallback;
}

void addWork(const TraceGpu &gpu, Roofline &roofline) {
  for (const TraceWork &row : gpu.work) {
    roofline.flops += row.flops;
    roofline.lines[{row.source, row.line}].flops += row.flops;
    const auto known =
        std::find_if(roofline.kinds.begin(), roofline.kinds.end(), [&](const WorkKind &kind) {
          return kind.unit == row.unit && kind.dtype == row.dtype;
        });
    if (known != roofline.kinds.end())
      known->flops += row.flops;
    else
      roofline.kinds.push_back({row.unit, row.dtype, row.flops, peakOf(gpu, row.unit, row.dtype)});
  }
  std::sort(roofline.kinds.begin(), roofline.kinds.end(),
            [](const WorkKind &left, const WorkKind &right) { return left.flops > right.flops; });
  std::map<std::string, double> seconds; // the units work at the same time
  for (const WorkKind &kind : roofline.kinds) {
    if (kind.flops > 0 && kind.peak == 0)
      return;
    if (kind.flops > 0)
      seconds[kind.unit] += static_cast<double>(kind.flops) / static_cast<double>(kind.peak);
  }
  for (const auto &[unit, each] : seconds)
    roofline.computeSeconds = std::max(roofline.computeSeconds, each);
}

void addAskedBytes(const TraceModel &model, Roofline &roofline) {
  std::vector<int64_t> bytes(model.launch().ops.size());
  const TraceAccesses &accesses = model.accesses();
  for (size_t row = 0; row < accesses.rows; ++row) {
    const int64_t ways =
        static_cast<TraceAccessKind>(accesses.kind[row]) == TraceAccessKind::Atomic ? 2 : 1;
    bytes[accesses.op[row]] += int64_t{accesses.innerCount[row]} * accesses.outerCount[row] *
                               accesses.elementBytes[row] * ways;
  }
  for (size_t op = 0; op < bytes.size(); ++op) {
    roofline.bytesAsked += bytes[op];
    if (bytes[op] > 0)
      roofline.lines[placeOfOp(model, static_cast<int32_t>(op))].bytes += bytes[op];
  }
}

int64_t bytesOnceOf(const TraceModel &model, int argument) {
  const HeatMap &heat = model.heat(argument);
  int64_t elements = 0;
  for (int64_t slot = 0; slot < model.layout(argument).slotCount(); ++slot)
    elements += (heat.value(slot, HeatMode::Reads) > 0 ? 1 : 0) +
                (heat.value(slot, HeatMode::Writes) > 0 ? 1 : 0);
  return elements * model.layout(argument).elementBytes();
}

} // namespace

double ratioOf(int64_t taken, int64_t least) {
  return least > 0 ? static_cast<double>(taken) / static_cast<double>(least) : 1;
}

const TraceTraffic *trafficOf(const TraceModel &model, int32_t op) {
  for (const TraceTraffic &row : model.launch().gpu.traffic)
    if (row.op == op)
      return &row;
  return nullptr;
}

std::vector<size_t> trafficOrder(const TraceModel &model, bool worstFirst) {
  return orderOf(model.launch().gpu.traffic, [&](const TraceTraffic &row) {
    return std::tuple_cat(std::tuple(worstFirst ? -ratioOf(row.sectors, row.leastSectors) : 0.0),
                          placeOfOp(model, row.op));
  });
}

std::vector<size_t> exchangeOrder(const TraceModel &model, bool worstFirst) {
  return orderOf(model.launch().gpu.exchanges, [&](const TraceExchange &row) {
    return std::tuple(worstFirst ? -ratioOf(row.wavefronts, row.leastWavefronts) : 0.0, row.source,
                      row.line, row.column);
  });
}

double Roofline::attainable(int64_t bytes) const {
  if (computeSeconds <= 0 || bytesPerSecond <= 0)
    return 0;
  return static_cast<double>(flops) /
         std::max(computeSeconds, static_cast<double>(bytes) / bytesPerSecond);
}

LineWork Roofline::ofLine(int source, int line) const {
  const auto found = lines.find({source, line});
  return found != lines.end() ? found->second : LineWork();
}

Roofline rooflineOf(const TraceModel &model) {
  Roofline roofline;
  const TraceGpu &gpu = model.launch().gpu;
  roofline.bytesPerSecond = static_cast<double>(gpu.target.bytesPerSecond);
  addWork(gpu, roofline);
  addAskedBytes(model, roofline);
  for (const int tensor : model.tensors())
    if (model.argumentCounts()[static_cast<size_t>(tensor)].total() > 0)
      roofline.bytesOnce += bytesOnceOf(model, tensor);
  return roofline;
}

} // namespace blockscope::viz
