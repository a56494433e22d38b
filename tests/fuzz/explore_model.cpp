// Walks over the model as a user would who presses every key.
#include "tests/fuzz/explore_model.h"

#include "viz/model/commands.h"
#include "viz/model/csv.h"
#include "viz/model/program_image.h"

#include <algorithm>
#include <chrono>

namespace blockscope::fuzz {
namespace {

using namespace viz;

constexpr int kWidth = 48;
constexpr int kHeight = 32;

/// To the end, back, and to a window: as far as it comes in a moment.
void exploreTime(const TraceModel &model, Selection &selection) {
  constexpr std::chrono::milliseconds kMoment{1};
  const size_t rows = model.accesses().rows;
  for (const size_t at : {rows, rows / 3}) {
    selectTime(model, selection, at);
    renderHeat(model, selection.heatRequest(kWidth, kHeight), kMoment);
  }
  selectTimeMode(model, selection, TimeMode::Around);
  renderHeat(model, selection.heatRequest(kWidth, kHeight), kMoment);
  selectTimeMode(model, selection, TimeMode::All);
}

void exploreTensor(const TraceModel &model, Selection &selection, int tensor) {
  selectTensor(model, selection, tensor);
  const int64_t slices = model.plane(tensor, -1).sliceCount();
  for (const int64_t slice : {int64_t{-1}, int64_t{0}, slices - 1}) {
    selectSlice(model, selection, slice);
    selection.region =
        fitRegion(model.outsideCells(tensor, selection.slice).content, kWidth, kHeight);
    for (const HeatMode mode : {HeatMode::Reads, HeatMode::Both}) {
      selection.mode = mode;
      selection.logScale = mode == HeatMode::Both;
      renderHeat(model, selection.heatRequest(kWidth, kHeight));
    }
    exploreTime(model, selection);
    selection.program = model.launch().programCount() - 1;
    renderHeat(model, selection.heatRequest(kWidth, kHeight));
    selection.program = -1;
  }
  const TensorLayout &layout = model.layout(tensor);
  std::vector<int64_t> slots = {0, layout.slotCount() / 2, layout.slotCount() - 1};
  if (!model.heat(tensor).outside().empty())
    slots.insert(slots.end(), {model.heat(tensor).outside().front().slot,
                               model.heat(tensor).outside().back().slot});
  for (const int64_t slot : slots) {
    layout.indexOf(slot);
    model.storyOf(tensor, slot);
    model.history(tensor, slot);
  }
}

} // namespace

TraceLimits smallLimits() {
  TraceLimits limits;
  limits.machineBytes = uint64_t{32} << 20;
  limits.singleElements = uint64_t{1} << 16;
  return limits;
}

void explore(const TraceModel &model) {
  constexpr size_t kTensors = 3;
  constexpr size_t kRows = 2048;
  Selection selection = firstSelection(model);
  const std::vector<int> &tensors = model.tensors();
  for (size_t index = 0; index < std::min(tensors.size(), kTensors); ++index)
    exploreTensor(model, selection, tensors[index]);
  for (int panel = 0; panel < kPanelCount; ++panel) {
    selection.focus = static_cast<PanelKind>(panel);
    for (const KeyBinding &binding : keyBindings())
      apply(binding.command, model, selection);
  }
  const ProgramGrid grid = gridOf(model);
  renderPrograms(model, {grid.layers - 1, kWidth, kHeight, &model});
  for (const int64_t program : {int64_t{0}, model.launch().programCount() - 1})
    model.opCountsOf(program);
  if (model.programCounts().size() + model.launch().ops.size() < kRows)
    for (int panel = 0; panel < kPanelCount; ++panel) {
      csvOf(model, selection, static_cast<PanelKind>(panel));
      csvName(model, selection, static_cast<PanelKind>(panel));
    }
}

} // namespace blockscope::fuzz
