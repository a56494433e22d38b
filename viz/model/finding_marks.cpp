// Patterns of marks, pixel by pixel.
#include "viz/model/finding_marks.h"

#include "viz/model/heat_image.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace blockscope::viz {
namespace {

constexpr int kPeriod = 9; ///< pixels from stroke to stroke

/// Distance of a pixel from the stroke before it, 0 to kPeriod - 1.
int along(int value) { return ((value % kPeriod) + kPeriod) % kPeriod; }

/// What a stroke is at this distance: 2 its colour, 1 its dark edge, 0 nothing.
int stroke(int distance) { return distance < 2 ? 2 : distance == 2 || distance == kPeriod - 1; }

/// The same for the pattern of a kind.
int patternAt(MarkKind kind, int x, int y) {
  switch (kind) {
  case MarkKind::Undefined:
  case MarkKind::SideA:
    return stroke(along(x + y));
  case MarkKind::Wrapped:
  case MarkKind::SideB:
    return stroke(along(x - y));
  case MarkKind::Hole:
  case MarkKind::Race:
    return std::max(stroke(along(x + y)), stroke(along(x - y)));
  case MarkKind::Twice:
    return stroke(along(x));
  case MarkKind::OtherRow:
    return stroke(along(y));
  case MarkKind::NotFinite:
    return (along(x) < kPeriod / 2) == (along(y) < kPeriod / 2) ? 2 : 1;
  case MarkKind::WaitedFor:
    return std::min(stroke(along(x)), stroke(along(y)));
  case MarkKind::Other:
    break;
  }
  return 0;
}

/// Colour of a stroke of a kind. Where the sides of a race meet, each keeps its own.
Rgba colorAt(MarkKind kind, int x, int y) {
  switch (kind) {
  case MarkKind::SideA:
    return kSideAColor;
  case MarkKind::SideB:
    return kSideBColor;
  case MarkKind::Race:
    return patternAt(MarkKind::SideA, x, y) == 2 ? kSideAColor : kSideBColor;
  default:
    return kMarkColor;
  }
}

/// Where marks are: for each pixel its kind plus 1, 0 where there is none.
class Coverage {
public:
  Coverage(int width, int height)
      : width_(width), height_(height), kinds_(static_cast<size_t>(width) * height) {}

  uint8_t at(int x, int y) const {
    return x < 0 || y < 0 || x >= width_ || y >= height_
               ? 0
               : kinds_[static_cast<size_t>(y) * width_ + x];
  }
  void fill(int x0, int y0, int x1, int y1, MarkKind kind) {
    const auto value = static_cast<uint8_t>(static_cast<uint8_t>(kind) + 1);
    for (int y = std::max(0, y0); y < std::min(y1, height_); ++y)
      for (int x = std::max(0, x0); x < std::min(x1, width_); ++x)
        kinds_[static_cast<size_t>(y) * width_ + x] = value;
  }
  /// Whether a pixel has a neighbour that is not like it; what is outside of the picture is.
  bool isBorder(int x, int y) const {
    const uint8_t mine = at(x, y);
    const auto differs = [&](int nx, int ny) {
      return nx >= 0 && ny >= 0 && nx < width_ && ny < height_ && at(nx, ny) != mine;
    };
    return differs(x - 1, y) || differs(x + 1, y) || differs(x, y - 1) || differs(x, y + 1);
  }
  void paint(std::vector<Rgba> &pixels) const {
    for (int y = 0; y < height_; ++y)
      for (int x = 0; x < width_; ++x) {
        Rgba &pixel = pixels[static_cast<size_t>(y) * width_ + x];
        const uint8_t value = at(x, y);
        if (value == 0) { // a dark line around, so that a mark is seen on a bright cell
          if (at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1) > 0)
            pixel = kMarkEdge;
          continue;
        }
        const auto kind = static_cast<MarkKind>(value - 1);
        if (isBorder(x, y))
          pixel = kind == MarkKind::Race ? kMarkColor : colorAt(kind, x, y);
        else if (const int ink = patternAt(kind, x, y); ink > 0)
          pixel = ink == 2 ? colorAt(kind, x, y) : kMarkEdge;
      }
  }

private:
  int width_;
  int height_;
  std::vector<uint8_t> kinds_;
};

} // namespace

MarkKind markOf(FindingCode code) {
  switch (code) {
  case FindingCode::UndefinedValue:
    return MarkKind::Undefined;
  case FindingCode::NeverWritten:
    return MarkKind::Hole;
  case FindingCode::WrittenTwice:
  case FindingCode::RaceSameValue:
    return MarkKind::Twice;
  case FindingCode::NanBorn:
  case FindingCode::InfinityBorn:
    return MarkKind::NotFinite;
  case FindingCode::IndexWrap:
  case FindingCode::IntegerWrap:
    return MarkKind::Wrapped;
  case FindingCode::CrossesDimension:
    return MarkKind::OtherRow;
  case FindingCode::RaceWriteWrite:
  case FindingCode::RaceReadWrite:
  case FindingCode::RaceWarpOrder:
  case FindingCode::DuplicateStore:
    return MarkKind::Race;
  case FindingCode::Deadlock:
  case FindingCode::NotResident:
    return MarkKind::WaitedFor;
  default:
    return MarkKind::Other;
  }
}

std::string_view markLabel(MarkKind kind) {
  static constexpr std::array<std::string_view, kMarkKinds> kLabels = {
      "undefined", "unwritten", "twice",  "NaN, inf",   "wrapped", "other row",
      "A and B",   "side A",    "side B", "waited for", "finding"};
  return kLabels[static_cast<size_t>(kind)];
}

std::string_view markMeaning(MarkKind kind) {
  static constexpr std::array<std::string_view, kMarkKinds> kMeanings = {
      "has no value",
      "is written by no program",
      "is written twice",
      "holds the NaN or infinity",
      "is where the wrapped integer leads",
      "belongs to another row or slice than the access names",
      "is touched by both sides",
      "is touched by side A",
      "is touched by side B",
      "is waited for",
      "is named by the finding"};
  return kMeanings[static_cast<size_t>(kind)];
}

std::vector<Rgba> renderMark(MarkKind kind, int size) {
  std::vector<Rgba> pixels(static_cast<size_t>(size) * size, kUntouchedColor);
  Coverage coverage(size, size);
  coverage.fill(1, 1, size - 1, size - 1, kind);
  coverage.paint(pixels);
  return pixels;
}

void drawMarks(const std::vector<MarkSegment> &segments, const HeatRequest &request,
               std::vector<Rgba> &pixels) {
  if (segments.empty())
    return;
  const double scaleX = request.width / request.region.width();
  const double scaleY = request.height / request.region.height();
  const auto pixel = [](double at, int most) {
    return static_cast<int>(std::lround(std::clamp(at, -8.0, most + 8.0)));
  };
  Coverage coverage(request.width, request.height);
  for (const MarkSegment &segment : segments) {
    const double left = (static_cast<double>(segment.first.column) - request.region.left) * scaleX;
    const double top = (static_cast<double>(segment.first.row) - request.region.top) * scaleY;
    const int x0 = pixel(left, request.width);
    const int y0 = pixel(top, request.height);
    coverage.fill(x0, y0,
                  std::max(x0 + 3, pixel(left + static_cast<double>(segment.columns) * scaleX,
                                         request.width)),
                  std::max(y0 + 3, pixel(top + scaleY, request.height)), segment.kind);
  }
  coverage.paint(pixels);
}

} // namespace blockscope::viz
