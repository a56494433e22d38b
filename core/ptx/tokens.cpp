// Splits the text of inline assembly into words.
#include "core/ptx/tokens.h"

#include "llvm/ADT/StringExtras.h"

namespace blockscope::ptx {
namespace {

bool beginsName(char c) { return llvm::isAlpha(c) || c == '_' || c == '%'; }
bool isInName(char c) { return llvm::isAlnum(c) || c == '_' || c == '$'; }

class Lexer {
public:
  explicit Lexer(llvm::StringRef text) : text_(text) {}

  std::vector<Token> run() {
    for (;;) {
      const size_t before = at_;
      skipSpace();
      Token token;
      token.begin = at_;
      token.isAfterSpace = at_ != before;
      if (at_ < text_.size())
        read(token);
      token.end = at_;
      tokens_.push_back(token);
      if (token.kind == Token::Kind::End)
        return std::move(tokens_);
    }
  }

private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void skipSpace() {
    for (;;) {
      if (llvm::isSpace(peek()))
        ++at_;
      else if (text_.substr(at_).starts_with("//"))
        at_ = std::min(text_.size(), text_.find('\n', at_));
      else if (text_.substr(at_).starts_with("/*"))
        at_ = std::min(text_.size(), text_.find("*/", at_ + 2)) + 2;
      else
        return;
      at_ = std::min(at_, text_.size());
    }
  }

  void read(Token &token) {
    if (peek() == '$' && (llvm::isDigit(peek(1)) || peek(1) == '{'))
      return readOperand(token);
    const size_t begin = at_;
    if (llvm::isDigit(peek())) {
      readNumber();
      token.kind = Token::Kind::Number;
    } else if (beginsName(peek()) || peek() == '$') {
      token.kind = Token::Kind::Name;
      ++at_;
      readName(token);
      return;
    } else {
      token.kind = Token::Kind::Symbol;
      ++at_;
    }
    token.text = text_.slice(begin, at_).str();
  }

  /// $$ stands for $, and ${:uid} for a number that no other copy of the text has.
  void readName(Token &token) {
    token.text = text_.substr(at_ - 1, 1).str();
    if (token.text == "$" && peek() == '$')
      ++at_;
    while (isInName(peek())) {
      if (text_.substr(at_).starts_with("${:uid}")) {
        at_ += 7;
        token.text += '0';
        continue;
      }
      if (peek() == '$' && peek(1) == '$')
        ++at_;
      token.text += peek();
      ++at_;
    }
  }

  void readOperand(Token &token) {
    const bool hasBraces = peek(1) == '{';
    at_ += hasBraces ? 2 : 1;
    const size_t begin = at_;
    while (llvm::isDigit(peek()))
      ++at_;
    token.text = "$" + text_.slice(begin, at_).str();
    token.kind = text_.slice(begin, at_).getAsInteger(10, token.number) ? Token::Kind::Symbol
                                                                        : Token::Kind::Operand;
    if (hasBraces) {
      const size_t end = text_.find('}', at_);
      at_ = end == llvm::StringRef::npos ? text_.size() : end + 1;
    }
  }

  void readNumber() {
    const bool isHex = peek() == '0' && (peek(1) == 'x' || peek(1) == 'X');
    const bool isBits = peek() == '0' && llvm::StringRef("fFdD").contains(peek(1));
    if (isHex || isBits) {
      at_ += 2;
      while (llvm::isHexDigit(peek()))
        ++at_;
    } else {
      while (llvm::isAlnum(peek()) || peek() == '.' ||
             ((peek() == '+' || peek() == '-') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E')))
        ++at_;
    }
    if (isHex && (peek() == 'U' || peek() == 'u'))
      ++at_;
  }

  llvm::StringRef text_;
  size_t at_ = 0;
  std::vector<Token> tokens_;
};

} // namespace

std::vector<Token> tokensOf(llvm::StringRef text) { return Lexer(text).run(); }

} // namespace blockscope::ptx
