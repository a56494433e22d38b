// First fit over the lives of buffers.
#include "gpu_backend/passes/place_shared.h"

#include "gpu_backend/layout/shared_layout.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscope::gpu {

SharedPlaces::SharedPlaces(func::FuncOp function) {
  constexpr int64_t kAlignment = 1024; // of the widest swizzle
  constexpr int64_t kBarrierBytes = 8;
  countMoments(function.getBody().front());
  function.walk([&](tlg::AllocSharedOp alloc) {
    const tlg::SharedType type = alloc.getType();
    const int64_t size =
        static_cast<int64_t>(tlg::sharedLayoutOf(type).sizeBytes()) * type.getStages();
    // The bytes of mbarriers are never anything else.
    const bool isBarriers = llvm::any_of(
        alloc->getUsers(), [](Operation *user) { return isa<tlg::MbarrierInitOp>(user); });
    const int64_t alignment = isBarriers ? kBarrierBytes : kAlignment;
    const int first = momentOf(alloc), last = isBarriers ? end_ : lastUse(alloc);
    llvm::SmallVector<Block> alive;
    for (const Block &block : blocks_)
      if (block.first <= last && first <= block.last)
        alive.push_back(block);
    llvm::sort(alive, [](const Block &a, const Block &b) { return a.begin < b.begin; });
    int64_t begin = 0;
    for (const Block &block : alive)
      if (block.begin < begin + size && begin < block.end)
        begin = static_cast<int64_t>(llvm::alignTo(block.end, alignment));
    if (llvm::any_of(blocks_, [&](const Block &block) {
          return block.begin < begin + size && begin < block.end;
        }))
      reused_.insert(alloc);
    blocks_.push_back({begin, begin + size, first, last});
    alloc.setOffset(static_cast<int32_t>(begin));
    sizeBytes_ = std::max(sizeBytes_, static_cast<int64_t>(llvm::alignTo(begin + size, 16)));
  });
}

void SharedPlaces::countMoments(mlir::Block &block) {
  for (Operation &op : block) {
    moments_[&op] = end_;
    if (isa<scf::IfOp>(op))
      for (Region &region : op.getRegions())
        if (!region.empty())
          countMoments(region.front());
    ++end_;
  }
}

int SharedPlaces::momentOf(Operation *op) const {
  auto found = moments_.find(op);
  for (; found == moments_.end(); found = moments_.find(op))
    op = op->getParentOp();
  return found->second;
}

int SharedPlaces::lastUse(tlg::AllocSharedOp alloc) const {
  int last = momentOf(alloc);
  llvm::SmallVector<Value> open{alloc.getResult()};
  while (!open.empty())
    for (OpOperand &use : open.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      last = std::max(last, isa<tlg::WgmmaOp>(user) ? lastWait(user) : momentOf(user));
      for (Value result : user->getResults())
        if (isa<tlg::SharedType>(result.getType()))
          open.push_back(result);
    }
  return last;
}

/// When a dot is complete, which reads its operands until then: where its sums are waited for, in
/// its block or where they go from there.
int SharedPlaces::lastWait(Operation *dot) const {
  int last = momentOf(dot);
  llvm::SetVector<Value> sums;
  sums.insert(dot->getResult(0));
  for (size_t i = 0; i < sums.size(); ++i)
    for (OpOperand &use : sums[i].getUses()) {
      Operation *user = use.getOwner(), *parent = user->getParentOp();
      last = std::max(last, momentOf(user));
      if (isa<tlg::WgmmaOp>(user))
        sums.insert(user->getResult(0));
      else if (isa<scf::YieldOp>(user) && isa<scf::ForOp, scf::IfOp>(parent))
        sums.insert(parent->getResult(use.getOperandNumber()));
      else if (isa<scf::YieldOp, scf::ConditionOp>(user))
        sums.insert(parent->result_begin(), parent->result_end());
    }
  return last;
}

int64_t SharedPlaces::freeBytes(Operation *op) const {
  const int now = momentOf(op);
  int64_t free = sizeBytes_;
  for (const Block &block : blocks_)
    if (block.last >= now)
      free = std::min(free, block.begin);
  return free;
}

} // namespace blockscope::gpu
