// A copy begins behind a barrier of all threads, which have read its buffer; behind another one
// they know its mbarrier to be made anew. Copies that can begin at the same place share both.
#include "gpu_backend/passes/tma_loop_loads.h"

#include "gpu_backend/passes/live_words.h"
#include "gpu_backend/passes/place_shared.h"
#include "gpu_backend/passes/shared_operands.h"
#include "gpu_backend/passes/tma_access.h"

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/MapVector.h"

#include <vector>

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// ldmatrix turns elements of so many bytes.
constexpr int kBytesOfMatrices = 2;

/// Whether nothing but dots by wgmma takes `value`, perhaps transposed, and all of it is in
/// `block`.
bool isOnlyForDots(Value value, Block *block) {
  return !value.use_empty() && llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (user->getBlock() != block)
      return false;
    if (isa<tlg::MmaOp>(user))
      return use.getOperandNumber() < 2 && tlg::elementBytes(value.getType()) == kBytesOfMatrices;
    if (isa<tlg::WgmmaOp>(user)) {
      Operation *wait = user->hasOneUse() ? *user->user_begin() : nullptr;
      return use.getOperandNumber() < 2 && isa_and_nonnull<tlg::WgmmaWaitOp>(wait) &&
             wait->getBlock() == block;
    }
    return isa<tl::TransOp, tl::ReshapeOp, tlg::ConvertLayoutOp>(user) &&
           isOnlyForDots(user->getResult(0), block);
  });
}

