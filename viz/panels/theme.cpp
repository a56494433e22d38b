// Style and fonts.
#include "viz/panels/theme.h"

#include "viz/gl/functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace blockscope::viz::theme {
namespace {

// Latin, Greek, Cyrillic, punctuation, arrows, mathematics, boxes and shapes.
constexpr std::array<ImWchar, 15> kGlyphs = {0x20,   0x17f,  0x370,  0x4ff,  0x2010, 0x205e, 0x2070,
                                             0x20ac, 0x2190, 0x23ff, 0x2500, 0x27bf, 0};

constexpr std::array<ImWchar, 7> kHeadingGlyphs = {0x20, 0x17f, 0x370, 0x3ff, 0x2010, 0x2030, 0};

/// Where fonts are: beside the program, if it was installed with them, then on the machine.
std::vector<std::string> fontFolders() {
  std::error_code failed;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
  return {program.parent_path().string() + "/fonts/", "/usr/share/fonts/truetype/dejavu/",
          "/usr/share/fonts/TTF/", "/usr/share/fonts/dejavu-sans-fonts/",
          "/usr/share/fonts/dejavu/"};
}

void addFont(const char *file, float size, const ImWchar *glyphs) {
  ImFontConfig config;
  config.OversampleH = size < 22 ? 2 : 1;
  config.OversampleV = 1;
  config.PixelSnapH = true;
  ImGuiIO &io = ImGui::GetIO();
  for (const std::string &folder : fontFolders()) {
    const std::string path = folder + file;
    if (access(path.c_str(), R_OK) == 0 &&
        io.Fonts->AddFontFromFileTTF(path.c_str(), size, &config, glyphs) != nullptr)
      return;
  }
  ImFontConfig builtIn;
  builtIn.SizePixels = size;
  io.Fonts->AddFontDefault(&builtIn);
}

/// Measures of a font that was loaded `scale` times as large as the layout takes it for: its glyphs
/// keep the pixels.
void shrinkMeasures(ImFont &font, float scale) {
  font.FontSize /= scale;
  font.Ascent /= scale;
  font.Descent /= scale;
  font.FallbackAdvanceX /= scale;
  for (float &advance : font.IndexAdvanceX)
    if (advance > 0) // -1: none of its own
      advance /= scale;
  for (ImFontGlyph &glyph : font.Glyphs) {
    glyph.AdvanceX /= scale;
    glyph.X0 /= scale;
    glyph.Y0 /= scale;
    glyph.X1 /= scale;
    glyph.Y1 /= scale;
  }
}

ImVec4 color(ImU32 value) { return ImGui::ColorConvertU32ToFloat4(value); }

/// Draws nothing: a list of what is drawn has it where a panel is.
void panelMark(const ImDrawList * /*list*/, const ImDrawCmd * /*command*/) {}

/// In pixels of the frame buffer, from its upper left corner on.
struct PixelBox {
  int left, top, right, bottom;
};

std::vector<PixelBox> markedPanels(const ImDrawData &data) {
  std::vector<PixelBox> panels;
  for (int list = 0; list < data.CmdListsCount; ++list)
    for (const ImDrawCmd &command : data.CmdLists[list]->CmdBuffer) {
      if (command.UserCallback != panelMark)
        continue;
      const auto packed = reinterpret_cast<uintptr_t>(command.UserCallbackData);
      const auto part = [&](int index, float scale) {
        return static_cast<int>(static_cast<float>(packed >> (16 * index) & 0xffffU) * scale);
      };
      const ImVec2 scale = data.FramebufferScale;
      panels.push_back({part(0, scale.x), part(1, scale.y), part(2, scale.x), part(3, scale.y)});
    }
  return panels;
}

/// What is not covered by panels, which do not overlap: bands from edge to edge of a panel, joined
/// where they are equally wide.
std::vector<PixelBox> boxesBetween(std::vector<PixelBox> panels, PixelBox whole) {
  std::sort(panels.begin(), panels.end(),
            [](const PixelBox &one, const PixelBox &other) { return one.left < other.left; });
  std::vector<int> edges = {whole.top, whole.bottom};
  for (const PixelBox &panel : panels)
    edges.insert(edges.end(), {panel.top, panel.bottom});
  std::sort(edges.begin(), edges.end());
  std::vector<PixelBox> boxes;
  for (size_t edge = 0; edge + 1 < edges.size(); ++edge) {
    const int top = std::clamp(edges[edge], whole.top, whole.bottom);
    const int bottom = std::clamp(edges[edge + 1], whole.top, whole.bottom);
    const auto add = [&](int left, int right) {
      if (right <= left || bottom <= top)
        return;
      for (PixelBox &box : boxes)
        if (box.left == left && box.right == right && box.bottom == top) {
          box.bottom = bottom;
          return;
        }
      boxes.push_back({left, top, right, bottom});
    };
    int left = whole.left;
    for (const PixelBox &panel : panels)
      if (panel.top <= top && panel.bottom >= bottom && panel.right > left) {
        add(left, panel.left);
        left = panel.right;
      }
    add(left, whole.right);
  }
  return boxes;
}

void clearTo(ImU32 value) {
  const ImVec4 to = color(value);
  gl::ClearColor(to.x, to.y, to.z, 1);
  gl::Clear(GL_COLOR_BUFFER_BIT);
}

} // namespace

