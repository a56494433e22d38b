// Heat maps: counts as colours, what is outside of the tensor, and marks.
#include "viz/model/heat_image.h"

#include "viz/model/cell_raster.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace blockscope::viz {
namespace {

bool contains(const std::vector<OutsidePlace> &places, int64_t slot) {
  const auto at =
      std::lower_bound(places.begin(), places.end(), slot,
                       [](const OutsidePlace &place, int64_t value) { return place.slot < value; });
  return at != places.end() && at->slot == slot;
}

void drawOutside(const TraceModel &model, const HeatRequest &request, std::vector<Rgba> &pixels) {
  const std::vector<OutsidePlace> *lit =
      request.lit.isAny() ? nullptr : &model.footprint(request.argument, request.lit).outside();
  const TimedHeat *timed =
      request.time ? &model.timedHeat(request.argument, request.slice, request.mode) : nullptr;
  for (const OutsideCell &each : model.outsideCells(request.argument, request.slice).cells)
    if (each.place.counts.of(request.mode) > 0 &&
        (timed == nullptr || timed->outsideValue(each.place.slot) > 0))
      fillCell(each.cell,
               lit == nullptr || contains(*lit, each.place.slot) ? kOutsideColor
                                                                 : dimmed(kOutsideColor),
               {request.region, request.width, request.height}, pixels);
}

/// Counts of a range of time, as far as it can be gone to.
RaiseRow timedRows(const TraceModel &model, const HeatRequest &request,
                   std::chrono::nanoseconds budget, BlockShifts shifts) {
  TimedHeat &timed = model.timedHeat(request.argument, request.slice, request.mode);
  const bool isReduced = shifts.row + shifts.column > 0;
  if (isReduced)
    timed.reduced(shifts); // before there are counts to go over
  timed.goTo(*request.time, budget);
  if (isReduced)
    return [maxima = &timed.reduced(shifts)](int64_t row, int64_t lowest, int64_t highest,
                                             std::vector<uint32_t> &line) {
      for (int64_t column = lowest; column <= highest; ++column)
        line[column - lowest] = std::max(line[column - lowest], maxima->at(row, column));
    };
  return [&timed, &plane = model.plane(request.argument, request.slice)](
             int64_t row, int64_t lowest, int64_t highest, std::vector<uint32_t> &line) {
    const int64_t slot = plane.rowSlot(row);
    highest = std::min(highest, plane.columnsOf(row) - 1);
    for (int64_t column = lowest; column <= highest; ++column)
      line[column - lowest] =
          std::max(line[column - lowest], timed.value(slot + column * plane.columnStride()));
  };
}

} // namespace

float HeatScale::position(double count) const {
  if (isFlat())
    return 0.55F;
  const double low = minimum_;
  const double high = maximum_;
  return static_cast<float>(logScale_ ? std::log(std::max(low, count) / low) / std::log(high / low)
                                      : (count - low) / (high - low));
}

double HeatScale::count(float position) const {
  const double low = minimum_;
  const double high = maximum_;
  return logScale_ ? low * std::pow(high / low, position) : low + position * (high - low);
}

RaiseRow countRows(const Plane &plane, const HeatMap &heat, HeatMode mode, ReducedPlanes &reduced,
                   int rowShift, int columnShift) {
  if (rowShift + columnShift > 0)
    return [maxima = &reduced.get(rowShift, columnShift)](
               int64_t row, int64_t lowest, int64_t highest, std::vector<uint32_t> &line) {
      for (int64_t column = lowest; column <= highest; ++column)
        line[column - lowest] = std::max(line[column - lowest], maxima->at(row, column));
    };
  return [&plane, &heat, mode](int64_t row, int64_t lowest, int64_t highest,
                               std::vector<uint32_t> &line) {
    const int64_t slot = plane.rowSlot(row);
    highest = std::min(highest, plane.columnsOf(row) - 1);
    for (int64_t column = lowest; column <= highest; ++column)
      line[column - lowest] =
          std::max(line[column - lowest], heat.value(slot + column * plane.columnStride(), mode));
  };
}

RaiseRow litRows(const TraceModel &model, int argument, int64_t slice, RunFilter lit, int rowShift,
                 int columnShift) {
  return countRows(model.plane(argument, slice), model.footprint(argument, lit), HeatMode::Both,
                   model.reducedFootprint(argument, slice, lit), rowShift, columnShift);
}

std::vector<Rgba> renderHeat(const TraceModel &model, const HeatRequest &request,
                             std::chrono::nanoseconds budget) {
  const Plane &plane = model.plane(request.argument, request.slice);
  const HeatMap &heat = model.heat(request.argument);
  const HeatScale scale = request.scale(heat);
  std::vector<Rgba> pixels = rasterize(
      plane, {request.region, request.width, request.height},
      [&](int rowShift, int columnShift) {
        RasterRows rows;
        if (request.time)
          rows.values = timedRows(model, request, budget, {rowShift, columnShift});
        else
          rows.values = countRows(plane, heat, request.mode,
                                  model.reduced(request.argument, request.slice, request.mode),
                                  rowShift, columnShift);
        if (!request.lit.isAny())
          rows.lit =
              litRows(model, request.argument, request.slice, request.lit, rowShift, columnShift);
        return rows;
      },
      [&scale, known = std::pair(0U, scale.color(0))](uint32_t count) mutable {
        if (count != known.first) // neighbours are mostly alike
          known = {count, scale.color(count)};
        return known.second;
      });
  drawOutside(model, request, pixels);
  if (request.marks != kNoMarks)
    drawMarks(model.marks(request.argument, request.slice, request.marks), request, pixels);
  return pixels;
}

} // namespace blockscope::viz
