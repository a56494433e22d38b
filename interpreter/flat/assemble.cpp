// Turns placed ops into instructions: pointer plans, jump targets, copies in an order that is
// right.
#include "interpreter/flat/lowered.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstring>

namespace blockscope::interpreter::flat {
namespace {

using Kind = LoweredOp::Kind;

constexpr uint64_t kAlignment = 64;

class Assembler {
public:
  Assembler(Lowered &lowered, const Placement &placement, FlatProgram &program)
      : lowered_(lowered), placement_(placement), program_(program),
        targets_(lowered.numLabels, kNone), frameEnd_(placement.frameBytes) {}

  void run() {
    for (size_t i = 0; i < lowered_.ops.size(); ++i) {
      LoweredOp &op = lowered_.ops[i];
      if (op.group != kNone)
        i = addFused(i);
      else
        addOp(op);
    }
    for (Instruction &instruction : program_.instructions)
      if (isJump(instruction.kind))
        instruction.target = targets_[instruction.target];
    program_.frameBytes = llvm::alignTo(frameEnd_, kAlignment);
    copyConstants();
  }

private:
  static bool isJump(Instruction::Kind kind) {
    using K = Instruction::Kind;
    return kind == K::Jump || kind == K::JumpIfFalse || kind == K::ForTest || kind == K::ForNext ||
           kind == K::WhileNext;
  }

  uint32_t addPointer(ValueId value, bool stepping) {
    const Placement::Home &home = placement_.homes[value];
    const uint8_t step = stepping && !home.isStrip ? lowered_.values[value].elementBytes : 0;
    program_.pointers.push_back({home.base, step, home.offset});
    return static_cast<uint32_t>(program_.pointers.size() - 1);
  }

  Instruction &add(Instruction::Kind kind, const LoweredOp &op) {
    Instruction instruction;
    instruction.kind = kind;
    instruction.isUnsigned = op.isUnsigned;
    instruction.op = op.op;
    instruction.elements = op.elements;
    instruction.scalarOperands = op.scalarOperands;
    instruction.numResults = static_cast<uint8_t>(op.results.size());
    instruction.target = op.target;
    instruction.name = op.name;
    instruction.pointers = static_cast<uint32_t>(program_.pointers.size());
    for (const ValueId value : op.results)
      addPointer(value, false);
    for (const ValueId value : op.operands)
      addPointer(value, false);
    instruction.numPointers = static_cast<uint32_t>(op.results.size() + op.operands.size());
    program_.instructions.push_back(instruction);
    return program_.instructions.back();
  }

  const void *keep(const std::shared_ptr<const void> &payload) {
    if (payload)
      program_.payloads.push_back(payload);
    return payload.get();
  }

  void addOp(LoweredOp &op) {
    using K = Instruction::Kind;
    switch (op.kind) {
    case Kind::Elementwise: {
      Instruction &instruction = add(K::Elementwise, op);
      instruction.payload = keep(op.evaluator.payload);
      instruction.elementwise = op.evaluator.elementwise;
      return;
    }
    case Kind::Block: {
      Instruction &instruction = add(K::Block, op);
      instruction.payload = keep(op.evaluator.payload);
      instruction.block = op.evaluator.block;
      return;
    }
    case Kind::Context: {
      Instruction &instruction = add(K::Context, op);
      instruction.payload = keep(op.evaluator.payload);
      instruction.context = op.evaluator.context;
      return;
    }
    case Kind::Combine:
      add(K::Combine, op).first = op.combine;
      return;
    case Kind::Copy:
      addParallelCopy(op);
      return;
    case Kind::Jump:
      add(K::Jump, op);
      return;
    case Kind::JumpIfFalse:
      add(K::JumpIfFalse, op);
      return;
    case Kind::Label:
      targets_[op.target] = static_cast<uint32_t>(program_.instructions.size());
      return;
    case Kind::ForBegin:
      add(K::ForBegin, op).counterBytes = lowered_.values[op.results[1]].elementBytes;
      return;
    case Kind::WhileBegin:
      add(K::WhileBegin, op);
      return;
    case Kind::LoopTop:
      return;
    case Kind::ForTest:
      add(K::ForTest, op);
      return;
    case Kind::ForNext:
      add(K::ForNext, op).counterBytes = lowered_.values[op.operands[1]].elementBytes;
      return;
    case Kind::WhileNext:
      add(K::WhileNext, op).payload = keep(op.evaluator.payload);
      return;
    case Kind::LoopEnd:
      add(K::LoopEnd, op);
      return;
    case Kind::Return:
      for (const ValueId value : op.operands)
        program_.returns.push_back(addPointer(value, false));
      add(K::Return, op);
      return;
    }
  }

