// Flops for each byte to the right, flops per second upwards, both logarithmic. The roofs are the
// memory and the units; the launch lies between two points: where every access goes to memory, and
// where every element does so once.
#include "viz/panels/roofline_panel.h"

#include "viz/model/gpu_view.h"
#include "viz/panels/theme.h"
#include "viz/panels/widgets.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace blockscope::viz {
namespace {

constexpr ImU32 kPoint = IM_COL32(255, 214, 102, 255);
constexpr float kTextWidth = 290;
constexpr const char *kAcross = "flops/byte";

/// "1.2 T", of flops or flops per second.
std::string amountText(double value) {
  return countText(static_cast<uint64_t>(std::max(0.0, value)));
}

std::string decimalText(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return text.data();
}

/// The logarithms of what is in sight, and where it is on the screen.
struct Plot {
  ImVec2 at, size;
  double left, right, bottom, top; ///< exponents of 10
  float x(double value) const {
    return at.x + size.x * static_cast<float>((std::log10(value) - left) / (right - left));
  }
  float y(double value) const {
    return at.y + size.y * static_cast<float>((top - std::log10(value)) / (top - bottom));
  }
};

Plot plotOf(const Roofline &roofline, ImVec2 at, ImVec2 size) {
  const double ridge = roofline.computeRoof() / roofline.bytesPerSecond;
  const double asked = roofline.intensity(roofline.bytesAsked);
  const double once = roofline.intensity(roofline.bytesOnce);
  const double least = std::min({ridge, asked, std::max(once, asked)}) / 6;
  const double most = std::max({ridge, asked, once}) * 6;
  double peak = roofline.computeRoof();
  for (const WorkKind &kind : roofline.kinds)
    peak = std::max(peak, static_cast<double>(kind.peak));
  return {at,
          size,
          std::log10(least),
          std::log10(most),
          std::log10(
              std::min(least * roofline.bytesPerSecond, roofline.attainable(roofline.bytesAsked)) /
              1.5),
          std::log10(peak * 3)};
}

void drawGrid(const Plot &plot) {
  ImDrawList *draw = ImGui::GetWindowDrawList();
  const ImVec2 end = {plot.at.x + plot.size.x, plot.at.y + plot.size.y};
  draw->AddRectFilled(plot.at, end, IM_COL32(22, 25, 31, 255), 3);
  for (int power = static_cast<int>(std::ceil(plot.left)); power <= plot.right; ++power) {
    const float x = plot.x(std::pow(10, power));
    draw->AddLine({x, plot.at.y}, {x, end.y}, theme::kBorder);
    const std::string label = decimalText(std::pow(10, power));
    if (x + textWidth(label) + 6 < end.x - textWidth(kAcross))
      drawText({x + 3, end.y - ImGui::GetFontSize() - 2}, theme::kFaint, label);
  }
  for (int power = static_cast<int>(std::ceil(plot.bottom)); power <= plot.top; ++power) {
    const float y = plot.y(std::pow(10, power));
    draw->AddLine({plot.at.x, y}, {end.x, y}, theme::kBorder);
    if (y + ImGui::GetFontSize() + 18 < end.y && y > plot.at.y + ImGui::GetFontSize())
      drawText({plot.at.x + 4, y + 1}, theme::kFaint, amountText(std::pow(10, power)));
  }
  drawText({plot.at.x + 4, plot.at.y + 1}, theme::kFaint, "flops/s");
  drawTextRight(end.x - 4, end.y - ImGui::GetFontSize() - 2, theme::kFaint, kAcross);
}

void drawRoofs(const Plot &plot, const Roofline &roofline) {
  ImDrawList *draw = ImGui::GetWindowDrawList();
  const double roof = roofline.computeRoof();
  const double ridge = roof / roofline.bytesPerSecond;
  const float end = plot.at.x + plot.size.x;
  draw->PushClipRect(plot.at, {end, plot.at.y + plot.size.y}, true);
  for (const WorkKind &kind : roofline.kinds) {
    if (kind.peak <= 0)
      continue;
    const auto peak = static_cast<double>(kind.peak);
    const ImVec2 from = {plot.x(peak / roofline.bytesPerSecond), plot.y(peak)};
    draw->AddLine(from, {end, from.y}, theme::kFaint, 1);
    const std::string name = kind.dtype + " " + kind.unit;
    drawTextRight(end - 6, from.y - ImGui::GetFontSize() - 2, theme::kFaint, name);
  }
  const double first = std::pow(10, plot.left);
  draw->AddLine({plot.x(first), plot.y(first * roofline.bytesPerSecond)},
                {plot.x(ridge), plot.y(roof)}, theme::kAccent, 2);
  draw->AddLine({plot.x(ridge), plot.y(roof)}, {end, plot.y(roof)}, theme::kAccent, 2);
  draw->PopClipRect();
}

void drawPoints(const Plot &plot, const Roofline &roofline) {
  ImDrawList *draw = ImGui::GetWindowDrawList();
  const auto point = [&](int64_t bytes) {
    return ImVec2(plot.x(roofline.intensity(bytes)), plot.y(roofline.attainable(bytes)));
  };
  const ImVec2 asked = point(roofline.bytesAsked);
  const float floor = plot.at.y + plot.size.y - ImGui::GetFontSize() - 6;
  draw->AddLine(asked, {asked.x, floor}, (kPoint & 0x00ffffffU) | 0x60000000U, 1);
  if (roofline.bytesOnce > 0 && roofline.bytesOnce < roofline.bytesAsked) {
    const ImVec2 once = point(roofline.bytesOnce);
    draw->AddLine(once, {once.x, floor}, (kPoint & 0x00ffffffU) | 0x60000000U, 1);
    draw->AddLine(asked, once, (kPoint & 0x00ffffffU) | 0x90000000U, 3);
    draw->AddCircle(once, 5.5F, kPoint, 0, 2);
  }
  draw->AddCircleFilled(asked, 5.5F, kPoint);
}

/// Lines of text from top to bottom.
class TextColumn {
public:
  TextColumn(ImVec2 at, float width) : at_(at), start_(at), width_(width) {}
  /// Takes its room, so that what is below the edge can be scrolled into sight.
  ~TextColumn() {
    ImGui::SetCursorScreenPos(start_);
    ImGui::Dummy({width_, at_.y - start_.y});
  }
  TextColumn(const TextColumn &) = delete;
  TextColumn &operator=(const TextColumn &) = delete;
  void add(ImU32 color, const std::string &text) {
    const size_t indent = text.find_first_not_of(' ');
    const float left = textWidth(text.substr(0, indent));
    for (const std::string &line : wrappedLines(text.substr(indent), width_ - left)) {
      drawText({at_.x + left, at_.y}, color, line, width_ - left);
      at_.y += ImGui::GetFontSize() + 4;
    }
  }

private:
  ImVec2 at_;
  ImVec2 start_;
  float width_;
};

/// "bound by memory", "by the units", or by which it depends on.
std::string boundText(const Roofline &roofline) {
  const auto isMemory = [&](int64_t bytes) {
    return static_cast<double>(bytes) / roofline.bytesPerSecond > roofline.computeSeconds;
  };
  if (isMemory(roofline.bytesOnce))
    return "bound by memory, whatever the caches do";
  return isMemory(roofline.bytesAsked) ? "bound by memory or units: as the caches do"
                                       : "bound by the units";
}

void drawNumbers(const TraceModel &model, const Roofline &roofline, ImVec2 at, float width) {
  const TraceGpuTarget &target = model.launch().gpu.target;
  TextColumn text(at, width);
  text.add(theme::kText,
           (target.device.empty() ? "no device known" : target.device) + "   " + target.target);
  text.add(theme::kText, amountText(static_cast<double>(roofline.flops)) + " flops");
  for (const WorkKind &kind : roofline.kinds)
    text.add(theme::kFaint,
             "   " + kind.dtype + " " + kind.unit + "  " +
                 amountText(static_cast<double>(kind.flops)) +
                 (kind.peak > 0 ? "  of " + amountText(static_cast<double>(kind.peak)) + "/s"
                                : "  peak not known"));
  text.add(theme::kText, bytesText(roofline.bytesAsked) + " asked for");
  text.add(theme::kFaint, "   " + decimalText(roofline.intensity(roofline.bytesAsked)) +
                              " flops for each byte (\u25cf)");
  text.add(theme::kText, bytesText(roofline.bytesOnce) + " if each element moves once");
  text.add(theme::kFaint, "   " + decimalText(roofline.intensity(roofline.bytesOnce)) +
                              " flops for each byte (\u25cb)");
  if (roofline.attainable(roofline.bytesAsked) <= 0)
    return;
  text.add(kPoint, "at most " + amountText(roofline.attainable(roofline.bytesOnce)) + " flops/s");
  text.add(kPoint, boundText(roofline));
}

} // namespace

