// Values as text.
#include "sanitizer/describe.h"

#include "core/numeric/scalar.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cstring>

namespace blockscope::sanitizer {

std::string valueText(const void *bytes, int elementBytes, llvm::StringRef dtype) {
  const auto parsed = parseDType(dtype);
  if (parsed && byteSize(*parsed) == elementBytes) {
    if (isFloating(*parsed))
      return llvm::formatv("{0}", numeric::readAsDouble(*parsed, bytes)).str();
    const int64_t value = numeric::readAsInt(*parsed, bytes);
    return isUnsigned(*parsed) ? std::to_string(static_cast<uint64_t>(value))
                               : std::to_string(value);
  }
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, std::min<size_t>(elementBytes, sizeof(bits)));
  return "0x" + llvm::utohexstr(bits, /*LowerCase=*/true);
}

} // namespace blockscope::sanitizer
