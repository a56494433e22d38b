// How choices in one panel carry over to the others.
#include "viz/model/selection.h"

#include <algorithm>

namespace blockscope::viz {

namespace {

/// Puts the cursor on the element that a finding names.
void selectElement(const TraceModel &model, Selection &selection, const TraceFinding &finding) {
  selection.cell.reset();
  selection.historyEntry = -1;
  if (!finding.elementOffsetBytes || selection.tensor < 0 || finding.argument != selection.tensor)
    return;
  const int64_t slot = model.layout(selection.tensor).slotOf(*finding.elementOffsetBytes);
  std::optional<Cell> cell = model.plane(selection.tensor, selection.slice).cellOf(slot);
  if (!cell && selection.slice >= 0) { // in another slice
    selectSlice(model, selection, -1);
    cell = model.plane(selection.tensor, selection.slice).cellOf(slot);
  }
  if (cell && slotAt(model, selection, *cell))
    selection.cell = *cell;
}

} // namespace

Selection firstSelection(const TraceModel &model) {
  Selection selection;
  const auto &findings = model.launch().findings;
  for (const TraceFinding &finding : findings)
    if (selection.tensor < 0 && model.isShown(finding.argument))
      selection.tensor = finding.argument;
  uint64_t most = 0;
  if (selection.tensor < 0)
    for (const int tensor : model.tensors()) {
      const AccessCounts &counts = model.argumentCounts()[static_cast<size_t>(tensor)];
      if (selection.tensor < 0 || counts.outside > 0 || counts.total() > most) {
        selection.tensor = tensor;
        most = counts.outside > 0 ? UINT64_MAX : counts.total();
      }
    }
  for (size_t op = 0; op < model.launch().ops.size() && selection.line == 0; ++op)
    if (model.launch().ops[op].source >= 0 && model.opCounts()[op].blocks > 0) {
      selection.source = model.launch().ops[op].source;
      break;
    }
  return selection;
}

void selectTensor(const TraceModel &model, Selection &selection, int argument) {
  if (argument == selection.tensor || !model.isShown(argument))
    return;
  selection.tensor = argument;
  selection.cell.reset();
  selection.historyEntry = -1;
  selection.slice = -1;
  selection.isFitted = true;
  // An op that never touches this tensor would light nothing.
  if (selection.op >= 0 && model.tensorOfOp(selection.op) != argument)
    selection.op = -1;
}

void selectProgram(const TraceModel &model, Selection &selection, int64_t program) {
  selection.program = program < 0 ? -1 : std::min(program, model.launch().programCount() - 1);
}

void selectOp(const TraceModel &model, Selection &selection, int32_t op) {
  if (op < 0 || op >= static_cast<int32_t>(model.launch().ops.size())) {
    selection.op = -1;
    return;
  }
  selectTensor(model, selection, model.tensorOfOp(op));
  const TraceOp &chosen = model.launch().ops[static_cast<size_t>(op)];
  selection.op = op;
  if (chosen.source >= 0) {
    selection.source = chosen.source;
    selection.line = chosen.line;
  }
  selection.scrollsToChoice = true;
}

void selectLine(const TraceModel &model, Selection &selection, int source, int line) {
  selection.op = -1;
  const auto &ops = model.launch().ops;
  for (size_t op = 0; op < ops.size(); ++op)
    if (ops[op].source == source && ops[op].line == line && model.opCounts()[op].blocks > 0) {
      selectOp(model, selection, static_cast<int32_t>(op));
      break;
    }
  selection.source = source;
  selection.line = line;
  selection.scrollsToChoice = true;
}

void selectFinding(const TraceModel &model, Selection &selection, int finding) {
  const auto &findings = model.launch().findings;
  selection.place = -1;
  if (finding < 0 || finding >= static_cast<int>(findings.size())) {
    selection.finding = -1;
    return;
  }
  const TraceFinding &chosen = findings[static_cast<size_t>(finding)];
  selection.finding = finding;
  selectOp(model, selection, chosen.op);
  selectTensor(model, selection, chosen.argument);
  selectProgram(model, selection, chosen.program);
  if (chosen.source >= 0) {
    selection.source = chosen.source;
    selection.line = chosen.site.location.line;
  }
  selectElement(model, selection, chosen);
  selection.scrollsToChoice = true;
}

void selectPlace(const TraceModel &model, Selection &selection, int place) {
  if (selection.finding < 0)
    return;
  const auto &places = model.launch().findings[static_cast<size_t>(selection.finding)].places;
  if (place < 0 || place >= static_cast<int>(places.size()))
    return;
  const TracePlace &chosen = places[static_cast<size_t>(place)];
  const int tensor = selection.tensor; // the elements stay in sight
  selection.place = place;
  selection.op = -1;
  if (chosen.op >= 0 && model.tensorOfOp(chosen.op) == tensor)
    selection.op = chosen.op;
  selectProgram(model, selection, chosen.program);
  if (chosen.source >= 0) {
    selection.source = chosen.source;
    selection.line = chosen.line;
  }
  selection.scrollsToChoice = true;
}

void selectCell(const TraceModel &model, Selection &selection, Cell cell) {
  if (selection.tensor < 0)
    return;
  const Region &content = model.outsideCells(selection.tensor, selection.slice).content;
  cell.row = std::clamp(cell.row, static_cast<int64_t>(content.top),
                        static_cast<int64_t>(content.bottom) - 1);
  cell.column = std::clamp(cell.column, static_cast<int64_t>(content.left),
                           static_cast<int64_t>(content.right) - 1);
  if (selection.cell != cell)
    selection.historyEntry = -1;
  selection.cell = cell;
}

void selectHistory(const TraceModel &model, Selection &selection, int64_t entry) {
  const std::optional<int64_t> slot =
      selection.cell ? slotAt(model, selection, *selection.cell) : std::nullopt;
  if (!slot)
    return;
  const ElementHistory &history = model.history(selection.tensor, *slot);
  if (entry < 0 || entry >= static_cast<int64_t>(history.entries.size()))
    return;
  const HistoryEntry &chosen = history.entries[static_cast<size_t>(entry)];
  const TraceOp &op = model.launch().ops[static_cast<size_t>(chosen.op)];
  selection.historyEntry = entry;
  if (selection.time.mode != TimeMode::All)
    selectTime(model, selection, chosen.row + 1);
  // The element stays in sight, also where the op mostly reaches another tensor.
  selection.op = model.tensorOfOp(chosen.op) == selection.tensor ? chosen.op : -1;
  selectProgram(model, selection, chosen.program);
  if (op.source >= 0) {
    selection.source = op.source;
    selection.line = op.line;
  }
  selection.scrollsToChoice = true;
}

void focusPanel(Selection &selection, PanelKind panel) {
  selection.focus = panel;
  selection.opened.reset();
  if (isDrawer(panel))
    selection.drawer = panel;
}

void selectSlice(const TraceModel &model, Selection &selection, int64_t slice) {
  if (selection.tensor < 0)
    return;
  const int64_t count = model.plane(selection.tensor, -1).sliceCount();
  if (count <= 1)
    return;
  selection.slice = std::clamp<int64_t>(slice, -1, count - 1);
  selection.cell.reset();
  selection.historyEntry = -1;
  selection.isFitted = true;
}

std::optional<TimeRange> Selection::timeRange() const {
  switch (time.mode) {
  case TimeMode::All:
    return std::nullopt;
  case TimeMode::UpTo:
    return TimeRange{0, time.at};
  case TimeMode::Around: {
    const size_t before = time.window / 2;
    return TimeRange{time.at - std::min(time.at, before), time.at + time.window - before};
  }
  }
  return std::nullopt;
}

void selectTime(const TraceModel &model, Selection &selection, size_t at) {
  if (selection.time.mode == TimeMode::All)
    selectTimeMode(model, selection, TimeMode::UpTo);
  selection.time.at = std::min(at, model.accesses().rows);
}

void selectTimeMode(const TraceModel &model, Selection &selection, TimeMode mode) {
  TimeChoice &time = selection.time;
  if (time.mode == TimeMode::All)
    time.at = model.accesses().rows;
  time.mode = mode;
  time.isPlaying = time.isPlaying && mode != TimeMode::All;
  if (mode == TimeMode::Around && time.window == 0)
    selectTimeWindow(model, selection, model.accesses().rows / 20);
}

void togglePlay(const TraceModel &model, Selection &selection) {
  TimeChoice &time = selection.time;
  time.isPlaying = !time.isPlaying;
  if (time.isPlaying && (time.mode == TimeMode::All || time.at >= model.accesses().rows))
    selectTime(model, selection, 0);
}

void selectTimeWindow(const TraceModel &model, Selection &selection, size_t runs) {
  selection.time.window = std::clamp<size_t>(runs, 1, std::max<size_t>(1, model.accesses().rows));
}

void clearSelection(Selection &selection) {
  selection.program = -1;
  selection.op = -1;
  selection.line = 0;
  selection.finding = -1;
  selection.place = -1;
  selection.cell.reset();
  selection.historyEntry = -1;
}

std::optional<int64_t> slotAt(const TraceModel &model, const Selection &selection, Cell cell) {
  if (selection.tensor < 0)
    return std::nullopt;
  const Plane &plane = model.plane(selection.tensor, selection.slice);
  if (plane.contains(cell))
    return plane.slotOf(cell);
  for (const OutsideCell &each : model.outsideCells(selection.tensor, selection.slice).cells)
    if (each.cell == cell)
      return each.place.slot;
  return std::nullopt;
}

} // namespace blockscope::viz
