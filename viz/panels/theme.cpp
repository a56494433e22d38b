// Style and fonts.
#include "viz/panels/theme.h"

#include <GL/gl.h>

#include <array>
#include <string>
#include <unistd.h>

namespace blockscope::viz::theme {
namespace {

// Latin, Greek, Cyrillic, punctuation, arrows, mathematics, boxes and shapes.
constexpr std::array<ImWchar, 15> kGlyphs = {0x20,   0x17f,  0x370,  0x4ff,  0x2010, 0x205e, 0x2070,
                                             0x20ac, 0x2190, 0x23ff, 0x2500, 0x27bf, 0};

constexpr std::array<ImWchar, 7> kHeadingGlyphs = {0x20, 0x17f, 0x370, 0x3ff, 0x2010, 0x2030, 0};

void addFont(const char *file, float size, const ImWchar *glyphs) {
  ImFontConfig config;
  config.OversampleH = 2;
  config.OversampleV = 1;
  config.PixelSnapH = true;
  ImGuiIO &io = ImGui::GetIO();
  for (const char *folder : {"/usr/share/fonts/truetype/dejavu/", "/usr/share/fonts/TTF/",
                             "/usr/share/fonts/dejavu-sans-fonts/", "/usr/share/fonts/dejavu/"}) {
    const std::string path = std::string(folder) + file;
    if (access(path.c_str(), R_OK) == 0 &&
        io.Fonts->AddFontFromFileTTF(path.c_str(), size, &config, glyphs) != nullptr)
      return;
  }
  ImFontConfig builtIn;
  builtIn.SizePixels = size;
  io.Fonts->AddFontDefault(&builtIn);
}

ImVec4 color(ImU32 value) { return ImGui::ColorConvertU32ToFloat4(value); }

} // namespace

void apply() {
  addFont("DejaVuSans.ttf", 15, kGlyphs.data());
  addFont("DejaVuSans-Bold.ttf", 14, kHeadingGlyphs.data());
  addFont("DejaVuSansMono.ttf", 13, kGlyphs.data());
  addFont("DejaVuSans-Bold.ttf", 20, kHeadingGlyphs.data());
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

void clearFrame() {
  const ImVec4 window = color(kWindow);
  glClearColor(window.x, window.y, window.z, 1);
  glClear(GL_COLOR_BUFFER_BIT);
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
