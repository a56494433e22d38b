// A copy begins behind a barrier of all threads, which have read its buffer; behind another one
// threads know the mbarrier of TMA to be made anew. Copies that can begin at the same place share
// both. Those by threads (cp.async) wait for their groups at a barrier before the first use.
#include "gpu_backend/pipelining/loop_copies.h"

#include "gpu_backend/passes/disjoint_arguments.h"
#include "gpu_backend/passes/live_words.h"
#include "gpu_backend/passes/place_shared.h"
#include "gpu_backend/passes/shared_operands.h"
#include "gpu_backend/passes/tma_access.h"
#include "gpu_backend/pipelining/async_copy.h"

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

/// Whether nothing but dots by tensor cores takes `value`, from shared memory, perhaps transposed;
/// and all of it is in `block`, and done at its end.
bool isOnlyForDots(Value value, Block *block) {
  return !value.use_empty() && llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (!block->findAncestorOpInBlock(*user))
      return false;
    if (isa<tlg::MmaOp>(user))
      return use.getOperandNumber() < 2 && tlg::elementBytes(value.getType()) == kBytesOfMatrices;
    if (auto dot = dyn_cast<tlg::WgmmaOp>(user)) {
      bool isDone = true;
      eachReader(dot, [&](Operation *reader) { isDone &= reader != block->getTerminator(); });
      return isDone && use.getOperandNumber() < 2;
    }
    return isa<tl::TransOp, tl::ReshapeOp, tlg::ConvertLayoutOp>(user) &&
           isOnlyForDots(user->getResult(0), block);
  });
}

