// Shared pieces of the panels.
#include "viz/panels/widgets.h"

#include "viz/gl/functions.h"
#include "viz/panels/theme.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace blockscope::viz {
namespace {

constexpr float kTitleHeight = 30;

/// Whole UTF-8 characters from the start of `text`, at most `bytes`.
size_t characterBoundary(const std::string &text, size_t bytes) {
  while (bytes > 0 && bytes < text.size() && (text[bytes] & 0xc0) == 0x80)
    --bytes;
  return bytes;
}

} // namespace

void PanelFrame::begin(const std::string &title, const std::string &key, bool hasFocus,
                       const std::string &summary, ImU32 summaryColor) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 size = ImGui::GetContentRegionAvail();
  const ImVec2 end = {at.x + size.x, at.y + size.y};
  ImDrawList *draw = ImGui::GetWindowDrawList();
  theme::markPanel(*draw, {at.x, at.y + 8}, {end.x, end.y - 8});
  draw->AddRectFilled({at.x, end.y - 8}, end, theme::kPanel, 6, ImDrawFlags_RoundCornersBottom);
  draw->AddRectFilled(at, {end.x, at.y + kTitleHeight}, theme::kPanelTitle, 6,
                      ImDrawFlags_RoundCornersTop);
  draw->AddRect(at, end, hasFocus ? theme::kAccent : theme::kBorder, 6, 0, 1);
  float left = 12;
  if (!key.empty()) {
    const float keyWidth = std::max(16.0F, std::ceil(textWidth(key, theme::boldFont())) + 6);
    const ImVec2 box = {at.x + 9, at.y + 7};
    draw->AddRectFilled(box, {box.x + keyWidth, box.y + 16},
                        hasFocus ? theme::kAccent : IM_COL32(62, 69, 84, 255), 3);
    draw->AddText(theme::boldFont(), 12, {box.x + 4, box.y + 1},
                  hasFocus ? IM_COL32(12, 20, 32, 255) : theme::kText, key.c_str());
    left = 9 + keyWidth + 8;
  }
  drawText({at.x + left, at.y + 6}, theme::kText, title, size.x - left - 8, theme::boldFont());
  const float room = size.x - left - textWidth(title, theme::boldFont()) - 34;
  if (room > 20) {
    const std::string shown = fitted(wholeParts(summary, room), room);
    constexpr size_t kLeastShown = 12; // bytes that still say something
    if (!shown.ends_with("\u2026") ||
        (shown.size() * 2 >= summary.size() && shown.size() >= kLeastShown))
      drawText({end.x - 12 - textWidth(shown), at.y + 6},
               summaryColor != 0 ? summaryColor : theme::kFaint, shown, room + 4);
  }
  ImGui::SetCursorScreenPos({at.x + 1, at.y + kTitleHeight});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(10, 8));
  ImGui::BeginChild(title.c_str(), {size.x - 2, size.y - kTitleHeight - 2}, false,
                    ImGuiWindowFlags_AlwaysUseWindowPadding | ImGuiWindowFlags_NoNavInputs);
  ImGui::PopStyleVar();
}

PanelFrame::PanelFrame(PanelKind kind, Selection &selection, const std::string &summary,
                       ImU32 summaryColor) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 size = ImGui::GetContentRegionAvail();
  begin(std::string(panelTitle(kind)), std::to_string(static_cast<int>(kind) + 1),
        selection.focus == kind, summary, summaryColor);
  selection.panelBox[static_cast<size_t>(kind)] = {at.x, at.y, at.x + size.x, at.y + size.y};
  if (ImGui::IsMouseHoveringRect(at, {at.x + size.x, at.y + size.y}) &&
      ImGui::IsMouseClicked(ImGuiMouseButton_Left) &&
      !ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup))
    selection.focus = kind;
}

PanelFrame::PanelFrame(const std::string &title, const std::string &key,
                       const std::string &summary) {
  begin(title, key, /*hasFocus=*/false, summary, 0);
}

PanelFrame::~PanelFrame() { ImGui::EndChild(); }