void loadFonts(int textPercent) {
  const float scale = static_cast<float>(textPercent) / 100;
  ImFontAtlas &fonts = *ImGui::GetIO().Fonts;
  fonts.Clear();
  addFont("DejaVuSans.ttf", 15 * scale, kGlyphs.data());
  addFont("DejaVuSans-Bold.ttf", 14 * scale, kHeadingGlyphs.data());
  addFont("DejaVuSansMono.ttf", 13 * scale, kGlyphs.data());
  addFont("DejaVuSans-Bold.ttf", 20 * scale, kHeadingGlyphs.data());
  fonts.Build();
  if (textPercent != 100)
    for (ImFont *font : fonts.Fonts)
      shrinkMeasures(*font, scale);
}

void scaleFrame(int textPercent) {
  if (textPercent == 100)
    return;
  constexpr float kWhole = 0.01F; // the size in pixels is rounded down again
  const float scale = static_cast<float>(textPercent) / 100;
  ImGuiIO &io = ImGui::GetIO();
  io.DisplaySize = {io.DisplaySize.x / scale + kWhole, io.DisplaySize.y / scale + kWhole};
  io.DisplayFramebufferScale = {io.DisplayFramebufferScale.x * scale,
                                io.DisplayFramebufferScale.y * scale};
  if (ImGui::IsMousePosValid(&io.MousePos))
    io.MousePos = {io.MousePos.x / scale, io.MousePos.y / scale};
}

void apply(int textPercent) {
  loadFonts(textPercent);
  ImGui::StyleColorsDark();
  ImGuiStyle &style = ImGui::GetStyle();
  style.WindowPadding = {10, 8};
  style.FramePadding = {9, 4};
  style.ItemSpacing = {8, 6};
  style.ItemInnerSpacing = {6, 4};
  style.FrameRounding = style.GrabRounding = style.PopupRounding = 4;
  style.ScrollbarRounding = 6;
  style.ScrollbarSize = 12;
  style.WindowBorderSize = style.ChildBorderSize = 0;
  style.PopupBorderSize = 1;
  ImVec4 *colors = style.Colors;
  colors[ImGuiCol_Text] = color(kText);
  colors[ImGuiCol_TextDisabled] = color(kFaint);
  colors[ImGuiCol_WindowBg] = color(kWindow);
  colors[ImGuiCol_ChildBg] = color(IM_COL32(0, 0, 0, 0));
  colors[ImGuiCol_PopupBg] = color(IM_COL32(30, 34, 42, 250));
  colors[ImGuiCol_Border] = color(IM_COL32(74, 82, 99, 255));
  colors[ImGuiCol_FrameBg] = color(IM_COL32(43, 48, 58, 255));
  colors[ImGuiCol_FrameBgHovered] = color(IM_COL32(54, 61, 74, 255));
  colors[ImGuiCol_FrameBgActive] = color(IM_COL32(60, 70, 88, 255));
  colors[ImGuiCol_Button] = color(IM_COL32(46, 52, 64, 255));
  colors[ImGuiCol_ButtonHovered] = color(IM_COL32(60, 69, 86, 255));
  colors[ImGuiCol_ButtonActive] = color(kChosen);
  colors[ImGuiCol_Header] = color(kChosen);
  colors[ImGuiCol_HeaderHovered] = color(kHovered);
  colors[ImGuiCol_HeaderActive] = color(kChosen);
  colors[ImGuiCol_SliderGrab] = color(kAccent);
  colors[ImGuiCol_SliderGrabActive] = color(IM_COL32(140, 196, 255, 255));
  colors[ImGuiCol_ScrollbarBg] = color(IM_COL32(0, 0, 0, 0));
  colors[ImGuiCol_ScrollbarGrab] = color(IM_COL32(62, 69, 84, 255));
  colors[ImGuiCol_Separator] = color(kBorder);
}

int pixels(float length) {
  return std::max(1,
                  static_cast<int>(std::lround(length * ImGui::GetIO().DisplayFramebufferScale.x)));
}

void markPanel(ImDrawList &draw, ImVec2 at, ImVec2 end) {
  uintptr_t packed = 0;
  for (const float value : {end.y, end.x, at.y, at.x})
    packed = packed << 16U | static_cast<uintptr_t>(std::clamp(value, 0.0F, 65535.0F));
  draw.AddCallback(panelMark, reinterpret_cast<void *>(packed));
}

// A whole frame is cleared at next to no cost on a CPU, a part of it pixel by pixel. Panels cover
// most of it.
void clearFrame() {
  const ImDrawData &data = *ImGui::GetDrawData();
  const std::vector<PixelBox> panels = markedPanels(data);
  gl::Disable(GL_SCISSOR_TEST);
  clearTo(panels.empty() ? kWindow : kPanel);
  if (panels.empty())
    return;
  gl::Enable(GL_SCISSOR_TEST);
  const PixelBox whole = {0, 0, static_cast<int>(data.DisplaySize.x * data.FramebufferScale.x),
                          static_cast<int>(data.DisplaySize.y * data.FramebufferScale.y)};
  for (const PixelBox &box : boxesBetween(panels, whole)) {
    gl::Scissor(box.left, whole.bottom - box.bottom, box.right - box.left, box.bottom - box.top);
    clearTo(kWindow);
  }
  gl::Disable(GL_SCISSOR_TEST);
}

ImFont *regularFont() { return ImGui::GetIO().Fonts->Fonts[0]; }
ImFont *boldFont() { return ImGui::GetIO().Fonts->Fonts[1]; }
ImFont *monoFont() { return ImGui::GetIO().Fonts->Fonts[2]; }
ImFont *titleFont() { return ImGui::GetIO().Fonts->Fonts[3]; }

ImU32 severityColor(Severity severity) {
  switch (severity) {
  case Severity::Note:
    return kNote;
  case Severity::Warning:
    return kWarning;
  case Severity::Error:
    return kError;
  }
  return kError;
}

} // namespace blockscope::viz::theme
