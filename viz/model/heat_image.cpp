// Rendering of a region of a plane, row by row of pixels.
#include "viz/model/heat_image.h"

#include <algorithm>
#include <cmath>

namespace blockscope::viz {
namespace {

constexpr double kSeparatorPixels = 7; ///< cells at least this wide are drawn apart

/// For each pixel along one axis: the (reduced) cells under it.
struct AxisMap {
  int shift = 0;
  double cellsPerPixel = 1;
  std::vector<int64_t> first; ///< empty ranges (last < first) are outside the plane
  std::vector<int64_t> last;
  std::vector<char> isSeparator;

  AxisMap(double begin, double end, int pixels, int64_t cells) {
    cellsPerPixel = (end - begin) / pixels;
    while (cellsPerPixel >= static_cast<double>(int64_t{2} << shift))
      ++shift;
    const auto at = [&](double pixel) { return begin + pixel * cellsPerPixel; };
    for (int pixel = 0; pixel < pixels; ++pixel) {
      int64_t low = 0;
      int64_t high = -1;
      bool separator = false;
      if (cellsPerPixel <= 1) {
        const double middle = at(pixel + 0.5);
        low = high = static_cast<int64_t>(std::floor(middle));
        separator = cellsPerPixel * kSeparatorPixels <= 1 && low > 0 &&
                    std::floor(at(pixel - 0.5)) != std::floor(middle);
      } else {
        low = static_cast<int64_t>(std::floor(at(pixel)));
        high = std::max(low, static_cast<int64_t>(std::ceil(at(pixel + 1))) - 1);
      }
      if (high < 0 || low >= cells) {
        low = 0;
        high = -1;
      } else {
        low = std::max<int64_t>(0, low) >> shift;
        high = std::min(high, cells - 1) >> shift;
      }
      first.push_back(low);
      last.push_back(high);
      isSeparator.push_back(separator ? 1 : 0);
    }
  }
  int64_t lowest() const {
    int64_t value = INT64_MAX;
    for (size_t pixel = 0; pixel < first.size(); ++pixel)
      if (last[pixel] >= first[pixel])
        value = std::min(value, first[pixel]);
    return value;
  }
  int64_t highest() const { return *std::max_element(last.begin(), last.end()); }
};

/// Reads maxima of a plane at one reduction, or the counts themselves without any.
class CellSource {
public:
  CellSource(const Plane &plane, const HeatMap &heat, HeatMode mode, ReducedPlanes &reduced,
             int rowShift, int columnShift)
      : plane_(plane), heat_(heat), mode_(mode),
        reduced_(rowShift + columnShift > 0 ? &reduced.get(rowShift, columnShift) : nullptr) {}

