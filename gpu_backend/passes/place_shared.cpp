// First fit over the lives of buffers.
#include "gpu_backend/passes/place_shared.h"

#include "core/ir/tl_dialect.h"
#include "gpu_backend/layout/shared_layout.h"
#include "gpu_backend/passes/live_words.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscope::gpu {

void eachReader(tlg::WgmmaOp dot, llvm::function_ref<void(Operation *)> function) {
  llvm::SetVector<Value> sums;
  sums.insert(dot.getResult());
  for (size_t i = 0; i < sums.size(); ++i)
    for (OpOperand &use : sums[i].getUses()) {
      Operation *user = use.getOwner(), *parent = user->getParentOp();
      function(user);
      if (isa<tlg::WgmmaOp>(user))
        sums.insert(user->getResult(0));
      else if (isa<scf::YieldOp>(user) && isa<scf::ForOp, scf::IfOp>(parent))
        sums.insert(parent->getResult(use.getOperandNumber()));
      else if (isa<scf::YieldOp, scf::ConditionOp>(user))
        sums.insert(parent->result_begin(), parent->result_end());
    }
}

void eachUse(Value buffer, llvm::function_ref<void(Operation *)> function) {
  llvm::SmallVector<Value> open{buffer};
  while (!open.empty())
    for (Operation *user : open.pop_back_val().getUsers()) {
      function(user);
      if (auto dot = dyn_cast<tlg::WgmmaOp>(user))
        eachReader(dot, function);
      for (Value result : user->getResults())
        if (isa<tlg::SharedType>(result.getType()))
          open.push_back(result);
    }
}

namespace {

/// Whether only threads write a buffer, behind a barrier of its own, and nothing reads it in the
/// background but dots that are waited for where it is.
bool isStagedInIteration(tlg::AllocSharedOp alloc) {
  bool isStaged = isa_and_nonnull<tl::BarrierOp>(alloc->getNextNode());
  eachUse(alloc, [&](Operation *user) {
    isStaged &= isa<tlg::LocalStoreOp, tlg::LocalLoadOp, tlg::TransSharedOp, tlg::ReshapeSharedOp,
                    tlg::FmaOp, tlg::MmaOp, tlg::WgmmaOp, tlg::WgmmaWaitOp>(user) &&
                alloc->getBlock()->findAncestorOpInBlock(*user) != nullptr;
  });
  return isStaged;
}

/// The innermost block that has all uses of a buffer and runs at most once: the outermost loops are
/// in it, and branches around it (after an early return all of a kernel is in one) do not matter.
Block *blockOfLife(tlg::AllocSharedOp alloc) {
  Block *block = alloc->getBlock();
  for (Operation *op = alloc->getParentOp(); op; op = op->getParentOp())
    if (isa<LoopLikeOpInterface>(op))
      block = op->getBlock();
  eachUse(alloc, [&](Operation *user) {
    while (!block->findAncestorOpInBlock(*user))
      block = block->getParentOp()->getBlock();
  });
  return block;
}

bool isBarriers(tlg::AllocSharedOp alloc) {
  return llvm::any_of(alloc->getUsers(),
                      [](Operation *user) { return isa<tlg::MbarrierInitOp>(user); });
}

int64_t sizeOf(tlg::AllocSharedOp alloc) {
  const tlg::SharedType type = alloc.getType();
  return static_cast<int64_t>(tlg::sharedLayoutOf(type).sizeBytes()) * type.getStages();
}

} // namespace

