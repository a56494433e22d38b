// Keys, help and what each command changes.
#include "viz/model/commands.h"

#include "viz/model/gpu_view.h"

#include <algorithm>
#include <array>

namespace blockscope::viz {
namespace {

constexpr auto kBindings = std::to_array<KeyBinding>({
    {Command::FocusHeatmap, '1'},
    {Command::FocusPrograms, '2'},
    {Command::FocusOps, '3'},
    {Command::FocusSource, '4'},
    {Command::FocusFindings, '5'},
    {Command::FocusHistory, '6'},
    {Command::FocusTraffic, '7'},
    {Command::FocusRoofline, '8'},
    {Command::FocusNext, 0, SpecialKey::Tab},
    {Command::FocusPrevious, 0, SpecialKey::Tab, true},
    {Command::Left, 0, SpecialKey::Left},
    {Command::Right, 0, SpecialKey::Right},
    {Command::Up, 0, SpecialKey::Up},
    {Command::Down, 0, SpecialKey::Down},
    {Command::PanLeft, 0, SpecialKey::Left, true},
    {Command::PanRight, 0, SpecialKey::Right, true},
    {Command::PanUp, 0, SpecialKey::Up, true},
    {Command::PanDown, 0, SpecialKey::Down, true},
    {Command::PageUp, 0, SpecialKey::PageUp},
    {Command::PageDown, 0, SpecialKey::PageDown},
    {Command::Home, 0, SpecialKey::Home},
    {Command::End, 0, SpecialKey::End},
    {Command::Choose, 0, SpecialKey::Enter},
    {Command::NextProgram, ']'},
    {Command::PreviousProgram, '['},
    {Command::NoProgram, 'p'},
    {Command::NextTensor, 't'},
    {Command::PreviousTensor, 'T'},
    {Command::NextSlice, '.'},
    {Command::PreviousSlice, ','},
    {Command::NextFinding, 'n'},
    {Command::PreviousFinding, 'N'},
    {Command::NextPlace, 'o'},
    {Command::ToggleMarks, 'x'},
    {Command::TimeBack, 'j'},
    {Command::TimeForward, 'k'},
    {Command::TimeFarBack, 'J'},
    {Command::TimeFarForward, 'K'},
    {Command::TogglePlay, ' '},
    {Command::CycleTime, 'w'},
    {Command::NarrowWindow, '('},
    {Command::WidenWindow, ')'},
    {Command::CycleMode, 'm'},
    {Command::ToggleLog, 'l'},
    {Command::ZoomIn, '+'},
    {Command::ZoomIn, '='},
    {Command::ZoomOut, '-'},
    {Command::Fit, '0'},
    {Command::NextLaunch, '>'},
    {Command::PreviousLaunch, '<'},
    {Command::ShowFolder, 'b'},
    {Command::CycleColors, 'v'},
    {Command::CycleDifferenceColors, 'V'},
    {Command::LargerText, '+', SpecialKey::None, false, true},
    {Command::LargerText, '=', SpecialKey::None, false, true},
    {Command::SmallerText, '-', SpecialKey::None, false, true},
    {Command::NormalText, '0', SpecialKey::None, false, true},
    {Command::SavePng, 's'},
    {Command::CopyCsv, 'c'},
    {Command::SaveCsv, 'e'},
    {Command::Help, '?'},
    {Command::Help, 'h'},
    {Command::Help, 0, SpecialKey::F1},
    {Command::Clear, 0, SpecialKey::Escape},
    {Command::Quit, 'q'},
});

constexpr auto kHelp = std::to_array<HelpLine>({
    {"Panels", ""},
    {"1 2 3 4 5", "heat map, programs, ops, source, findings"},
    {"6 7 8", "history of the element, GPU traffic, roofline"},
    {"Tab, Shift+Tab", "next and previous panel"},
    {"arrows, Home, End, PgUp, PgDn", "move in the panel that has the focus"},
    {"Enter", "next program of the cell, op of the line, place"},
    {"Esc", "choose nothing"},
    {"Heat map", ""},
    {"t, Shift+t", "next and previous tensor"},
    {"m", "reads, writes, both"},
    {"l", "linear or logarithmic colours"},
    {"+, -, wheel", "zoom in and out"},
    {"0, double click", "fit the whole tensor"},
    {"Shift+arrows, drag", "move the picture"},
    {". ,", "next and previous slice (rank 3 and more)"},
    {"Time", ""},
    {"w", "all accesses, those up to a moment, around it"},
    {"j k, Shift+j k", "back and forth by an access, by a hundredth"},
    {"space", "play and pause"},
    {"( )", "narrower and wider window of time"},
    {"Programs and findings", ""},
    {"[ ]", "previous and next program"},
    {"p", "all programs"},
    {"n, Shift+n", "next and previous finding"},
    {"o", "next place of the finding: the other side"},
    {"x", "marks of findings on and off"},
    {"< >", "previous and next launch of the file"},
    {"b", "back to the list of the folder"},
    {"Text and colours", ""},
    {"Ctrl and + - 0", "larger and smaller text; 100 %"},
    {"v", "other colours: viridis, cividis, grey"},
    {"Files", ""},
    {"s", "save this picture as PNG"},
    {"c", "copy the panel's table as CSV"},
    {"e", "save the panel's table as CSV"},
    {"h, ?, F1", "show or hide this help"},
    {"q", "quit"},
});

constexpr auto kCompareHelp = std::to_array<HelpLine>({
    {"Two runs", ""},
    {"t, Shift+t", "next and previous tensor"},
    {"< >", "previous and next pair of launches"},
    {"Tab", "the runs or their difference, in a small window"},
    {"m", "reads, writes, both"},
    {"l", "linear or logarithmic colours"},
    {"+, -, wheel", "zoom in and out, in all three pictures"},
    {"0, double click", "fit the whole tensor"},
    {"Shift+arrows, drag", "move the pictures"},
    {"arrows, Home, End, click", "choose an element"},
    {". ,", "next and previous slice (rank 3 and more)"},
    {"[ ] p", "previous and next program, all programs"},
    {"x", "marks of findings on and off"},
    {"Esc", "choose nothing"},
    {"Text and colours", ""},
    {"Ctrl and + - 0", "larger and smaller text; 100 %"},
    {"v, Shift+v", "other colours of counts, of differences"},
    {"Files", ""},
    {"s", "save this picture as PNG"},
    {"c, e", "copy or save the differences as CSV"},
    {"h, ?, F1", "show or hide this help"},
    {"q", "quit"},
});

constexpr auto kFolderHelp = std::to_array<HelpLine>({
    {"Traces of a folder", ""},
    {"arrows, Home, End, PgUp, PgDn", "go to a trace"},
    {"Enter, click", "look at it"},
    {"b", "from a trace back to the list"},
    {"Ctrl and + - 0", "larger and smaller text; 100 %"},
    {"s", "save this picture as PNG"},
    {"c, e", "copy or save the list as CSV"},
    {"h, ?, F1", "show or hide this help"},
    {"q", "quit"},
});

int next(int value, int step, int count) {
  return count > 0 ? ((value + step) % count + count) % count : 0;
}

void stepTensor(const TraceModel &model, Selection &selection, int step) {
  const auto &tensors = model.tensors();
  if (tensors.empty())
    return;
  const auto at = std::find(tensors.begin(), tensors.end(), selection.tensor) - tensors.begin();
  selectTensor(model, selection,
               tensors[static_cast<size_t>(
                   next(static_cast<int>(at), step, static_cast<int>(tensors.size())))]);
}

void stepProgram(const TraceModel &model, Selection &selection, int64_t step) {
  const int64_t last = model.launch().programCount() - 1;
  const int64_t from = selection.program < 0 ? (step > 0 ? -step : last + 1) : selection.program;
  selectProgram(model, selection, std::clamp<int64_t>(from + step, 0, last));
}

/// Ops that did something, as the list shows them.
void stepOp(const TraceModel &model, Selection &selection, int step) {
  const int count = static_cast<int>(model.launch().ops.size());
  int op = selection.op < 0 ? (step > 0 ? -1 : count) : selection.op;
  for (int tries = std::abs(step); op + (step > 0 ? 1 : -1) >= 0 && tries > 0; --tries) {
    do
      op += step > 0 ? 1 : -1;
    while (op >= 0 && op < count && model.opCounts()[static_cast<size_t>(op)].blocks == 0);
    if (op < 0 || op >= count)
      return;
    selectOp(model, selection, op);
  }
}

void stepFinding(const TraceModel &model, Selection &selection, int step) {
  const int count = static_cast<int>(model.launch().findings.size());
  if (count == 0) {
    selection.notice = "there are no findings";
    return;
  }
  const int from = selection.finding < 0 && step < 0 ? 0 : selection.finding;
  selectFinding(model, selection, next(from, step, count));
}

/// The next entry of the history of the cell; without a choice the first or the last.
void stepHistory(const TraceModel &model, Selection &selection, int64_t step) {
  const std::optional<int64_t> slot =
      selection.cell ? slotAt(model, selection, *selection.cell) : std::nullopt;
  if (!slot) {
    selection.notice = "choose a cell of the heat map first";
    return;
  }
  const auto last = static_cast<int64_t>(model.history(selection.tensor, *slot).entries.size()) - 1;
  const int64_t from =
      selection.historyEntry < 0 ? (step > 0 ? -1 : last + 1) : selection.historyEntry;
  if (last >= 0)
    selectHistory(model, selection, std::clamp<int64_t>(from + step, 0, last));
}

/// The next op in the list of traffic; without a choice the first or the last.
void stepTraffic(const TraceModel &model, Selection &selection, int step) {
  const std::vector<size_t> order = trafficOrder(model, selection.worstFirst);
  const auto &rows = model.launch().gpu.traffic;
  const auto chosen = std::find_if(order.begin(), order.end(),
                                   [&](size_t row) { return rows[row].op == selection.op; });
  const auto count = static_cast<int>(order.size());
  const int from = chosen != order.end() ? static_cast<int>(chosen - order.begin())
                   : step > 0            ? -1
                                         : count;
  if (count > 0)
    selectOp(model, selection,
             rows[order[static_cast<size_t>(std::clamp(from + step, 0, count - 1))]].op);
}

void nextPlace(const TraceModel &model, Selection &selection) {
  if (selection.finding < 0) {
    selection.notice = "choose a finding first";
    return;
  }
  const TraceFinding &finding = model.launch().findings[static_cast<size_t>(selection.finding)];
  const int count = static_cast<int>(finding.places.size());
  if (count < 2)
    selection.notice = "the finding has no other place";
  else
    selectPlace(model, selection, next(std::max(0, selection.place), 1, count));
}

void stepLine(const TraceModel &model, Selection &selection, int step) {
  if (model.sources().empty())
    return;
  const TraceSource &source = model.sources()[static_cast<size_t>(selection.source)];
  const int lines = static_cast<int>(std::count(source.text.begin(), source.text.end(), '\n'));
  const int last = source.firstLine + std::max(0, lines - 1);
  selectLine(model, selection, selection.source,
             std::clamp(selection.line == 0 ? source.firstLine : selection.line + step,
                        source.firstLine, last));
}

void stepCell(const TraceModel &model, Selection &selection, int64_t rows, int64_t columns) {
  const Cell from = selection.cell.value_or(Cell{rows > 0 ? -1 : 0, columns > 0 ? -1 : 0});
  selectCell(model, selection, {from.row + rows, from.column + columns});
  // Keep the cursor in sight.
  const Region &region = selection.region;
  const auto beyond = [](double at, double low, double high) {
    return at < low ? at - low : at + 1 > high ? at + 1 - high : 0.0;
  };
  const double dx = beyond(static_cast<double>(selection.cell->column), region.left, region.right);
  const double dy = beyond(static_cast<double>(selection.cell->row), region.top, region.bottom);
  if (dx != 0 || dy != 0) {
    selection.isFitted = false;
    selection.region =
        moved(region, dx, dy, model.outsideCells(selection.tensor, selection.slice).content);
  }
}

constexpr int kFar = 1 << 28;

void step(const TraceModel &model, Selection &selection, int columns, int rows) {
  const int along = rows != 0 ? rows : columns;
  switch (selection.focus) {
  case PanelKind::Heatmap:
    if (selection.tensor >= 0)
      stepCell(model, selection, rows, columns);
    break;
  case PanelKind::Programs:
    stepProgram(model, selection, columns + int64_t{rows} * model.launch().grid[0]);
    break;
  case PanelKind::Ops:
    stepOp(model, selection, along);
    break;
  case PanelKind::Source:
    stepLine(model, selection, along);
    break;
  case PanelKind::Findings:
    stepFinding(model, selection, along);
    break;
  case PanelKind::History:
    stepHistory(model, selection, along);
    break;
  case PanelKind::Traffic:
    stepTraffic(model, selection, along);
    break;
  case PanelKind::Roofline:
    break;
  }
}

void goToEnd(const TraceModel &model, Selection &selection, bool last) {
  switch (selection.focus) {
  case PanelKind::Heatmap:
    if (selection.tensor >= 0)
      stepCell(model, selection, last ? kFar : -kFar, last ? kFar : -kFar);
    break;
  case PanelKind::Programs:
    selectProgram(model, selection, last ? model.launch().programCount() - 1 : 0);
    break;
  case PanelKind::Ops:
    selection.op = -1;
    stepOp(model, selection, last ? -1 : 1);
    break;
  case PanelKind::Source:
    selection.line = 1;
    stepLine(model, selection, last ? kFar : -kFar);
    break;
  case PanelKind::Findings:
    selectFinding(model, selection,
                  last ? static_cast<int>(model.launch().findings.size()) - 1 : 0);
    break;
  case PanelKind::History:
    selection.historyEntry = -1;
    stepHistory(model, selection, last ? -1 : 1);
    break;
  case PanelKind::Traffic:
    selection.op = -1;
    stepTraffic(model, selection, last ? -1 : 1);
    break;
  case PanelKind::Roofline:
    break;
  }
}

void zoom(const TraceModel &model, Selection &selection, double factor) {
  if (selection.tensor < 0)
    return;
  Region &region = selection.region;
  const double x = selection.cell ? static_cast<double>(selection.cell->column) + 0.5
                                  : (region.left + region.right) / 2;
  const double y = selection.cell ? static_cast<double>(selection.cell->row) + 0.5
                                  : (region.top + region.bottom) / 2;
  region =
      zoomed(region, factor, x, y, model.outsideCells(selection.tensor, selection.slice).content);
  selection.isFitted = false;
}

void pan(const TraceModel &model, Selection &selection, double columns, double rows) {
  if (selection.tensor < 0)
    return;
  selection.region = moved(selection.region, columns * selection.region.width() / 8,
                           rows * selection.region.height() / 8,
                           model.outsideCells(selection.tensor, selection.slice).content);
  selection.isFitted = false;
}

/// To the next run of the tensor, or the one before.
void stepTime(const TraceModel &model, Selection &selection, bool forward) {
  const TraceAccesses &accesses = model.accesses();
  if (selection.time.mode == TimeMode::All)
    selectTime(model, selection, forward ? 0 : accesses.rows);
  size_t at = selection.time.at;
  if (forward) {
    while (at < accesses.rows && accesses.argument[at] != selection.tensor)
      ++at;
    selectTime(model, selection, at + 1);
    return;
  }
  at -= at > 0 ? 1 : 0;
  while (at > 0 && accesses.argument[at - 1] != selection.tensor)
    --at;
  selectTime(model, selection, at);
}

void jumpTime(const TraceModel &model, Selection &selection, bool forward) {
  const size_t step = std::max<size_t>(1, model.accesses().rows / 100);
  if (selection.time.mode == TimeMode::All)
    selectTime(model, selection, forward ? 0 : model.accesses().rows);
  const size_t at = selection.time.at;
  selectTime(model, selection, forward ? at + step : at - std::min(at, step));
}

/// Enter: the next program that touched the cell, the next op of the line, or the next place of the
/// finding.
void choose(const TraceModel &model, Selection &selection) {
  if (selection.focus == PanelKind::Heatmap && selection.cell) {
    const std::optional<int64_t> slot = slotAt(model, selection, *selection.cell);
    if (!slot)
      return;
    const ElementStory &story = model.storyOf(selection.tensor, *slot);
    if (story.programs.empty())
      return;
    const auto after =
        std::upper_bound(story.programs.begin(), story.programs.end(), selection.program,
                         [](int64_t value, uint32_t each) { return value < each; });
    selectProgram(model, selection,
                  after != story.programs.end() ? *after : story.programs.front());
  } else if (selection.focus == PanelKind::Findings) {
    nextPlace(model, selection);
  } else if (selection.focus == PanelKind::History) {
    stepHistory(model, selection, 1);
  } else if (selection.focus == PanelKind::Traffic) {
    selection.worstFirst = !selection.worstFirst;
  } else if (selection.focus == PanelKind::Source) {
    const auto &ops = model.launch().ops;
    const int count = static_cast<int>(ops.size());
    for (int distance = 1; distance <= count; ++distance) {
      const int op = next(selection.op, distance, count);
      if (ops[static_cast<size_t>(op)].source == selection.source &&
          ops[static_cast<size_t>(op)].line == selection.line) {
        selectOp(model, selection, op);
        return;
      }
    }
  }
}

/// How far a key goes in a list; 0 for all others.
int rowsOf(Command command) {
  constexpr int kPage = 8;
  return command == Command::Up         ? -1
         : command == Command::Down     ? 1
         : command == Command::PageUp   ? -kPage
         : command == Command::PageDown ? kPage
                                        : 0;
}

/// Steps of a quarter.
void resizeText(Selection &selection, int percent) {
  percent = std::clamp(percent, kLeastTextPercent, kMostTextPercent);
  selection.notice = "text of " + std::to_string(percent) + " %" +
                     (percent == selection.look.textPercent ? ", as it is" : "");
  selection.look.textPercent = percent;
}

void setFocus(Selection &selection, int panel) {
  focusPanel(selection, static_cast<PanelKind>(next(panel, 0, kPanelCount)));
}

/// Opens a drawer, or closes the one that has the focus.
void toggleDrawer(Selection &selection, PanelKind panel) {
  if (selection.focus == panel) {
    selection.drawer.reset();
    selection.focus = PanelKind::Heatmap;
  } else {
    focusPanel(selection, panel);
  }
}

} // namespace

std::span<const KeyBinding> keyBindings() { return kBindings; }
std::span<const HelpLine> helpLines() { return kHelp; }
std::span<const HelpLine> compareHelpLines() { return kCompareHelp; }
std::span<const HelpLine> folderHelpLines() { return kFolderHelp; }

std::optional<Command> commandOf(uint32_t character, bool control) {
  for (const KeyBinding &binding : kBindings)
    if (binding.character != 0 && static_cast<uint32_t>(binding.character) == character &&
        binding.control == control)
      return binding.command;
  return std::nullopt;
}

std::string_view panelTitle(PanelKind panel) {
  switch (panel) {
  case PanelKind::Heatmap:
    return "Heat map";
  case PanelKind::Programs:
    return "Programs";
  case PanelKind::Ops:
    return "Memory ops";
  case PanelKind::Source:
    return "Source";
  case PanelKind::Findings:
    return "Findings";
  case PanelKind::History:
    return "History";
  case PanelKind::Traffic:
    return "GPU traffic";
  case PanelKind::Roofline:
    return "Roofline";
  }
  return "";
}

bool applyEverywhere(Command command, Selection &selection) {
  Look &look = selection.look;
  if (command == Command::CycleColors) {
    look.countColors =
        static_cast<CountColors>(next(static_cast<int>(look.countColors), 1, kCountColors));
    selection.notice = "colours: " + std::string(colorsName(look.countColors));
  } else if (command == Command::CycleDifferenceColors) {
    look.differenceColors = static_cast<DifferenceColors>(
        next(static_cast<int>(look.differenceColors), 1, kDifferenceColors));
    selection.notice = "colours of differences: " + std::string(colorsName(look.differenceColors));
  } else if (command == Command::LargerText || command == Command::SmallerText) {
    resizeText(selection, look.textPercent + (command == Command::LargerText ? 25 : -25));
  } else if (command == Command::NormalText) {
    resizeText(selection, 100);
  } else if (command == Command::SavePng) {
    selection.wish = Wish::SavePng;
  } else if (command == Command::CopyCsv) {
    selection.wish = Wish::CopyCsv;
  } else if (command == Command::SaveCsv) {
    selection.wish = Wish::SaveCsv;
  } else if (command == Command::Help) {
    selection.showsHelp = !selection.showsHelp;
  } else if (command == Command::Quit) {
    selection.wish = Wish::Quit;
  } else if (command == Command::Clear && selection.showsHelp) {
    selection.showsHelp = false;
  } else if (const int rows = rowsOf(command); selection.showsHelp && rows != 0) {
    selection.helpRow = std::max(0, selection.helpRow + rows);
  } else {
    return false;
  }
  return true;
}

void apply(Command command, const TraceModel &model, Selection &selection) {
  selection.notice.clear();
  if (applyEverywhere(command, selection))
    return;
  switch (command) {
  case Command::FocusHeatmap:
  case Command::FocusPrograms:
  case Command::FocusOps:
  case Command::FocusSource:
  case Command::FocusFindings:
    return setFocus(selection, static_cast<int>(command) - static_cast<int>(Command::FocusHeatmap));
  case Command::FocusHistory:
    return toggleDrawer(selection, PanelKind::History);
  case Command::FocusTraffic:
    return toggleDrawer(selection, PanelKind::Traffic);
  case Command::FocusRoofline:
    return toggleDrawer(selection, PanelKind::Roofline);
  case Command::FocusNext:
    return setFocus(selection, static_cast<int>(selection.focus) + 1);
  case Command::FocusPrevious:
    return setFocus(selection, static_cast<int>(selection.focus) - 1);
  case Command::Left:
    return step(model, selection, -1, 0);
  case Command::Right:
    return step(model, selection, 1, 0);
  case Command::Up:
    return step(model, selection, 0, -1);
  case Command::Down:
    return step(model, selection, 0, 1);
  case Command::PageUp:
    return step(model, selection, 0, -10);
  case Command::PageDown:
    return step(model, selection, 0, 10);
  case Command::Home:
    return goToEnd(model, selection, false);
  case Command::End:
    return goToEnd(model, selection, true);
  case Command::Choose:
    return choose(model, selection);
  case Command::NextProgram:
    return stepProgram(model, selection, 1);
  case Command::PreviousProgram:
    return stepProgram(model, selection, -1);
  case Command::NoProgram:
    return selectProgram(model, selection, -1);
  case Command::NextTensor:
    return stepTensor(model, selection, 1);
  case Command::PreviousTensor:
    return stepTensor(model, selection, -1);
  case Command::NextSlice:
    return selectSlice(model, selection, selection.slice + 1);
  case Command::PreviousSlice:
    return selectSlice(model, selection, selection.slice - 1);
  case Command::NextFinding:
    return stepFinding(model, selection, 1);
  case Command::PreviousFinding:
    return stepFinding(model, selection, -1);
  case Command::NextPlace:
    return nextPlace(model, selection);
  case Command::ToggleMarks:
    selection.showsMarks = !selection.showsMarks;
    return;
  case Command::CycleMode:
    selection.mode = static_cast<HeatMode>(next(static_cast<int>(selection.mode), 1, 3));
    return;
  case Command::ToggleLog:
    selection.logScale = !selection.logScale;
    return;
  case Command::ZoomIn:
    return zoom(model, selection, 1.5);
  case Command::ZoomOut:
    return zoom(model, selection, 1 / 1.5);
  case Command::Fit:
    selection.isFitted = true;
    return;
  case Command::PanLeft:
    return pan(model, selection, -1, 0);
  case Command::PanRight:
    return pan(model, selection, 1, 0);
  case Command::PanUp:
    return pan(model, selection, 0, -1);
  case Command::PanDown:
    return pan(model, selection, 0, 1);
  case Command::TimeBack:
    return stepTime(model, selection, false);
  case Command::TimeForward:
    return stepTime(model, selection, true);
  case Command::TimeFarBack:
    return jumpTime(model, selection, false);
  case Command::TimeFarForward:
    return jumpTime(model, selection, true);
  case Command::TogglePlay:
    return togglePlay(model, selection);
  case Command::CycleTime:
    return selectTimeMode(model, selection,
                          static_cast<TimeMode>(next(static_cast<int>(selection.time.mode), 1, 3)));
  case Command::NarrowWindow:
    return selectTimeWindow(model, selection, selection.time.window / 2);
  case Command::WidenWindow:
    return selectTimeWindow(model, selection, selection.time.window * 2);
  case Command::NextLaunch:
    selection.wish = Wish::NextLaunch;
    return;
  case Command::PreviousLaunch:
    selection.wish = Wish::PreviousLaunch;
    return;
  case Command::ShowFolder:
    selection.wish = Wish::ShowFolder;
    return;
  case Command::Clear:
    return clearSelection(selection);
  case Command::CycleColors:
  case Command::CycleDifferenceColors:
  case Command::LargerText:
  case Command::SmallerText:
  case Command::NormalText:
  case Command::SavePng:
  case Command::CopyCsv:
  case Command::SaveCsv:
  case Command::Help:
  case Command::Quit:
    return; // carried out above
  }
}

} // namespace blockscope::viz
