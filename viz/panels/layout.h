// Where the panels are: as wide and high as suits the window, or as somebody has dragged them.
#pragma once

#include "viz/model/selection.h"

#include <imgui.h>

namespace blockscope::viz {

inline constexpr float kPanelGap = 8;

/// Lengths of the layout, for the room between header and status line.
struct PanelSizes {
  float left;
  float middle;
  float right;
  float leftUpper;
  float rightUpper;
};

PanelSizes panelSizes(const Look &look, ImVec2 screen, float height, bool hasFinding);

/// Lets the gaps between the panels be dragged; a double click gives the usual size back.
void drawSplitters(Look &look, const PanelSizes &sizes, float top, float height);

/// How many panels a window has room for: all five; the heat map in one half, and in the other one
/// of the rest; one. Tabs choose it.
enum class Room : uint8_t { Five, Two, One };
Room roomOf(ImVec2 screen);

/// Of the lines above the panels; in a low window there is one of them.
float headerHeight(ImVec2 screen);
inline constexpr float kStatusHeight = 28;

/// The panel beside the heat map, where there is room for two: the last one that had the focus.
PanelKind sidePanel(Selection &selection);
/// The panel that is shown where there is room for one.
PanelKind onlyPanel(Selection &selection);

inline constexpr float kTabsHeight = 30;
/// Draws tabs from the cursor on: those of the panels from `first` on, and of the open drawer.
void drawTabs(Selection &selection, PanelKind first, PanelKind shown, float width);

} // namespace blockscope::viz