void drawRooflinePanel(const TraceModel &model, Selection &selection) {
  const TraceGpu &gpu = model.launch().gpu;
  const PanelFrame frame(
      PanelKind::Roofline, selection,
      gpu.isThere()
          ? "predicted for " + (gpu.target.device.empty() ? gpu.target.target : gpu.target.device)
          : "");
  if (!gpu.isThere()) {
    drawEmpty(std::string("nothing was predicted: ") + kHowToPredict);
    return;
  }
  const Roofline &roofline = model.roofline();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float numbers = std::min(kTextWidth, room.x / 2);
  const bool hasPlot = roofline.attainable(roofline.bytesAsked) > 0 && roofline.bytesAsked > 0;
  if (hasPlot) {
    const Plot plot = plotOf(roofline, at, {room.x - numbers - 14, room.y - 4});
    drawGrid(plot);
    drawRoofs(plot, roofline);
    drawPoints(plot, roofline);
  } else {
    drawText({at.x + 8, at.y + 8}, theme::kFaint,
             roofline.flops == 0 ? "no floating-point operation was counted"
                                 : "a peak of this GPU is not known",
             room.x - numbers - 20);
  }
  drawNumbers(model, roofline, {at.x + room.x - numbers, at.y}, numbers);
}

} // namespace blockscope::viz
