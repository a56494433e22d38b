// Differences of counts, their totals and their picture.
#include "viz/model/difference_map.h"

#include "viz/model/heat_image.h"

#include <algorithm>
#include <cmath>

namespace blockscope::viz {
namespace {

constexpr uint32_t kEqual = 1;
constexpr unsigned kLotBits = 4;
constexpr int64_t kMostSize = (int64_t{1} << (31 - kLotBits)) - 1; ///< larger ones look the same

ElementCounts &operator+=(ElementCounts &counts, const ElementCounts &more) {
  counts.loads += more.loads;
  counts.stores += more.stores;
  counts.atomics += more.atomics;
  return counts;
}

/// The greater of two rows that are lit.
RaiseRow either(RaiseRow one, RaiseRow other) {
  return [one = std::move(one), other = std::move(other)](
             int64_t row, int64_t lowest, int64_t highest, std::vector<uint32_t> &line) {
    one(row, lowest, highest, line);
    other(row, lowest, highest, line);
  };
}

} // namespace

DifferenceMap::DifferenceMap(const TraceModel &a, int argumentA, const TraceModel &b, int argumentB)
    : a_(a), b_(b), argumentA_(argumentA), argumentB_(argumentB) {
  const Plane &planeA = a_.plane(argumentA_, -1);
  const Plane &planeB = b_.plane(argumentB_, -1);
  const HeatMap &heatA = a_.heat(argumentA_);
  const HeatMap &heatB = b_.heat(argumentB_);
  for (int64_t row = 0; row < planeA.rows(); ++row)
    for (int64_t column = 0; column < planeA.columnsOf(row); ++column)
      addTotals(countsAt(planeA, heatA, planeB, heatB, {row, column}), /*isInside=*/true);
  for (const OutsideDifference &each : outside(-1))
    addTotals(each.counts, /*isInside=*/false);
}

CountPair DifferenceMap::countsAt(const Plane &planeA, const HeatMap &heatA, const Plane &planeB,
                                  const HeatMap &heatB, Cell cell) const {
  return {heatA.at(planeA.slotOf(cell)), heatB.at(planeB.slotOf(cell))};
}

void DifferenceMap::addTotals(const CountPair &counts, bool isInside) {
  for (const HeatMode mode : {HeatMode::Reads, HeatMode::Writes, HeatMode::Both}) {
    DifferenceTotals &totals = totals_[static_cast<size_t>(mode)];
    const int64_t difference = counts.difference(mode);
    totals.largest = std::max(totals.largest, std::abs(difference));
    totals.areShared =
        totals.areShared || (difference != 0 && counts.a.of(mode) > 0 && counts.b.of(mode) > 0);
    if (!isInside)
      continue;
    totals.more += difference > 0 ? 1 : 0;
    totals.fewer += difference < 0 ? 1 : 0;
    totals.equal += difference == 0 && counts.isTouched(mode) ? 1 : 0;
  }
}

CountPair DifferenceMap::at(int64_t slice, Cell cell) const {
  const Plane &plane = this->plane(slice);
  if (plane.contains(cell))
    return countsAt(plane, a_.heat(argumentA_), b_.plane(argumentB_, slice), b_.heat(argumentB_),
                    cell);
  for (const OutsideDifference &each : outside(slice))
    if (each.cell == cell)
      return each.counts;
  return {};
}

const std::vector<OutsideDifference> &DifferenceMap::outside(int64_t slice) const {
  const auto [entry, isNew] = outside_.try_emplace(slice);
  if (!isNew)
    return entry->second;
  std::map<std::pair<int64_t, int64_t>, CountPair> cells;
  for (const OutsideCell &each : a_.outsideCells(argumentA_, slice).cells)
    cells[{each.cell.row, each.cell.column}].a += each.place.counts;
  for (const OutsideCell &each : b_.outsideCells(argumentB_, slice).cells)
    cells[{each.cell.row, each.cell.column}].b += each.place.counts;
  for (const auto &[cell, counts] : cells)
    entry->second.push_back({{cell.first, cell.second}, counts});
  return entry->second;
}

Region DifferenceMap::content(int64_t slice) const {
  const Region &a = a_.outsideCells(argumentA_, slice).content;
  const Region &b = b_.outsideCells(argumentB_, slice).content;
  return {std::min(a.left, b.left), std::min(a.top, b.top), std::max(a.right, b.right),
          std::max(a.bottom, b.bottom)};
}

uint32_t DifferenceMap::encoded(const CountPair &counts, HeatMode mode, Cell cell) {
  const int64_t difference = counts.difference(mode);
  if (difference == 0)
    return counts.isTouched(mode) ? kEqual : 0;
  const auto size = static_cast<uint32_t>(std::min<int64_t>(std::abs(difference), kMostSize));
  const auto mixed = static_cast<uint64_t>(cell.row) * 0x9e3779b97f4a7c15ULL +
                     static_cast<uint64_t>(cell.column) * 0xc2b2ae3d27d4eb4fULL;
  const auto lot = static_cast<uint32_t>((mixed ^ mixed >> 29U) >> 33U) % (1U << kLotBits);
  return (size << kLotBits | lot) << 1U | (difference < 0 ? 1U : 0U);
}

RasterRows DifferenceMap::rows(int64_t slice, HeatMode mode, RunFilter lit, int rowShift,
                               int columnShift) const {
  RasterRows result;
  const Plane &planeA = plane(slice);
  const Plane &planeB = b_.plane(argumentB_, slice);
  // The heat maps are asked for anew each time: they go when others need their room.
  const auto codes = [this, &planeA, &planeB, mode](int64_t row, int64_t lowest, int64_t highest,
                                                    std::vector<uint32_t> &line) {
    const HeatMap &heatA = a_.heat(argumentA_);
    const HeatMap &heatB = b_.heat(argumentB_);
    highest = std::min(highest, planeA.columnsOf(row) - 1);
    for (int64_t column = lowest; column <= highest; ++column)
      line[column - lowest] = std::max(
          line[column - lowest],
          encoded(countsAt(planeA, heatA, planeB, heatB, {row, column}), mode, {row, column}));
  };
  if (rowShift + columnShift > 0) {
    ReducedPlanes &planes = reduced_
                                .try_emplace({slice, mode}, planeA.rows(), planeA.columns(),
                                             [codes, columns = planeA.columns()](
                                                 int64_t row, std::vector<uint32_t> &line) {
                                               codes(row, 0, columns - 1, line);
                                             })
                                .first->second;
    result.values = [maxima = &planes.get(rowShift, columnShift)](
                        int64_t row, int64_t lowest, int64_t highest, std::vector<uint32_t> &line) {
      for (int64_t column = lowest; column <= highest; ++column)
        line[column - lowest] = std::max(line[column - lowest], maxima->at(row, column));
    };
  } else {
    result.values = codes;
  }
  if (!lit.isAny())
    result.lit = either(litRows(a_, argumentA_, slice, lit, rowShift, columnShift),
                        litRows(b_, argumentB_, slice, lit, rowShift, columnShift));
  return result;
}

float DifferenceScale::position(int64_t difference) const {
  const auto size = static_cast<double>(std::abs(difference));
  const auto largest = static_cast<double>(largest_);
  const double part = logScale_ ? std::log1p(size) / std::log1p(largest) : size / largest;
  return static_cast<float>(difference < 0 ? -part : part);
}

int64_t DifferenceScale::difference(float position) const {
  const auto largest = static_cast<double>(largest_);
  const double part = std::abs(position);
  const double size = logScale_ ? std::expm1(part * std::log1p(largest)) : part * largest;
  return std::llround(position < 0 ? -size : size);
}

Rgba DifferenceScale::colorOfCode(uint32_t code) const {
  if (code == 0)
    return kUntouchedColor;
  const auto size = static_cast<int64_t>(code >> (kLotBits + 1));
  return color(code == kEqual ? 0 : (code & 1U) != 0 ? -size : size);
}

std::vector<Rgba> renderDifference(const DifferenceMap &map, const DifferenceRequest &request) {
  const DifferenceScale scale(map.totals(request.mode).largest, request.logScale, request.colors);
  std::vector<Rgba> pixels = rasterize(
      map.plane(request.slice), request.area,
      [&](int rowShift, int columnShift) {
        return map.rows(request.slice, request.mode, request.lit, rowShift, columnShift);
      },
      [&scale](uint32_t code) { return scale.colorOfCode(code); });
  for (const OutsideDifference &each : map.outside(request.slice))
    if (each.counts.isTouched(request.mode))
      fillCell(each.cell,
               scale.colorOfCode(DifferenceMap::encoded(each.counts, request.mode, each.cell)),
               request.area, pixels);
  return pixels;
}

} // namespace blockscope::viz
