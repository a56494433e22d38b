// Parses inline assembly: scopes, registers, labels and instructions.
#include "core/ptx/program.h"
#include "core/ptx/tokens.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

#include <bit>

namespace blockscope::ptx {
namespace {

/// A text on one line, with single spaces.
std::string onOneLine(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> words;
  llvm::SplitString(text, words);
  return llvm::join(words, " ");
}

class Parser {
public:
  Parser(llvm::StringRef text, llvm::ArrayRef<std::string> operandTypes)
      : text_(text), tokens_(tokensOf(text)), operandCount_(static_cast<int>(operandTypes.size())) {
    for (const auto &[i, type] : llvm::enumerate(operandTypes))
      program_.registers.push_back({"$" + std::to_string(i), type});
    scopes_.emplace_back();
  }

  ProgramOrError run() {
    while (error_.empty() && peek().kind != Token::Kind::End)
      statement();
    if (error_.empty() && scopes_.size() != 1)
      error_ = "a '{' is not closed";
    if (error_.empty())
      closeScope();
    if (!error_.empty())
      return {{}, error_};
    return {std::move(program_), ""};
  }

private:
  struct Scope {
    llvm::StringMap<int> registers;
    llvm::StringMap<int> labels;
    llvm::SmallVector<std::pair<size_t, std::string>> branches; ///< to labels not seen yet
  };

  const Token &peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  Token next() {
    const Token token = peek();
    at_ = std::min(at_ + 1, tokens_.size() - 1);
    return token;
  }
  bool accept(llvm::StringRef symbol) {
    if (!peek().is(symbol))
      return false;
    next();
    return true;
  }
  bool expect(llvm::StringRef symbol) {
    if (accept(symbol))
      return true;
    fail("expected '" + symbol.str() + "', found " +
         (peek().kind == Token::Kind::End ? "the end" : "'" + peek().text + "'"));
    return false;
  }
  /// Records an error of the statement that begins at `begin_`.
  void fail(const std::string &what) {
    if (!error_.empty())
      return;
    size_t last = at_;
    while (last + 1 < tokens_.size() && !tokens_[last].is(";") && !tokens_[last].is("}"))
      ++last;
    const llvm::StringRef from = text_.substr(begin_);
    const size_t length = tokens_[last].end - std::min(begin_, tokens_[last].end);
    error_ = "in '" + onOneLine(from.take_front(length)) + "': " + what;
  }

  void statement() {
    begin_ = peek().begin;
    if (accept(";"))
      return;
    if (accept("{")) {
      scopes_.emplace_back();
      return;
    }
    if (accept("}")) {
      if (scopes_.size() == 1)
        return fail("there is no '{' before this '}'");
      closeScope();
      return;
    }
    if (peek().is("."))
      return directive();
    if (peek().kind == Token::Kind::Name && peek(1).is(":")) {
      scopes_.back().labels[next().text] = static_cast<int>(program_.instructions.size());
      next();
      return;
    }
    instruction();
  }

  void closeScope() {
    Scope scope = std::move(scopes_.back());
    scopes_.pop_back();
    for (auto &[index, label] : scope.branches) {
      if (const auto found = scope.labels.find(label); found != scope.labels.end())
        program_.instructions[index].target = found->second;
      else if (scopes_.empty())
        error_ =
            "in '" + program_.instructions[index].text + "': there is no label '" + label + "'";
      else
        scopes_.back().branches.emplace_back(index, label);
    }
  }

  void directive() {
    next();
    const std::string name = next().text;
    if (name == "reg")
      return declare();
    if (name == "pragma" || name == "loc") {
      while (peek().kind != Token::Kind::End && !accept(";"))
        next();
      return;
    }
    fail("the directive '." + name + "' is not supported on the CPU");
  }

