// Header and status line.
#include "viz/panels/header.h"

#include "viz/model/commands.h"
#include "viz/panels/theme.h"
#include "viz/panels/widgets.h"

#include <algorithm>
#include <array>

namespace blockscope::viz {
namespace {

std::string joined(const std::vector<TraceNamedValue> &values) {
  std::string text;
  for (const TraceNamedValue &each : values)
    text += (text.empty() ? "" : "   ") + each.name + "=" + each.value;
  return text;
}

std::string scalarsText(const TraceModel &model) {
  std::string text;
  for (const TraceArgument &argument : model.launch().arguments)
    if (!argument.isTensor())
      text += (text.empty() ? "" : "   ") + argument.name + "=" + argument.value;
  return text;
}

std::string choiceText(const TraceModel &model, const Selection &selection) {
  std::string text;
  const auto put = [&text](const std::string &part) {
    text += (text.empty() ? "" : "   \u00b7   ") + part;
  };
  if (selection.program >= 0)
    put("program " + programText(model, selection.program));
  if (selection.op >= 0)
    put(model.launch().ops[static_cast<size_t>(selection.op)].name + " in line " +
        std::to_string(model.launch().ops[static_cast<size_t>(selection.op)].line));
  if (selection.finding >= 0)
    put("finding " + std::to_string(selection.finding + 1) + " of " +
        std::to_string(model.launch().findings.size()));
  if (!text.empty())
    return text;
  const bool hasElement = selection.cell && slotAt(model, selection, *selection.cell);
  return std::string(hasElement ? "an element" : "nothing") +
         " is chosen: all programs and all ops are shown";
}

} // namespace

float drawButtons(Selection &selection, float height) {
  struct Button {
    const char *label;
    Command command;
  };
  static constexpr std::array<Button, 4> kButtons = {{{"Copy CSV", Command::CopyCsv},
                                                      {"Save CSV", Command::SaveCsv},
                                                      {"Save PNG", Command::SavePng},
                                                      {"Help", Command::Help}}};
  constexpr float kRoomForAll = 1000; // a narrow window has the keys alone for the tables
  const float screen = ImGui::GetIO().DisplaySize.x;
  const size_t first = screen < kRoomForAll ? 2 : 0;
  float buttons = 0;
  for (size_t each = first; each < kButtons.size(); ++each)
    buttons += textWidth(kButtons[each].label) + 18 + 8;
  ImGui::SetCursorPos({screen - buttons - 4, (height - ImGui::GetFrameHeight()) / 2});
  for (size_t each = first; each < kButtons.size(); ++each) {
    if (ImGui::Button(kButtons[each].label))
      applyEverywhere(kButtons[each].command, selection);
    ImGui::SameLine();
  }
  return buttons;
}

void drawHeader(const TraceModel &model, Selection &selection, float height) {
  const float screen = ImGui::GetIO().DisplaySize.x;
  const float buttons = drawButtons(selection, height);
  const TraceLaunch &launch = model.launch();
  const float width = screen - buttons - 40;
  std::string detail = plural(static_cast<uint64_t>(launch.programCount()), "program");
  for (const std::string &part :
       {joined(launch.parameters), scalarsText(model), joined(launch.options)})
    if (!part.empty())
      detail += "   \u00b7   " + part;
  const float nameWidth = std::min(width, textWidth(launch.kernel, theme::titleFont()));
  const bool isLow = height < 60; // one line
  drawText({16, isLow ? 8.0F : 10.0F}, theme::kText, launch.kernel, width, theme::titleFont());
  const std::string number = "launch " + std::to_string(model.launchIndex());
  const std::string count = " of " + std::to_string(model.launchCount());
  float placeLeft = 16 + nameWidth + 18;
  if (model.launchCount() > 1 && nameWidth + 200 < width) {
    ImGui::SetCursorPos({placeLeft, 8});
    if (ImGui::ArrowButton("previous launch", ImGuiDir_Left))
      selection.wish = Wish::PreviousLaunch;
    ImGui::SameLine(0, 4);
    if (ImGui::ArrowButton("next launch", ImGuiDir_Right))
      selection.wish = Wish::NextLaunch;
    placeLeft += 2 * ImGui::GetFrameHeight() + 14;
  }
  const float room = std::max(0.0F, width - placeLeft + 16);
  std::string place = number + count + " in " + fileName(model.path());
  if (textWidth(place) > room)
    place = number + count;
  drawText({placeLeft, 12}, theme::kFaint, place, room);
  if (!isLow)
    drawText({16, 38}, theme::kFaint, detail, width);
}

void drawStatus(const TraceModel &model, Selection &selection, float top, float height) {
  drawStatusLine(selection, choiceText(model, selection),
                 "h  help     t  tensor     m  reads or writes     l  log     "
                 "[ ]  program     n  finding     o  its places     0  fit",
                 top, height);
}

void drawStatusLine(const Selection &selection, const std::string &choice, const std::string &hints,
                    float top, float height) {
  const float screen = ImGui::GetIO().DisplaySize.x;
  const float y = top + (height - ImGui::GetFontSize()) / 2 - 2;
  const float hintWidth = textWidth(hints);
  const bool hasHints = hintWidth < screen * 0.6F;
  if (hasHints)
    drawText({screen - hintWidth - 14, y}, theme::kFaint, hints);
  const float width = screen - 32 - (hasHints ? hintWidth + 20 : 0);
  if (!selection.notice.empty())
    drawText({16, y}, theme::kAccent, selection.notice, width);
  else
    drawText({16, y}, theme::kText, choice, width);
}

} // namespace blockscope::viz
