// TMA reads and writes memory past the order of a thread's other accesses. So a load is left to the
// threads when something before it in the kernel may have written what it reads, and a store is
// waited for in full when something after it may look at what it wrote. Accesses of other arguments
// are taken for accesses of other memory, which is recorded.
#include "gpu_backend/passes/tma_access.h"

#include "gpu_backend/layout/tma_box.h"
#include "gpu_backend/passes/axis_info.h"
#include "gpu_backend/passes/block_queries.h"
#include "gpu_backend/passes/clone_in_layout.h"
#include "gpu_backend/passes/disjoint_arguments.h"
#include "gpu_backend/passes/passes.h"
#include "gpu_backend/passes/place_shared.h"
#include "gpu_backend/passes/shape_transfer.h"
#include "gpu_backend/passes/shared_operands.h"
#include "gpu_backend/passes/wanted_layouts.h"

#include "core/ir/facts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

constexpr int kMostMaps = 16;

/// A tile begins at a multiple of these along its contiguous dimension: a GPU takes any other start
/// for an illegal instruction.
constexpr int kStartBytes = 16;

int64_t elementsOfStart(const TmaAccess &access) {
  return std::max(1, kStartBytes / tlg::sharedLayoutOf(access.buffer).elementBytes);
}

/// What the index at which a tile begins is known to be a multiple of; 0 is one of everything.
int64_t knownFactor(const RectangularTile::Dim &dim, const AxisAnalysis &axes) {
  return dim.start ? axes.at(dim.start).dims[0].divisibility : dim.firstIndex;
}

bool beginsAtMultiple(const TmaAccess &access, const AxisAnalysis &axes) {
  const RectangularTile &tile = access.tile;
  return knownFactor(tile.dims[tile.contiguousDim], axes) % elementsOfStart(access) == 0;
}

/// What the size of a tile's tensor is known to be a multiple of, along its contiguous dimension.
int64_t knownSizeFactor(const RectangularTile &tile, const AxisAnalysis &axes) {
  const RectangularTile::Number &size = tile.dims[tile.contiguousDim].size;
  return size.value ? axes.at(size.value).dims[0].divisibility : size.constant;
}

/// Whether `first` may run before `second` does.
bool mayPrecede(Operation *first, Operation *second) {
  for (Operation *outer = first->getParentOp(); outer; outer = outer->getParentOp())
    if (isa<LoopLikeOpInterface>(outer) && outer->isAncestor(second))
      return true; // in an earlier iteration
  for (Operation *a = first; a; a = a->getParentOp())
    for (Operation *b = second; b; b = b->getParentOp())
      if (a->getBlock() == b->getBlock())
        return a != b && a->isBeforeInBlock(b);
  return false;
}

/// Whether another program, or another thread of this one, may learn by `op` that memory was
/// written: atomics, barriers, volatile accesses, what we do not know.
bool mayOrderMemory(Operation *op) {
  if (auto load = dyn_cast<tl::LoadOp>(op))
    return load.getIsVolatile();
  if (isa<tl::StoreOp, tl::GdcWaitOp, tl::GdcLaunchDependentsOp>(op))
    return false; // what the launch ahead wrote, TMA sees too
  return ordersMemory(op) && !op->hasTrait<OpTrait::IsTerminator>() &&
         !isa<tlg::TLGDialect>(op->getDialect());
}

using Arguments = llvm::SmallSetVector<unsigned, 4>;

/// Whether an access through `pointer` may be one of what argument `argument` (nothing: any
/// pointer) points to; `others` gets the argument that it is one of otherwise.
bool mayBeOf(func::FuncOp function, std::optional<unsigned> argument, Value pointer,
             Arguments &others) {
  const std::optional<unsigned> found = argumentOf(pointer);
  if (!found || !argument || mayOverlap(function, *found, *argument))
    return true;
  others.insert(*found);
  return false;
}

