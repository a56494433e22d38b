// Orders elementwise ops by need and groups those that run strip by strip.
//
// Elementwise ops are pure, so each waits until something that is not elementwise needs its value:
// chains come together, and what nobody needs is dropped. Everything else keeps its order.
#include "interpreter/flat/lowered.h"

#include <algorithm>

namespace blockscope::interpreter::flat {
namespace {

bool endsBasicBlock(LoweredOp::Kind kind) {
  switch (kind) {
  case LoweredOp::Kind::Jump:
  case LoweredOp::Kind::JumpIfFalse:
  case LoweredOp::Kind::Label:
  case LoweredOp::Kind::ForTest:
  case LoweredOp::Kind::ForNext:
  case LoweredOp::Kind::WhileNext:
  case LoweredOp::Kind::Return:
    return true;
  case LoweredOp::Kind::Elementwise:
  case LoweredOp::Kind::Block:
  case LoweredOp::Kind::Context:
  case LoweredOp::Kind::Combine:
  case LoweredOp::Kind::Copy:
  case LoweredOp::Kind::ForBegin:
  case LoweredOp::Kind::WhileBegin:
  case LoweredOp::Kind::LoopTop:
  case LoweredOp::Kind::LoopEnd:
    return false;
  }
  return false;
}

class Scheduler {
public:
  explicit Scheduler(Lowered &lowered)
      : lowered_(lowered), makerOf_(lowered.values.size(), kNone),
        escapes_(lowered.values.size(), false) {}

  void run() {
    findEscapes();
    std::vector<LoweredOp> ops = std::move(lowered_.ops);
    for (LoweredOp &op : ops) {
      if (op.isBlockElementwise()) {
        for (const ValueId result : op.results)
          makerOf_[result] = static_cast<uint32_t>(waiting_.size());
        waiting_.push_back({std::move(op), false});
        continue;
      }
      llvm::SmallVector<uint32_t, 16> needed;
      for (const ValueId operand : op.operands)
        need(operand, needed);
      if (endsBasicBlock(op.kind))
        needEscaping(needed);
      emitWaiting(needed);
      const bool blockEnds = endsBasicBlock(op.kind);
      out_.push_back(std::move(op));
      if (blockEnds)
        forgetWaiting();
    }
    lowered_.ops = std::move(out_);
  }

private:
  struct Waiting {
    LoweredOp op;
    bool taken;
  };

  // A value escapes when an op of another basic block uses it.
  void findEscapes() {
    std::vector<uint32_t> blockOf(lowered_.values.size(), kNone);
    uint32_t block = 0;
    for (const LoweredOp &op : lowered_.ops) {
      for (const ValueId operand : op.operands)
        if (blockOf[operand] != block)
          escapes_[operand] = true;
      if (endsBasicBlock(op.kind))
        ++block;
      for (const ValueId result : op.results)
        blockOf[result] = block;
    }
  }

  void need(ValueId value, llvm::SmallVectorImpl<uint32_t> &needed) {
    const uint32_t maker = makerOf_[value];
    if (maker == kNone || waiting_[maker].taken)
      return;
    waiting_[maker].taken = true;
    needed.push_back(maker);
    for (const ValueId operand : waiting_[maker].op.operands)
      need(operand, needed);
  }

  void needEscaping(llvm::SmallVectorImpl<uint32_t> &needed) {
    for (uint32_t i = 0; i < waiting_.size(); ++i)
      for (const ValueId result : waiting_[i].op.results)
        if (escapes_[result])
          need(result, needed);
  }

  // Emits in an order that keeps ops of one size together, as far as their operands allow.
  void emitWaiting(llvm::SmallVectorImpl<uint32_t> &needed) {
    std::sort(needed.begin(), needed.end());
    int64_t elements = 0;
    while (!needed.empty()) {
      size_t chosen = needed.size();
      for (size_t i = 0; i < needed.size(); ++i) {
        const LoweredOp &op = waiting_[needed[i]].op;
        if (dependsOnAny(op, llvm::ArrayRef(needed).take_front(i)))
          continue;
        if (op.elements == elements) {
          chosen = i;
          break;
        }
        chosen = std::min(chosen, i);
      }
      LoweredOp &op = waiting_[needed[chosen]].op;
      elements = op.elements;
      for (const ValueId result : op.results)
        makerOf_[result] = kNone;
      out_.push_back(std::move(op));
      needed.erase(needed.begin() + chosen);
    }
  }

  bool dependsOnAny(const LoweredOp &op, llvm::ArrayRef<uint32_t> earlier) const {
    return llvm::any_of(op.operands, [&](ValueId operand) {
      return makerOf_[operand] != kNone && llvm::is_contained(earlier, makerOf_[operand]);
    });
  }

  void forgetWaiting() {
    for (const Waiting &waiting : waiting_)
      if (!waiting.taken)
        for (const ValueId result : waiting.op.results)
          makerOf_[result] = kNone;
    waiting_.clear();
  }

  Lowered &lowered_;
  std::vector<LoweredOp> out_;
  std::vector<Waiting> waiting_;  // of this basic block, in order
  std::vector<uint32_t> makerOf_; // per value: its place in waiting_
  std::vector<bool> escapes_;
};

// Whether `op` reads whole a value that the group is still making strip by strip.
bool readsWhole(const LoweredOp &op, llvm::ArrayRef<LoweredOp> group) {
  for (size_t i = 0; i < op.operands.size(); ++i)
    if (!(op.pointwiseOperands >> i & 1))
      for (const LoweredOp &member : group)
        if (llvm::is_contained(member.results, op.operands[i]))
          return true;
  return false;
}

void numberGroups(Lowered &lowered) {
  uint32_t group = 0;
  for (size_t begin = 0; begin < lowered.ops.size();) {
    size_t end = begin + 1;
    if (lowered.ops[begin].isBlockElementwise()) {
      const llvm::ArrayRef<LoweredOp> ops(lowered.ops);
      while (end < ops.size() && ops[end].isBlockElementwise() &&
             ops[end].elements == ops[begin].elements &&
             !readsWhole(ops[end], ops.slice(begin, end - begin)))
        ++end;
      if (end - begin > 1) {
        for (size_t i = begin; i < end; ++i)
          lowered.ops[i].group = group;
        ++group;
      }
    }
    begin = end;
  }
  lowered.numGroups = group;
}

} // namespace

void fuseElementwise(Lowered &lowered, bool makeGroups) {
  Scheduler(lowered).run();
  if (makeGroups)
    numberGroups(lowered);
}

} // namespace blockscope::interpreter::flat
