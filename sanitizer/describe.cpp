// Values as text.
#include "sanitizer/describe.h"

#include "core/numeric/scalar.h"
#include "core/source_text.h"

#include "llvm/ADT/StringExtras.h"

#include <charconv>
#include <cstring>

namespace blockscope::sanitizer {

namespace {

/// The shortest text that reads back as the same value.
std::string floatText(double value, int elementBytes) {
  char text[32];
  const std::to_chars_result end =
      elementBytes == sizeof(double)
          ? std::to_chars(std::begin(text), std::end(text), value)
          : std::to_chars(std::begin(text), std::end(text), static_cast<float>(value));
  return {text, end.ptr};
}

} // namespace

std::string valueText(const void *bytes, int elementBytes, llvm::StringRef dtype) {
  const auto parsed = parseDType(dtype);
  if (parsed && byteSize(*parsed) == elementBytes) {
    if (isFloating(*parsed))
      return floatText(numeric::readAsDouble(*parsed, bytes), elementBytes);
    const int64_t value = numeric::readAsInt(*parsed, bytes);
    return isUnsigned(*parsed) ? std::to_string(static_cast<uint64_t>(value))
                               : std::to_string(value);
  }
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, std::min<size_t>(elementBytes, sizeof(bits)));
  return "0x" + llvm::utohexstr(bits, /*LowerCase=*/true);
}

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
