// Loads of what is there already: block by block.
#include "gpu_backend/passes/passes.h"

#include "core/ir/option_attributes.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/passes/disjoint_arguments.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// The most loads that a loop's registers are kept for.
constexpr size_t kMostLoads = 32;

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

/// Whether a loop runs at least once: known, or a value made before it.
Value runsOnce(scf::ForOp loop) {
  const std::optional<int64_t> from = getConstantIntValue(loop.getLowerBound()),
                               to = getConstantIntValue(loop.getUpperBound());
  if (from && to && *from < *to)
    return {};
  OpBuilder builder(loop);
  return arith::CmpIOp::create(builder, loop.getLoc(),
                               loop.getUnsignedCmp() ? arith::CmpIPredicate::ult
                                                     : arith::CmpIPredicate::slt,
                               loop.getLowerBound(), loop.getUpperBound());
}

/// Whether nothing but dots takes a block, perhaps turned and converted: as their operand it is
/// held in shared memory, or in registers that each iteration would fill anew.
bool isOnlyForDots(Value value) {
  return !value.use_empty() && llvm::all_of(value.getUses(), [](OpOperand &use) {
    if (isa<tl::DotOp>(use.getOwner()))
      return use.getOperandNumber() < 2;
    return isa<tl::TransOp, tl::ReshapeOp, tl::FpCastOp>(use.getOwner()) &&
           isOnlyForDots(use.getOwner()->getResult(0));
  });
}

/// Whether a loop's registers are kept for what `load` gives: a scalar, an operand of dots, or a
/// few elements of each thread.
bool isKept(tl::LoadOp load) {
  constexpr int64_t kFewElements = 4; // of a thread
  constexpr int64_t kThreadsOfWarp = 32;
  const auto type = dyn_cast<RankedTensorType>(load.getType());
  if (!type)
    return true;
  auto module = load->getParentOfType<ModuleOp>();
  if (module->hasAttr(tlg::kKeepBlocksAttribute))
    return false;
  const auto warps = module->getAttrOfType<IntegerAttr>(tlg::kNumWarpsAttribute);
  return isOnlyForDots(load.getResult()) ||
         (warps && type.getNumElements() <= kFewElements * kThreadsOfWarp * warps.getInt());
}

/// A mask that holds where `runs` does, and the load's own one.
Value maskWith(tl::LoadOp load, Value runs) {
  OpBuilder builder(load);
  if (auto type = dyn_cast<RankedTensorType>(load.getType()))
    runs = tl::SplatOp::create(builder, load.getLoc(), type.clone(builder.getI1Type()), runs);
  Value mask = load.getMask();
  return mask ? arith::AndIOp::create(builder, load.getLoc(), mask, runs).getResult() : runs;
}

/// Loads before a loop what each of its iterations loads anew, if nothing in it changes that
/// memory: masked, where the loop may not run.
void loadBefore(scf::ForOp loop) {
  if (loop->hasAttr(tl::kDisableLicmHint))
    return;
  const LoopWrites writes(loop);
  llvm::SmallVector<tl::LoadOp> loads;
  for (auto load : loop.getBody()->getOps<tl::LoadOp>())
    if (isKept(load) && writes.canMove(load.getPointer()) &&
        llvm::all_of(load->getOperands(),
                     [&](Value operand) { return loop.isDefinedOutsideOfLoop(operand); }))
      loads.push_back(load);
  if (loads.empty() || loads.size() > kMostLoads || writes.firstOrder())
    return;
  auto function = loop->getParentOfType<func::FuncOp>();
  Value runs = runsOnce(loop);
  for (tl::LoadOp load : loads) {
    for (const unsigned stored : writes.stored())
      requireDisjoint(function, *argumentOf(load.getPointer()), stored);
    load->moveBefore(loop);
    if (isa<RankedTensorType>(load.getType()))
      load->getParentOfType<ModuleOp>()->setAttr(tlg::kBlocksLeftLoopsAttribute,
                                                 UnitAttr::get(load.getContext()));
    if (runs)
      load.getMaskMutable().assign(maskWith(load, runs));
  }
}

} // namespace

void loadBeforeLoops(func::FuncOp function) {
  // Inner loops come first, so that what leaves them may leave the outer ones as well.
  function.walk([](scf::ForOp loop) { loadBefore(loop); });
}

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