/// Whether `op` or something in it is such an op.
bool has(Operation *op, llvm::function_ref<bool(Operation *)> isSuch) {
  return op
      ->walk([&](Operation *inner) {
        return isSuch(inner) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

template <typename Op> bool has(Operation *op) {
  return has(op, [](Operation *inner) { return isa<Op>(inner); });
}

/// Whether `op` or something in it may write to global memory, or tell of what others have written,
/// as loads that are volatile do.
bool mayOrderMemory(Operation *op) {
  return has(op, [](Operation *inner) {
    if (auto load = dyn_cast<tl::LoadOp>(inner))
      return load.getIsVolatile();
    if (isa<tlg::TLGDialect>(inner->getDialect()))
      return isa<tlg::TmaStoreOp>(inner);
    return ordersMemory(inner) && !inner->hasTrait<OpTrait::IsTerminator>();
  });
}

/// The op that `op` is in, or is, in the function's own block.
Operation *outermost(Operation *op) {
  while (!isa<func::FuncOp>(op->getParentOp()))
    op = op->getParentOp();
  return op;
}

/// A load as a copy.
struct Copy {
  tl::LoadOp load;
  tlg::SharedType buffer;
  std::optional<TmaAccess> tma; ///< nothing: by threads
};

/// Behind a barrier: where copies begin.
struct Place {
  Operation *barrier;
  bool byTma;
  Operation *end; ///< by TMA, the barrier before which the next one begins; else behind which
};

/// For a group of copies by threads.
struct Wait {
  Operation *commit;
  tlg::AsyncWaitOp op;
  Operation *barrier;
};

/// What the copies of a block share.
struct BlockState {
  explicit BlockState(Block *block) {
    for (Operation &op : *block) {
      if (has<tl::GdcWaitOp>(&op))
        waits.push_back(&op);
      if (mayOrderMemory(&op))
        orders.push_back(&op);
    }
  }
  llvm::SmallVector<Operation *> waits;  ///< for the launch ahead
  llvm::SmallVector<Operation *> orders; ///< what is before and behind them
  llvm::SmallVector<Place> places;
  llvm::SmallVector<Wait> groups;
};

/// The copies of a block into buffers of one type, all of them by TMA or all of them by threads.
class Copies {
public:
  Copies(llvm::ArrayRef<Copy> copies, int buffers, BlockState &state)
      : copies_(copies), buffers_(buffers), block_(copies.front().load->getBlock()),
        rewriter_(copies.front().load), isRead_(buffers), state_(state) {}

  void run() {
    makeRing();
    for (const Copy &copy : copies_)
      replace(copy);
    makeFences();
  }

private:
  bool byTma() const { return copies_.front().tma.has_value(); }

  void makeRing() {
    const OpBuilder::InsertionGuard guard(rewriter_);
    const Location location = copies_.front().load->getLoc();
    const tlg::SharedType buffer = copies_.front().buffer;
    rewriter_.setInsertionPoint(outermost(copies_.front().load));
    const auto type = tlg::sharedType(buffer.getShape(), buffer.getElementType(),
                                      tlg::sharedLayoutOf(buffer), buffers_);
    ring_ = tlg::AllocSharedOp::create(rewriter_, location, type, IntegerAttr());
    if (!byTma())
      return;
    const auto barriers =
        tlg::SharedType::get(rewriter_.getContext(), {1}, rewriter_.getI64Type(), {}, buffers_);
    mbarriers_ = tlg::AllocSharedOp::create(rewriter_, location, barriers, IntegerAttr());
    // Threads may have written where TMA will, and, before the loop, what it reads.
    auto fence = tlg::FenceAsyncOp::create(rewriter_, location);
    fence.setGlobal(
        llvm::any_of(copies_, [](const Copy &copy) { return !copy.tma->tile.argument; }));
    tlg::MbarrierInitOp::create(rewriter_, location, mbarriers_, /*arrivals=*/1, /*again=*/false);
  }

  /// Where threads read the buffers themselves: TMA will write what they have read.
  void makeFences() {
    bool isReadByThreads = false;
    eachUse(ring_, [&](Operation *user) {
      isReadByThreads |= isa<tlg::LocalLoadOp, tlg::MmaOp, tlg::FmaOp>(user);
    });
    if (!byTma() || !isReadByThreads)
      return;
    for (const Place &place : state_.places) {
      if (!place.byTma || isa_and_nonnull<tlg::FenceAsyncOp>(place.barrier->getPrevNode()))
        continue;
      rewriter_.setInsertionPoint(place.barrier);
      tlg::FenceAsyncOp::create(rewriter_, place.barrier->getLoc());
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

  void replace(const Copy &copy) {
    tl::LoadOp load = copy.load;
    const Location location = load.getLoc();
    const int slot = next_ % buffers_;
    Operation *use = firstUse(load.getResult());
    Operation *order = copy.tma ? nullptr : nextOrder(load);
    Place *place = placeOf(copy, isRead_[slot], order && order->isBeforeInBlock(use) ? order : use);
    if (!place)
      return;
    ++next_;
    if (copy.tma)
      rewriter_.setInsertionPoint(place->end);
    else
      rewriter_.setInsertionPointAfter(place->end);
    Value buffer = stageOf(location, ring_, slot);
    if (copy.tma) {
      Value mbarrier = beginByTma(copy, buffer, slot);
      replaceLoad(rewriter_, load, buffer);
      rewriter_.eraseOp(load);
      rewriter_.setInsertionPoint(firstUse(buffer, place->end));
      tlg::MbarrierWaitOp::create(rewriter_, location, mbarrier, constant(location, 0));
    } else {
      place->end = beginByThreads(copy, buffer);
      replaceLoad(rewriter_, load, buffer);
      rewriter_.eraseOp(load);
      Operation *first = firstUse(buffer, place->end);
      waitFor(place->end, order && order->isBeforeInBlock(first) ? order : first);
    }
    isRead_[slot] = lastRead(buffer);
  }

  Value beginByTma(const Copy &copy, Value buffer, int slot) {
    const Location location = copy.load->getLoc();
    Value mbarrier = stageOf(location, mbarriers_, slot);
    tlg::MbarrierInitOp::create(rewriter_, location, mbarrier, /*arrivals=*/1, /*again=*/true);
    const uint32_t bytes = tlg::sharedLayoutOf(copy.buffer).sizeBytes();
    tlg::MbarrierExpectOp::create(rewriter_, location, mbarrier, constant(location, bytes),
                                  Value());
    IRMapping made;
    const auto starts = makeStarts(rewriter_, location, copy.tma->tile,
                                   [&](Value value) { return madeHere(value, made); });
    const TensorMapUse map = addTensorMap(copy.load->getParentOfType<func::FuncOp>(), *copy.tma);
    tlg::TmaLoadOp::create(rewriter_, location, buffer, mbarrier, starts, Value(), map.made,
                           map.number, IntegerAttr());
    return mbarrier;
  }

  /// Returns the op that ends the group.
  Operation *beginByThreads(const Copy &copy, Value buffer) {
    tl::LoadOp load = copy.load;
    IRMapping made;
    Value pointer = madeHere(load.getPointer(), made);
    Value mask = load.getMask() ? madeHere(load.getMask(), made) : Value();
    auto begun = tlg::AsyncCopyOp::create(rewriter_, load.getLoc(), pointer, buffer, mask, Value());
    begun->setAttr(tlg::kVectorAttribute, load->getAttr(tlg::kVectorAttribute));
    return tlg::AsyncCommitOp::create(rewriter_, load.getLoc());
  }

  /// Waits before `op` for the group that `commit` ends, with others that are waited for there.
  void waitFor(Operation *commit, Operation *op) {
    for (Wait &other : state_.groups)
      if (other.barrier == op->getPrevNode()) {
        if (other.commit->isBeforeInBlock(commit))
          other.commit = commit;
        return;
      }
    rewriter_.setInsertionPoint(op);
    const Location location = commit->getLoc();
    auto wait = tlg::AsyncWaitOp::create(rewriter_, location, /*pending=*/0);
    state_.groups.push_back({commit, wait, tl::BarrierOp::create(rewriter_, location)});
  }

  /// The op behind a load by which what it reads may be written, or null.
  Operation *nextOrder(tl::LoadOp load) const {
    for (Operation *op : state_.orders)
      if (load->isBeforeInBlock(op))
        return op;
    return nullptr;
  }

  /// The first op of the block that uses `value`, behind `from`.
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
      if (here && (!last || last->isBeforeInBlock(here)))
        last = here;
    });
    return last;
  }

  /// Where a copy can begin: behind `read`, the last read of its buffer in the block, or null, and
  /// before `use`; null if nowhere.
  Place *placeOf(const Copy &copy, Operation *read, Operation *use) {
    Operation *behind = read;
    const auto wait = [&](Operation *op) {
      if (op && (!behind || behind->isBeforeInBlock(op)))
        behind = op;
    };
    tl::LoadOp load = copy.load;
    if (copy.tma) {
      if (copy.tma->tile.condition)
        wait(knownBehind(copy.tma->tile.condition));
      for (const RectangularTile::Dim &dim : copy.tma->tile.dims)
        if (dim.start)
          wait(knownBehind(dim.start));
    } else {
      wait(knownBehind(load.getPointer()));
      if (load.getMask())
        wait(knownBehind(load.getMask()));
    }
    for (Operation *op : copy.tma ? state_.waits : state_.orders)
      if (op->isBeforeInBlock(load))
        wait(op);
    if (behind && !behind->isBeforeInBlock(use))
      return nullptr;
    for (Place &place : state_.places)
      if (place.byTma == byTma() && (!behind || behind->isBeforeInBlock(place.barrier)) &&
          place.end->isBeforeInBlock(use))
        return &place;
    if (behind)
      rewriter_.setInsertionPointAfter(behind);
    else
      rewriter_.setInsertionPointToStart(block_);
    const Location location = load.getLoc();
    Operation *barrier = tl::BarrierOp::create(rewriter_, location);
    Operation *end = byTma() ? tl::BarrierOp::create(rewriter_, location) : barrier;
    state_.places.push_back({barrier, byTma(), end});
    return &state_.places.back();
  }

  /// The op of the block behind which a value can be made, from others by arithmetic alone; null at
  /// its start.
  Operation *knownBehind(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || value.getParentBlock() != block_)
      return nullptr;
    if (!isCheap(op))
      return op;
    if (const auto known = knownBehind_.find(op); known != knownBehind_.end())
      return known->second;
    Operation *last = nullptr;
    for (Value operand : op->getOperands())
      if (Operation *behind = knownBehind(operand);
          behind && (!last || last->isBeforeInBlock(behind)))
        last = behind;
    return knownBehind_[op] = last;
  }

  static bool isCheap(Operation *op) {
    return isPure(op) && op->getNumRegions() == 0 && !isa<tlg::TLGDialect>(op->getDialect());
  }

  /// A value as it is at the insertion point, made there if it is made in the block later.
  Value madeHere(Value value, IRMapping &made) {
    if (Value known = made.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != block_ || op->isBeforeInBlock(&*rewriter_.getInsertionPoint()))
      return value;
    for (Value operand : op->getOperands())
      made.map(operand, madeHere(operand, made));
    rewriter_.clone(*op, made);
    return made.lookup(value);
  }

  llvm::ArrayRef<Copy> copies_;
  int buffers_;
  Block *block_;
  IRRewriter rewriter_;
  llvm::SmallVector<Operation *> isRead_; ///< up to which op of the block, of each buffer
  BlockState &state_;
  llvm::DenseMap<Operation *, Operation *> knownBehind_;
  Value ring_, mbarriers_;
  int next_ = 0; ///< copy
};

/// Lets waits of copies by threads leave running what was begun later.
void countGroups(BlockState &state) {
  for (Wait &wait : state.groups) {
    int pending = 0;
    for (Operation *op = wait.commit->getNextNode(); op != wait.op; op = op->getNextNode())
      if (isa<tlg::AsyncCommitOp>(op))
        ++pending;
      else if (op->getNumRegions() != 0 && has<tlg::AsyncCommitOp>(op))
        break; // nobody knows how many more: with fewer, it waits for some of them, too
    wait.op.setPending(pending);
  }
}

int64_t bytesOf(tlg::SharedType buffer) { return tlg::sharedLayoutOf(buffer).sizeBytes(); }

/// `load` as a copy, if it can be one.
std::optional<Copy> copyOf(tl::LoadOp load, const GpuTarget &target) {
  constexpr int64_t kLeastBytes = 4096;
  constexpr int kLeastPieceBytes = 8;
  if (!load->getParentOfType<LoopLikeOpInterface>() || hasOther(load) ||
      !isOnlyForDots(load.getResult(), load->getBlock()))
    return std::nullopt;
  if (std::optional<TmaAccess> tma = tmaAccess(load)) {
    // Of a tensor that is not known, anything that the loop writes may be a part.
    if (!tma->tile.argument && mayOrderMemory(outermost(load)))
      return std::nullopt;
    return Copy{load, tma->buffer, tma};
  }
  const AsyncCopy copy = asyncCopyOf(load);
  if (!target.hasCpAsync || !copy.buffer || copy.pieceBytes < kLeastPieceBytes ||
      tlg::elementBytes(load.getType()) != kBytesOfMatrices || bytesOf(*copy.buffer) < kLeastBytes)
    return std::nullopt;
  return Copy{load, *copy.buffer, std::nullopt};
}

using Group = std::vector<Copy>; ///< of buffers of one type

struct BlockGroups {
  llvm::MapVector<Type, Group> byTma, byThreads;
};

llvm::MapVector<Block *, BlockGroups> groupsOf(func::FuncOp function, const GpuTarget &target) {
  llvm::MapVector<Block *, BlockGroups> blocks;
  function.walk([&](tl::LoadOp load) {
    if (std::optional<Copy> copy = copyOf(load, target)) {
      BlockGroups &groups = blocks[load->getBlock()];
      (copy->tma ? groups.byTma : groups.byThreads)[copy->buffer].push_back(std::move(*copy));
    }
  });
  return blocks;
}

/// Makes all copies, with so many buffers for those of one type, or as many as there are.
void makeCopies(func::FuncOp function, const GpuTarget &target, int buffers) {
  for (auto &[block, groups] : groupsOf(function, target)) {
    BlockState state(block);
    for (auto *types : {&groups.byTma, &groups.byThreads})
      for (auto &[type, group] : *types)
        Copies(group, std::min(buffers, static_cast<int>(group.size())), state).run();
    countGroups(state);
  }
}

/// What a kernel takes of shared memory, with the scratch of its conversions, where the bytes of
/// other buffers do not serve for it.
int64_t bytesOf(func::FuncOp function) {
  constexpr int64_t kLeastScratch = 2048, kMostScratch = 32 * 1024;
  const SharedPlaces places(function);
  int64_t scratch = kLeastScratch;
  function.walk([&](tlg::ConvertLayoutOp convert) {
    const auto type = cast<RankedTensorType>(convert.getType());
    const int64_t needed = std::min(type.getNumElements() * tlg::elementBytes(type), kMostScratch);
    if (needed > places.freeBytes(convert))
      scratch = std::max(scratch, needed);
  });
  return places.sizeBytes() + scratch;
}

/// The registers that a thread is taken to need in the blocks that have copies.
int registersOf(const llvm::MapVector<Block *, BlockGroups> &blocks) {
  int most = 0;
  for (auto &[block, groups] : blocks)
    most = std::max(most, registersIn(*block));
  return most;
}

} // namespace

