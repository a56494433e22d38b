// Finds the groups by what ScalarEvolution says of the start and step of each variable.
#include "gpu_backend/codegen/parallel_pointers.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"

namespace blockscope::gpu {
namespace {

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
  // What an access adds to its address has 24 bits.
  constexpr int64_t kFarthest = (int64_t{1} << 23) - 1;
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

} // namespace

void mergeParallelPointers(llvm::LoopInfo &loops, llvm::ScalarEvolution &evolution) {
  for (llvm::Loop *loop : loops.getLoopsInPreorder())
    mergeIn(*loop, evolution);
}

} // namespace blockscope::gpu
