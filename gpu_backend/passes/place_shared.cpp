// First fit over the lives of buffers.
#include "gpu_backend/passes/place_shared.h"

#include "gpu_backend/layout/shared_layout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscope::gpu {

SharedPlaces::SharedPlaces(func::FuncOp function) {
  constexpr int64_t kAlignment = 1024; // of the widest swizzle
  constexpr int64_t kBarrierBytes = 8;
  int moment = 0;
  for (Operation &op : function.getBody().front()) {
    moments_[&op] = moment;
    op.walk([&](tlg::WgmmaWaitOp wait) {
      if (wait.getPending() == 0 && (waits_.empty() || waits_.back() != moment))
        waits_.push_back(moment);
    });
    ++moment;
  }
  function.walk([&](tlg::AllocSharedOp alloc) {
    const tlg::SharedType type = alloc.getType();
    const int64_t size =
        static_cast<int64_t>(tlg::sharedLayoutOf(type).sizeBytes()) * type.getStages();
    // The bytes of mbarriers are never anything else.
    const bool isBarriers = llvm::any_of(
        alloc->getUsers(), [](Operation *user) { return isa<tlg::MbarrierInitOp>(user); });
    const int64_t alignment = isBarriers ? kBarrierBytes : kAlignment;
    const int first = momentOf(alloc), last = isBarriers ? moment : lastUse(alloc);
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

int SharedPlaces::momentOf(Operation *op) const {
  while (!isa<func::FuncOp>(op->getParentOp()))
    op = op->getParentOp();
  return moments_.lookup(op);
}

int SharedPlaces::lastUse(tlg::AllocSharedOp alloc) const {
  int last = momentOf(alloc);
  llvm::SmallVector<Value> open{alloc.getResult()};
  while (!open.empty())
    for (OpOperand &use : open.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      int moment = momentOf(user);
      if (isa<tlg::WgmmaOp>(user)) { // reads until it is waited for
        const auto *wait = llvm::find_if(waits_, [&](int w) { return w > moment; });
        if (wait != waits_.end())
          moment = *wait;
      }
      last = std::max(last, moment);
      for (Value result : user->getResults())
        if (isa<tlg::SharedType>(result.getType()))
          open.push_back(result);
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
