// The stage between MLIR and the flat program: one list of ops over virtual registers.
//
// The builder makes it, fusion groups its elementwise ops, liveness places its values, and assembly
// turns it into instructions. Control flow is labels and jumps; loops keep their marks (ForBegin,
// WhileBegin .. LoopEnd), because live ranges depend on them.
#pragma once

#include "interpreter/flat/builder.h"
#include "interpreter/flat/flat_program.h"

namespace blockscope::interpreter::flat {

using ValueId = uint32_t;
constexpr uint32_t kNone = ~0U;

/// One virtual register. A uniform value (a scalar, a block of one element, a splat) has one
/// element whatever the type of the block that it stands for.
struct LoweredValue {
  enum class Home : uint8_t { Register, Constant, Argument };
  Home home = Home::Register;
  uint8_t elementBytes = 0;
  int64_t elements = 1;
  uint64_t place = 0; ///< constants: byte offset; arguments: number
  int64_t bytes() const { return elements * elementBytes; }
};

struct LoweredOp {
  enum class Kind : uint8_t {
    Elementwise,
    Block,
    Context,
    Combine,
    Copy, ///< parallel: results[i] <- operands[i]
    Jump,
    JumpIfFalse,
    Label, ///< `target` is its number
    ForBegin,
    WhileBegin,
    LoopTop, ///< where a loop begins anew; makes no instruction
    ForTest,
    ForNext,   ///< the loop's last op
    WhileNext, ///< the loop's last op
    LoopEnd,
    Return,
  };
  Kind kind = Kind::Return;
  bool isUnsigned = false;
  uint32_t scalarOperands = 0; ///< operands of which an Elementwise op reads one element
  /// Operands of which every element is read at its own index only (set bit), so that a result may
  /// replace the operand in place.
  uint32_t pointwiseOperands = 0;
  uint32_t op = 0;
  uint32_t target = kNone;
  uint32_t combine = kNone;
  uint32_t group = kNone; ///< set by fusion: ops of one number run strip by strip
  int64_t elements = 0;
  llvm::StringRef name; ///< of the MLIR op, or what it is; lives in FlatProgram::names
  llvm::SmallVector<ValueId, 2> results;
  llvm::SmallVector<ValueId, 4> operands;
  /// Values that flow around loops. LoopTop: live here and made anew here; ForNext and WhileNext:
  /// live here; LoopEnd: made anew here.
  llvm::SmallVector<ValueId, 4> phis;
  Evaluator evaluator;

  bool isBlockElementwise() const { return kind == Kind::Elementwise && elements > 1; }
};

struct Lowered {
  std::vector<LoweredOp> ops;
  std::vector<LoweredValue> values;
  std::vector<std::byte> constants;
  uint32_t numLabels = 0;
  uint32_t numGroups = 0; ///< set by fusion

  ValueId addRegister(int elementBytes, int64_t elements) {
    values.push_back(
        {LoweredValue::Home::Register, static_cast<uint8_t>(elementBytes), elements, 0});
    return static_cast<ValueId>(values.size() - 1);
  }
};

/// Orders each basic block so that elementwise ops run where their values are first needed, drops
/// those never needed, and numbers the groups that run strip by strip.
void fuseElementwise(Lowered &lowered, bool makeGroups);

/// Where every value lives.
struct Placement {
  struct Home {
    PointerPlan::Base base = PointerPlan::Base::Frame;
    uint64_t offset = 0;
    bool isStrip = false; ///< lives in a strip buffer, never as a whole block
  };
  std::vector<Home> homes;         ///< per value
  std::vector<uint32_t> classOf;   ///< per value: values of one class share their memory
  std::vector<int64_t> groupStrip; ///< per group: elements of one strip
  uint64_t frameBytes = 0;
};

/// Plans registers: values that never live at once share memory, loop-carried values are updated
/// in place where that is right.
Placement placeValues(const Lowered &lowered, const FlatOptions &options);

/// Makes the instructions, pointers and constants of `program`.
void assemble(Lowered &lowered, const Placement &placement, FlatProgram &program);

} // namespace blockscope::interpreter::flat
