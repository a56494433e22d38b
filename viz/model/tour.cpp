// Steps of the tour. What they choose is looked for, not numbered: the trace is made anew.
#include "viz/model/tour.h"

#include <algorithm>
#include <array>

namespace blockscope::viz {
namespace {

constexpr std::array kSteps = {
    TourStep{TourPlace::Header,
             "A trace holds launches of kernels. This one is a softmax of 24 rows of 50 numbers, "
             "and its results are wrong. Let us see why."},
    TourStep{TourPlace::Heatmap,
             "Each cell is a number of x_ptr, and its colour says how often it was read. Each "
             "should be read once; the bright ones were read twice."},
    TourStep{TourPlace::Heatmap,
             "Red cells lie outside of the tensor: behind its end. The kernel has read them, too."},
    TourStep{TourPlace::Programs,
             "Each square is a program, one for each row. Red ones left a tensor. What the chosen "
             "one touched stays bright in the heat map."},
    TourStep{TourPlace::Ops,
             "Each load and store, with the number of elements that it touched. The load takes 64 "
             "elements, but a row has 50."},
    TourStep{TourPlace::Source,
             "The line of the load, with what it read. The store below has a mask; the load has "
             "none."},
    TourStep{TourPlace::Findings,
             "What the checks found, with a hint. Choosing a finding chooses its program, its line "
             "and its element."},
    TourStep{TourPlace::Element,
             "Who touched one element: how often, which programs, which lines. A click or the "
             "arrow keys choose another one."},
    TourStep{TourPlace::Header,
             "That is all. The key t goes to the next tensor, n to the next finding, and h shows "
             "all keys. Look around, or end with q."},
};

/// The first load of memory, or -1.
int32_t firstLoad(const TraceModel &model) {
  const auto &ops = model.launch().ops;
  for (size_t op = 0; op < ops.size(); ++op)
    if (ops[op].kind == TraceOpKind::Read && model.opCounts()[op].blocks > 0)
      return static_cast<int32_t>(op);
  return -1;
}

PanelKind panelOf(TourPlace place) {
  switch (place) {
  case TourPlace::Header:
  case TourPlace::Heatmap:
  case TourPlace::Element:
    return PanelKind::Heatmap;
  case TourPlace::Programs:
    return PanelKind::Programs;
  case TourPlace::Ops:
    return PanelKind::Ops;
  case TourPlace::Source:
    return PanelKind::Source;
  case TourPlace::Findings:
    return PanelKind::Findings;
  }
  return PanelKind::Heatmap;
}

} // namespace

std::span<const TourStep> tourSteps() { return kSteps; }

bool isTourTrace(const TraceModel &model) {
  const int32_t load = firstLoad(model);
  return load >= 0 && model.tensorOfOp(load) >= 0 && !model.launch().findings.empty() &&
         model.isShown(model.launch().findings[0].argument) &&
         model.argumentCounts()[static_cast<size_t>(model.tensorOfOp(load))].outside > 0;
}

void goToStep(const TraceModel &model, Selection &selection, Tour &tour, size_t step) {
  tour.step = std::min(step, kSteps.size() - 1);
  const TourPlace place = kSteps[tour.step].place;
  clearSelection(selection);
  selection.isFitted = true;
  selection.scrollsToChoice = true;
  selection.notice.clear();
  const int32_t load = firstLoad(model);
  selectTensor(model, selection, model.tensorOfOp(load));
  const int64_t lastProgram = model.launch().programCount() - 1;
  switch (place) {
  case TourPlace::Header:
    break;
  case TourPlace::Heatmap: // in its second step, one of the red cells
    if (tour.step > 0 && kSteps[tour.step - 1].place == TourPlace::Heatmap) {
      const auto &outside = model.outsideCells(selection.tensor, selection.slice).cells;
      if (!outside.empty())
        selectCell(model, selection, outside.front().cell);
    }
    break;
  case TourPlace::Programs:
    selectProgram(model, selection, lastProgram);
    break;
  case TourPlace::Ops:
  case TourPlace::Source:
    selectOp(model, selection, load);
    break;
  case TourPlace::Findings:
    selectFinding(model, selection, 0);
    break;
  case TourPlace::Element:
    selectCell(model, selection, {1, 0});
    break;
  }
  selection.focus = panelOf(place);
  if (selection.focus != PanelKind::Heatmap)
    selection.sidePanel = selection.focus;
}

void apply(Command command, const TraceModel &model, Selection &selection, Tour &tour) {
  if (command == Command::Right || command == Command::Choose || command == Command::PageDown) {
    if (tour.step + 1 < kSteps.size())
      goToStep(model, selection, tour, tour.step + 1);
    else
      tour.isOver = true;
  } else if (command == Command::Left || command == Command::PageUp) {
    if (tour.step > 0)
      goToStep(model, selection, tour, tour.step - 1);
  } else if (command == Command::Clear) {
    tour.isOver = true;
  } else if (command != Command::Help) { // the tour lies over it
    applyEverywhere(command, selection);
  }
  selection.isGuided = !tour.isOver;
  if (tour.isOver)
    selection.notice = "the tour is over; blockscope view --tour shows it again";
}

} // namespace blockscope::viz
