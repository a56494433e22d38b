// A flat program as text, for people who look for what it spends time on.
#include "interpreter/flat/flat_text.h"

#include "llvm/Support/FormatVariadic.h"

namespace blockscope::interpreter {
namespace {

using Kind = Instruction::Kind;

const char *nameOf(Kind kind) {
  switch (kind) {
  case Kind::Elementwise:
    return "elementwise";
  case Kind::Block:
    return "block";
  case Kind::Context:
    return "context";
  case Kind::Fused:
    return "fused";
  case Kind::Combine:
    return "combine";
  case Kind::Copy:
    return "copy";
  case Kind::Jump:
    return "jump";
  case Kind::JumpIfFalse:
    return "jump-if-false";
  case Kind::ForBegin:
    return "for-begin";
  case Kind::ForTest:
    return "for-test";
  case Kind::ForNext:
    return "for-next";
  case Kind::WhileBegin:
    return "while-begin";
  case Kind::WhileNext:
    return "while-next";
  case Kind::LoopEnd:
    return "loop-end";
  case Kind::Return:
    return "return";
  }
  return "";
}

// "f128" is at byte 128 of the frame, "c" of the constants, "a1" is argument 1; "+4" advances by 4
// bytes an element.
std::string placeText(const PointerPlan &plan) {
  static const char bases[] = {'f', 'c', 'a'};
  std::string text = llvm::formatv("{0}{1}", bases[static_cast<int>(plan.base)], plan.offset);
  if (plan.stepBytes)
    text += "+" + std::to_string(plan.stepBytes);
  return text;
}

std::string pointersText(const FlatProgram &program, uint32_t first, uint32_t numResults,
                         uint32_t end) {
  std::string text;
  for (uint32_t i = first; i < end; ++i) {
    text += i == first + numResults ? " <- " : i == first ? "" : " ";
    text += placeText(program.pointers[i]);
  }
  return text;
}

} // namespace

std::string flatText(const FlatProgram &program) {
  std::string text = llvm::formatv("{0}: {1} bytes of registers, {2} of lanes\n", program.name,
                                   program.frameBytes, program.lanes);
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction &instruction = program.instructions[i];
    text += llvm::formatv("{0,4} {1}", i, nameOf(instruction.kind));
    if (!instruction.name.empty())
      text += " " + instruction.name.str();
    if (instruction.elements)
      text += llvm::formatv(" x{0}", instruction.elements);
    if (instruction.kind == Kind::Fused)
      text += llvm::formatv(" by {0}", instruction.strip);
    text += "  " + pointersText(program, instruction.pointers, instruction.numResults,
                                instruction.pointers + instruction.numPointers);
    if (instruction.target != ~0U)
      text += llvm::formatv(" -> {0}", instruction.target);
    text += "\n";
    for (uint32_t m = 0; m < instruction.count; ++m) {
      const FusedMember &member = program.members[instruction.first + m];
      text += "       " + member.name.str() + "  " +
              pointersText(program, member.pointers, member.numResults,
                           member.pointers + member.numResults + member.numOperands) +
              "\n";
    }
  }
  for (const CombineProgram &combine : program.combines)
    text += flatText(*combine.program);
  return text;
}

} // namespace blockscope::interpreter
