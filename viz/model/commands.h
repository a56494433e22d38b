// Everything the keyboard can do, as one table: the keys act by it and the help overlay prints it.
#pragma once

#include "viz/model/selection.h"

#include <optional>
#include <span>
#include <string_view>

namespace blockscope::viz {

enum class Command : uint8_t {
  FocusHeatmap,
  FocusPrograms,
  FocusOps,
  FocusSource,
  FocusFindings,
  FocusHistory,
  FocusTraffic,
  FocusRoofline,
  FocusNext,
  FocusPrevious,
  Left,
  Right,
  Up,
  Down,
  PageUp,
  PageDown,
  Home,
  End,
  Choose,
  NextProgram,
  PreviousProgram,
  NoProgram,
  NextTensor,
  PreviousTensor,
  NextSlice,
  PreviousSlice,
  NextFinding,
  PreviousFinding,
  NextPlace,
  ToggleMarks,
  TimeBack,
  TimeForward,
  TimeFarBack,
  TimeFarForward,
  TogglePlay,
  CycleTime,
  NarrowWindow,
  WidenWindow,
  CycleMode,
  ToggleLog,
  ZoomIn,
  ZoomOut,
  Fit,
  PanLeft,
  PanRight,
  PanUp,
  PanDown,
  NextLaunch,
  PreviousLaunch,
  ShowFolder,
  CycleColors,
  CycleDifferenceColors,
  LargerText,
  SmallerText,
  NormalText,
  SavePng,
  CopyCsv,
  SaveCsv,
  Help,
  Clear,
  Quit,
};

/// Keys that have no character.
enum class SpecialKey : uint8_t {
  None,
  Left,
  Right,
  Up,
  Down,
  PageUp,
  PageDown,
  Home,
  End,
  Tab,
  Enter,
  Escape,
  F1,
};

/// One key; either a character, with the control key or without, or a special key with or without
/// shift.
struct KeyBinding {
  Command command;
  char character = 0;
  SpecialKey special = SpecialKey::None;
  bool shift = false;
  bool control = false;
};

std::span<const KeyBinding> keyBindings();
/// What a character does; nothing when it is no key.
std::optional<Command> commandOf(uint32_t character, bool control);

/// A line of the help overlay.
struct HelpLine {
  std::string_view keys;
  std::string_view text; ///< empty: `keys` is a heading
};

std::span<const HelpLine> helpLines();
/// Of a comparison, and of a folder.
std::span<const HelpLine> compareHelpLines();
std::span<const HelpLine> folderHelpLines();

/// Carries a command out. The meaning of the arrows depends on the panel that has the focus.
void apply(Command command, const TraceModel &model, Selection &selection);

/// Carries out what is the same whatever is shown: text, colours, files, help, the end.
/// Returns whether the command is one of these.
bool applyEverywhere(Command command, Selection &selection);

inline constexpr int kLeastTextPercent = 75;
inline constexpr int kMostTextPercent = 200;

std::string_view panelTitle(PanelKind panel);

} // namespace blockscope::viz
