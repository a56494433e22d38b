// Colours, fonts and spacing of the viewer.
#pragma once

#include "core/finding_codes.h"

#include <imgui.h>

namespace blockscope::viz::theme {

inline constexpr ImU32 kWindow = IM_COL32(18, 20, 25, 255);
inline constexpr ImU32 kPanel = IM_COL32(27, 30, 37, 255);
inline constexpr ImU32 kPanelTitle = IM_COL32(34, 38, 47, 255);
inline constexpr ImU32 kBorder = IM_COL32(49, 54, 66, 255);
inline constexpr ImU32 kAccent = IM_COL32(86, 164, 255, 255);
inline constexpr ImU32 kChosen = IM_COL32(32, 52, 84, 255);
inline constexpr ImU32 kHovered = IM_COL32(40, 46, 58, 255);
inline constexpr ImU32 kText = IM_COL32(222, 227, 236, 255);
inline constexpr ImU32 kFaint = IM_COL32(150, 159, 175, 255);
inline constexpr ImU32 kError = IM_COL32(255, 108, 96, 255);
inline constexpr ImU32 kWarning = IM_COL32(245, 184, 61, 255);
inline constexpr ImU32 kNote = IM_COL32(110, 190, 255, 255);
inline constexpr ImU32 kRead = IM_COL32(102, 194, 255, 255);
inline constexpr ImU32 kWrite = IM_COL32(255, 176, 92, 255);
inline constexpr ImU32 kTrack = IM_COL32(58, 64, 78, 255); ///< of a slider
inline constexpr ImU32 kAtomic = IM_COL32(214, 140, 255, 255);
inline constexpr ImU32 kShare = IM_COL32(232, 222, 255, 255); ///< of an error, on its bar
inline constexpr ImU32 kShareBar = IM_COL32(104, 72, 172, 255);

/// Loads the fonts and sets the style; once per ImGui context, before the first frame. Uses DejaVu
/// where it is installed, else ImGui's own font, enlarged.
void apply(int textPercent = 100);

/// Loads the fonts anew for another size, between two frames; their texture is made anew, too.
void loadFonts(int textPercent);

/// Has the next frame laid out in the room that is left at a size of text, and drawn with all
/// pixels: to be called when ImGui knows the size of the window, before its new frame.
void scaleFrame(int textPercent);

ImFont *regularFont();
ImFont *boldFont();
ImFont *monoFont();
ImFont *titleFont();

/// Pixels of the screen in a length of the layout, at least one: text of 200 % is a layout of half
/// the size, drawn with twice the pixels.
int pixels(float length);

/// Leaves a rectangle to `clearFrame`.
void markPanel(ImDrawList &draw, ImVec2 at, ImVec2 end);

/// Clears the current OpenGL frame buffer: to the colour of panels where the frame that is about to
/// be drawn has marked them, else to that of the window.
void clearFrame();

/// Colour of "error", "warning" or "note".
ImU32 severityColor(Severity severity);

} // namespace blockscope::viz::theme
