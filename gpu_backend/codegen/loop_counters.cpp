// Changes the counters that strength reduction leaves: down by one, to zero, or up to a number.
#include "gpu_backend/codegen/loop_counters.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Support/NVPTXAddrSpace.h"

namespace blockscope::gpu {
namespace {

/// Whether it is inline assembly with `text` in it.
bool isAssembly(const llvm::Instruction &instruction, llvm::StringRef text) {
  const auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  const auto *assembly = call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
  return assembly && assembly->getAsmString().contains(text);
}

bool isLoad(const llvm::Instruction &instruction) {
  const auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
  return load ? load->getPointerAddressSpace() == llvm::NVPTXAS::ADDRESS_SPACE_GLOBAL
              : isAssembly(instruction, "ld.global");
}

bool isDot(const llvm::Instruction &instruction) { return isAssembly(instruction, "mma"); }

bool isExponential(const llvm::Instruction &instruction) {
  const auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return call && llvm::is_contained(
                     {llvm::Intrinsic::nvvm_ex2_approx, llvm::Intrinsic::nvvm_ex2_approx_ftz},
                     call->getIntrinsicID());
}

bool hasAny(const llvm::Loop &loop, bool (*isWanted)(const llvm::Instruction &)) {
  return llvm::any_of(
      loop.blocks(), [&](const llvm::BasicBlock *block) { return llvm::any_of(*block, isWanted); });
}

/// Counts down by one, and is used for nothing else.
struct Counter {
  llvm::PHINode *variable;
  llvm::BinaryOperator *next;
  llvm::ICmpInst *test;
};

std::optional<Counter> counterOf(const llvm::Loop &loop) {
  using namespace llvm::PatternMatch;
  llvm::BasicBlock *latch = loop.getLoopLatch(), *before = loop.getLoopPredecessor();
  if (!latch || !before)
    return std::nullopt;
  auto *branch = llvm::dyn_cast<llvm::BranchInst>(latch->getTerminator());
  if (!branch || !branch->isConditional())
    return std::nullopt;
  auto *test = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
  if (!test || !test->isEquality() || !test->hasOneUse() || !match(test->getOperand(1), m_Zero()))
    return std::nullopt;
  auto *next = llvm::dyn_cast<llvm::BinaryOperator>(test->getOperand(0));
  llvm::Value *from = nullptr;
  if (!next || !next->getType()->isIntegerTy(32) || !next->hasNUses(2) ||
      !match(next, m_Add(m_Value(from), m_AllOnes())))
    return std::nullopt;
  auto *variable = llvm::dyn_cast<llvm::PHINode>(from);
  if (!variable || variable->getParent() != loop.getHeader() || !variable->hasOneUse() ||
      variable->getNumIncomingValues() != 2 || variable->getIncomingValueForBlock(latch) != next)
    return std::nullopt;
  return Counter{variable, next, test};
}

void widen(const llvm::Loop &loop, const Counter &counter) {
  llvm::BasicBlock *before = loop.getLoopPredecessor();
  llvm::IRBuilder<> start(before->getTerminator());
  llvm::Type *wide = start.getInt64Ty();
  llvm::Value *first = start.CreateZExt(counter.variable->getIncomingValueForBlock(before), wide);
  llvm::PHINode *variable = llvm::IRBuilder<>(counter.variable).CreatePHI(wide, 2);
  llvm::Value *next =
      llvm::IRBuilder<>(counter.next).CreateAdd(variable, llvm::ConstantInt::getSigned(wide, -1));
  variable->addIncoming(first, before);
  variable->addIncoming(next, loop.getLoopLatch());
  counter.test->replaceAllUsesWith(
      llvm::IRBuilder<>(counter.test)
          .CreateICmp(counter.test->getPredicate(), next, llvm::ConstantInt::get(wide, 0)));
  counter.test->eraseFromParent();
  counter.variable->replaceAllUsesWith(llvm::PoisonValue::get(counter.variable->getType()));
  counter.variable->eraseFromParent();
  counter.next->eraseFromParent();
}

/// Numbers up to here, and sums of a few, are far from where counters wrap.
constexpr uint64_t kFarFromWrapping = 1 << 29;

/// A counter with numbers for where it begins and for its steps.
struct Steps {
  llvm::Instruction *next;
  uint64_t step;
};

/// The counter that `value` is, or, as strength reduction has it, is made of by taking back a step.
std::optional<Steps> stepsOf(const llvm::Loop &loop, llvm::Value *value) {
  using namespace llvm::PatternMatch;
  const llvm::APInt *back = nullptr, *first = nullptr, *step = nullptr;
  llvm::Value *from = nullptr;
  auto *variable = llvm::dyn_cast<llvm::PHINode>(value);
  if (!variable && match(value, m_Add(m_Value(from), m_APInt(back))))
    if (auto *sum = llvm::dyn_cast<llvm::BinaryOperator>(from))
      variable = llvm::dyn_cast<llvm::PHINode>(sum->getOperand(0));
  if (!variable || variable->getParent() != loop.getHeader() ||
      variable->getNumIncomingValues() != 2 || !variable->getType()->isIntegerTy(32))
    return std::nullopt;
  llvm::Value *next = variable->getIncomingValueForBlock(loop.getLoopLatch());
  if (!match(variable->getIncomingValueForBlock(loop.getLoopPredecessor()), m_APInt(first)) ||
      !match(next, m_Add(m_Specific(variable), m_APInt(step))) || first->ugt(kFarFromWrapping) ||
      step->ugt(kFarFromWrapping) || step->isZero() || (from && (from != next || *back != -*step)))
    return std::nullopt;
  return Steps{llvm::cast<llvm::Instruction>(next), step->getZExtValue()};
}

/// Has a loop's exit test the next value of a counter in place of its value, if both mean the same.
void testNext(const llvm::Loop &loop) {
  llvm::BasicBlock *latch = loop.getLoopLatch();
  auto *branch = latch && loop.getLoopPredecessor()
                     ? llvm::dyn_cast<llvm::BranchInst>(latch->getTerminator())
                     : nullptr;
  auto *test = branch && branch->isConditional()
                   ? llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition())
                   : nullptr;
  auto *end = test ? llvm::dyn_cast<llvm::ConstantInt>(test->getOperand(1)) : nullptr;
  if (!end || end->getValue().ugt(kFarFromWrapping) ||
      (test->getPredicate() != llvm::ICmpInst::ICMP_ULT &&
       test->getPredicate() != llvm::ICmpInst::ICMP_SLT))
    return;
  const std::optional<Steps> counter = stepsOf(loop, test->getOperand(0));
  if (!counter)
    return;
  // Where they say that nothing wraps, the test would become that of the value again.
  counter->next->dropPoisonGeneratingFlags();
  llvm::IRBuilder<> builder(branch);
  branch->setCondition(builder.CreateICmp(
      test->getPredicate(), counter->next,
      llvm::ConstantInt::get(end->getType(), end->getZExtValue() + counter->step)));
  if (test->use_empty())
    test->eraseFromParent();
}

} // namespace

void widenCounters(llvm::LoopInfo &loops) {
  for (llvm::Loop *loop : loops.getLoopsInPreorder()) {
    if (!loop->isInnermost() || !hasAny(*loop, isLoad) || !hasAny(*loop, isExponential) ||
        hasAny(*loop, isDot))
      continue;
    if (const std::optional<Counter> counter = counterOf(*loop))
      widen(*loop, *counter);
  }
}

void testNextCounts(llvm::LoopInfo &loops) {
  for (llvm::Loop *loop : loops.getLoopsInPreorder())
    if (loop->isInnermost() && hasAny(*loop, isLoad) && !hasAny(*loop, isDot))
      testNext(*loop);
}

} // namespace blockscope::gpu
