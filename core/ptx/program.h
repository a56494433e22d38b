// The text of inline assembly as data: PTX instructions over registers, and nothing of what they
// mean. The interpreter gives them their meaning; the GPU backend hands the text to ptxas.
//
// Source: NVIDIA's PTX ISA, chapters "Syntax" and "Instruction Operands".
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace blockscope::ptx {

struct Operand {
  enum class Kind : uint8_t {
    Register,
    Integer, ///< `bits`
    Float,   ///< a decimal number: `bits` are those of a double
    Single,  ///< 0f3F800000: `bits` are those of a float
    Double,  ///< 0d3FF0000000000000: `bits` are those of a double
    Special, ///< %tid.x: `name`
    Vector,  ///< {a, b}: `parts`
    Address, ///< [a + 4]: `parts` has the base, a register or an integer; `bits` the offset
    Pair,    ///< p|q: `parts`
    Label,   ///< `name`
    Discard, ///< _
  };
  Kind kind = Kind::Discard;
  bool isNegated = false; ///< !p
  int reg = -1;           ///< index in Program::registers
  uint64_t bits = 0;
  std::string name = {};
  std::vector<Operand> parts = {};
};

struct Instruction {
  std::string text;                            ///< as written, on one line
  std::string name;                            ///< "cvt"
  llvm::SmallVector<std::string, 4> modifiers; ///< "rn", "satfinite", "e4m3x2", "f32"
  int predicate = -1;                          ///< a register, or -1
  bool isPredicateNegated = false;
  llvm::SmallVector<Operand, 4> operands;
  int target = -1; ///< of a branch: index in Program::instructions, which may be its size

  bool has(llvm::StringRef modifier) const;
};

struct Register {
  std::string name; ///< "$0", "tmp"
  std::string type; ///< "b32", "pred"
};

/// The operands of the assembly, $0 and so on, are the first registers.
struct Program {
  std::vector<Register> registers;
  std::vector<Instruction> instructions;
};

/// What the instructions of a text do besides computing, read off their names.
struct Effects {
  bool accesses = false; ///< loads, stores, atomics
  bool orders = false;   ///< among them those by which programs wait for one another
};
Effects effectsOf(llvm::StringRef text);

/// Bits of a type of PTX, "f16x2" has 32; 1 for "pred", 64 for "constant", 0 for what is no type.
int typeBits(llvm::StringRef type);

struct ProgramOrError {
  Program program;
  std::string error; ///< empty when there is a program
};

/// Parses the text of inline assembly as LLVM has it, with $0, ${0} and $$. `operandTypes` are the
/// types of $0 and so on.
/// Errors: the instruction, and what is wrong in it.
ProgramOrError parse(llvm::StringRef text, llvm::ArrayRef<std::string> operandTypes);

} // namespace blockscope::ptx
