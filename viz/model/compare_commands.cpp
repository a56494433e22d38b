// Commands of a comparison and of a folder.
#include "viz/model/compare_commands.h"

#include <algorithm>
#include <array>

namespace blockscope::viz {
namespace {

/// What a comparison has no panel for.
constexpr std::array kOneRunOnly = {
    Command::FocusHeatmap,  Command::FocusPrograms, Command::FocusOps,    Command::FocusSource,
    Command::FocusFindings, Command::Choose,        Command::NextFinding, Command::PreviousFinding,
    Command::NextPlace,     Command::ShowFolder,
};

} // namespace

void takeOver(const Selection &from, CompareView &view) {
  Selection &shared = view.shared;
  shared.cell = from.cell;
  shared.region = from.region;
  shared.isFitted = from.isFitted;
  shared.slice = from.slice;
  shared.program = from.program;
  shared.mode = from.mode;
  shared.logScale = from.logScale;
  shared.showsMarks = from.showsMarks;
  shared.notice = from.notice;
  shared.wish = from.wish;
}

void apply(Command command, const Comparison &comparison, CompareView &view) {
  view.shared.notice.clear();
  if (applyEverywhere(command, view.shared))
    return;
  const size_t count = comparison.tensors().size();
  if (count > 0 && (command == Command::NextTensor || command == Command::PreviousTensor)) {
    const size_t step = command == Command::NextTensor ? 1 : count - 1;
    chooseTensor(comparison, view, (view.tensor + step) % count);
  } else if (command == Command::FocusNext || command == Command::FocusPrevious) {
    view.showsRuns = !view.showsRuns;
  } else if (std::find(kOneRunOnly.begin(), kOneRunOnly.end(), command) == kOneRunOnly.end()) {
    const Side side = sideWithTensor(comparison, view);
    Selection selection = selectionOf(comparison, view, side);
    apply(command, comparison.run(side), selection);
    takeOver(selection, view);
  } else {
    view.shared.notice = "this key is for one run: blockscope view " + comparison.name(Side::A);
  }
}

void apply(Command command, const TraceFolder &folder, FolderView &view) {
  view.shared.notice.clear();
  if (applyEverywhere(command, view.shared))
    return;
  const auto last = static_cast<int64_t>(folder.entries().size()) - 1;
  const auto go = [&](int64_t rows) {
    view.row =
        static_cast<size_t>(std::clamp<int64_t>(static_cast<int64_t>(view.row) + rows, 0, last));
    view.shared.scrollsToChoice = true;
  };
  if (command == Command::Up)
    go(-1);
  else if (command == Command::Down)
    go(1);
  else if (command == Command::PageUp)
    go(-10);
  else if (command == Command::PageDown)
    go(10);
  else if (command == Command::Home)
    go(-last);
  else if (command == Command::End)
    go(last);
  else if (command == Command::Choose)
    view.shared.wish = Wish::OpenTrace;
}

} // namespace blockscope::viz