  void declare() {
    if (!expect("."))
      return;
    const std::string type = next().text;
    if (type == "v2" || type == "v4" || typeBits(type) == 0)
      return fail("registers of type '." + type + "' are not supported on the CPU");
    do {
      const Token name = next();
      if (name.kind != Token::Kind::Name)
        return fail("'" + name.text + "' is not the name of a register");
      if (!accept("<")) {
        addRegister(name.text, type);
        continue;
      }
      int count = 0;
      if (llvm::StringRef(next().text).getAsInteger(10, count) || count < 1 || count > 4096)
        return fail("expected the number of registers, 1 to 4096");
      for (int i = 0; i < count; ++i)
        addRegister(name.text + std::to_string(i), type);
      if (!expect(">"))
        return;
    } while (accept(","));
    expect(";");
  }

  void addRegister(const std::string &name, const std::string &type) {
    if (!scopes_.back()
             .registers.try_emplace(name, static_cast<int>(program_.registers.size()))
             .second)
      return fail("'" + name + "' is declared twice");
    program_.registers.push_back({name, type});
  }

  int findRegister(llvm::StringRef name) const {
    for (const Scope &scope : llvm::reverse(scopes_))
      if (const auto found = scope.registers.find(name); found != scope.registers.end())
        return found->second;
    return -1;
  }

  void instruction() {
    Instruction made;
    if (accept("@")) {
      made.isPredicateNegated = accept("!");
      const Operand predicate = operand();
      if (predicate.kind != Operand::Kind::Register)
        return fail("expected a predicate after '@'");
      made.predicate = predicate.reg;
    }
    const Token name = next();
    if (name.kind != Token::Kind::Name)
      return fail("expected an instruction, found '" + name.text + "'");
    made.name = name.text;
    while (peek().is(".")) {
      next();
      made.modifiers.push_back(modifier());
    }
    if (made.name == "bra") {
      made.operands.push_back({.kind = Operand::Kind::Label, .name = next().text});
      scopes_.back().branches.emplace_back(program_.instructions.size(), made.operands[0].name);
    } else if (!peek().is(";")) {
      do
        made.operands.push_back(operand());
      while (error_.empty() && accept(","));
    }
    if (!error_.empty() || !expect(";"))
      return;
    made.text = onOneLine(text_.slice(begin_, tokens_[at_ - 1].begin));
    program_.instructions.push_back(std::move(made));
  }

  /// What stands between two dots: a name, or a number and a name ("128B"), or L1::no_allocate.
  std::string modifier() {
    std::string text = next().text;
    while (!peek().isAfterSpace && peek().kind == Token::Kind::Name)
      text += next().text;
    while (peek().is(":") && peek(1).is(":")) {
      next();
      next();
      text += "::" + next().text;
      while (!peek().isAfterSpace && peek().kind == Token::Kind::Name)
        text += next().text;
    }
    return text;
  }

  Operand operand() {
    Operand first = simpleOperand();
    if (!accept("|"))
      return first;
    Operand pair{.kind = Operand::Kind::Pair};
    pair.parts = {std::move(first), simpleOperand()};
    return pair;
  }

  Operand simpleOperand() {
    const llvm::SaveAndRestore deeper(depth_, depth_ + 1);
    if (depth_ > 4) {
      fail("its operands are nested too deeply");
      return {};
    }
    if (accept("{"))
      return list(Operand::Kind::Vector, "}");
    if (accept("["))
      return address();
    const bool isNegated = accept("!");
    if (accept("-"))
      return negated(simpleOperand());
    const Token token = next();
    if (token.kind == Token::Kind::Operand) {
      if (token.number >= operandCount_) {
        fail("the constraints have no operand '" + token.text + "'");
        return {};
      }
      return {.kind = Operand::Kind::Register, .isNegated = isNegated, .reg = token.number};
    }
    if (token.kind == Token::Kind::Number)
      return number(token.text);
    if (token.kind == Token::Kind::Name)
      return named(token.text, isNegated);
    fail(token.kind == Token::Kind::End ? "an operand is missing"
                                        : "'" + token.text + "' is not an operand");
    return {};
  }

  Operand list(Operand::Kind kind, llvm::StringRef end) {
    Operand result{.kind = kind};
    do
      result.parts.push_back(simpleOperand());
    while (error_.empty() && accept(","));
    if (error_.empty())
      expect(end);
    return result;
  }