void keepBuffersApart(func::FuncOp function, const GpuTarget &target, int numWarps) {
  constexpr int64_t kScratchBytes = 8192;
  llvm::SmallVector<tlg::AllocSharedOp> waiting;
  int registers = 1;
  const auto isCovered = [](tlg::AllocSharedOp alloc) {
    return alloc->getNextNode()->hasAttr(kCoveredAttribute);
  };
  const auto ctas = [&] { // as a side effect it marks what is covered
    const int64_t bytes = SharedPlaces(function).sizeBytes() + kScratchBytes;
    return bytes > target.sharedBytes() ? 0 : target.ctasAtATime(numWarps, registers, bytes);
  };
  ctas();
  function.walk([&](tlg::AllocSharedOp alloc) {
    if (!isStagedInIteration(alloc) || !isa<LoopLikeOpInterface>(alloc->getParentOp()) ||
        isCovered(alloc))
      return;
    if (waiting.empty() || waiting.back()->getBlock() != alloc->getBlock())
      registers = std::max(registers, registersIn(*alloc->getBlock()));
    waiting.push_back(alloc);
  });
  const int before = std::max(ctas(), 1);
  for (tlg::AllocSharedOp alloc : waiting) {
    alloc->setAttr(kApartAttribute, UnitAttr::get(alloc.getContext()));
    if (ctas() < before || !isCovered(alloc))
      alloc->removeAttr(kApartAttribute);
  }
}

int64_t apartBytes(func::FuncOp function) {
  llvm::SmallVector<tlg::AllocSharedOp> apart;
  function.walk([&](tlg::AllocSharedOp alloc) {
    if (alloc->hasAttr(kApartAttribute))
      apart.push_back(alloc);
  });
  if (apart.empty())
    return 0;
  const auto mark = UnitAttr::get(function.getContext());
  for (tlg::AllocSharedOp alloc : apart)
    alloc->removeAttr(kApartAttribute);
  const int64_t together = SharedPlaces(function).sizeBytes();
  for (tlg::AllocSharedOp alloc : apart)
    alloc->setAttr(kApartAttribute, mark);
  return SharedPlaces(function).sizeBytes() - together; // gives them their places again
}

SharedPlaces::SharedPlaces(func::FuncOp function) {
  constexpr int64_t kBarrierBytes = 8;
  llvm::SmallVector<std::pair<tlg::AllocSharedOp, size_t>> staged;
  llvm::SmallVector<tlg::AllocSharedOp> barriers;
  int moment = 0;
  for (Operation &op : function.getBody().front())
    moment = number(&op, moment);
  function.walk([&](tlg::AllocSharedOp alloc) {
    if (isBarriers(alloc)) {
      barriers.push_back(alloc);
      return;
    }
    const int64_t size = sizeOf(alloc);
    const uint32_t alignment = tlg::sharedLayoutOf(alloc.getType()).alignmentBytes();
    const Life outside = lifeIn(alloc, blockOfLife(alloc));
    Life life = outside;
    const bool hasBarrier = isStagedInIteration(alloc);
    if (hasBarrier)
      life = lifeIn(alloc, alloc->getBlock());
    llvm::SmallVector<Placed> alive;
    for (const Placed &block : blocks_)
      if ((block.life.first <= life.last && life.first <= block.life.last) ||
          (alloc->hasAttr(kApartAttribute) && block.alloc->getBlock() == alloc->getBlock()))
        alive.push_back(block);
    llvm::sort(alive, [](const auto &a, const auto &b) { return a.begin < b.begin; });
    int64_t begin = 0;
    for (const Placed &block : alive)
      if (block.begin < begin + size && begin < block.end)
        begin = static_cast<int64_t>(llvm::alignTo(block.end, alignment));
    const bool isReused = !hasBarrier && llvm::any_of(blocks_, [&](const Placed &block) {
      return block.begin < begin + size && begin < block.end;
    });
    if (isReused)
      reused_.insert(alloc);
    if (hasBarrier)
      staged.emplace_back(alloc, blocks_.size());
    place({alloc, begin, begin + size, life, outside, hasBarrier || isReused});
  });
  // Above all else, as their bytes are never anything else: below them a scratch finds room.
  for (const tlg::AllocSharedOp alloc : barriers) {
    const Life life{moments_.lookup(alloc).first, moment};
    const int64_t begin = static_cast<int64_t>(llvm::alignTo(sizeBytes_, kBarrierBytes));
    place({alloc, begin, begin + sizeOf(alloc), life, life, /*hasBarrier=*/false});
  }
  for (const auto [alloc, block] : staged)
    markCoveredBarrier(alloc, blocks_[block]);
  makeRoomForConversions(function);
}

