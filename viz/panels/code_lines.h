// Source lines broken to the width of the panel: nothing of a line is cut off.
#pragma once

#include <imgui.h>

#include <string_view>
#include <vector>

namespace blockscope::viz {

/// A piece of one colour in one row.
struct CodePiece {
  std::string_view text;
  ImU32 color;
  int row;
  int column;
};

struct CodeLine {
  std::vector<CodePiece> pieces;
  int rows = 1;
};

/// Lays a line of Python out in a row of `columns` characters and more of `further`; those are
/// indented.
/// A row ends after a space or comma where there is one. `inString` is as in `colorPython`.
CodeLine layOutCode(std::string_view line, int columns, int further, char &inString);

} // namespace blockscope::viz
