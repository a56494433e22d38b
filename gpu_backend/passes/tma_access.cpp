// TMA reads and writes memory past the order of a thread's other accesses. So a load is left to the
// threads when something before it in the kernel may have written what it reads, and a store is
// waited for in full when something after it may look at what it wrote.
#include "gpu_backend/passes/tma_access.h"

#include "gpu_backend/compile.h"
#include "gpu_backend/layout/tma_box.h"
#include "gpu_backend/passes/passes.h"
#include "gpu_backend/passes/shared_operands.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

constexpr int kFirstCapability = 90;

/// Whether `first` may run before `second` does.
bool mayPrecede(Operation *first, Operation *second) {
  for (Operation *outer = first->getParentOp(); outer; outer = outer->getParentOp())
    if (isa<LoopLikeOpInterface>(outer) && outer->isAncestor(second))
      return true; // in an earlier turn
  for (Operation *a = first; a; a = a->getParentOp())
    for (Operation *b = second; b; b = b->getParentOp())
      if (a->getBlock() == b->getBlock())
        return a != b && a->isBeforeInBlock(b);
  return false;
}

/// The kernel's argument that a pointer or block of pointers comes from, if that can be seen.
std::optional<unsigned> argumentOf(Value pointer) {
  while (Operation *op = pointer.getDefiningOp()) {
    if (!isa<tl::AddPtrOp, tl::SplatOp, tl::BroadcastOp, tl::ExpandDimsOp, tlg::ConvertLayoutOp>(
            op))
      return std::nullopt;
    pointer = op->getOperand(0);
  }
  auto argument = dyn_cast<BlockArgument>(pointer);
  if (!argument || !isa<func::FuncOp>(argument.getOwner()->getParentOp()))
    return std::nullopt;
  return argument.getArgNumber();
}

/// Whether another program, or another thread of this one, may be told by `op` that memory was
/// written: atomics, barriers, volatile accesses, what we do not know.
bool mayOrderMemory(Operation *op) {
  if (auto load = dyn_cast<tl::LoadOp>(op))
    return load.getIsVolatile();
  if (isa<tl::StoreOp, tl::AssertOp, tl::PrintOp>(op))
    return false;
  return op->getNumRegions() == 0 && !op->hasTrait<OpTrait::IsTerminator>() &&
         !isMemoryEffectFree(op) && !isa<tlg::TLGDialect>(op->getDialect());
}

