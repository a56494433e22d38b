// Places as both modes tell them.
#include "sanitizer/describe.h"

#include "core/source_text.h"

namespace blockscope::sanitizer {

int32_t columnOfStatement(const SourceLocation &location) {
  const auto text = sourceLine(location.file, location.line);
  const size_t column = text ? text->find_first_not_of(" \t") : std::string::npos;
  return column == std::string::npos ? location.column : static_cast<int32_t>(column) + 1;
}

SourceLocation withoutVariable(const SourceLocation &location) {
  SourceLocation result = location;
  result.variable.clear();
  return result;
}

} // namespace blockscope::sanitizer