/// Whether something before `access` may have written to what argument `argument` points to, if
/// that does not overlap `others`. Stores by TMA that come before another store are waited for.
bool mayBeWritten(Operation *access, std::optional<unsigned> argument, Arguments &others) {
  auto function = access->getParentOfType<func::FuncOp>();
  return function
      .walk([&](Operation *op) {
        if (op == access || !mayPrecede(op, access))
          return WalkResult::advance();
        const bool isOrdered = isa<tl::StoreOp>(access) && op->hasAttr(kTmaAttribute);
        const bool stops =
            isPlainWrite(op) ? !isOrdered && mayBeOf(function, argument, op->getOperand(0), others)
                             : mayOrderMemory(op);
        return stops ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether something after `store` may look at what argument `argument` points to, or write there,
/// if that does not overlap `others`.
bool mayBeAccessed(Operation *store, std::optional<unsigned> argument, Arguments &others) {
  auto function = store->getParentOfType<func::FuncOp>();
  return function
      .walk([&](Operation *op) {
        if (op == store || !mayPrecede(store, op))
          return WalkResult::advance();
        const bool accesses = isa<tl::LoadOp, tl::StoreOp>(op) &&
                              mayBeOf(function, argument, op->getOperand(0), others);
        return accesses || mayOrderMemory(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether something before `access` may tell this program that another one has written.
bool isOrdered(Operation *access) {
  return access->getParentOfType<func::FuncOp>()
      .walk([&](Operation *op) {
        return op != access && mayOrderMemory(op) && mayPrecede(op, access)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether TMA can do `load`; records what that relies on. Of a tensor whose argument is not known
/// nothing can be recorded: what the program stored before the load's loop is ordered by a fence
/// there (LoopRing), what the loop stores keeps its loads where they are (LoopWrites).
bool canLoad(tl::LoadOp load, std::optional<unsigned> argument) {
  if (!argument)
    return !isOrdered(load);
  Arguments others;
  if (mayBeWritten(load, argument, others))
    return false;
  for (const unsigned other : others)
    requireDisjoint(load->getParentOfType<func::FuncOp>(), *argument, other);
  return true;
}

/// Whether TMA can do `store`, and if so whether it has to be complete before the kernel goes on;
/// records what that relies on.
std::optional<bool> canStore(tl::StoreOp store, std::optional<unsigned> argument) {
  Arguments before, after;
  if (mayBeWritten(store, argument, before))
    return std::nullopt;
  const bool completes = mayBeAccessed(store, argument, after);
  if (!completes)
    before.insert_range(after);
  for (const unsigned other : before) // none where `argument` is not known
    requireDisjoint(store->getParentOfType<func::FuncOp>(), *argument, other);
  return completes;
}

/// Where the kernel knows all of a tensor that the launch does not know: behind the op, or, where
/// that is null, at the beginning of the block.
struct KnownFrom {
  Block *block;
  Operation *op = nullptr;
};

KnownFrom knownFrom(const RectangularTile &tile, func::FuncOp function) {
  KnownFrom from{&function.getBody().front()};
  const auto add = [&](const RectangularTile::Number &number) {
    if (!number.value)
      return;
    Value value = number.value;
    Block *block = value.getParentBlock();
    Operation *op = value.getDefiningOp();
    if (block == from.block) {
      if (op && (!from.op || from.op->isBeforeInBlock(op)))
        from.op = op;
    } else if (from.block->getParentOp()->isAncestor(block->getParentOp())) {
      from = {block, op};
    }
  };
  add(tile.base);
  for (const RectangularTile::Dim &dim : tile.dims) {
    add(dim.size);
    add(dim.stride);
  }
  return from;
}

/// Whether a tensor map that the kernel makes is worth it for `access`: it is not made in the loop
/// of the access, and of loads those in a loop gain.
bool canMakeMap(Operation *access, const RectangularTile &tile) {
  auto loop = access->getParentOfType<LoopLikeOpInterface>();
  if (!loop)
    return isa<tl::StoreOp>(access);
  const KnownFrom from = knownFrom(tile, access->getParentOfType<func::FuncOp>());
  return !loop->isAncestor(from.block->getParentOp());
}

bool isDescribed(Operation *access) {
  auto attribute = access->getAttrOfType<BoolAttr>(tlg::kDescribedAttribute);
  return attribute && attribute.getValue();
}

std::optional<TmaAccess> accessOf(Operation *access, Value pointer, Value mask, Type elementType) {
  std::optional<RectangularTile> tile = matchTile(pointer, mask, isDescribed(access));
  if (!tile || (!tile->isKnownAtLaunch() && !canMakeMap(access, *tile)))
    return std::nullopt;
  const auto type = cast<RankedTensorType>(pointer.getType());
  const auto blockType = RankedTensorType::get(type.getShape(), elementType);
  const SharedLayout layout = sharedForOperand(blockType, tile->contiguousDim);
  if (!tmaBoxes(type.getShape(), tile->contiguousDim, layout))
    return std::nullopt;
  return TmaAccess{std::move(*tile), tlg::sharedType(type.getShape(), elementType, layout)};
}

bool isPlain(llvm::StringRef cacheModifier) {
  return cacheModifier.empty() || cacheModifier == ".ca" || cacheModifier == ".cg" ||
         cacheModifier == ".wb";
}

} // namespace

std::optional<TmaAccess> tmaAccess(tl::LoadOp load) {
  return load->hasAttr(kTmaAttribute) ? accessOf(load, load.getPointer(), load.getMask(),
                                                 getElementTypeOrSelf(load.getType()))
                                      : std::nullopt;
}

std::optional<TmaAccess> tmaAccess(tl::StoreOp store) {
  return store->hasAttr(kTmaAttribute) ? accessOf(store, store.getPointer(), store.getMask(),
                                                  getElementTypeOrSelf(store.getValue().getType()))
                                       : std::nullopt;
}

bool canShareCopies(const TmaAccess &access, int ctas) {
  return tmaBoxes(access.buffer.getShape(), access.tile.contiguousDim,
                  tlg::sharedLayoutOf(access.buffer), ctas)
      .has_value();
}

void findTmaAccesses(func::FuncOp function, const GpuTarget &target) {
  auto module = function->getParentOfType<ModuleOp>();
  if (!target.hasTma || module->hasAttr(tlg::kNoTmaAttribute))
    return;
  Builder builder(function.getContext());
  const AxisAnalysis axes(function);
  axes.requireOfArguments();
  int found = 0; // each may have a map of its own
  function.walk([&](Operation *op) {
    if (found == kMostMaps)
      return;
    if (auto load = dyn_cast<tl::LoadOp>(op)) {
      if (!tlg::hasLayout(load.getType()) || load.getIsVolatile() ||
          !isPlain(load.getCacheModifier()) || (load.getOther() && !isKnownZero(load.getOther())))
        return;
      const std::optional<TmaAccess> access =
          accessOf(load, load.getPointer(), load.getMask(), getElementTypeOrSelf(load.getType()));
      if (access && beginsAtMultiple(*access, axes) && canLoad(load, access->tile.argument)) {
        load->setAttr(kTmaAttribute, builder.getUnitAttr());
        ++found;
      }
    } else if (auto store = dyn_cast<tl::StoreOp>(op)) {
      const Type type = store.getValue().getType();
      if (!tlg::hasLayout(type) || !isPlain(store.getCacheModifier()))
        return;
      const std::optional<TmaAccess> access =
          accessOf(store, store.getPointer(), store.getMask(), getElementTypeOrSelf(type));
      if (!access || (!access->tile.dims[access->tile.contiguousDim].size.value &&
                      knownSizeFactor(access->tile, axes) % elementsOfStart(*access) != 0))
        return;
      if (const std::optional<bool> completes = canStore(store, access->tile.argument)) {
        store->setAttr(kTmaAttribute, builder.getBoolAttr(*completes));
        ++found;
      }
    }
  });
}

namespace {

/// The numbers of a map's boxes and elements, in the order of a box.
struct MapShape {
  TmaBoxes boxes;
  llvm::SmallVector<int64_t> box;
  llvm::SmallVector<const RectangularTile::Number *> sizes, strides;
};

MapShape shapeOfMap(const TmaAccess &access) {
  const RectangularTile &tile = access.tile;
  const llvm::ArrayRef<int64_t> shape = access.buffer.getShape();
  MapShape map{
      *tmaBoxes(shape, tile.contiguousDim, tlg::sharedLayoutOf(access.buffer), access.ctas),
      {},
      {},
      {}};
  for (const int dim : boxOrder(static_cast<int>(shape.size()), tile.contiguousDim)) {
    map.box.push_back(map.boxes.shape[dim]);
    map.sizes.push_back(&tile.dims[dim].size);
    if (dim != tile.contiguousDim)
      map.strides.push_back(&tile.dims[dim].stride);
  }
  return map;
}

/// Adds a map that the launch encodes. Returns its number.
uint32_t addLaunchMap(func::FuncOp function, const TmaAccess &access) {
  Builder builder(function.getContext());
  const MapShape shape = shapeOfMap(access);
  const auto textsOf = [&](llvm::ArrayRef<const RectangularTile::Number *> numbers) {
    llvm::SmallVector<llvm::StringRef> texts;
    for (const RectangularTile::Number *number : numbers)
      texts.push_back(number->text);
    return builder.getStrArrayAttr(texts);
  };
  const auto named = [&](llvm::StringRef name, Attribute value) {
    return builder.getNamedAttr(name, value);
  };
  const int elementBytes = tlg::sharedLayoutOf(access.buffer).elementBytes;
  const auto map = builder.getDictionaryAttr(
      {named("base", builder.getStringAttr(access.tile.base.text)),
       named("box", builder.getDenseI64ArrayAttr(shape.box)),
       named("contiguous_dim", builder.getI32IntegerAttr(access.tile.contiguousDim)),
       named("element_bytes", builder.getI32IntegerAttr(elementBytes)),
       named("sizes", textsOf(shape.sizes)), named("strides", textsOf(shape.strides)),
       named("swizzle_bytes", builder.getI32IntegerAttr(shape.boxes.swizzleBytes))});
  llvm::SmallVector<Attribute> maps;
  if (auto known = function->getAttrOfType<ArrayAttr>(tlg::kTensorMapsAttribute))
    maps.assign(known.begin(), known.end());
  const auto *found = llvm::find(maps, Attribute(map));
  const auto number = static_cast<uint32_t>(found - maps.begin());
  if (found == maps.end()) {
    maps.push_back(map);
    function->setAttr(tlg::kTensorMapsAttribute, builder.getArrayAttr(maps));
  }
  return number;
}

bool isSameNumber(Value a, Value b) {
  llvm::APInt x, y;
  return a == b ||
         (matchPattern(a, m_ConstantInt(&x)) && matchPattern(b, m_ConstantInt(&y)) && x == y);
}

bool isSameMap(tlg::MakeTensorMapOp a, tlg::MakeTensorMapOp b) {
  return a.getBox() == b.getBox() && a.getElementBytes() == b.getElementBytes() &&
         a.getSwizzleBytes() == b.getSwizzleBytes() &&
         a.getContiguousDim() == b.getContiguousDim() &&
         llvm::equal(a->getOperands(), b->getOperands(), isSameNumber);
}

/// Has the kernel make a map; there may be the same one already.
Value addMadeMap(func::FuncOp function, const TmaAccess &access) {
  const KnownFrom from = knownFrom(access.tile, function);
  OpBuilder builder(function.getContext());
  if (from.op)
    builder.setInsertionPointAfter(from.op);
  else
    builder.setInsertionPointToStart(from.block);
  const Location location = from.op ? from.op->getLoc() : function.getLoc();
  const auto valueOf = [&](const RectangularTile::Number &number) {
    return number.value ? number.value
                        : arith::ConstantOp::create(builder, location,
                                                    builder.getI64IntegerAttr(number.constant))
                              .getResult();
  };
  const MapShape shape = shapeOfMap(access);
  llvm::SmallVector<Value> sizes, strides;
  for (const RectangularTile::Number *size : shape.sizes)
    sizes.push_back(valueOf(*size));
  for (const RectangularTile::Number *stride : shape.strides)
    strides.push_back(valueOf(*stride));
  uint32_t slots = 0;
  function.walk([&](tlg::MakeTensorMapOp) { ++slots; });
  auto made = tlg::MakeTensorMapOp::create(
      builder, location, builder.getI64Type(), access.tile.base.value, sizes, strides,
      builder.getDenseI64ArrayAttr(shape.box),
      static_cast<uint32_t>(tlg::sharedLayoutOf(access.buffer).elementBytes),
      static_cast<uint32_t>(shape.boxes.swizzleBytes),
      static_cast<uint32_t>(access.tile.contiguousDim), slots);
  for (auto other : from.block->getOps<tlg::MakeTensorMapOp>())
    if (other != made && isSameMap(other, made)) {
      made.erase();
      return other;
    }
  return made;
}

} // namespace

TensorMapUse addTensorMap(func::FuncOp function, const TmaAccess &access) {
  if (access.tile.isKnownAtLaunch())
    return {addLaunchMap(function, access), {}};
  return {0, addMadeMap(function, access)};
}

llvm::SmallVector<Value> makeStarts(OpBuilder &builder, Location location,
                                    const RectangularTile &tile,
                                    llvm::function_ref<Value(Value)> now) {
  constexpr int64_t kFarOutside = -(int64_t{1} << 30);
  const auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, location, builder.getI32IntegerAttr(value));
  };
  llvm::SmallVector<Value> starts;
  for (const RectangularTile::Dim &dim : tile.dims)
    starts.push_back(dim.start ? now(dim.start) : constant(dim.firstIndex));
  Value condition = tile.condition ? now(tile.condition) : Value();
  for (const RectangularTile::Dim &dim : tile.dims) {
    if (tile.isKnownAtLaunch() || !dim.size.value)
      continue; // the launch encodes no map of an empty tensor
    Value zero = arith::ConstantOp::create(builder, location, builder.getI64IntegerAttr(0));
    Value some =
        arith::CmpIOp::create(builder, location, arith::CmpIPredicate::sgt, dim.size.value, zero);
    condition =
        condition ? arith::AndIOp::create(builder, location, condition, some).getResult() : some;
  }
  if (condition)
    starts.front() = arith::SelectOp::create(builder, location, condition, starts.front(),
                                             constant(kFarOutside));
  return starts;
}

namespace {

/// Whether a dot by wgmma takes `value`, perhaps transposed, as an operand.
bool goesToWgmma(Value value) {
  return llvm::any_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    return isa<tlg::WgmmaOp>(user) ? use.getOperandNumber() < 2
                                   : isa<tl::TransOp, tl::ReshapeOp, tlg::ConvertLayoutOp>(user) &&
                                         goesToWgmma(user->getResult(0));
  });
}

/// Whether all that uses a loaded tile wants it in another layout: threads would load it into their
/// registers to store it to shared memory.
bool isOnlyConverted(Value tile) {
  return !tile.use_empty() && llvm::all_of(tile.getUsers(), [](Operation *user) {
    return isa<tlg::ConvertLayoutOp>(user) ||
           (isRenaming(user) && isOnlyConverted(user->getResult(0)));
  });
}

/// Whether `op` or something in it may write to global memory, or tell others that they may.
bool mayWrite(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<tl::StoreOp>(inner) || tl::isAtomic(inner) ? WalkResult::interrupt()
                                                              : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The first op beside `alloc`, from `from` on, in which its buffer or a view of it is used, or
/// what it is copied from may be written.
Operation *firstUse(Operation *alloc, Operation *from) {
  Operation *first = alloc->getBlock()->getTerminator();
  llvm::SmallVector<Value> open{alloc->getResult(0)};
  while (!open.empty())
    for (Operation *user : open.pop_back_val().getUsers()) {
      if (isa<tlg::TransSharedOp, tlg::ReshapeSharedOp>(user)) {
        open.push_back(user->getResult(0));
        continue;
      }
      Operation *beside = alloc->getBlock()->findAncestorOpInBlock(*user);
      if (from->isBeforeInBlock(beside) && beside->isBeforeInBlock(first))
        first = beside;
    }
  for (Operation *op = from; op != first; op = op->getNextNode())
    if (mayWrite(op))
      return op;
  return first;
}

/// Whether there is shared memory for one more buffer at `op`, and some scratch.
bool hasRoom(Operation *op, tlg::SharedType buffer, const GpuTarget &target) {
  constexpr int64_t kScratchBytes = 8192;
  const SharedPlaces places(op->getParentOfType<func::FuncOp>());
  const int64_t bytes = tlg::sharedLayoutOf(buffer).sizeBytes();
  const int64_t needed = places.freeBytes(op) >= bytes ? 0 : llvm::alignTo(bytes, 1024);
  return places.sizeBytes() + needed + kScratchBytes <= target.sharedBytes();
}

/// Loads an operand that a loop's dots share, say; it comes while the loop's rings are filled.
void loadByTma(tl::LoadOp load, const TmaAccess &access) {
  IRRewriter rewriter(load);
  const Location location = load.getLoc();
  const auto barrierType =
      tlg::SharedType::get(load.getContext(), {1}, rewriter.getI64Type(), {}, 1);
  const auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(rewriter, location, rewriter.getI32IntegerAttr(value));
  };
  auto buffer = tlg::AllocSharedOp::create(rewriter, location, access.buffer, IntegerAttr());
  Value barrier = tlg::AllocSharedOp::create(rewriter, location, barrierType, IntegerAttr());
  tlg::FenceAsyncOp::create(rewriter, location); // threads may have written where TMA will
  tlg::MbarrierInitOp::create(rewriter, location, barrier, /*arrivals=*/1, /*again=*/false);
  tl::BarrierOp::create(rewriter, location);
  const uint32_t bytes = tlg::sharedLayoutOf(access.buffer).sizeBytes();
  tlg::MbarrierExpectOp::create(rewriter, location, barrier, constant(bytes), Value());
  const auto starts =
      makeStarts(rewriter, location, access.tile, [](Value value) { return value; });
  auto function = load->getParentOfType<func::FuncOp>();
  const TensorMapUse map = addTensorMap(function, access);
  auto copy = tlg::TmaLoadOp::create(rewriter, location, buffer, barrier, starts, Value(), map.made,
                                     map.number, IntegerAttr());
  replaceLoad(rewriter, load, buffer);
  rewriter.setInsertionPoint(firstUse(buffer, copy));
  tlg::MbarrierWaitOp::create(rewriter, location, barrier, constant(0));
  rewriter.eraseOp(load);
}

/// Whether an integer scalar is never negative, as far as can be seen; products and sums that wrap
/// are not thought of.
bool isNotNegative(Value value) {
  llvm::APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return !constant.isNegative();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && argument == loop.getInductionVar() && isNotNegative(loop.getLowerBound());
  }
  Operation *op = value.getDefiningOp();
  if (isa<tl::ProgramIdOp, tl::NumProgramsOp, tlg::ClusterRankOp>(op))
    return true;
  return isa<arith::AddIOp, arith::MulIOp, arith::DivSIOp, arith::RemSIOp, arith::MinSIOp,
             arith::ExtSIOp, tl::HintOp>(op) &&
         llvm::all_of(op->getOperands(), isNotNegative);
}

/// True where TMA can store a tile that begins at `starts`, and there is something to store; null
/// if it always can. A GPU takes a store that begins at a negative index for an illegal
/// instruction; loads may begin there. And it stores 16 bytes at a time: where a row's last ones go
/// beyond it, it writes what lies there (seen on an H200).
Value storeCondition(OpBuilder &builder, Location location, const TmaAccess &access,
                     ValueRange starts, const AxisAnalysis &axes) {
  const RectangularTile &tile = access.tile;
  const int64_t step = elementsOfStart(access);
  Value result = tile.condition;
  const auto require = [&](arith::CmpIPredicate predicate, Value value) {
    Value zero = arith::ConstantOp::create(builder, location, builder.getI32IntegerAttr(0));
    Value holds = arith::CmpIOp::create(builder, location, predicate, value, zero);
    result = result ? arith::AndIOp::create(builder, location, result, holds).getResult() : holds;
  };
  for (auto [i, dim, start] : llvm::enumerate(tile.dims, starts)) {
    const bool mayBeEmpty = i == 0 && !tile.isKnownAtLaunch(); // it begins outside then
    if (mayBeEmpty || (dim.start ? !isNotNegative(dim.start) : dim.firstIndex < 0))
      require(arith::CmpIPredicate::sge, start);
    if (static_cast<int>(i) == tile.contiguousDim && knownFactor(dim, axes) % step != 0) {
      Value mask = arith::ConstantOp::create(builder, location,
                                             builder.getI32IntegerAttr(static_cast<int>(step - 1)));
      require(arith::CmpIPredicate::eq, arith::AndIOp::create(builder, location, start, mask));
    }
  }
  if (knownSizeFactor(tile, axes) % step != 0) {
    Value size = tile.dims[tile.contiguousDim].size.value;
    if (!size.getType().isInteger(32))
      size = arith::TruncIOp::create(builder, location, builder.getI32Type(), size);
    Value mask = arith::ConstantOp::create(builder, location,
                                           builder.getI32IntegerAttr(static_cast<int>(step - 1)));
    require(arith::CmpIPredicate::eq, arith::AndIOp::create(builder, location, size, mask));
  }
  return result;
}

/// A block before its conversions, which may be in front of ops that only name its elements anew:
/// these are made once more behind it.
Value beforeConversion(OpBuilder &builder, Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<tlg::ConvertLayoutOp>(op))
    return beforeConversion(builder, op->getOperand(0));
  if (!op || !isRenaming(op))
    return value;
  Value source = beforeConversion(builder, op->getOperand(0));
  if (source == op->getOperand(0))
    return value;
  const std::optional<LinearLayout> layout = resultLayout(op, 0, tlg::layoutOf(source.getType()));
  if (!layout)
    return value;
  IRMapping mapping;
  mapping.map(op->getOperand(0), source);
  return cloneInLayout(builder, op, mapping, *layout);
}

/// A block made where it is needed, of scalars, and of other blocks that cost something.
Value madeHere(OpBuilder &builder, Value value, IRMapping &made) {
  Operation *op = value.getDefiningOp();
  if (!op || !isBlock(value) || !isPure(op) || op->getNumRegions() != 0 ||
      isa<tlg::TLGDialect>(op->getDialect()))
    return value;
  if (Value known = made.lookupOrNull(value))
    return known;
  for (Value operand : op->getOperands())
    if (Value here = madeHere(builder, operand, made); here != operand)
      made.map(operand, here);
  return builder.clone(*op, made)->getResult(cast<OpResult>(value).getResultNumber());
}

/// Whether the threads of a warp hold what a store takes as whole lines of memory, 16 bytes each:
/// they store it as fast themselves, without a way through shared memory and a barrier. Not what
/// something behind it may look at, which TMA has brought when the threads meet.
bool isStoredFast(tl::StoreOp store, const TmaAccess &access) {
  constexpr int kVectorBytes = 16, kLineBytes = 128;
  Value value = store.getValue();
  if (convertedFrom(value) != value || store->getParentOfType<LoopLikeOpInterface>() ||
      store->getAttrOfType<BoolAttr>(kTmaAttribute).getValue())
    return false;
  const LinearLayout layout = tlg::layoutOf(value.getType());
  const ShapeBits shape(cast<ShapedType>(value.getType()).getShape());
  const auto bytes = static_cast<int64_t>(tlg::elementBytes(value.getType()));
  const int dim = access.tile.contiguousDim;
  const auto holds = [&](llvm::ArrayRef<ElementBits> bases, int64_t from, int64_t to) {
    int bit = shape.shift(dim) + llvm::Log2_64(from / bytes);
    for (int64_t size = from; size < to; size *= 2, ++bit)
      if (!llvm::is_contained(bases, ElementBits{1} << bit))
        return false;
    return true;
  };
  const int64_t row = bytes << shape.width(dim);
  return row >= kVectorBytes && holds(layout.registers, bytes, kVectorBytes) &&
         holds(layout.lanes, kVectorBytes, std::min<int64_t>(row, kLineBytes));
}

/// Stores a tile through shared memory; threads do what TMA cannot. In a loop the iteration after
/// it waits.
void storeByTma(tl::StoreOp store, const TmaAccess &access, const AxisAnalysis &axes) {
  OpBuilder builder(store);
  const Location location = store.getLoc();
  const bool completes = store->getAttrOfType<BoolAttr>(kTmaAttribute).getValue();
  Operation *outermost = nullptr; // loop
  for (Operation *outer = store->getParentOp(); outer; outer = outer->getParentOp())
    if (isa<LoopLikeOpInterface>(outer))
      outermost = outer;
  const bool waitsLater = outermost && !completes;
  Value buffer = tlg::AllocSharedOp::create(builder, location, access.buffer, IntegerAttr());
  const auto starts = makeStarts(builder, location, access.tile, [](Value value) { return value; });
  if (waitsLater) // it may write where this iteration does
    tlg::TmaStoreWaitOp::create(builder, location, /*completes=*/true);
  if (outermost)
    tl::BarrierOp::create(builder, location); // the iteration before is done with the buffer
  // Shared memory is written from any layout.
  Value value = beforeConversion(builder, store.getValue());
  tlg::LocalStoreOp::create(builder, location, value, buffer);
  tlg::FenceAsyncOp::create(builder, location);
  tl::BarrierOp::create(builder, location);
  const TensorMapUse map = addTensorMap(store->getParentOfType<func::FuncOp>(), access);
  const auto byTma = [&](OpBuilder &inner) {
    tlg::TmaStoreOp::create(inner, location, buffer, starts, map.made, map.number);
  };
  if (Value condition = storeCondition(builder, location, access, starts, axes)) {
    scf::IfOp::create(
        builder, location, condition,
        [&](OpBuilder &inner, Location) {
          byTma(inner);
          scf::YieldOp::create(inner, location);
        },
        [&](OpBuilder &inner, Location) {
          Value read =
              tlg::LocalLoadOp::create(inner, location, store.getValue().getType(), buffer);
          // Where they seldom store, nothing is held for it over the loop before.
          IRMapping made;
          for (Value address : {store.getPointer(), store.getMask()})
            if (address)
              made.map(address, madeHere(inner, address, made));
          Operation *plain = inner.clone(*store, made);
          plain->setOperand(1, read);
          plain->removeAttr(kTmaAttribute);
          if (completes) // TMA may write there next
            tlg::FenceAsyncOp::create(inner, location, /*global=*/true);
          scf::YieldOp::create(inner, location);
        });
  } else {
    byTma(builder);
  }
  if (waitsLater)
    builder.setInsertionPointAfter(outermost);
  tlg::TmaStoreWaitOp::create(builder, location, completes);
  if (completes)
    tl::BarrierOp::create(builder, location); // the thread that stores tells the others
  store.erase();
}

} // namespace

void copyByTma(func::FuncOp function, const GpuTarget &target) {
  llvm::SmallVector<Operation *> accesses;
  function.walk([&](Operation *op) {
    if (op->hasAttr(kTmaAttribute))
      accesses.push_back(op);
  });
  const AxisAnalysis axes(function);
  axes.requireOfArguments();
  for (Operation *op : accesses) {
    auto store = dyn_cast<tl::StoreOp>(op);
    auto load = dyn_cast<tl::LoadOp>(op);
    if (load && (load->getParentOfType<LoopLikeOpInterface>() ||
                 !(goesToWgmma(load.getResult()) || isOnlyConverted(load.getResult()))))
      continue;
    const std::optional<TmaAccess> access = store ? tmaAccess(store) : tmaAccess(load);
    if (!access || !hasRoom(op, access->buffer, target))
      continue;
    if (store && isStoredFast(store, *access))
      continue;
    if (store)
      storeByTma(store, *access, axes);
    else
      loadByTma(load, *access);
  }
  readInWantedLayouts(function);
  eraseUnused(function);
}

} // namespace blockscope::gpu
