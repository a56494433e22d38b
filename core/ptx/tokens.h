// Words of PTX.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace blockscope::ptx {

struct Token {
  enum class Kind : uint8_t {
    Name,    ///< add, %tid, .reg, tmp; dots that begin a modifier are tokens of their own
    Operand, ///< $0: `number`
    Number,
    Symbol, ///< one character
    End,
  };
  Kind kind = Kind::End;
  std::string text;
  int number = 0;
  size_t begin = 0, end = 0; ///< in the text
  bool isAfterSpace = false;

  bool is(llvm::StringRef symbol) const { return kind != Kind::End && text == symbol; }
};

/// Comments are left out. The last token is an End.
std::vector<Token> tokensOf(llvm::StringRef text);

} // namespace blockscope::ptx
