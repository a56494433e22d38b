// Pieces that the panels share: frames, text that always fits, counts, segmented buttons.
#pragma once

#include "viz/model/commands.h"
#include "viz/model/selection.h"

#include <imgui.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace blockscope::viz {

/// The frame of a panel around what is drawn while it lives. It has the focus when clicked.
class PanelFrame {
public:
  /// Fills the window or child that is being drawn, from the cursor on.
  /// `summary` stands at the right end of the title.
  PanelFrame(PanelKind kind, Selection &selection, const std::string &summary,
             ImU32 summaryColor = 0);
  /// A panel that is not among the five; `key` stands before its title.
  PanelFrame(const std::string &title, const std::string &key, const std::string &summary);
  ~PanelFrame();
  PanelFrame(const PanelFrame &) = delete;
  PanelFrame &operator=(const PanelFrame &) = delete;

private:
  void begin(const std::string &title, const std::string &key, bool hasFocus,
             const std::string &summary, ImU32 summaryColor);
};

/// Begins the one window that fills the screen; ImGui::End ends it.
void beginScreen(const char *name);

/// "7", "12 345", "3.21 M": at most seven characters.
std::string countText(uint64_t count);
/// "1 234 567".
std::string fullCountText(uint64_t count);
/// "12.0 KiB".
std::string bytesText(int64_t bytes);
/// "(3, 0, 0)".
std::string programText(const TraceModel &model, int64_t program);
/// "1 program", "2 programs".
std::string plural(uint64_t count, const char *noun);
/// File name without its folders.
std::string fileName(const std::string &path);

/// The text, shortened with an ellipsis in its middle or at its end to at most `width` pixels.
std::string fitted(const std::string &text, float width, ImFont *font = nullptr);

float textWidth(const std::string &text, ImFont *font = nullptr);

/// The parts of a text, three spaces apart, that fit: the first of them at least.
std::string wholeParts(std::string text, float width);

/// The lines of a text that is broken at its spaces, none wider than `width` pixels.
std::vector<std::string> wrappedLines(const std::string &text, float width, ImFont *font = nullptr);

/// Lines of as many parts as fit in each, three spaces apart.
std::vector<std::string> packedLines(const std::vector<std::string> &parts, float width);

/// Draws fitted text at a place of the screen; hovering it shows the whole when it was shortened.
/// A line that the upper or lower edge of its list would cut is not drawn until it is scrolled into
/// sight: so rows of a list may be cut, but no letters, and no room for more than a line is empty.
void drawText(ImVec2 at, ImU32 color, const std::string &text, float width = 1e9F,
              ImFont *font = nullptr);

/// Draws text that ends at `right`.
void drawTextRight(float right, float top, ImU32 color, const std::string &text,
                   ImFont *font = nullptr);

/// Buttons side by side of which one is pressed; returns the one that is pressed now.
int segmented(const char *id, std::initializer_list<const char *> labels, int pressed);

/// Width that `segmented` takes.
float segmentedWidth(std::initializer_list<const char *> labels);

/// Draws lines below one another; returns their height.
float drawLines(ImVec2 at, ImU32 color, const std::vector<std::string> &lines, float width = 1e9F,
                ImFont *font = nullptr);

/// Scrolls a list so that a row is in sight, if it can be from its first to its last line. `top` is
/// the place of the row among the list's others.
void scrollToRow(float top, float height);

/// Draws a picture that nothing shines through: it is not mixed with what is below it, which takes
/// a CPU as long as the picture itself.
void drawPicture(ImTextureID picture, ImVec2 low, ImVec2 high);

/// A faint text in the middle of what is left of the panel.
void drawEmpty(const std::string &text);

} // namespace blockscope::viz
