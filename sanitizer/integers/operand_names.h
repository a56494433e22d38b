// What the two operands of an operator are called in the user's line.
#pragma once

#include "core/source_location.h"

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <utility>

namespace blockscope::sanitizer {

using OperandTexts = std::optional<std::pair<std::string, std::string>>;

/// Returns the texts left and right of the only operator `symbol` ("*", "//") in the expression
/// that begins at `location`; nothing where it is not one of the line, or where there are several.
/// May call Python (core/source_text.h).
OperandTexts operandTexts(const SourceLocation &location, llvm::StringRef symbol);

/// The same for an expression.
OperandTexts splitAt(llvm::StringRef expression, llvm::StringRef symbol);

} // namespace blockscope::sanitizer