  /// Raises `line[column - lowest]` to the counts of a row.
  void raise(int64_t row, int64_t lowest, int64_t highest, std::vector<uint32_t> &line) const {
    if (reduced_ != nullptr) {
      for (int64_t column = lowest; column <= highest; ++column)
        line[column - lowest] = std::max(line[column - lowest], reduced_->at(row, column));
      return;
    }
    const int64_t slot = plane_.rowSlot(row);
    highest = std::min(highest, plane_.columnsOf(row) - 1);
    for (int64_t column = lowest; column <= highest; ++column)
      line[column - lowest] = std::max(line[column - lowest],
                                       heat_.value(slot + column * plane_.columnStride(), mode_));
  }

private:
  const Plane &plane_;
  const HeatMap &heat_;
  HeatMode mode_;
  const ReducedPlane *reduced_;
};

Rgba darkened(Rgba color) {
  return (color >> 1U & 0x7f7f7fU) + (color >> 2U & 0x3f3f3fU) | (color & 0xff000000U);
}

bool contains(const std::vector<OutsidePlace> &places, int64_t slot) {
  const auto at =
      std::lower_bound(places.begin(), places.end(), slot,
                       [](const OutsidePlace &place, int64_t value) { return place.slot < value; });
  return at != places.end() && at->slot == slot;
}

void drawOutside(const TraceModel &model, const HeatRequest &request, std::vector<Rgba> &pixels) {
  const double scaleX = request.width / request.region.width();
  const double scaleY = request.height / request.region.height();
  const std::vector<OutsidePlace> *lit =
      request.lit.isAny() ? nullptr : &model.footprint(request.argument, request.lit).outside();
  const int gap = std::min(scaleX, scaleY) >= kSeparatorPixels ? 1 : 0;
  for (const OutsideCell &each : model.outsideCells(request.argument, request.slice).cells) {
    if (each.place.counts.of(request.mode) == 0)
      continue;
    const double left = (static_cast<double>(each.cell.column) - request.region.left) * scaleX;
    const double top = (static_cast<double>(each.cell.row) - request.region.top) * scaleY;
    const int x0 = static_cast<int>(std::lround(left)) + gap;
    const int y0 = static_cast<int>(std::lround(top)) + gap;
    const int x1 = std::max(x0 + 3, static_cast<int>(std::lround(left + scaleX)));
    const int y1 = std::max(y0 + 3, static_cast<int>(std::lround(top + scaleY)));
    const Rgba color =
        lit == nullptr || contains(*lit, each.place.slot) ? kOutsideColor : dimmed(kOutsideColor);
    for (int y = std::max(0, y0); y < std::min(y1, request.height); ++y)
      for (int x = std::max(0, x0); x < std::min(x1, request.width); ++x)
        pixels[static_cast<size_t>(y) * request.width + x] = color;
  }
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

std::vector<Rgba> renderHeat(const TraceModel &model, const HeatRequest &request) {
  const auto width = static_cast<size_t>(request.width);
  std::vector<Rgba> pixels(width * static_cast<size_t>(request.height), kPlotBackground);
  const Plane &plane = model.plane(request.argument, request.slice);
  const HeatMap &heat = model.heat(request.argument);
  const AxisMap xs(request.region.left, request.region.right, request.width, plane.columns());
  const AxisMap ys(request.region.top, request.region.bottom, request.height, plane.rows());
  const int64_t lowest = xs.lowest();
  const int64_t highest = xs.highest();
  const bool dims = !request.lit.isAny();
  const bool isApart = std::max(xs.cellsPerPixel, ys.cellsPerPixel) * kSeparatorPixels <= 1;
  const CellSource source(plane, heat, request.mode,
                          model.reduced(request.argument, request.slice, request.mode), ys.shift,
                          xs.shift);
  const CellSource litSource =
      dims ? CellSource(plane, model.footprint(request.argument, request.lit), HeatMode::Both,
                        model.reducedFootprint(request.argument, request.slice, request.lit),
                        ys.shift, xs.shift)
           : source;
  const HeatScale scale(heat, request.mode, request.logScale);
  std::vector<uint32_t> line;
  std::vector<uint32_t> litLine;
  for (size_t y = 0; y < ys.first.size() && lowest <= highest; ++y) {
    Rgba *out = pixels.data() + y * width;
    if (ys.last[y] < ys.first[y])
      continue;
    if (y > 0 && ys.first[y] == ys.first[y - 1] && ys.last[y] == ys.last[y - 1] &&
        ys.isSeparator[y] == ys.isSeparator[y - 1]) {
      std::copy(out - width, out, out); // the same cells as the row above
      continue;
    }
    line.assign(static_cast<size_t>(highest - lowest + 1), 0);
    litLine.assign(line.size(), 0);
    for (int64_t row = ys.first[y]; row <= ys.last[y]; ++row) {
      source.raise(row, lowest, highest, line);
      if (dims)
        litSource.raise(row, lowest, highest, litLine);
    }
    const int64_t columns = plane.columnsOf(ys.first[y] << ys.shift);
    for (size_t x = 0; x < width; ++x) {
      if (xs.last[x] < xs.first[x] || xs.first[x] << xs.shift >= columns)
        continue;
      uint32_t value = 0;
      uint32_t lit = 0;
      for (int64_t column = xs.first[x]; column <= xs.last[x]; ++column) {
        value = std::max(value, line[column - lowest]);
        lit = std::max(lit, litLine[column - lowest]);
      }
      Rgba color = scale.color(value);
      if (dims && lit == 0)
        color = dimmed(color);
      out[x] =
          isApart && (xs.isSeparator[x] != 0 || ys.isSeparator[y] != 0) ? darkened(color) : color;
    }
  }
  drawOutside(model, request, pixels);
  if (request.marks != kNoMarks)
    drawMarks(model.marks(request.argument, request.slice, request.marks), request, pixels);
  return pixels;
}

} // namespace blockscope::viz