  // Adds the group that begins at op `begin`; returns its last op.
  size_t addFused(size_t begin) {
    const uint32_t group = lowered_.ops[begin].group;
    Instruction instruction;
    instruction.kind = Instruction::Kind::Fused;
    instruction.elements = lowered_.ops[begin].elements;
    instruction.strip = placement_.groupStrip[group];
    instruction.first = static_cast<uint32_t>(program_.members.size());
    size_t end = begin;
    for (; end < lowered_.ops.size() && lowered_.ops[end].group == group; ++end)
      addMember(lowered_.ops[end]);
    instruction.count = static_cast<uint32_t>(end - begin);
    program_.instructions.push_back(instruction);
    return end - 1;
  }

  void addMember(const LoweredOp &op) {
    FusedMember member;
    member.function = op.evaluator.elementwise;
    member.name = op.name;
    member.payload = keep(op.evaluator.payload);
    member.scalarOperands = op.scalarOperands;
    member.numResults = static_cast<uint8_t>(op.results.size());
    member.numOperands = static_cast<uint8_t>(op.operands.size());
    member.pointers = static_cast<uint32_t>(program_.pointers.size());
    member.op = op.op;
    for (const ValueId value : op.results)
      addPointer(value, true);
    for (size_t i = 0; i < op.operands.size(); ++i)
      addPointer(op.operands[i], (op.pointwiseOperands >> i & 1) && !(op.scalarOperands >> i & 1));
    program_.members.push_back(member);
  }

  struct Move {
    PointerPlan to;
    PointerPlan from;
    uint64_t bytes;
  };
  static bool same(const PointerPlan &a, const PointerPlan &b) {
    return a.base == b.base && a.offset == b.offset;
  }

  void addMove(const Move &move) {
    Instruction copy;
    copy.kind = Instruction::Kind::Copy;
    copy.elements = static_cast<int64_t>(move.bytes);
    copy.numResults = 1;
    copy.numPointers = 2;
    copy.pointers = static_cast<uint32_t>(program_.pointers.size());
    program_.pointers.push_back(move.to);
    program_.pointers.push_back(move.from);
    program_.instructions.push_back(copy);
  }

  // All sources are read before any result is written: a move waits while its target is still a
  // source, and a cycle is opened through scratch memory at the end of the frame.
  void addParallelCopy(const LoweredOp &op) {
    std::vector<Move> moves;
    for (size_t i = 0; i < op.results.size(); ++i) {
      const Placement::Home &to = placement_.homes[op.results[i]];
      const Placement::Home &from = placement_.homes[op.operands[i]];
      // The constant of a tile has no room for elements.
      const int64_t bytes =
          std::min(lowered_.values[op.results[i]].bytes(), lowered_.values[op.operands[i]].bytes());
      const Move move{
          {to.base, 0, to.offset}, {from.base, 0, from.offset}, static_cast<uint64_t>(bytes)};
      if (!same(move.to, move.from))
        moves.push_back(move);
    }
    while (!moves.empty()) {
      auto ready = llvm::find_if(moves, [&](const Move &move) {
        return llvm::none_of(moves, [&](const Move &other) { return same(other.from, move.to); });
      });
      if (ready != moves.end()) {
        addMove(*ready);
        moves.erase(ready);
        continue;
      }
      const PointerPlan scratch{PointerPlan::Base::Frame, 0, placement_.frameBytes};
      const PointerPlan target = moves.front().to;
      addMove({scratch, target, moves.front().bytes});
      frameEnd_ = std::max(frameEnd_, placement_.frameBytes + moves.front().bytes);
      for (Move &move : moves)
        if (same(move.from, target))
          move.from = scratch;
    }
  }

  void copyConstants() {
    const size_t bytes = lowered_.constants.size();
    program_.constantMemory = std::make_unique<std::byte[]>(bytes + kAlignment);
    std::byte *aligned = program_.constantMemory.get();
    aligned += llvm::alignTo(reinterpret_cast<uint64_t>(aligned), kAlignment) -
               reinterpret_cast<uint64_t>(aligned);
    if (bytes)
      std::memcpy(aligned, lowered_.constants.data(), bytes);
    program_.constants = aligned;
  }

  Lowered &lowered_;
  const Placement &placement_;
  FlatProgram &program_;
  std::vector<uint32_t> targets_; // per label: instruction
  uint64_t frameEnd_;
};

} // namespace

void assemble(Lowered &lowered, const Placement &placement, FlatProgram &program) {
  Assembler(lowered, placement, program).run();
}

} // namespace blockscope::interpreter::flat
