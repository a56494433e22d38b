// Reads one line of Python, as far as operators and brackets go.
#include "sanitizer/integers/operand_names.h"

#include "core/source_text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cctype>

namespace blockscope::sanitizer {
namespace {

/// How tightly an operator binds; 0: it is none of arithmetic, and ends the expression.
int strengthOf(llvm::StringRef symbol) {
  if (symbol == "**")
    return 6;
  if (symbol == "*" || symbol == "//" || symbol == "%" || symbol == "/" || symbol == "@")
    return 5;
  if (symbol == "+" || symbol == "-")
    return 4;
  return symbol == "<<" || symbol == ">>" ? 3 : 0;
}

struct Operator {
  llvm::StringRef symbol;
  size_t begin;
};

/// The operators outside brackets, and where the expression ends.
struct Scan {
  llvm::SmallVector<Operator, 4> operators;
  size_t end = 0;

  explicit Scan(llvm::StringRef text) {
    int depth = 0;
    bool hasOperand = false; // else a sign comes
    for (end = 0; end < text.size(); ++end) {
      const char c = text[end];
      if (llvm::StringRef("([{").contains(c)) {
        ++depth;
        hasOperand = false;
      } else if (llvm::StringRef(")]}").contains(c)) {
        if (depth-- == 0)
          return;
        hasOperand = true;
      } else if (std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.') {
        if (depth == 0 && hasOperand && text[end - 1] == ' ')
          return; // `if`, `and`: a word behind an operand
        hasOperand = true;
      } else if (depth == 0 && c != ' ') {
        const size_t length = end + 1 < text.size() && text[end + 1] == c ? 2 : 1;
        const llvm::StringRef symbol = text.substr(end, length);
        const bool isSign = !hasOperand && (symbol == "-" || symbol == "+");
        if (isSign)
          continue;
        if (strengthOf(symbol) == 0)
          return;
        operators.push_back({symbol, end});
        end += length - 1;
        hasOperand = false;
      }
    }
  }
};

} // namespace

OperandTexts splitAt(llvm::StringRef expression, llvm::StringRef symbol) {
  const Scan scan(expression);
  const int strength = strengthOf(symbol);
  const Operator *found = nullptr;
  size_t end = scan.end;
  for (const Operator &each : scan.operators) {
    if (found && strengthOf(each.symbol) <= strength) {
      end = std::min(end, each.begin);
      break;
    }
    if (found || each.symbol == symbol) {
      if (!found)
        found = &each;
      continue;
    }
    if (strengthOf(each.symbol) < strength)
      return std::nullopt; // the left operand begins further to the right
  }
  if (!found)
    return std::nullopt;
  for (const Operator &each : scan.operators) // a * b * c: which one is not known
    if (&each != found && each.symbol == symbol && (each.begin < found->begin || each.begin == end))
      return std::nullopt;
  const llvm::StringRef left = expression.take_front(found->begin).trim();
  const llvm::StringRef right = expression.slice(found->begin + symbol.size(), end).trim();
  if (left.empty() || right.empty())
    return std::nullopt;
  return std::pair(left.str(), right.str());
}

OperandTexts operandTexts(const SourceLocation &location, llvm::StringRef symbol) {
  const auto text = sourceLine(location.file, location.line);
  if (!text || location.column < 1 || static_cast<size_t>(location.column) > text->size())
    return std::nullopt;
  return splitAt(llvm::StringRef(*text).drop_front(location.column - 1), symbol);
}

} // namespace blockscope::sanitizer