void beginScreen(const char *name) {
  ImGui::SetNextWindowPos({0, 0});
  ImGui::SetNextWindowSize(ImGui::GetIO().DisplaySize);
  ImGui::Begin(name, nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                   ImGuiWindowFlags_NoBackground | // the frame is cleared to its colour
                   ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBringToFrontOnFocus |
                   ImGuiWindowFlags_NoNav | ImGuiWindowFlags_NoScrollWithMouse);
  ImGui::SetCursorPos({0, 0});
}

std::string countText(uint64_t count) {
  if (count < 100'000)
    return fullCountText(count);
  static constexpr std::array<const char *, 5> kUnits = {"k", "M", "G", "T", "P"};
  double value = static_cast<double>(count);
  size_t unit = 0;
  for (value /= 1000; value >= 999.5 && unit + 1 < kUnits.size(); ++unit)
    value /= 1000;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f %s",
                value < 9.995   ? 2
                : value < 99.95 ? 1
                                : 0,
                value, kUnits[unit]);
  return text.data();
}

std::string fullCountText(uint64_t count) {
  std::string text = std::to_string(count);
  for (size_t at = text.size(); at > 3; at -= 3)
    text.insert(at - 3, "\u202f"); // narrow space
  return text;
}

std::string bytesText(int64_t bytes) {
  static constexpr std::array<const char *, 5> kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit)
    value /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text.data();
}

std::string programText(const TraceModel &model, int64_t program) {
  const auto at = model.programIndex(program);
  return "(" + std::to_string(at[0]) + ", " + std::to_string(at[1]) + ", " + std::to_string(at[2]) +
         ")";
}