void SharedPlaces::place(Placed block) {
  blocks_.push_back(block);
  block.alloc.setOffset(static_cast<int32_t>(block.begin));
  sizeBytes_ = std::max(sizeBytes_, static_cast<int64_t>(llvm::alignTo(block.end, 16)));
}

/// Buffers that threads copy to wait at a barrier if a large block is converted before they are
/// needed: it goes through their bytes in one round, where each round takes two barriers.
void SharedPlaces::makeRoomForConversions(func::FuncOp function) {
  constexpr int64_t kLargeBytes = 32 * 1024;
  const auto isCopiedByThreads = [](tlg::AllocSharedOp alloc) {
    bool isByTma = false;
    eachUse(alloc, [&](Operation *user) { isByTma |= isa<tlg::TmaLoadOp>(user); });
    return !isByTma; // which would have to wait for their stores in another way
  };
  function.walk([&](tlg::ConvertLayoutOp convert) {
    const auto type = cast<RankedTensorType>(convert.getType());
    if (type.getNumElements() * tlg::elementBytes(type) <= kLargeBytes)
      return;
    const Placed *waits = nullptr; // the first one, for those behind it
    for (Placed &block : blocks_) {
      if (block.hasBarrier || block.outside.first <= moments_.lookup(convert).last ||
          isBarriers(block.alloc) || !isCopiedByThreads(block.alloc))
        continue;
      block.hasBarrier = true;
      if (waits && waits->alloc->getBlock()->findAncestorOpInBlock(*block.alloc))
        continue;
      waits = &block;
      reused_.insert(block.alloc);
    }
  });
}

/// In a loop a staged buffer needs no barrier of its own where another one comes before it: all
/// that read its bytes in the iteration before have done so at the end of that one.
void SharedPlaces::markCoveredBarrier(tlg::AllocSharedOp alloc, const Placed &own) const {
  Operation *barrier = alloc->getNextNode(), *before = barrier->getPrevNode();
  barrier->removeAttr(kCoveredAttribute);
  while (before && (!isa<tl::BarrierOp>(before) || before->hasAttr(kCoveredAttribute)))
    before = before->getPrevNode();
  if (!before || !isa<LoopLikeOpInterface>(alloc->getParentOp()))
    return;
  const int covered = moments_.lookup(before).first;
  const bool isRead = llvm::any_of(blocks_, [&](const Placed &other) { // after that barrier
    return other.begin < own.end && own.begin < other.end && other.life.last < own.life.first &&
           other.life.last >= covered;
  });
  if (!isRead)
    barrier->setAttr(kCoveredAttribute, UnitAttr::get(barrier->getContext()));
}

/// Numbers an op and those in it from `next` on; returns the next number.
int SharedPlaces::number(Operation *op, int next) {
  const int first = next++;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Operation &inner : block)
        next = number(&inner, next);
  moments_[op] = {first, next - 1};
  return next;
}

/// The life of a buffer, seen from a block that it is in: what is in an op of the block needs it as
/// long as that op runs.
SharedPlaces::Life SharedPlaces::lifeIn(tlg::AllocSharedOp alloc, Block *block) const {
  const auto momentsOf = [&](Operation *op) {
    return moments_.lookup(block->findAncestorOpInBlock(*op));
  };
  const Operation *own = block->findAncestorOpInBlock(*alloc);
  Life life = momentsOf(alloc);
  if (own == alloc)
    life.last = life.first;
  eachUse(alloc, [&](Operation *user) { life.last = std::max(life.last, momentsOf(user).last); });
  return life;
}

int64_t SharedPlaces::freeBytes(Operation *op) const {
  const int now = moments_.lookup(op).first;
  int64_t free = sizeBytes_;
  for (const Placed &block : blocks_) {
    const bool isLater = block.outside.first > now && block.hasBarrier;
    if (block.outside.last >= now && !isLater)
      free = std::min(free, block.begin);
  }
  return free;
}

} // namespace blockscope::gpu
