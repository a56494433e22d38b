// Keys, help and what each command changes.
#include "viz/model/commands.h"

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
    {Command::CycleMode, 'm'},
    {Command::ToggleLog, 'l'},
    {Command::ZoomIn, '+'},
    {Command::ZoomIn, '='},
    {Command::ZoomOut, '-'},
    {Command::Fit, '0'},
    {Command::NextLaunch, '>'},
    {Command::PreviousLaunch, '<'},
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
    {"Programs and findings", ""},
    {"[ ]", "previous and next program"},
    {"p", "all programs"},
    {"n, Shift+n", "next and previous finding"},
    {"o", "next place of the finding: the other side"},
    {"x", "marks of findings on and off"},
    {"< >", "previous and next launch of the file"},
    {"Files", ""},
    {"s", "save this picture as PNG"},
    {"c", "copy the panel's table as CSV"},
    {"e", "save the panel's table as CSV"},
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

void setFocus(Selection &selection, int panel) {
  selection.focus = static_cast<PanelKind>(next(panel, 0, kPanelCount));
}

} // namespace

std::span<const KeyBinding> keyBindings() { return kBindings; }
std::span<const HelpLine> helpLines() { return kHelp; }

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
  }
  return "";
}

void apply(Command command, const TraceModel &model, Selection &selection) {
  selection.notice.clear();
  switch (command) {
  case Command::FocusHeatmap:
  case Command::FocusPrograms:
  case Command::FocusOps:
  case Command::FocusSource:
  case Command::FocusFindings:
    return setFocus(selection, static_cast<int>(command) - static_cast<int>(Command::FocusHeatmap));
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
  case Command::NextLaunch:
    selection.wish = Wish::NextLaunch;
    return;
  case Command::PreviousLaunch:
    selection.wish = Wish::PreviousLaunch;
    return;
  case Command::SavePng:
    selection.wish = Wish::SavePng;
    return;
  case Command::CopyCsv:
    selection.wish = Wish::CopyCsv;
    return;
  case Command::SaveCsv:
    selection.wish = Wish::SaveCsv;
    return;
  case Command::Help:
    selection.showsHelp = !selection.showsHelp;
    return;
  case Command::Clear:
    if (selection.showsHelp)
      selection.showsHelp = false;
    else
      clearSelection(selection);
    return;
  case Command::Quit:
    selection.wish = Wish::Quit;
    return;
  }
}

} // namespace blockscope::viz