/// Whether something before `load` may have written to what argument `argument` points to.
bool mayReadWritten(Operation *load, unsigned argument) {
  auto function = load->getParentOfType<func::FuncOp>();
  return function
      .walk([&](Operation *op) {
        auto store = dyn_cast<tl::StoreOp>(op);
        const bool writes = store && argumentOf(store.getPointer()).value_or(argument) == argument;
        return (writes || mayOrderMemory(op)) && mayPrecede(op, load) ? WalkResult::interrupt()
                                                                      : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether something after `store` may look at what argument `argument` points to.
bool mayBeRead(Operation *store, unsigned argument) {
  auto function = store->getParentOfType<func::FuncOp>();
  return function
      .walk([&](Operation *op) {
        auto load = dyn_cast<tl::LoadOp>(op);
        const bool reads = load && argumentOf(load.getPointer()).value_or(argument) == argument;
        return op != store && (reads || isa<tl::StoreOp>(op) || mayOrderMemory(op)) &&
                       mayPrecede(store, op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

std::optional<TmaAccess> accessOf(Value pointer, Value mask, Type elementType) {
  std::optional<RectangularTile> tile = matchTile(pointer, mask);
  if (!tile)
    return std::nullopt;
  const auto type = cast<RankedTensorType>(pointer.getType());
  const auto blockType = RankedTensorType::get(type.getShape(), elementType);
  const SharedLayout layout = sharedForOperand(blockType, tile->contiguousDim);
  if (!tmaBoxes(type.getShape(), tile->contiguousDim, layout))
    return std::nullopt;
  return TmaAccess{std::move(*tile), tlg::sharedType(type.getShape(), elementType, layout)};
}

bool isZero(Value value) {
  Attribute constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return false;
  if (auto dense = dyn_cast<SplatElementsAttr>(constant))
    constant = dense.getSplatValue<Attribute>();
  if (auto number = dyn_cast<FloatAttr>(constant))
    return number.getValue().isPosZero();
  auto number = dyn_cast<IntegerAttr>(constant);
  return number && number.getValue().isZero();
}

bool isPlain(llvm::StringRef cacheModifier) {
  return cacheModifier.empty() || cacheModifier == ".ca" || cacheModifier == ".cg" ||
         cacheModifier == ".wb";
}

} // namespace

std::optional<TmaAccess> tmaAccess(tl::LoadOp load) {
  return load->hasAttr(kTmaAttribute)
             ? accessOf(load.getPointer(), load.getMask(), getElementTypeOrSelf(load.getType()))
             : std::nullopt;
}

void findTmaAccesses(func::FuncOp function) {
  auto module = function->getParentOfType<ModuleOp>();
  auto arch = module->getAttrOfType<StringAttr>(tlg::kArchAttribute);
  const std::optional<GpuTarget> target = arch ? GpuTarget::parse(arch.getValue()) : GpuTarget();
  if (!target || target->capability < kFirstCapability || module->hasAttr(tlg::kNoTmaAttribute))
    return;
  Builder builder(function.getContext());
  function.walk([&](Operation *op) {
    if (auto load = dyn_cast<tl::LoadOp>(op)) {
      if (!tlg::hasLayout(load.getType()) || load.getIsVolatile() ||
          !isPlain(load.getCacheModifier()) || (load.getOther() && !isZero(load.getOther())))
        return;
      const std::optional<TmaAccess> access =
          accessOf(load.getPointer(), load.getMask(), getElementTypeOrSelf(load.getType()));
      if (access && !mayReadWritten(load, access->tile.argument))
        load->setAttr(kTmaAttribute, builder.getUnitAttr());
    } else if (auto store = dyn_cast<tl::StoreOp>(op)) {
      const Type type = store.getValue().getType();
      if (!tlg::hasLayout(type) || !isPlain(store.getCacheModifier()))
        return;
      const std::optional<TmaAccess> access =
          accessOf(store.getPointer(), store.getMask(), getElementTypeOrSelf(type));
      if (access)
        store->setAttr(kTmaAttribute, builder.getBoolAttr(mayBeRead(store, access->tile.argument)));
    }
  });
}

int addTensorMap(func::FuncOp function, const TmaAccess &access) {
  Builder builder(function.getContext());
  const RectangularTile &tile = access.tile;
  const llvm::ArrayRef<int64_t> shape = access.block.getShape();
  const SharedLayout layout = tlg::sharedLayoutOf(access.block);
  const TmaBoxes boxes = *tmaBoxes(shape, tile.contiguousDim, layout);
  llvm::SmallVector<int64_t> box;
  llvm::SmallVector<llvm::StringRef> sizes, strides;
  for (const int dim : boxOrder(static_cast<int>(shape.size()), tile.contiguousDim)) {
    box.push_back(boxes.shape[dim]);
    sizes.push_back(tile.dims[dim].size);
    if (dim != tile.contiguousDim)
      strides.push_back(tile.dims[dim].stride);
  }
  const auto named = [&](llvm::StringRef name, Attribute value) {
    return builder.getNamedAttr(name, value);
  };
  const auto map = builder.getDictionaryAttr(
      {named("base", builder.getStringAttr(tile.base)),
       named("box", builder.getDenseI64ArrayAttr(box)),
       named("contiguous_dim", builder.getI32IntegerAttr(tile.contiguousDim)),
       named("element_bytes", builder.getI32IntegerAttr(layout.elementBytes)),
       named("sizes", builder.getStrArrayAttr(sizes)),
       named("strides", builder.getStrArrayAttr(strides)),
       named("swizzle_bytes", builder.getI32IntegerAttr(boxes.swizzleBytes))});
  llvm::SmallVector<Attribute> maps;
  if (auto known = function->getAttrOfType<ArrayAttr>(tlg::kTensorMapsAttribute))
    maps.assign(known.begin(), known.end());
  const auto *found = llvm::find(maps, Attribute(map));
  const auto number = static_cast<int>(found - maps.begin());
  if (found == maps.end()) {
    maps.push_back(map);
    function->setAttr(tlg::kTensorMapsAttribute, builder.getArrayAttr(maps));
  }
  return number;
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
  if (tile.condition)
    starts.front() = arith::SelectOp::create(builder, location, now(tile.condition), starts.front(),
                                             constant(kFarOutside));
  return starts;
}

void storeByTma(func::FuncOp function) {
  llvm::SmallVector<tl::StoreOp> stores;
  function.walk([&](tl::StoreOp store) {
    if (store->hasAttr(kTmaAttribute))
      stores.push_back(store);
  });
  for (tl::StoreOp store : stores) {
    const std::optional<TmaAccess> access = accessOf(
        store.getPointer(), store.getMask(), getElementTypeOrSelf(store.getValue().getType()));
    if (!access)
      continue;
    OpBuilder builder(store);
    const Location location = store.getLoc();
    const bool completes = store->getAttrOfType<BoolAttr>(kTmaAttribute).getValue();
    Value block = tlg::AllocSharedOp::create(builder, location, access->block, IntegerAttr());
    const auto starts =
        makeStarts(builder, location, access->tile, [](Value value) { return value; });
    if (store->getParentOfType<LoopLikeOpInterface>())
      tl::BarrierOp::create(builder, location); // the turn before has left the block
    Value value = store.getValue();
    if (auto convert = value.getDefiningOp<tlg::ConvertLayoutOp>())
      value = convert.getSource(); // shared memory is written from any layout
    tlg::LocalStoreOp::create(builder, location, value, block);
    tlg::FenceAsyncOp::create(builder, location);
    tl::BarrierOp::create(builder, location);
    tlg::TmaStoreOp::create(builder, location, block, starts, Value(),
                            static_cast<uint32_t>(addTensorMap(function, *access)), completes);
    store.erase();
  }
}

} // namespace blockscope::gpu
