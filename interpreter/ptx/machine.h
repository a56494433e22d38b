// Inline assembly that can run: decoded once, then executed for many lanes at a time.
#pragma once

#include "interpreter/ptx/decoder.h"

#include <memory>

namespace blockscope::interpreter::ptx {

struct Code {
  std::vector<Step> steps;
  std::vector<uint64_t> masks; ///< by register: the bits that it has
  std::vector<Constant> constants;
  bool hasBranches = false, hasEffects = false;

  /// Rows of the register file: registers, then constants.
  size_t rows() const { return masks.size() + constants.size(); }
};

struct CodeOrError {
  std::shared_ptr<const Code> code;
  std::string error; ///< empty when there is code
};

/// Decodes assembly whose operands have the types `operandTypes`; an operand whose entry in `tied`
/// is not -1 is the register of that one. Code with effects runs `lanes` lanes at once.
CodeOrError decode(llvm::StringRef text, llvm::ArrayRef<std::string> operandTypes,
                   llvm::ArrayRef<int> tied, int64_t lanes);

/// The registers of a number of lanes. Rows have `stride` words.
struct RegisterFile {
  std::vector<uint64_t> words;
  int64_t stride = 0;

  /// Makes room for `lanes` lanes, all registers zero.
  void reset(const Code &code, int64_t lanes);
  uint64_t *row(size_t index) { return words.data() + static_cast<int64_t>(index) * stride; }
};

/// Executes for the first `count` lanes. `context` may be null for code without effects and
/// branches.
void run(const Code &code, RegisterFile &file, int64_t count, ExecutionContext *context,
         llvm::ArrayRef<PointerArgument> pointers);

} // namespace blockscope::interpreter::ptx
