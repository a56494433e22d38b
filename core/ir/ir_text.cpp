// Measures how deeply a text is nested, aliases of types and attributes included.
#include "core/ir/ir_text.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>

namespace blockscope {
namespace {

/// Kernels are nested as deeply as their loops and calls; a stack of 8 MiB bears ten times this.
constexpr int kMaxDepth = 500;

/// Walks over the tokens that nest. It need not know more of the grammar: what it counts is never
/// less than how far the parser goes into itself.
class NestingScan {
public:
  explicit NestingScan(llvm::StringRef text) : text_(text) {}

  std::string problem() {
    while (at_ < text_.size() && problem_.empty())
      step();
    return problem_;
  }

private:
  void step();
  void skipString();
  void readAlias();
  void finishAlias();
  void readWord();
  void reach(int depth) {
    deepest_ = std::max(deepest_, depth);
    if (depth > kMaxDepth && problem_.empty())
      problem_ = "line " + std::to_string(line_) + " is nested more than " +
                 std::to_string(kMaxDepth) + " deep";
  }
  int depth() const { return static_cast<int>(open_.size()); }
  llvm::StringRef takeWhile(llvm::function_ref<bool(char)> wanted) {
    const llvm::StringRef taken = text_.substr(at_).take_while(wanted);
    at_ += taken.size();
    return taken;
  }

  llvm::StringRef text_;
  size_t at_ = 0;
  int line_ = 1;
  std::string open_;  ///< brackets
  int deepest_ = 0;   ///< since the last alias began
  std::string alias_; ///< the one that is being defined
  llvm::StringMap<int> aliasDepth_;
  std::string problem_;
};

bool isWordLetter(char each) {
  return llvm::isAlnum(each) || each == '_' || each == '$' || each == '.';
}

char closing(char bracket) {
  return bracket == '(' ? ')' : bracket == '[' ? ']' : bracket == '{' ? '}' : '>';
}

void NestingScan::skipString() {
  for (++at_; at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n'; ++at_)
    at_ += text_[at_] == '\\' ? 1 : 0;
  ++at_;
}

void NestingScan::finishAlias() {
  if (!alias_.empty())
    aliasDepth_[alias_] = deepest_ + 1;
  alias_.clear();
}

/// "#name" or "!name": a use, or a definition when "=" follows outside of brackets.
void NestingScan::readAlias() {
  const size_t begin = at_++;
  takeWhile(isWordLetter);
  const llvm::StringRef name = text_.slice(begin, at_);
  const llvm::StringRef rest = text_.substr(at_).ltrim(" \t\r\n");
  if (open_.empty() && rest.starts_with("=") && !rest.starts_with("==")) {
    finishAlias();
    alias_ = name.str();
    deepest_ = 0;
    return;
  }
  if (name == alias_) // no alias may use itself, so its definition is at an end
    finishAlias();
  reach(depth() + 1 + aliasDepth_.lookup(name));
}

void NestingScan::readWord() {
  const llvm::StringRef word = takeWhile(isWordLetter);
  if (word == "affine_map" || word == "affine_set")
    problem_ = "line " + std::to_string(line_) + " has '" + word.str() + "', which no kernel has";
}

void NestingScan::step() {
  const char each = text_[at_];
  if (each == '"')
    return skipString();
  if (each == '#' || each == '!')
    return readAlias();
  if (llvm::isAlpha(each) || each == '_')
    return readWord();
  ++at_;
  if (each == '/' && text_.substr(at_).starts_with("/"))
    takeWhile([](char letter) { return letter != '\n'; });
  else if (each == '-' && text_.substr(at_).starts_with(">"))
    ++at_;
  else if (each == '\n')
    ++line_;
  else if (llvm::StringRef("([{<").contains(each))
    open_ += each, reach(depth());
  else if (!open_.empty() && each == closing(open_.back()))
    open_.pop_back();
}

} // namespace

std::string problemOfText(llvm::StringRef text) { return NestingScan(text).problem(); }

mlir::OwningOpRef<mlir::ModuleOp> readModule(llvm::StringRef text, mlir::MLIRContext &context) {
  if (const std::string problem = problemOfText(text); !problem.empty()) {
    mlir::emitError(mlir::UnknownLoc::get(&context)) << problem;
    return nullptr;
  }
  // The lexer looks at the byte after the end: a string has a 0 there.
  return mlir::parseSourceString<mlir::ModuleOp>(text.str(), &context);
}

} // namespace blockscope
