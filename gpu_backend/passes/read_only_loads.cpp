// Arguments that the kernel stores to first, then loop by loop.
#include "gpu_backend/passes/read_only_loads.h"

#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/layout/layout_queries.h"
#include "gpu_backend/passes/disjoint_arguments.h"

#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

using Arguments = llvm::SmallSetVector<unsigned, 4>;

/// The arguments that the kernel stores to; nothing where it may write elsewhere, or where what
/// others write may be seen: behind atomics, barriers and waits.
std::optional<Arguments> storedArguments(func::FuncOp function) {
  Arguments stored;
  bool isKnown = true;
  function.walk([&](Operation *op) {
    if (auto store = dyn_cast<tl::StoreOp>(op)) {
      const std::optional<unsigned> argument = argumentOf(store.getPointer());
      isKnown &= argument.has_value();
      stored.insert(argument.value_or(0));
    } else if (auto load = dyn_cast<tl::LoadOp>(op)) {
      isKnown &= !load.getIsVolatile();
    } else {
      isKnown &= !ordersMemory(op);
    }
  });
  return isKnown ? std::optional(stored) : std::nullopt;
}

/// How many instructions a thread's part of a load takes.
int64_t instructionsOf(tl::LoadOp load) {
  const auto vector = load->getAttrOfType<DenseI32ArrayAttr>(tlg::kVectorAttribute);
  const Type type = load.getPointer().getType();
  if (!vector || !tlg::hasLayout(type))
    return 1;
  return std::max<int64_t>(1, tlg::layoutOf(type).registerCount() / vector[1]);
}

/// The loads of an innermost loop that stores; none where they are many: ptxas may as well put off
/// to their uses what it may move freely, and in a long body it does, for the sake of registers.
llvm::SmallVector<tl::LoadOp> fewLoads(LoopLikeOpInterface loop) {
  constexpr int64_t kFew = 4; // instructions
  llvm::SmallVector<tl::LoadOp> loads;
  bool stores = false, isInnermost = true;
  int64_t count = 0;
  loop->walk([&](Operation *op) {
    isInnermost &= op == loop || !isa<LoopLikeOpInterface>(op);
    stores |= isa<tl::StoreOp>(op);
    if (auto load = dyn_cast<tl::LoadOp>(op)) {
      loads.push_back(load);
      count += instructionsOf(load);
    }
  });
  if (!stores || !isInnermost || count > kFew)
    loads.clear();
  return loads;
}

} // namespace

void markReadOnlyLoads(func::FuncOp function) {
  const std::optional<Arguments> stored = storedArguments(function);
  if (!stored)
    return;
  function.walk([&](LoopLikeOpInterface loop) {
    for (tl::LoadOp load : fewLoads(loop)) {
      const std::optional<unsigned> loaded = argumentOf(load.getPointer());
      if (!loaded || !load.getCacheModifier().empty() ||
          llvm::any_of(*stored,
                       [&](unsigned argument) { return mayOverlap(function, *loaded, argument); }))
        continue;
      for (const unsigned argument : *stored)
        requireDisjoint(function, *loaded, argument);
      load->setAttr(kReadOnlyAttribute, UnitAttr::get(load.getContext()));
    }
  });
}

} // namespace blockscope::gpu
