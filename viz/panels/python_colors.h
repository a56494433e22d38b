// Colours of Python source text, line by line.
#pragma once

#include <imgui.h>

#include <string_view>
#include <vector>

namespace blockscope::viz {

struct ColoredText {
  std::string_view text;
  ImU32 color;
};

/// Splits one line. `inString` carries an open triple-quoted string from line to line: the quote
/// character, or 0.
std::vector<ColoredText> colorPython(std::string_view line, char &inString);

} // namespace blockscope::viz
