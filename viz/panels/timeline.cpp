// Modes, play, and a slider over all access runs with the text of the moment.
#include "viz/panels/timeline.h"

#include "viz/panels/theme.h"
#include "viz/panels/widgets.h"

#include <algorithm>
#include <cmath>

namespace blockscope::viz {
namespace {

constexpr double kSecondsOfPlay = 10; ///< for the whole recording
constexpr float kTextWidth = 290;
constexpr float kLeastSlider = 60;

void play(const TraceModel &model, Selection &selection) {
  TimeChoice &time = selection.time;
  const size_t rows = model.accesses().rows;
  const double step = static_cast<double>(rows) * ImGui::GetIO().DeltaTime / kSecondsOfPlay;
  selectTime(model, selection, time.at + std::max<size_t>(1, static_cast<size_t>(step)));
  time.isPlaying = time.at < rows;
}

/// "12 of 96   (3, 0, 0)   line 12".
std::string momentText(const TraceModel &model, const TimeChoice &time, float width) {
  const TraceAccesses &accesses = model.accesses();
  if (time.mode == TimeMode::All) {
    const std::string text = fullCountText(accesses.rows) + " access runs";
    return textWidth(text) <= width ? text : fullCountText(accesses.rows) + " runs";
  }
  const std::string text = fullCountText(time.at) + " of " + fullCountText(accesses.rows);
  if (time.at == 0)
    return text;
  const TraceRun run = accesses[time.at - 1];
  return wholeParts(text + "   " + programText(model, run.program) + "   line " +
                        std::to_string(model.launch().ops[run.op].line),
                    width);
}

void drawSlider(const TraceModel &model, Selection &selection, ImVec2 at, ImVec2 size) {
  const auto rows = static_cast<double>(std::max<size_t>(1, model.accesses().rows));
  ImGui::SetCursorScreenPos(at);
  ImGui::InvisibleButton("moment", size);
  if (ImGui::IsItemActive()) {
    const double part =
        std::clamp((ImGui::GetIO().MousePos.x - at.x) / static_cast<double>(size.x), 0.0, 1.0);
    selection.time.isPlaying = false;
    selectTime(model, selection, static_cast<size_t>(std::lround(part * rows)));
  }
  const auto x = [&](size_t row) {
    return at.x + size.x * static_cast<float>(std::min(1.0, static_cast<double>(row) / rows));
  };
  ImDrawList *draw = ImGui::GetWindowDrawList();
  const float middle = at.y + size.y / 2;
  draw->AddRectFilled({at.x, middle - 3}, {at.x + size.x, middle + 3}, theme::kTrack, 3);
  const std::optional<TimeRange> range = selection.timeRange();
  const TimeRange lit = range.value_or(TimeRange{0, model.accesses().rows});
  draw->AddRectFilled({x(lit.begin), middle - 3},
                      {std::max(x(lit.begin) + 1, x(lit.end)), middle + 3},
                      range ? theme::kAccent : theme::kBorder, 3);
  if (range)
    draw->AddRectFilled({x(selection.time.at) - 3, middle - 8},
                        {x(selection.time.at) + 3, middle + 8}, theme::kText, 2);
}

} // namespace

void drawTimeline(const TraceModel &model, Selection &selection, ImVec2 at, float width) {
  if (selection.time.isPlaying)
    play(model, selection);
  ImGui::SetCursorScreenPos(at);
  const auto pressed = static_cast<TimeMode>(
      segmented("time", {"All", "Up to", "Around"}, static_cast<int>(selection.time.mode)));
  if (pressed != selection.time.mode)
    selectTimeMode(model, selection, pressed);
  ImGui::SameLine(0, 8);
  const char *label = selection.time.isPlaying ? "Pause" : "Play";
  if (ImGui::Button(label, {textWidth("Pause") + 2 * ImGui::GetStyle().FramePadding.x, 0}))
    togglePlay(model, selection);
  const float height = ImGui::GetFrameHeight();
  const float left = ImGui::GetItemRectMax().x + 12;
  const float room = at.x + width - left;
  const float text = room < kLeastSlider * 3 ? 0 : std::min(kTextWidth, room * 0.45F);
  if (room - text - 16 > kLeastSlider)
    drawSlider(model, selection, {left, at.y}, {room - text - 16, height});
  if (text > 0)
    drawText({at.x + width - text, at.y + (height - ImGui::GetFontSize()) / 2 - 1},
             selection.time.mode == TimeMode::All ? theme::kFaint : theme::kText,
             momentText(model, selection.time, text), text);
}

} // namespace blockscope::viz
