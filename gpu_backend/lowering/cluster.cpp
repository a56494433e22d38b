// What the CTAs of a cluster do together: they meet, and read each other's shared memory.
#include "gpu_backend/lowering/combine.h"
#include "gpu_backend/lowering/families.h"

#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

LogicalResult lowerClusterRank(Lowering &lowering, Operation *op) {
  lowering.set(op->getResult(0), lowering.clusterRank());
  return success();
}

LogicalResult lowerClusterBarrier(Lowering &lowering, Operation *) {
  lowering.clusterBarrier();
  return success();
}

/// Each CTA stores its part in slots of its own shared memory, and when all have, loads what it
/// wants from where it is. Nobody goes on, to end or to use the slots again, before all have
/// loaded.
LogicalResult lowerClusterExchange(Lowering &lowering, Operation *op) {
  auto exchange = cast<tlg::ClusterExchangeOp>(op);
  llvm::IRBuilder<> &builder = lowering.builder();
  const auto sourceType = cast<RankedTensorType>(exchange.getSource().getType());
  const auto type = cast<RankedTensorType>(exchange.getType());
  const LinearLayout layout = tlg::layoutOf(type);
  const auto from = static_cast<int>(exchange.getFrom()), to = static_cast<int>(exchange.getTo());
  const auto rankBits = static_cast<int>(llvm::Log2_32(lowering.numCtas()));

  Slots slots(lowering, exchange.getSource(), sourceType.getNumElements());
  slots.storeBlock(lowering.get(exchange.getSource()), tlg::layoutOf(sourceType));
  lowering.clusterBarrier();

  // An element's number in the whole block, without the bits that say whose part it is in, is that
  // of its slot there.
  llvm::SmallVector<int64_t> shape(type.getShape());
  if (to >= 0)
    shape[to] *= lowering.numCtas();
  const ShapeBits whole(shape), part(type.getShape());
  const auto inWhole = [&](ElementBits element) {
    ElementBits result = 0;
    for (int dim = 0; dim < part.rank(); ++dim)
      result |= part.coordinate(element, dim) << whole.shift(dim);
    return result;
  };
  const int ownerShift = from >= 0 ? whole.shift(from) + whole.width(from) - rankBits : 0;
  LinearLayout moved = layout;
  for (Bases *bases : {&moved.registers, &moved.lanes, &moved.warps})
    for (ElementBits &basis : *bases)
      basis = inWhole(basis);
  llvm::Value *thread = lowering.threadElement(moved);
  if (to >= 0)
    thread =
        builder.CreateXor(thread, builder.CreateShl(lowering.clusterRank(),
                                                    whole.shift(to) + whole.width(to) - rankBits));
  Registers results;
  llvm::DenseMap<ElementBits, llvm::Value *> made; // copies are one load
  for (int reg = 0; reg < layout.registerCount(); ++reg) {
    const ElementBits element = moved.registerElement(reg);
    llvm::Value *&value = made[element];
    if (!value) {
      llvm::Value *number = builder.CreateXor(thread, lowering.i32(element));
      llvm::Value *owner = exchange.getFromFirst() ? lowering.i32(0) : lowering.clusterRank();
      llvm::Value *slot = number;
      if (from >= 0) {
        owner = builder.CreateAnd(builder.CreateLShr(number, ownerShift),
                                  lowering.i32(lowering.numCtas() - 1));
        llvm::Value *below =
            builder.CreateAnd(number, lowering.i32((int64_t{1} << ownerShift) - 1));
        llvm::Value *above =
            builder.CreateShl(builder.CreateLShr(number, ownerShift + rankBits), ownerShift);
        slot = builder.CreateOr(above, below);
      }
      value = slots.loadFrom(owner, slot)[0];
    }
    results.push_back(value);
  }
  lowering.clusterBarrier();
  lowering.set(exchange, results);
  return success();
}

} // namespace

llvm::ArrayRef<LoweringRow> clusterRows() {
  static constexpr LoweringRow kRows[] = {
      {"tlg.cluster_barrier", lowerClusterBarrier},
      {"tlg.cluster_exchange", lowerClusterExchange},
      {"tlg.cluster_rank", lowerClusterRank},
  };
  return kRows;
}

} // namespace blockscope::gpu