std::string plural(uint64_t count, const char *noun) {
  return fullCountText(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string fileName(const std::string &path) { return path.substr(path.rfind('/') + 1); }

float textWidth(const std::string &text, ImFont *font) {
  if (font == nullptr)
    font = ImGui::GetFont();
  return font->CalcTextSizeA(font->FontSize, 1e9F, 0, text.c_str(), text.c_str() + text.size()).x;
}

std::string fitted(const std::string &text, float width, ImFont *font) {
  if (textWidth(text, font) <= width)
    return text;
  static const std::string kEllipsis = "\u2026";
  size_t low = 0;
  size_t high = text.size();
  while (low + 1 < high) { // the longest start that fits
    const size_t middle = (low + high) / 2;
    if (textWidth(text.substr(0, characterBoundary(text, middle)) + kEllipsis, font) <= width)
      low = middle;
    else
      high = middle;
  }
  return text.substr(0, characterBoundary(text, low)) + kEllipsis;
}

std::string wholeParts(std::string text, float width) {
  for (size_t end = text.rfind("   "); end != std::string::npos && textWidth(text) > width;
       end = text.rfind("   ")) {
    text.resize(end);
    text.resize(text.find_last_not_of(' ') + 1);
  }
  return text;
}

std::vector<std::string> wrappedLines(const std::string &text, float width, ImFont *font) {
  if (font == nullptr)
    font = ImGui::GetFont();
  std::vector<std::string> lines;
  const char *const end = text.c_str() + text.size();
  for (const char *at = text.c_str(); at < end;) {
    const char *const rowEnd = font->CalcWordWrapPositionA(1, at, end, std::max(1.0F, width));
    const char *const newLine = std::find(at, rowEnd, '\n');
    lines.emplace_back(at, newLine);
    at = newLine;
    while (at < end && (*at == ' ' || *at == '\t'))
      ++at;
    if (at < end && *at == '\n')
      ++at;
  }
  return lines;
}

std::vector<std::string> packedLines(const std::vector<std::string> &parts, float width) {
  constexpr const char *kSpace = "   ";
  std::vector<std::string> lines;
  for (const std::string &part : parts)
    if (!lines.empty() && textWidth(lines.back() + kSpace + part) <= width)
      lines.back() += kSpace + part;
    else
      lines.push_back(part);
  return lines;
}

void drawText(ImVec2 at, ImU32 color, const std::string &text, float width, ImFont *font) {
  if (font == nullptr)
    font = ImGui::GetFont();
  ImDrawList *draw = ImGui::GetWindowDrawList();
  if (std::floor(at.y) < draw->GetClipRectMin().y - 2 ||
      std::floor(at.y) + font->FontSize > draw->GetClipRectMax().y + 1)
    return; // the edge of a list would cut it
  const std::string shown = fitted(text, width, font);
  draw->AddText(font, font->FontSize, {std::floor(at.x), std::floor(at.y)}, color, shown.c_str());
  if (shown.size() != text.size() && ImGui::IsWindowHovered() &&
      ImGui::IsMouseHoveringRect(at, {at.x + width, at.y + font->FontSize}))
    ImGui::SetTooltip("%s", text.c_str());
}

void drawTextRight(float right, float top, ImU32 color, const std::string &text, ImFont *font) {
  drawText({right - textWidth(text, font), top}, color, text, 1e9F, font);
}

float segmentedWidth(std::initializer_list<const char *> labels) {
  float width = 0;
  for (const char *label : labels)
    width += textWidth(label) + 20;
  return width;
}

int segmented(const char *id, std::initializer_list<const char *> labels, int pressed) {
  ImGui::PushID(id);
  const float height = ImGui::GetFrameHeight();
  const ImVec2 begin = ImGui::GetCursorScreenPos();
  ImDrawList *draw = ImGui::GetWindowDrawList();
  draw->AddRectFilled(begin, {begin.x + segmentedWidth(labels), begin.y + height},
                      IM_COL32(43, 48, 58, 255), 4);
  int index = 0;
  float x = begin.x;
  for (const char *label : labels) {
    const float width = textWidth(label) + 20;
    ImGui::SetCursorScreenPos({x, begin.y});
    ImGui::PushID(index);
    if (ImGui::InvisibleButton("segment", {width, height}))
      pressed = index;
    const bool hovered = ImGui::IsItemHovered();
    ImGui::PopID();
    if (index == pressed || hovered)
      draw->AddRectFilled({x, begin.y}, {x + width, begin.y + height},
                          index == pressed ? theme::kChosen : theme::kHovered, 4);
    draw->AddText({std::floor(x + 10), std::floor(begin.y + (height - ImGui::GetFontSize()) / 2)},
                  index == pressed ? theme::kText : theme::kFaint, label);
    x += width;
    ++index;
  }
  ImGui::SetCursorScreenPos(begin);
  ImGui::Dummy({x - begin.x, height});
  ImGui::PopID();
  return pressed;
}

float drawLines(ImVec2 at, ImU32 color, const std::vector<std::string> &lines, float width,
                ImFont *font) {
  const float step = font == nullptr ? ImGui::GetFontSize() : font->FontSize + 2;
  for (size_t line = 0; line < lines.size(); ++line)
    drawText({at.x, at.y + step * static_cast<float>(line)}, color, lines[line], width, font);
  return step * static_cast<float>(lines.size());
}

void scrollToRow(float top, float height) {
  const float room = ImGui::GetWindowHeight();
  const float above = std::clamp(room - height, 0.0F, room * 0.35F);
  ImGui::SetScrollY(std::max(0.0F, top - above));
}

void drawPicture(ImTextureID picture, ImVec2 low, ImVec2 high) {
  ImDrawList *draw = ImGui::GetWindowDrawList();
  draw->AddCallback([](const ImDrawList *, const ImDrawCmd *) { gl::Disable(GL_BLEND); }, nullptr);
  draw->AddImage(picture, low, high);
  draw->AddCallback([](const ImDrawList *, const ImDrawCmd *) { gl::Enable(GL_BLEND); }, nullptr);
}

void drawEmpty(const std::string &text) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float width = std::min(room.x - 8, textWidth(text));
  const ImVec2 size = ImGui::CalcTextSize(text.c_str(), nullptr, false, std::max(40.0F, width));
  ImGui::SetCursorPos({ImGui::GetCursorPosX() + std::max(0.0F, (room.x - size.x) / 2),
                       ImGui::GetCursorPosY() + std::max(0.0F, (room.y - size.y) / 2 - 6)});
  ImGui::PushStyleColor(ImGuiCol_Text, theme::kFaint);
  ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + size.x + 1);
  ImGui::TextUnformatted(text.c_str());
  ImGui::PopTextWrapPos();
  ImGui::PopStyleColor();
}

} // namespace blockscope::viz