/// Whether `op` or something in it may write to global memory, or has to come before what TMA
/// reads.
bool mayOrderReads(Operation *op, bool ofAnyMemory) {
  return op
      ->walk([&](Operation *inner) {
        const bool writes = isa<tl::StoreOp>(inner) || tl::isAtomic(inner);
        return isa<tl::GdcWaitOp>(inner) || (ofAnyMemory && writes) ? WalkResult::interrupt()
                                                                    : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The op that `op` is in, or is, in the function's own block.
Operation *outermost(Operation *op) {
  while (!isa<func::FuncOp>(op->getParentOp()))
    op = op->getParentOp();
  return op;
}

/// Between two barriers of a block: where copies begin.
struct Place {
  Operation *before, *behind;
};

/// The loads of a block into buffers of one type.
class Loads {
public:
  struct Load {
    tl::LoadOp op;
    TmaAccess access;
  };

  /// `places`: those of the block, for other loads too.
  Loads(llvm::ArrayRef<Load> loads, int buffers, llvm::SmallVectorImpl<Place> &places)
      : loads_(loads), buffers_(buffers), block_(loads.front().op->getBlock()),
        rewriter_(loads.front().op), isRead_(buffers), places_(places) {}

  void run() {
    makeRing();
    for (const Load &load : loads_)
      replace(load);
    makeFences();
  }

private:
  void makeRing() {
    const OpBuilder::InsertionGuard guard(rewriter_);
    const Location location = loads_.front().op->getLoc();
    const TmaAccess &access = loads_.front().access;
    rewriter_.setInsertionPoint(outermost(loads_.front().op));
    const auto type = tlg::sharedType(access.buffer.getShape(), access.buffer.getElementType(),
                                      tlg::sharedLayoutOf(access.buffer), buffers_);
    const auto barriers =
        tlg::SharedType::get(rewriter_.getContext(), {1}, rewriter_.getI64Type(), {}, buffers_);
    ring_ = tlg::AllocSharedOp::create(rewriter_, location, type, IntegerAttr());
    mbarriers_ = tlg::AllocSharedOp::create(rewriter_, location, barriers, IntegerAttr());
    // Threads may have written where TMA will, and, before the loop, what it reads.
    auto fence = tlg::FenceAsyncOp::create(rewriter_, location);
    fence.setGlobal(
        llvm::any_of(loads_, [](const Load &load) { return !load.access.tile.argument; }));
    tlg::MbarrierInitOp::create(rewriter_, location, mbarriers_, /*arrivals=*/1, /*again=*/false);
  }

  /// Where threads read the buffers themselves: TMA will write what they have read.
  void makeFences() {
    bool isReadByThreads = false;
    eachUse(ring_, [&](Operation *user) {
      isReadByThreads |= isa<tlg::LocalLoadOp, tlg::MmaOp, tlg::FmaOp>(user);
    });
    if (!isReadByThreads)
      return;
    for (const Place &place : places_) {
      if (isa_and_nonnull<tlg::FenceAsyncOp>(place.before->getPrevNode()))
        continue;
      rewriter_.setInsertionPoint(place.before);
      tlg::FenceAsyncOp::create(rewriter_, place.before->getLoc());
    }
  }

  Value stageOf(Location location, Value ring, int slot) {
    const auto type = cast<tlg::SharedType>(ring.getType());
    const auto one =
        tlg::sharedType(type.getShape(), type.getElementType(), tlg::sharedLayoutOf(type));
    return tlg::StageOp::create(rewriter_, location, one, ring, constant(location, slot));
  }

  Value constant(Location location, int64_t value) {
    return arith::ConstantOp::create(rewriter_, location,
                                     rewriter_.getI32IntegerAttr(static_cast<int32_t>(value)));
  }

  void replace(const Load &load) {
    tl::LoadOp op = load.op;
    const Location location = load.op->getLoc();
    const int slot = next_ % buffers_;
    Operation *use = firstUse(op.getResult());
    const std::optional<Place> place = placeOf(load, isRead_[slot], use);
    if (!place)
      return;
    ++next_;
    rewriter_.setInsertionPoint(place->behind);
    Value buffer = stageOf(location, ring_, slot);
    Value mbarrier = stageOf(location, mbarriers_, slot);
    tlg::MbarrierInitOp::create(rewriter_, location, mbarrier, /*arrivals=*/1, /*again=*/true);
    const uint32_t bytes = tlg::sharedLayoutOf(load.access.buffer).sizeBytes();
    tlg::MbarrierExpectOp::create(rewriter_, location, mbarrier, constant(location, bytes),
                                  Value());
    IRMapping made;
    const auto starts = makeStarts(rewriter_, location, load.access.tile,
                                   [&](Value value) { return madeHere(value, made); });
    const TensorMapUse map = addTensorMap(load.op->getParentOfType<func::FuncOp>(), load.access);
    tlg::TmaLoadOp::create(rewriter_, location, buffer, mbarrier, starts, Value(), map.made,
                           map.number, IntegerAttr());
    replaceLoad(rewriter_, op, buffer);
    rewriter_.eraseOp(op);
    rewriter_.setInsertionPoint(firstUse(buffer, place->behind));
    tlg::MbarrierWaitOp::create(rewriter_, location, mbarrier, constant(location, 0));
    isRead_[slot] = lastRead(buffer);
  }

  /// The first op of the block that uses `value` behind `from`.
  Operation *firstUse(Value value, Operation *from = nullptr) const {
    Operation *first = nullptr;
    for (Operation *user : value.getUsers())
      if (Operation *here = block_->findAncestorOpInBlock(*user);
          here && (!from || from->isBeforeInBlock(here)) &&
          (!first || here->isBeforeInBlock(first)))
        first = here;
    return first;
  }

  /// The last op of the block up to which dots read `buffer`.
  Operation *lastRead(Value buffer) const {
    Operation *last = nullptr;
    eachUse(buffer, [&](Operation *user) {
      Operation *here = block_->findAncestorOpInBlock(*user);
      if (!here)
        here = block_->getTerminator();
      if (!last || last->isBeforeInBlock(here))
        last = here;
    });
    return last;
  }

  /// Where the copy for `load` can begin: behind `read`, the last read of its buffer in the block,
  /// or null, and before `use`.
  std::optional<Place> placeOf(const Load &load, Operation *read, Operation *use) {
    Operation *behind = read;
    const auto wait = [&](Operation *op) {
      if (op && (!behind || behind->isBeforeInBlock(op)))
        behind = op;
    };
    const RectangularTile &tile = load.access.tile;
    if (tile.condition)
      wait(knownBehind(tile.condition));
    for (const RectangularTile::Dim &dim : tile.dims)
      if (dim.start)
        wait(knownBehind(dim.start));
    for (Operation &op : *block_) {
      if (&op == load.op)
        break;
      if (mayOrderReads(&op, /*ofAnyMemory=*/!tile.argument))
        wait(&op);
    }
    if (behind && !behind->isBeforeInBlock(use))
      return std::nullopt;
    for (const Place &place : places_)
      if ((!behind || behind->isBeforeInBlock(place.before)) && place.behind->isBeforeInBlock(use))
        return place;
    if (behind)
      rewriter_.setInsertionPointAfter(behind);
    else
      rewriter_.setInsertionPointToStart(block_);
    const Location location = load.op->getLoc();
    Operation *before = tl::BarrierOp::create(rewriter_, location);
    places_.push_back({before, tl::BarrierOp::create(rewriter_, location)});
    return places_.back();
  }

  /// The op of the block behind which a scalar can be made, from others by arithmetic alone; null
  /// at its start.
  Operation *knownBehind(Value value) const {
    Operation *op = value.getDefiningOp();
    if (!op || value.getParentBlock() != block_)
      return nullptr;
    if (!isCheap(op))
      return op;
    Operation *last = nullptr;
    for (Value operand : op->getOperands())
      if (Operation *behind = knownBehind(operand);
          behind && (!last || last->isBeforeInBlock(behind)))
        last = behind;
    return last;
  }

  static bool isCheap(Operation *op) {
    return isPure(op) && op->getNumRegions() == 0 && !isa<tlg::TLGDialect>(op->getDialect()) &&
           llvm::none_of(op->getOperandTypes(), [](Type type) { return isa<ShapedType>(type); });
  }

  /// A scalar as it is at the insertion point, made there if it is made in the block later.
  Value madeHere(Value value, IRMapping &made) {
    if (Value known = made.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != block_ || op->isBeforeInBlock(&*rewriter_.getInsertionPoint()))
      return value;
    for (Value operand : op->getOperands())
      made.map(operand, madeHere(operand, made));
    return rewriter_.clone(*op, made)->getResult(cast<OpResult>(value).getResultNumber());
  }

  llvm::ArrayRef<Load> loads_;
  int buffers_;
  Block *block_;
  IRRewriter rewriter_;
  llvm::SmallVector<Operation *> isRead_; ///< up to which op of the block, of each buffer
  llvm::SmallVectorImpl<Place> &places_;
  Value ring_, mbarriers_;
  int next_ = 0; ///< load
};

/// The registers that a thread is taken to need in `block`.
int registersOf(Block *block) {
  constexpr int kForAddresses = 32;
  const LiveWords live(*block);
  int most = 0;
  for (Operation &op : *block)
    most = std::max(most, live.before(&op));
  return std::min(most + kForAddresses, GpuTarget::kThreadRegisters);
}

/// How many buffers the loads share: as many as there is room for, if no multiprocessor can have
/// fewer CTAs for it; 0 where there is no room for one.
int buffersFor(llvm::ArrayRef<Loads::Load> loads, const GpuTarget &target) {
  constexpr int64_t kScratchBytes = 8192;
  Operation *op = loads.front().op;
  const SharedPlaces places(op->getParentOfType<func::FuncOp>());
  const int warps = static_cast<int>(op->getParentOfType<ModuleOp>()
                                         ->getAttrOfType<IntegerAttr>(tlg::kNumWarpsAttribute)
                                         .getInt());
  const int registers = registersOf(op->getBlock());
  const int64_t bytes =
      llvm::alignTo(tlg::sharedLayoutOf(loads.front().access.buffer).sizeBytes(), 1024);
  const auto used = [&](int buffers) {
    return places.sizeBytes() + buffers * bytes + kScratchBytes;
  };
  const auto ctas = [&](int buffers) {
    return target.ctasAtATime(warps, registers, used(buffers));
  };
  if (used(1) > target.sharedBytes())
    return 0;
  int buffers = 1;
  while (buffers < static_cast<int>(loads.size()) && used(buffers + 1) <= target.sharedBytes() &&
         ctas(buffers + 1) >= ctas(1))
    ++buffers;
  return buffers;
}

} // namespace

bool loadInLoopsByTma(func::FuncOp function, const GpuTarget &target) {
  llvm::MapVector<std::pair<Block *, Type>, std::vector<Loads::Load>> groups;
  function.walk([&](tl::LoadOp load) {
    auto loop = load->getParentOfType<LoopLikeOpInterface>();
    if (!loop || !load->hasAttr(kTmaAttribute) || hasOther(load) ||
        !isOnlyForDots(load.getResult(), load->getBlock()))
      return;
    std::optional<TmaAccess> access = tmaAccess(load);
    // Of a tensor that is not known, anything that the loop writes may be a part.
    if (!access || (!access->tile.argument && mayOrderReads(outermost(load), /*ofAnyMemory=*/true)))
      return;
    groups[{load->getBlock(), access->buffer}].push_back({load, *access});
  });
  bool any = false;
  llvm::DenseMap<Block *, llvm::SmallVector<Place>> places;
  for (auto &[key, loads] : groups)
    if (const int buffers = buffersFor(loads, target)) {
      Loads(loads, buffers, places[key.first]).run();
      any = true;
    }
  return any;
}

} // namespace blockscope::gpu
