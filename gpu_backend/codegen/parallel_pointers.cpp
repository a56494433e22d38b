// Finds the groups by what ScalarEvolution says of the start and step of each variable.
#include "gpu_backend/codegen/parallel_pointers.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

#include <optional>

namespace blockscope::gpu {
namespace {

// What an access adds to its address has 24 bits.
constexpr int64_t kFarthest = (int64_t{1} << 23) - 1;

/// A variable that others are made of.
struct Leader {
  llvm::PHINode *variable;
  const llvm::SCEVAddRecExpr *course;
};

/// Makes `from` + `distance` of `pointer` right before each use, so that no register holds it.
void replaceByDistance(llvm::PHINode *pointer, llvm::Value *from, int64_t distance) {
  for (llvm::Use &use : llvm::make_early_inc_range(pointer->uses())) {
    auto *user = llvm::cast<llvm::Instruction>(use.getUser());
    auto *merge = llvm::dyn_cast<llvm::PHINode>(user);
    llvm::IRBuilder<> builder(merge ? merge->getIncomingBlock(use)->getTerminator() : user);
    use.set(builder.CreatePtrAdd(from, builder.getInt64(distance)));
  }
}

void mergeIn(llvm::Loop &loop, llvm::ScalarEvolution &evolution) {
  llvm::MapVector<const llvm::SCEV *, llvm::SmallVector<Leader>> leaders; // by step
  llvm::SmallVector<llvm::PHINode *> merged;
  for (llvm::PHINode &variable : loop.getHeader()->phis()) {
    if (!variable.getType()->isPointerTy())
      continue;
    const auto *course = llvm::dyn_cast<llvm::SCEVAddRecExpr>(evolution.getSCEV(&variable));
    if (!course || course->getLoop() != &loop || !course->isAffine())
      continue;
    auto &ofStep = leaders[course->getStepRecurrence(evolution)];
    bool isMerged = false;
    for (const Leader &leader : ofStep) {
      if (leader.variable->getType() != variable.getType())
        continue;
      const auto *distance = llvm::dyn_cast<llvm::SCEVConstant>(
          evolution.getMinusSCEV(course->getStart(), leader.course->getStart()));
      if (!distance || distance->getAPInt().abs().ugt(kFarthest))
        continue;
      replaceByDistance(&variable, leader.variable, distance->getAPInt().getSExtValue());
      merged.push_back(&variable);
      isMerged = true;
      break;
    }
    if (!isMerged)
      ofStep.push_back({&variable, course});
  }
  for (llvm::PHINode *variable : merged) {
    evolution.forgetValue(variable);
    variable->eraseFromParent();
  }
}

/// The sums that are all that a loop makes of a pointer.
struct Sums {
  llvm::GetElementPtrInst *next = nullptr; ///< what the pointer is in the next iteration
  llvm::SmallVector<llvm::GetElementPtrInst *> uses;
};

/// `user`, where it is `pointer` and what the loop does not change.
llvm::GetElementPtrInst *sumOf(llvm::Value *pointer, llvm::Value *user, const llvm::Loop &loop) {
  auto *sum = llvm::dyn_cast<llvm::GetElementPtrInst>(user);
  const bool isSum = sum && loop.contains(sum) && sum->getPointerOperand() == pointer &&
                     sum->getNumIndices() == 1 && loop.isLoopInvariant(sum->getOperand(1));
  return isSum ? sum : nullptr;
}

std::optional<Sums> sumsOf(llvm::PHINode &pointer, const llvm::Loop &loop) {
  Sums sums;
  sums.next = sumOf(&pointer, pointer.getIncomingValueForBlock(loop.getLoopLatch()), loop);
  if (!sums.next)
    return std::nullopt;
  for (llvm::Value *value : std::initializer_list<llvm::Value *>{&pointer, sums.next})
    for (llvm::User *user : value->users()) {
      if (user == sums.next || user == &pointer)
        continue;
      llvm::GetElementPtrInst *sum = sumOf(value, user, loop);
      if (!sum || llvm::isa<llvm::Constant>(sum->getOperand(1))) // accesses add constants
        return std::nullopt;
      sums.uses.push_back(sum);
    }
  return sums.uses.empty() ? std::nullopt : std::optional(sums);
}

/// How much more `sum` adds than `first`.
std::optional<int64_t> distanceOf(llvm::GetElementPtrInst *sum, llvm::GetElementPtrInst *first,
                                  llvm::ScalarEvolution &evolution) {
  const auto addedBy = [&](llvm::GetElementPtrInst *address) {
    return evolution.getMinusSCEV(evolution.getSCEV(address),
                                  evolution.getSCEV(address->getPointerOperand()));
  };
  const auto *distance =
      llvm::dyn_cast<llvm::SCEVConstant>(evolution.getMinusSCEV(addedBy(sum), addedBy(first)));
  if (!distance || distance->getAPInt().abs().ugt(kFarthest))
    return std::nullopt;
  return distance->getAPInt().getSExtValue();
}

/// The end of the block where a pointer's start and what is added to it are added: before the
/// outermost loop that changes neither, if nobody else needs the start, else before this loop.
llvm::Instruction *placeOfStart(const llvm::Loop &loop, llvm::Value *start, llvm::Value *added) {
  llvm::BasicBlock *place = loop.getLoopPreheader();
  if (start->hasOneUse())
    for (const llvm::Loop *outer = loop.getParentLoop(); outer; outer = outer->getParentLoop()) {
      if (!outer->getLoopPreheader() || !outer->isLoopInvariant(start) ||
          !outer->isLoopInvariant(added))
        break;
      place = outer->getLoopPreheader();
    }
  return place->getTerminator();
}

/// Whether all threads have the same `value`, made of the kernel's arguments and its program's
/// number.
bool isSameInAllThreads(llvm::Value *value) {
  constexpr size_t kMost = 64;
  llvm::SmallSetVector<llvm::Value *, 16> values;
  values.insert(value);
  for (size_t i = 0; i < values.size(); ++i) {
    auto *made = llvm::dyn_cast<llvm::Instruction>(values[i]);
    if (!made)
      continue;
    const bool isProgram = llvm::isa<llvm::IntrinsicInst>(made) &&
                           llvm::cast<llvm::IntrinsicInst>(made)->getIntrinsicID() ==
                               llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x;
    if (isProgram)
      continue;
    if (!llvm::isa<llvm::GetElementPtrInst, llvm::CastInst, llvm::BinaryOperator, llvm::PHINode,
                   llvm::SelectInst, llvm::CmpInst>(made) ||
        values.size() > kMost)
      return false;
    values.insert_range(made->operands());
  }
  return true;
}

/// Whether a loop stores, multiplies no tiles, and is so long that a sum for each of its `pointers`
/// counts for little.
bool isLongAndStores(const llvm::Loop &loop, size_t pointers) {
  constexpr size_t kLeastPerPointer = 48;
  size_t instructions = 0;
  bool stores = false;
  for (const llvm::BasicBlock *block : loop.blocks())
    for (const llvm::Instruction &instruction : *block) {
      ++instructions;
      stores |= llvm::isa<llvm::StoreInst>(instruction);
      const auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (!call || !call->isInlineAsm())
        continue;
      const llvm::StringRef text =
          llvm::cast<llvm::InlineAsm>(call->getCalledOperand())->getAsmString();
      if (text.contains("mma"))
        return false;
      stores |= text.contains("st.global");
    }
  return stores && instructions >= kLeastPerPointer * pointers;
}

void moveIntoStart(llvm::PHINode &pointer, const Sums &sums, llvm::Loop &loop,
                   llvm::ScalarEvolution &evolution) {
  llvm::GetElementPtrInst *first = sums.uses.front();
  llvm::SmallVector<int64_t> distances;
  for (llvm::GetElementPtrInst *sum : sums.uses) {
    const std::optional<int64_t> distance = distanceOf(sum, first, evolution);
    if (!distance)
      return;
    distances.push_back(*distance);
  }
  llvm::Value *start = pointer.getIncomingValueForBlock(loop.getLoopPreheader());
  llvm::IRBuilder<> builder(placeOfStart(loop, start, first->getOperand(1)));
  pointer.setIncomingValueForBlock(
      loop.getLoopPreheader(),
      builder.CreateGEP(first->getSourceElementType(), start, first->getOperand(1)));
  sums.next->dropPoisonGeneratingFlags();
  evolution.forgetLoop(&loop);
  for (auto [sum, distance] : llvm::zip(sums.uses, distances)) {
    builder.SetInsertPoint(sum);
    llvm::Value *now = sum->getPointerOperand();
    sum->replaceAllUsesWith(distance == 0 ? now
                                          : builder.CreatePtrAdd(now, builder.getInt64(distance)));
    sum->eraseFromParent();
  }
}

} // namespace

void mergeParallelPointers(llvm::LoopInfo &loops, llvm::ScalarEvolution &evolution) {
  for (llvm::Loop *loop : loops.getLoopsInPreorder())
    mergeIn(*loop, evolution);
}

void moveSumsIntoStarts(llvm::LoopInfo &loops, llvm::ScalarEvolution &evolution) {
  // Inner loops first: what moves out of one is then a sum of the one around it.
  const auto outerFirst = loops.getLoopsInPreorder();
  for (llvm::Loop *loop : llvm::reverse(outerFirst)) {
    if (!loop->getLoopPreheader() || !loop->getLoopLatch())
      continue;
    llvm::SmallVector<std::pair<llvm::PHINode *, Sums>> pointers;
    for (llvm::PHINode &variable : loop->getHeader()->phis())
      if (variable.getType()->isPointerTy())
        if (std::optional<Sums> sums = sumsOf(variable, *loop))
          pointers.emplace_back(&variable, std::move(*sums));
    const bool keepsUniform = isLongAndStores(*loop, pointers.size());
    for (const auto &[variable, sums] : pointers)
      if (!keepsUniform ||
          !isSameInAllThreads(variable->getIncomingValueForBlock(loop->getLoopPreheader())))
        moveIntoStart(*variable, sums, *loop, evolution);
  }
}

} // namespace blockscope::gpu
