// Walks from pointers to arguments, and collects a loop's stores.
#include "gpu_backend/passes/disjoint_arguments.h"

#include "gpu_backend/ir/tlg_dialect.h"

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace blockscope::gpu {

std::optional<unsigned> argumentOf(Value pointer) {
  std::optional<unsigned> found;
  llvm::DenseSet<Value> seen;
  llvm::SmallVector<Value> open{pointer};
  const auto addVariable = [&](scf::ForOp loop, unsigned variable) {
    open.push_back(loop.getInitArgs()[variable]);
    open.push_back(loop.getYieldedValues()[variable]);
  };
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (Operation *op = value.getDefiningOp()) {
      if (auto loop = dyn_cast<scf::ForOp>(op))
        addVariable(loop, cast<OpResult>(value).getResultNumber());
      else if (isa<tl::AddPtrOp, tl::SplatOp, tl::BroadcastOp, tl::ExpandDimsOp, tl::ReshapeOp,
                   tl::TransOp, tl::BitcastOp, tl::HintOp, tlg::ConvertLayoutOp>(op))
        open.push_back(op->getOperand(0));
      else
        return std::nullopt;
      continue;
    }
    auto argument = cast<BlockArgument>(value);
    Operation *owner = argument.getOwner()->getParentOp();
    auto loop = dyn_cast<scf::ForOp>(owner);
    if (loop && argument != loop.getInductionVar()) {
      addVariable(loop, argument.getArgNumber() - 1);
      continue;
    }
    if (!isa<func::FuncOp>(owner) ||
        found.value_or(argument.getArgNumber()) != argument.getArgNumber())
      return std::nullopt;
    found = argument.getArgNumber();
  }
  return found;
}

namespace {

Attribute pairOf(Builder builder, unsigned argument, unsigned other) {
  return builder.getDenseI32ArrayAttr({static_cast<int32_t>(std::min(argument, other)),
                                       static_cast<int32_t>(std::max(argument, other))});
}

} // namespace

bool mayOverlap(func::FuncOp function, unsigned argument, unsigned other) {
  Operation *module = function->getParentOp();
  if (argument == other || !module->hasAttr(tlg::kMayOverlapAttribute))
    return argument == other;
  const auto known = module->getAttrOfType<ArrayAttr>(tlg::kKnownDisjointAttribute);
  return !known ||
         !llvm::is_contained(known, pairOf(Builder(function.getContext()), argument, other));
}

void requireDisjoint(func::FuncOp function, unsigned argument, unsigned other) {
  if (argument == other)
    return;
  Builder builder(function.getContext());
  const Attribute pair = pairOf(builder, argument, other);
  llvm::SmallVector<Attribute> pairs;
  if (auto known = function->getAttrOfType<ArrayAttr>(tlg::kDisjointAttribute))
    pairs.assign(known.begin(), known.end());
  if (llvm::is_contained(pairs, pair))
    return;
  pairs.push_back(pair);
  function->setAttr(tlg::kDisjointAttribute, builder.getArrayAttr(pairs));
}

bool ordersMemory(Operation *op) {
  return op->getNumRegions() == 0 && !isMemoryEffectFree(op) &&
         !isa<tl::AssertOp, tl::AssumeOp, tl::PrintOp>(op);
}

bool isPlainWrite(Operation *op) {
  return isa<tl::StoreOp>(op) || (tl::isAtomic(op) && op->use_empty());
}

LoopWrites::LoopWrites(scf::ForOp loop) : loop_(loop) {
  bool writes = false;
  Operation *firstVolatile = nullptr;
  loop.walk([&](Operation *op) {
    if (isPlainWrite(op)) {
      writes = true;
      const std::optional<unsigned> argument = argumentOf(op->getOperand(0));
      isUnknown_ |= !argument;
      stored_.insert(argument.value_or(0));
    } else if (auto load = dyn_cast<tl::LoadOp>(op)) {
      if (load.getIsVolatile() && !firstVolatile)
        firstVolatile = op;
    } else if (ordersMemory(op) && !isa_and_nonnull<tlg::TLGDialect>(op->getDialect())) {
      isUnknown_ = true; // atomics that tell something, barriers
      if (!firstOrder_)
        firstOrder_ = op;
    }
  });
  isUnknown_ |= writes && firstVolatile;
  if (!firstOrder_)
    firstOrder_ = firstVolatile;
}

bool LoopWrites::canMove(Value pointer) const {
  if (isUnknown_ || stored_.empty())
    return !isUnknown_;
  const std::optional<unsigned> argument = argumentOf(pointer);
  return argument && llvm::none_of(stored_, [&](unsigned stored) {
           return mayOverlap(scf::ForOp(loop_)->getParentOfType<func::FuncOp>(), *argument, stored);
         });
}

Operation *LoopWrites::firstWrite(Value pointer) const {
  const std::optional<unsigned> loaded = argumentOf(pointer);
  auto function = scf::ForOp(loop_)->getParentOfType<func::FuncOp>();
  Operation *found = nullptr;
  scf::ForOp(loop_).walk([&](Operation *op) {
    if (isPlainWrite(op)) {
      const std::optional<unsigned> stored = argumentOf(op->getOperand(0));
      if (stored && loaded && !mayOverlap(function, *stored, *loaded))
        return WalkResult::advance();
    } else if (!tl::isAtomic(op)) {
      return WalkResult::advance();
    }
    found = op;
    return WalkResult::interrupt();
  });
  return found;
}

} // namespace blockscope::gpu
