// Everything the keyboard can do, as one table: the keys act by it and the help overlay prints it.
#pragma once

#include "viz/model/selection.h"

#include <span>
#include <string_view>

namespace blockscope::viz {

enum class Command : uint8_t {
  FocusHeatmap,
  FocusPrograms,
  FocusOps,
  FocusSource,
  FocusFindings,
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

/// One key; either a character or a special key with or without shift.
struct KeyBinding {
  Command command;
  char character = 0;
  SpecialKey special = SpecialKey::None;
  bool shift = false;
};

std::span<const KeyBinding> keyBindings();

/// A line of the help overlay.
struct HelpLine {
  std::string_view keys;
  std::string_view text; ///< empty: `keys` is a heading
};

std::span<const HelpLine> helpLines();

/// Carries a command out. The meaning of the arrows depends on the panel that has the focus.
void apply(Command command, const TraceModel &model, Selection &selection);

std::string_view panelTitle(PanelKind panel);

} // namespace blockscope::viz
