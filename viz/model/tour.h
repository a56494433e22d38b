// The tour: a few steps through a trace of examples/demo/softmax_wrong.py, each a sentence or two
// about a panel.
#pragma once

#include "viz/model/commands.h"

#include <cstddef>
#include <span>
#include <string_view>

namespace blockscope::viz {

/// What a step points at: a panel, the header, or the strip that tells of one element.
enum class TourPlace : uint8_t { Header, Heatmap, Programs, Ops, Source, Findings, Element };

struct TourStep {
  TourPlace place;
  std::string_view text;
};

std::span<const TourStep> tourSteps();

/// Whether a trace has what the steps tell of.
bool isTourTrace(const TraceModel &model);

struct Tour {
  size_t step = 0;
  bool isOver = false;
  ScreenBox box; ///< where its text was drawn
};

/// Chooses what a step tells of.
void goToStep(const TraceModel &model, Selection &selection, Tour &tour, size_t step);
/// The next step, the one before, or the end; what is not about the tour goes on as ever.
void apply(Command command, const TraceModel &model, Selection &selection, Tour &tour);

} // namespace blockscope::viz