bool copyInLoops(func::FuncOp function, const GpuTarget &target,
                 llvm::function_ref<void(func::FuncOp)> finish) {
  constexpr int kMostBuffers = 4;
  constexpr int kManyWarps = 16; // of a multiprocessor: fewer hide less of what each waits for
  const llvm::MapVector<Block *, BlockGroups> blocks = groupsOf(function, target);
  if (blocks.empty())
    return false;
  auto module = function->getParentOfType<ModuleOp>();
  const int warps =
      static_cast<int>(module->getAttrOfType<IntegerAttr>(tlg::kNumWarpsAttribute).getInt());
  const int registers = registersOf(blocks);
  // What is not copied is held in registers, beside all else.
  const bool isSpilled = registers > GpuTarget::kThreadRegisters;
  size_t most = 0; // loads that share buffers
  for (auto &[block, groups] : blocks)
    for (const auto *types : {&groups.byTma, &groups.byThreads})
      for (auto &[type, group] : *types)
        most = std::max(most, group.size());
  // What the kernel takes in the end, with so many buffers: 0, without copies.
  const auto bytesWith = [&](int buffers) {
    OwningOpRef<ModuleOp> trial = module.clone();
    auto copied = cast<func::FuncOp>(trial->lookupSymbol(function.getName()));
    if (buffers != 0)
      makeCopies(copied, target, buffers);
    finish(copied);
    return bytesOf(copied);
  };
  const auto ctas = [&](int64_t bytes) { return target.ctasAtATime(warps, registers, bytes); };
  const int before = ctas(bytesWith(0));
  const auto isEnough = [&](int buffers, int64_t bytes) {
    const int after = ctas(bytes);
    return after * warps >= kManyWarps || (buffers > 1 ? after >= before : 4 * after >= 3 * before);
  };
  int fitting = 0; // the most buffers that there is room for
  for (int buffers = std::min<int>(kMostBuffers, static_cast<int>(most)); buffers > 0; --buffers) {
    const int64_t bytes = bytesWith(buffers);
    if (bytes > target.sharedBytes())
      continue;
    fitting = std::max(fitting, buffers);
    if (isEnough(buffers, bytes)) {
      makeCopies(function, target, buffers);
      return true;
    }
  }
  if (!isSpilled || fitting == 0)
    return false;
  makeCopies(function, target, fitting);
  return true;
}

} // namespace blockscope::gpu
