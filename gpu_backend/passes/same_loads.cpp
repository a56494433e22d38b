// Loads of what is there already: block by block.
#include "gpu_backend/passes/passes.h"

#include "core/ir/tl_dialect.h"

#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

bool isVolatile(Operation *op) {
  auto load = dyn_cast<tl::LoadOp>(op);
  return load && load.getIsVolatile();
}

/// Whether memory may be another behind an op, or is to be read anew.
bool mayChangeMemory(Operation *op) {
  if (op->walk([](Operation *inside) {
          return isVolatile(inside) ? WalkResult::interrupt() : WalkResult::advance();
        }).wasInterrupted())
    return true;
  const std::optional<llvm::SmallVector<MemoryEffects::EffectInstance>> effects =
      getEffectsRecursively(op);
  return !effects || llvm::any_of(*effects, [](const MemoryEffects::EffectInstance &effect) {
    // What the sanitizers see of a load changes no memory.
    return !isa<MemoryEffects::Read>(effect.getEffect()) &&
           !isa<tl::Observation>(effect.getResource());
  });
}

bool isSameLoad(tl::LoadOp a, tl::LoadOp b) {
  return OperationEquivalence::isEquivalentTo(a, b, OperationEquivalence::IgnoreLocations);
}

} // namespace

void shareLoads(func::FuncOp function) {
  llvm::SmallVector<tl::LoadOp> repeated;
  function.walk([&](Block *block) {
    llvm::DenseMap<Value, llvm::SmallVector<tl::LoadOp, 1>> known; // by pointers
    for (Operation &op : *block) {
      if (mayChangeMemory(&op)) {
        known.clear();
        continue;
      }
      auto load = dyn_cast<tl::LoadOp>(op);
      if (!load)
        continue;
      llvm::SmallVector<tl::LoadOp, 1> &here = known[load.getPointer()];
      auto *first = llvm::find_if(here, [&](tl::LoadOp one) { return isSameLoad(one, load); });
      if (first == here.end()) {
        here.push_back(load);
        continue;
      }
      load.getResult().replaceAllUsesWith(first->getResult());
      repeated.push_back(load);
    }
  });
  for (tl::LoadOp load : repeated)
    load->erase();
}

} // namespace blockscope::gpu
