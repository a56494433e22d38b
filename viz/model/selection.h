// What the user has chosen. Panels read the model and change only this.
#pragma once

#include "viz/model/heat_image.h"
#include "viz/model/trace_model.h"

#include <array>
#include <memory>
#include <optional>
#include <string>

namespace blockscope::viz {

class Pictures;

/// From History on they are drawers: one of them at a time is open below the heat map.
enum class PanelKind : uint8_t {
  Heatmap,
  Programs,
  Ops,
  Source,
  Findings,
  History,
  Traffic,
  Roofline
};
inline constexpr int kPanelCount = 8;
inline constexpr bool isDrawer(PanelKind panel) { return panel >= PanelKind::History; }

/// How the heat map shows time: all accesses, those up to a moment, or those around it.
enum class TimeMode : uint8_t { All, UpTo, Around };

/// A moment of the recording: so many access runs have happened.
struct TimeChoice {
  TimeMode mode = TimeMode::All;
  size_t at = 0;
  size_t window = 0; ///< access runs, half of them before the moment
  bool isPlaying = false;
};

/// What the viewer is asked to do after the frame.
enum class Wish : uint8_t {
  None,
  SavePng,
  CopyCsv,
  SaveCsv,
  NextLaunch,
  PreviousLaunch,
  OpenTrace, ///< the chosen one of the folder
  ShowFolder,
  Quit,
};

/// A rectangle of the last frame.
struct ScreenBox {
  float left = 0;
  float top = 0;
  float right = 0;
  float bottom = 0;
};

/// How all is drawn, whatever is shown; kept from one start to the next.
struct Look {
  int textPercent = 100; ///< size of text, and of all that goes with it
  CountColors countColors = CountColors::Viridis;
  DifferenceColors differenceColors = DifferenceColors::BlueOrange;
  // Parts of the window: the columns at the left and right, and the upper panel in each.
  float leftShare = 0; ///< 0: as wide as suits the window
  float rightShare = 0;
  float leftSplit = 0;
  float rightSplit = 0;
  bool operator==(const Look &) const = default;
};

struct Selection {
  int tensor = -1; ///< argument number
  int64_t program = -1;
  int32_t op = -1;
  int source = 0;
  int line = 0;
  int finding = -1;
  int place = -1;            ///< of the chosen finding, that was gone to
  bool showsMarks = true;    ///< of findings, in the heat map
  std::optional<Cell> cell;  ///< cursor of the heat map; may be outside the tensor
  int64_t historyEntry = -1; ///< of the cell's history, that was gone to

  Look look;
  HeatMode mode = HeatMode::Both;
  bool logScale = false;
  std::optional<CountRange> range; ///< of the colours; else that of the tensor
  int64_t slice = -1;
  TimeChoice time;
  bool isFitted = true; ///< the region follows the size of the window
  Region region;
  double plotWidth = 1; ///< of the heat map at the last frame, in pixels
  double plotHeight = 1;

  PanelKind focus = PanelKind::Heatmap;
  std::optional<PanelKind> drawer;           ///< that is open
  bool worstFirst = false;                   ///< in the list of traffic
  PanelKind sidePanel = PanelKind::Findings; ///< beside the heat map, in a narrow window
  std::optional<PanelKind>
      opened; ///< that a window for one panel shows until another one is chosen
  bool showsHelp = false;
  int helpRow = 0;             ///< the first one that is shown, where there is no room for all
  bool scrollsToChoice = true; ///< lists bring the chosen row into sight at the next frame
  Wish wish = Wish::None;
  std::string notice; ///< what the last command did

  bool isOfTwo = false;                        ///< of a comparison, whose runs are called A and B
  bool isGuided = false;                       ///< a tour has the keys
  std::array<ScreenBox, kPanelCount> panelBox; ///< where each panel was drawn
  ScreenBox headerBox;
  ScreenBox elementBox;

  std::shared_ptr<Pictures> pictures; ///< no choice: the textures that show it, kept by the frame

  /// Lit in heat maps.
  RunFilter filter() const { return {program, op}; }
  /// The finding whose elements are marked: the chosen one, else all.
  int marks() const { return !showsMarks ? kNoMarks : finding >= 0 ? finding : kAllMarks; }
  /// What the heat map counts; nothing: all accesses.
  std::optional<TimeRange> timeRange() const;
  HeatRequest heatRequest(int width, int height) const {
    return {tensor, slice, mode,   logScale,         filter(), marks(),
            region, width, height, look.countColors, range,    timeRange()};
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
/// An entry of the history of the chosen cell brings its program, op and line.
void selectHistory(const TraceModel &model, Selection &selection, int64_t entry);
void selectSlice(const TraceModel &model, Selection &selection, int64_t slice);
/// Goes to a moment, in access runs; where all are shown, those up to it are from now on.
void selectTime(const TraceModel &model, Selection &selection, size_t at);
void selectTimeMode(const TraceModel &model, Selection &selection, TimeMode mode);
/// Plays from the moment on, at the end from the start; or pauses.
void togglePlay(const TraceModel &model, Selection &selection);
void selectTimeWindow(const TraceModel &model, Selection &selection, size_t runs);
void clearSelection(Selection &selection);
/// Gives a panel the focus; a drawer opens.
void focusPanel(Selection &selection, PanelKind panel);

/// The slot under a cell of the chosen plane: of an element, or of a place outside that was
/// accessed.
std::optional<int64_t> slotAt(const TraceModel &model, const Selection &selection, Cell cell);

} // namespace blockscope::viz
