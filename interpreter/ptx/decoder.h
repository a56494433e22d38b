// From the instructions of PTX to kernels: which modifiers, types and operands each may have.
#pragma once

#include "core/ptx/program.h"
#include "interpreter/ptx/kernel.h"

#include <string>

namespace blockscope::interpreter::ptx {

using blockscope::ptx::Instruction;
using blockscope::ptx::Operand;

/// A constant that instructions read like a register.
struct Constant {
  uint64_t bits;
};

/// One instruction that can run. Inputs of constants are numbers behind those of the registers.
struct Step {
  Kernel kernel; ///< null for a branch
  llvm::SmallVector<int, 2> outs;
  llvm::SmallVector<int, 4> ins;
  int predicate = -1;
  bool isPredicateNegated = false;
  int target = -1;
  bool hasEffects = false; ///< looks at the context or at active lanes
};

/// Decodes one instruction: a family's function takes modifiers and operands from it.
class Decoder {
public:
  Decoder(const blockscope::ptx::Program &program, const Instruction &instruction, int64_t lanes,
          std::vector<Constant> &constants)
      : lanes_(lanes), program_(program), one_(instruction), constants_(constants),
        rest_(instruction.modifiers.begin(), instruction.modifiers.end()) {}

  const Instruction &instruction() const { return one_; }
  llvm::StringRef name() const { return one_.name; }
  int64_t lanes() const { return lanes_; }

  // -- modifiers: each is taken once; what nobody takes is an error -------------------------------
  bool take(llvm::StringRef modifier);
  /// The next modifier, which must be a type; "" with an error when it is none.
  std::string takeType();
  /// The next modifier if it is one of `names`, else "".
  std::string takeOneOf(std::initializer_list<llvm::StringRef> names);
  bool hasModifiers() const { return !rest_.empty(); }
  llvm::StringRef peekModifier() const { return rest_.empty() ? "" : llvm::StringRef(rest_[0]); }

  // -- operands -----------------------------------------------------------------------------------
  size_t operandCount() const { return one_.operands.size(); }
  const Operand &operand(size_t i) const { return one_.operands[i]; }
  bool expectOperands(size_t count);
  /// Adds an operand of a type; `mayBeWider`: conversions and loads take registers with more bits.
  void out(const Operand &operand, llvm::StringRef type, bool mayBeWider = false);
  void in(const Operand &operand, llvm::StringRef type, bool mayBeWider = false);
  void in(uint64_t constant);
  /// An output of type `result`, and the other operands of types `types`.
  bool plain(llvm::StringRef result, llvm::ArrayRef<llvm::StringRef> types,
             bool mayBeWider = false);

  void set(Kernel kernel, bool hasEffects = false) {
    step_.kernel = std::move(kernel);
    step_.hasEffects = hasEffects;
  }
  /// Whether there is a kernel or an error.
  bool isDone() const { return step_.kernel || !error_.empty(); }
  void fail(const std::string &what);
  void failType(llvm::StringRef type) { fail("type '." + type.str() + "' is not one that it has"); }

  Step &step() { return step_; }
  /// What is wrong with it, "" when nothing is.
  std::string finish();

private:
  int64_t lanes_;
  const blockscope::ptx::Program &program_;
  const Instruction &one_;
  std::vector<Constant> &constants_;
  llvm::SmallVector<std::string, 4> rest_;
  Step step_;
  std::string error_;
};

// One for each file of instructions; does nothing for instructions of others.
void decodeInteger(Decoder &d);
void decodeBits(Decoder &d);
void decodeFloat(Decoder &d);
void decodeCompare(Decoder &d);
void decodeConvert(Decoder &d);
void decodeMove(Decoder &d);
void decodeMemory(Decoder &d);
void decodeControl(Decoder &d);

/// Calls `body` with a value of the integer type of PTX; false when it is none.
template <typename Body> bool withInteger(llvm::StringRef type, Body body) {
  if (type == "u8" || type == "b8")
    body(uint8_t{});
  else if (type == "s8")
    body(int8_t{});
  else if (type == "u16" || type == "b16")
    body(uint16_t{});
  else if (type == "s16")
    body(int16_t{});
  else if (type == "u32" || type == "b32")
    body(uint32_t{});
  else if (type == "s32")
    body(int32_t{});
  else if (type == "u64" || type == "b64")
    body(uint64_t{});
  else if (type == "s64")
    body(int64_t{});
  else
    return false;
  return true;
}

} // namespace blockscope::interpreter::ptx
