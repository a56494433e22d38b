// What the user has chosen. Panels read the model and change only this.
#pragma once

#include "viz/model/heat_image.h"
#include "viz/model/trace_model.h"

#include <memory>
#include <optional>
#include <string>

namespace blockscope::viz {

class Pictures;

enum class PanelKind : uint8_t { Heatmap, Programs, Ops, Source, Findings };
inline constexpr int kPanelCount = 5;

/// What the viewer is asked to do after the frame.
enum class Wish : uint8_t { None, SavePng, CopyCsv, SaveCsv, NextLaunch, PreviousLaunch, Quit };

struct Selection {
  int tensor = -1; ///< argument number
  int64_t program = -1;
  int32_t op = -1;
  int source = 0;
  int line = 0;
  int finding = -1;
  int place = -1;           ///< of the chosen finding, that was gone to
  bool showsMarks = true;   ///< of findings, in the heat map
  std::optional<Cell> cell; ///< cursor of the heat map; may be outside the tensor

  HeatMode mode = HeatMode::Both;
  bool logScale = false;
  int64_t slice = -1;
  bool isFitted = true; ///< the region follows the size of the window
  Region region;
  double plotWidth = 1; ///< of the heat map at the last frame, in pixels
  double plotHeight = 1;

  PanelKind focus = PanelKind::Heatmap;
  bool showsHelp = false;
  bool scrollsToChoice = true; ///< lists bring the chosen row into sight at the next frame
  Wish wish = Wish::None;
  std::string notice; ///< what the last command did

  std::shared_ptr<Pictures> pictures; ///< no choice: the textures that show it, kept by the frame

  /// Lit in heat maps.
  RunFilter filter() const { return {program, op}; }
  /// The finding whose elements are marked: the chosen one, else all.
  int marks() const { return !showsMarks ? kNoMarks : finding >= 0 ? finding : kAllMarks; }
  HeatRequest heatRequest(int width, int height) const {
    return {tensor, slice, mode, logScale, filter(), marks(), region, width, height};
  }
};

/// The first choice when a launch is opened: the first finding's tensor, else the busiest one.
Selection firstSelection(const TraceModel &model);

// Each choice brings along what belongs to it: a finding its program, op, line, tensor and element;
// a place of the chosen finding its program, op and line; an op its line and tensor; a line its
// first op.
void selectTensor(const TraceModel &model, Selection &selection, int argument);
void selectProgram(const TraceModel &model, Selection &selection, int64_t program);
void selectOp(const TraceModel &model, Selection &selection, int32_t op);
void selectLine(const TraceModel &model, Selection &selection, int source, int line);
void selectFinding(const TraceModel &model, Selection &selection, int finding);
void selectPlace(const TraceModel &model, Selection &selection, int place);
void selectCell(const TraceModel &model, Selection &selection, Cell cell);
void selectSlice(const TraceModel &model, Selection &selection, int64_t slice);
void clearSelection(Selection &selection);

/// The slot under a cell of the chosen plane: of an element, or of a place outside that was
/// accessed.
std::optional<int64_t> slotAt(const TraceModel &model, const Selection &selection, Cell cell);

} // namespace blockscope::viz
