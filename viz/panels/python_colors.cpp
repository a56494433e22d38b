// A small scanner of Python: keywords, strings, comments, numbers, decorators.
#include "viz/panels/python_colors.h"

#include "viz/panels/theme.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace blockscope::viz {
namespace {

constexpr ImU32 kKeyword = IM_COL32(197, 146, 255, 255);
constexpr ImU32 kString = IM_COL32(152, 208, 128, 255);
constexpr ImU32 kComment = IM_COL32(124, 134, 152, 255);
constexpr ImU32 kNumber = IM_COL32(240, 178, 122, 255);
constexpr ImU32 kDecorator = IM_COL32(120, 190, 255, 255);

constexpr std::array<std::string_view, 31> kKeywords = {
    "def",      "return", "for",    "in",    "if",     "else",  "elif",   "while",
    "import",   "from",   "as",     "None",  "True",   "False", "and",    "or",
    "not",      "is",     "lambda", "pass",  "with",   "class", "assert", "break",
    "continue", "try",    "except", "raise", "global", "yield", "del"};

bool isWord(char each) {
  return std::isalnum(static_cast<unsigned char>(each)) != 0 || each == '_' || (each & 0x80) != 0;
}

} // namespace

std::vector<ColoredText> colorPython(std::string_view line, char &inString) {
  std::vector<ColoredText> parts;
  const auto put = [&](size_t begin, size_t end, ImU32 color) {
    if (begin < end)
      parts.push_back({line.substr(begin, end - begin), color});
  };
  size_t at = 0;
  while (at < line.size()) {
    const size_t begin = at;
    const char each = line[at];
    if (inString != 0) {
      const std::string close(3, inString);
      const size_t found = line.find(close, at);
      at = found == std::string_view::npos ? line.size() : found + 3;
      if (found != std::string_view::npos)
        inString = 0;
      put(begin, at, kString);
    } else if (each == '#') {
      at = line.size();
      put(begin, at, kComment);
    } else if (each == '"' || each == '\'') {
      if (line.substr(at, 3) == std::string(3, each)) {
        inString = each;
        at += 3;
        put(begin, at, kString);
        continue;
      }
      for (++at; at < line.size() && line[at] != each; ++at)
        at += line[at] == '\\' ? 1 : 0;
      at = std::min(at + 1, line.size());
      put(begin, at, kString);
    } else if (std::isdigit(static_cast<unsigned char>(each)) != 0) {
      while (at < line.size() && (isWord(line[at]) || line[at] == '.'))
        ++at;
      put(begin, at, kNumber);
    } else if (isWord(each) || each == '@') {
      for (++at; at < line.size() && (isWord(line[at]) || (each == '@' && line[at] == '.')); ++at) {
      }
      const std::string_view word = line.substr(begin, at - begin);
      put(begin, at,
          each == '@'                                                              ? kDecorator
          : std::find(kKeywords.begin(), kKeywords.end(), word) != kKeywords.end() ? kKeyword
                                                                                   : theme::kText);
    } else {
      while (at < line.size() && !isWord(line[at]) && line[at] != '#' && line[at] != '"' &&
             line[at] != '\'' && line[at] != '@')
        ++at;
      put(begin, at, theme::kFaint);
    }
  }
  return parts;
}

} // namespace blockscope::viz
