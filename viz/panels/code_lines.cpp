// Breaking of source lines.
#include "viz/panels/code_lines.h"

#include "viz/panels/python_colors.h"

#include <algorithm>

namespace blockscope::viz {
namespace {

constexpr int kTabColumns = 4;
constexpr int kMaxRows = 40;

bool beginsCharacter(char each) { return (each & 0xc0) != 0x80; }

/// Bytes of `line` from `begin` that make the next row of at most `columns` characters.
size_t rowEnd(std::string_view line, size_t begin, int columns) {
  size_t at = begin;
  size_t afterBreak = begin;
  for (int used = 0; at < line.size(); ++at) {
    if (beginsCharacter(line[at]))
      used += line[at] == '\t' ? kTabColumns : 1;
    if (used > columns)
      return afterBreak > begin + static_cast<size_t>(columns) / 3 ? afterBreak : at;
    if (line[at] == ' ' || line[at] == ',')
      afterBreak = at + 1;
  }
  return line.size();
}

} // namespace

CodeLine layOutCode(std::string_view line, int columns, int further, char &inString) {
  columns = std::max(columns, 12);
  further = std::max(further, columns);
  const size_t spaces = std::min(line.find_first_not_of(' '), line.size());
  const int indent = std::min(static_cast<int>(spaces) + 4, further / 2);
  std::vector<size_t> ends; // of rows, in bytes
  for (size_t at = 0; at < line.size() && ends.size() < kMaxRows;) {
    at = rowEnd(line, at, ends.empty() ? columns : further - indent);
    ends.push_back(at);
  }
  CodeLine result;
  result.rows = std::max(1, static_cast<int>(ends.size()));
  int row = 0;
  int column = 0;
  for (const ColoredText &part : colorPython(line, inString)) {
    const auto start = static_cast<size_t>(part.text.data() - line.data());
    size_t begin = start;
    const size_t partEnd = start + part.text.size();
    while (begin < partEnd && row < result.rows) {
      const size_t end = std::min(partEnd, ends[static_cast<size_t>(row)]);
      const std::string_view piece = line.substr(begin, end - begin);
      if (!piece.empty())
        result.pieces.push_back({piece, part.color, row, column});
      for (const char each : piece)
        column += !beginsCharacter(each) ? 0 : each == '\t' ? kTabColumns : 1;
      begin = end;
      if (end == ends[static_cast<size_t>(row)]) {
        ++row;
        column = indent;
      }
    }
  }
  return result;
}

} // namespace blockscope::viz
