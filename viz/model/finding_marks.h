// How the elements that findings are about are drawn in a heat map: one pattern for each kind.
#pragma once

#include "core/finding_codes.h"
#include "viz/model/color_map.h"
#include "viz/model/tensor_layout.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace blockscope::viz {

/// What a finding says of an element. Patterns differ in shape, so that no colour is needed to tell
/// them apart.
enum class MarkKind : uint8_t {
  Undefined, ///< strokes /
  Hole,      ///< crossed strokes
  Twice,     ///< upright bars
  NotFinite, ///< checks
  Wrapped,   ///< strokes \.
  OtherRow,  ///< level bars
  Race,      ///< both sides at once
  SideA,     ///< strokes / of the place of a race that was found
  SideB,     ///< strokes \ of its other side
  WaitedFor, ///< dots
  Other,     ///< an outline
};
inline constexpr int kMarkKinds = 11;

MarkKind markOf(FindingCode code);
/// What the legend calls it: "undefined".
std::string_view markLabel(MarkKind kind);
/// What the tooltip says of an element: "has no value".
std::string_view markMeaning(MarkKind kind);

/// The two sides of a race; the same wherever they are shown.
inline constexpr Rgba kSideAColor = rgba(255, 170, 40);
inline constexpr Rgba kSideBColor = rgba(255, 132, 224);
inline constexpr Rgba kMarkColor = rgba(255, 255, 255);
inline constexpr Rgba kMarkEdge = rgba(0, 0, 0);

/// Neighbouring cells of one row that are marked.
struct MarkSegment {
  Cell first;
  int64_t columns = 1;
  MarkKind kind = MarkKind::Other;
  int finding = 0;
};

/// Pixels of a legend: `size` rows of `size` pixels of a marked, untouched cell.
std::vector<Rgba> renderMark(MarkKind kind, int size);

struct HeatRequest;

/// Draws the segments over a heat map. A mark is at least three pixels wide; its border is a line,
/// its inside the pattern of its kind.
///
/// Shapes: `pixels` has `request.height` rows of `request.width` pixels.
void drawMarks(const std::vector<MarkSegment> &segments, const HeatRequest &request,
               std::vector<Rgba> &pixels);

} // namespace blockscope::viz