  Operand address() {
    Operand result{.kind = Operand::Kind::Address};
    result.parts.push_back(simpleOperand());
    const bool isMinus = peek().is("-");
    if (accept("+") || accept("-")) {
      const Operand offset = simpleOperand();
      if (offset.kind != Operand::Kind::Integer)
        fail("an address is a register and a number");
      result.bits = isMinus ? 0 - offset.bits : offset.bits;
    }
    if (error_.empty())
      expect("]");
    return result;
  }

  Operand named(const std::string &name, bool isNegated) {
    if (name == "_")
      return {.kind = Operand::Kind::Discard};
    if (name == "WARP_SZ")
      return {.kind = Operand::Kind::Integer, .bits = 32};
    if (const int reg = findRegister(name); reg >= 0)
      return {.kind = Operand::Kind::Register, .isNegated = isNegated, .reg = reg};
    if (name.front() == '%') {
      std::string full = name;
      if (peek().is(".") && !peek().isAfterSpace) {
        next();
        full += "." + next().text;
      }
      return {.kind = Operand::Kind::Special, .name = full};
    }
    fail("'" + name + "' is not declared");
    return {};
  }

  Operand negated(Operand operand) {
    if (operand.kind == Operand::Kind::Integer)
      operand.bits = 0 - operand.bits;
    else if (operand.kind == Operand::Kind::Float || operand.kind == Operand::Kind::Double)
      operand.bits ^= uint64_t{1} << 63;
    else if (operand.kind == Operand::Kind::Single)
      operand.bits ^= uint64_t{1} << 31;
    else
      fail("'-' stands before a number only");
    return operand;
  }

  Operand number(llvm::StringRef text) {
    uint64_t bits = 0;
    const llvm::StringRef digits = text.drop_front(std::min<size_t>(2, text.size()));
    if (text.starts_with_insensitive("0f") || text.starts_with_insensitive("0d")) {
      const bool isSingle = text.starts_with_insensitive("0f");
      if (digits.size() == (isSingle ? 8 : 16) && !digits.getAsInteger(16, bits))
        return {.kind = isSingle ? Operand::Kind::Single : Operand::Kind::Double, .bits = bits};
    } else if (text.starts_with_insensitive("0x") || text.find_first_of(".eE") == text.npos) {
      text.consume_back("U") || text.consume_back("u");
      if (!text.getAsInteger(0, bits))
        return {.kind = Operand::Kind::Integer, .bits = bits};
    } else if (double value = 0; !text.getAsDouble(value)) {
      return {.kind = Operand::Kind::Float, .bits = std::bit_cast<uint64_t>(value)};
    }
    fail("'" + text.str() + "' is not a number");
    return {};
  }

  llvm::StringRef text_;
  std::vector<Token> tokens_;
  int operandCount_;
  size_t at_ = 0, begin_ = 0;
  int depth_ = 0;
  std::vector<Scope> scopes_;
  Program program_;
  std::string error_;
};

} // namespace

bool Instruction::has(llvm::StringRef modifier) const {
  return llvm::is_contained(modifiers, modifier);
}

Effects effectsOf(llvm::StringRef text) {
  Effects effects;
  for (const Token &token : tokensOf(text)) {
    const bool isAtomic = token.is("atom") || token.is("red");
    effects.accesses |= isAtomic || token.is("ld") || token.is("st");
    effects.orders |= isAtomic || token.is("volatile") || token.is("relaxed") ||
                      token.is("acquire") || token.is("release");
  }
  effects.orders &= effects.accesses;
  return effects;
}

int typeBits(llvm::StringRef type) {
  return llvm::StringSwitch<int>(type)
      .Case("pred", 1)
      .Cases({"b8", "u8", "s8"}, 8)
      .Cases({"b16", "u16", "s16", "f16", "bf16"}, 16)
      .Cases({"b32", "u32", "s32", "f32"}, 32)
      .Cases({"f16x2", "bf16x2", "u16x2", "s16x2", "tf32"}, 32)
      .Cases({"b64", "u64", "s64", "f64", "f32x2", "constant"}, 64)
      .Default(0);
}

ProgramOrError parse(llvm::StringRef text, llvm::ArrayRef<std::string> operandTypes) {
  return Parser(text, operandTypes).run();
}

} // namespace blockscope::ptx
