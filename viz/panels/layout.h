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

/// A window that has no room for five panels: the heat map has one half, and in the other one of
/// the rest is shown, of which tabs choose.
bool isNarrow(ImVec2 screen);
inline constexpr float kTabsHeight = 30;
/// Draws the tabs from the cursor on, and goes to the panel that has the focus.
void drawSideTabs(Selection &selection, float width);

} // namespace blockscope::viz
