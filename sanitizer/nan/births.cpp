// Keeps births, and words them.
#include "sanitizer/nan/births.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <cstdio>

namespace blockscope::sanitizer {
namespace {

constexpr size_t kMostBirths = size_t{1} << 20; // of one program; later ones count as the last

std::string numberText(double value) {
  if (std::isnan(value))
    return "NaN";
  if (std::isinf(value))
    return value > 0 ? "inf" : "-inf";
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

/// What is between two operands; empty when the op is written as a function.
llvm::StringRef infixOf(llvm::StringRef name) {
  return llvm::StringSwitch<llvm::StringRef>(name)
      .Case("arith.addf", " + ")
      .Case("arith.subf", " - ")
      .Case("arith.mulf", " * ")
      .Case("arith.divf", " / ")
      .Case("arith.remf", " % ")
      .Default("");
}

} // namespace

OriginId BirthTable::add(FloatBirth birth) {
  if (births_.size() >= kMostBirths)
    return static_cast<OriginId>(births_.size() - 1);
  birth.event = static_cast<uint32_t>(events_.size() - 1);
  births_.push_back(birth);
  return static_cast<OriginId>(births_.size() - 1);
}

void BirthTable::clear() {
  births_.assign(kGiven + 1, {});
  events_.clear();
}

std::string expressionOf(const FloatBirth &birth, const BirthEvent &event) {
  llvm::SmallVector<std::string, 3> operands;
  for (size_t i = 0; i < birth.numOperands; ++i)
    operands.push_back(numberText(birth.operands[i]));
  if (event.combined != 0) {
    const std::string of = operands.empty() ? "finite elements" : "elements with ";
    return llvm::formatv("{0} of {1} {2}{3}", event.name == "dot" ? "a dot" : "a " + event.name,
                         event.combined, of, llvm::join(operands, " and "));
  }
  if (event.name == "math.fma" && operands.size() == 3)
    return operands[0] + " * " + operands[1] + " + " + operands[2];
  if (const llvm::StringRef infix = infixOf(event.name); !infix.empty() && operands.size() == 2) {
    if (llvm::StringRef(operands[1]).starts_with("-"))
      operands[1] = "(" + operands[1] + ")";
    return operands[0] + infix.str() + operands[1];
  }
  return (llvm::Twine(event.name.substr(event.name.find('.') + 1)) + "(" +
          llvm::join(operands, ", ") + ")")
      .str();
}

} // namespace blockscope::sanitizer
