// Views instead of loads, and places in shared memory.
#include "gpu_backend/passes/shared_operands.h"

#include "core/ir/facts.h"
#include "gpu_backend/layout/layout_queries.h"
#include "gpu_backend/layout/shuffle_plan.h"
#include "gpu_backend/layout/transposing_layout.h"
#include "gpu_backend/passes/block_queries.h"
#include "gpu_backend/passes/clone_in_layout.h"
#include "gpu_backend/passes/same_elements.h"
#include "gpu_backend/passes/wanted_layouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;

namespace blockscope::gpu {
namespace {

constexpr int kSmallestSwizzle = 32, kWidestSwizzle = 128, kSwizzleRows = 8;
constexpr int kVectorBytes = 16;

tlg::SharedType transposedType(tlg::SharedType type, llvm::ArrayRef<int32_t> order) {
  const ShapeBits from(type.getShape());
  llvm::SmallVector<int64_t> shape;
  for (const int32_t dim : order)
    shape.push_back(type.getShape()[dim]);
  const ShapeBits to(shape);
  const SharedLayout layout = tlg::sharedLayoutOf(type);
  SharedLayout result = layout;
  for (auto [i, dim] : llvm::enumerate(order))
    for (int bit = 0; bit < from.width(dim); ++bit)
      result.offsets[to.shift(static_cast<int>(i)) + bit] = layout.offsets[from.shift(dim) + bit];
  return tlg::sharedType(shape, type.getElementType(), result, type.getStages());
}

bool readsShared(OpOperand &use) {
  return isa<tlg::FmaOp, tlg::MmaOp, tlg::WgmmaOp>(use.getOwner()) && use.getOperandNumber() < 2;
}

/// Whether the dot can read `buffer` as the operand `use`: wgmma takes only elements of 2 bytes
/// along M or N.
bool canRead(OpOperand &use, Value buffer) {
  auto wgmma = dyn_cast<tlg::WgmmaOp>(use.getOwner());
  if (!wgmma)
    return true;
  const int depthDim = use.getOperandNumber() == 0 ? 1 : 0;
  const std::optional<SwizzleMatch> match =
      matchSwizzle(cast<tlg::SharedType>(buffer.getType()), depthOrderOf(wgmma));
  return match && (wgmma.getOperandBytes() == 2 || match->contiguousDim == depthDim);
}

/// Gives `buffer` to the dots that use `value`, by way of conversions and transpositions.
void giveToDots(RewriterBase &rewriter, Value value, Value buffer) {
  for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
    Operation *user = use.getOwner();
    if (readsShared(use)) {
      if (canRead(use, buffer))
        rewriter.modifyOpInPlace(user, [&] { use.set(buffer); });
      continue;
    }
    const OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(user);
    if (auto convert = dyn_cast<tlg::ConvertLayoutOp>(user)) {
      giveToDots(rewriter, convert.getResult(), buffer);
    } else if (auto trans = dyn_cast<tl::TransOp>(user)) {
      const auto type = transposedType(cast<tlg::SharedType>(buffer.getType()), trans.getOrder());
      Value view =
          tlg::TransSharedOp::create(rewriter, trans.getLoc(), type, buffer, trans.getOrderAttr());
      giveToDots(rewriter, trans.getResult(), view);
      if (view.use_empty())
        rewriter.eraseOp(view.getDefiningOp());
    } else if (auto reshape = dyn_cast<tl::ReshapeOp>(user)) {
      const auto from = cast<tlg::SharedType>(buffer.getType());
      const auto type = tlg::sharedType(cast<ShapedType>(reshape.getType()).getShape(),
                                        from.getElementType(), tlg::sharedLayoutOf(from));
      Value view = tlg::ReshapeSharedOp::create(rewriter, reshape.getLoc(), type, buffer);
      giveToDots(rewriter, reshape.getResult(), view);
      if (view.use_empty())
        rewriter.eraseOp(view.getDefiningOp());
    } else {
      continue;
    }
    if (user->use_empty())
      rewriter.eraseOp(user);
  }
}

} // namespace

bool isKnownZero(Value value) {
  // Not all casts are folded (to fp8, of `other=0.0` to integers); zero is zero in every type.
  while (isa_and_nonnull<tl::SplatOp, tl::BroadcastOp, tl::FpCastOp, tl::FloatToIntOp,
                         tl::IntToFloatOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
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

bool hasOther(tl::LoadOp load) {
  return load.getMask() && load.getOther() && !isKnownZero(load.getOther());
}

namespace {

/// The layout of a block whose order of K, along `dim`, is `depth`, where `layout` has it plain:
/// the two halves of an instruction's depth lie at even and odd elements.
SharedLayout inOrder(SharedLayout layout, const ShapeBits &shape, int dim, DepthOrder depth) {
  constexpr int kBits = 3;
  const int shift = shape.shift(dim);
  if (depth == DepthOrder::Paired)
    std::rotate(layout.offsets.begin() + shift, layout.offsets.begin() + shift + kBits - 1,
                layout.offsets.begin() + shift + kBits);
  return layout;
}

} // namespace

DepthOrder depthOrderOf(Operation *dot) {
  if (dot->hasAttr(kPairedDepthAttribute))
    return DepthOrder::Paired;
  return dot->hasAttr(kEightsDepthAttribute) ? DepthOrder::Eights : DepthOrder::Plain;
}

SharedLayout sharedForOperand(RankedTensorType type, int dim, DepthOrder depth) {
  const llvm::ArrayRef<int64_t> shape = type.getShape();
  const int rank = static_cast<int>(shape.size()), bytes = tlg::elementBytes(type);
  const int64_t row = shape[dim] * bytes;
  if (rank < 2 || dim < rank - 2 || row < kSmallestSwizzle ||
      shape[2 * rank - 3 - dim] < kSwizzleRows)
    return plainShared(ShapeBits(shape).width(), bytes);
  return inOrder(
      swizzledShared(shape, dim, bytes, static_cast<int>(std::min<int64_t>(row, kWidestSwizzle))),
      ShapeBits(shape), dim, depth);
}

void replaceLoad(RewriterBase &rewriter, tl::LoadOp load, Value buffer) {
  if (!hasOther(load))
    giveToDots(rewriter, load.getResult(), buffer);
  rewriter.setInsertionPoint(load);
  if (!hasOther(load)) // shared memory can be read in any layout
    for (Operation *user : llvm::make_early_inc_range(load->getUsers()))
      if (auto convert = dyn_cast<tlg::ConvertLayoutOp>(user))
        rewriter.replaceOpWithNewOp<tlg::LocalLoadOp>(convert, convert.getType(), buffer);
  rewriter.setInsertionPoint(load);
  if (load->use_empty())
    return;
  Value value = tlg::LocalLoadOp::create(rewriter, load.getLoc(), load.getType(), buffer);
  if (hasOther(load))
    value =
        arith::SelectOp::create(rewriter, load.getLoc(), load.getMask(), value, load.getOther());
  rewriter.replaceAllUsesWith(load.getResult(), value);
}

std::optional<SwizzleMatch> matchSwizzle(tlg::SharedType type, DepthOrder depth) {
  const llvm::ArrayRef<int64_t> shape = type.getShape();
  const SharedLayout layout = tlg::sharedLayoutOf(type);
  if (shape.size() != 2)
    return std::nullopt;
  for (const int dim : {0, 1})
    for (int width = kWidestSwizzle; width >= kSmallestSwizzle; width /= 2)
      if (shape[dim] * layout.elementBytes >= width && shape[1 - dim] >= kSwizzleRows &&
          inOrder(swizzledShared(shape, dim, layout.elementBytes, width), ShapeBits(shape), dim,
                  depth) == layout)
        return SwizzleMatch{dim, width};
  return std::nullopt;
}

int64_t wgmmaColumns(int64_t n, int64_t groups) { return std::min<int64_t>(n / groups, 256); }

namespace {

/// Which of the last two dimensions threads hold the longest runs along: what memory or the last op
/// had.
int runDim(RankedTensorType type) {
  const ShapeBits shape(type.getShape());
  const LinearLayout layout = tlg::layoutOf(type);
  const int last = shape.rank() - 1;
  const auto run = [&](int dim) { return contiguity(layout, shape, dim).length; };
  return run(last - 1) > run(last) ? last - 1 : last;
}

/// Whether `value` is made outside of the loop around `dot`.
bool isMadeOutside(Operation *dot, Value value) {
  auto loop = dot->getParentOfType<LoopLikeOpInterface>();
  return loop && !loop->isAncestor(value.getParentRegion()->getParentOp());
}

/// Whether `value` is put into shared memory where it is made, outside of the loop around `dot`.
/// There it keeps its bytes: a large one that wgmma does not insist on would leave none for others.
bool isStagedOutside(Operation *dot, Value value) {
  constexpr int64_t kMostBytes = 32 * 1024;
  const auto type = cast<RankedTensorType>(value.getType());
  return isMadeOutside(dot, value) &&
         (!isa<tlg::FmaOp>(dot) || type.getNumElements() * tlg::elementBytes(type) <= kMostBytes);
}

/// The buffer that `value` is read from, as a view with its shape; else null.
Value bufferOf(OpBuilder &builder, Value value) {
  Operation *op = value.getDefiningOp();
  if (auto load = dyn_cast_or_null<tlg::LocalLoadOp>(op))
    return load.getSource();
  if (!isa_and_nonnull<tl::TransOp, tlg::ConvertLayoutOp>(op))
    return {};
  Value buffer = bufferOf(builder, op->getOperand(0));
  auto trans = dyn_cast<tl::TransOp>(op);
  if (!buffer || !trans)
    return buffer;
  const auto type = transposedType(cast<tlg::SharedType>(buffer.getType()), trans.getOrder());
  return tlg::TransSharedOp::create(builder, trans.getLoc(), type, buffer, trans.getOrderAttr());
}

/// Reads `value` again, if it comes from a buffer that lies along the other dimension than `dim`,
/// so that threads can write it in pieces along `dim`.
Value readTransposed(OpBuilder &builder, Value value, const SharedLayout &to, int dim) {
  const auto type = cast<RankedTensorType>(value.getType());
  Value buffer = bufferOf(builder, value);
  if (!buffer)
    return value;
  const auto from = cast<tlg::SharedType>(buffer.getType());
  const std::optional<SwizzleMatch> match = matchSwizzle(from);
  if (!match || match->contiguousDim == dim)
    return value;
  const int64_t warps = tlg::layoutOf(type).warpCount();
  const std::optional<LinearLayout> layout =
      transposingLayout(type.getShape(), tlg::sharedLayoutOf(from), to, dim, warps);
  if (!layout)
    return value;
  return tlg::LocalLoadOp::create(builder, value.getLoc(), tlg::withLayout(type, *layout), buffer);
}

/// The read of shared memory that `value` is computed from element by element; null where it is
/// none.
tlg::LocalLoadOp readOf(Value value) {
  llvm::SmallSetVector<Value, 16> open;
  open.insert(value);
  for (size_t i = 0; i < open.size(); ++i) {
    Operation *op = open[i].getDefiningOp();
    if (auto load = dyn_cast_or_null<tlg::LocalLoadOp>(op))
      return load;
    if (op && tl::isElementwise(op))
      for (Value operand : op->getOperands())
        if (isBlock(operand))
          open.insert(operand);
  }
  return {};
}

/// Converts what is computed from blocks in shared memory and stored along `dim` where many lanes
/// would meet in the same banks: read in the layout of the result, it is no more work. Null where
/// there is nothing to gain.
tlg::ConvertLayoutOp convertedForStore(OpBuilder &builder, Value value, const SharedLayout &to,
                                       int dim) {
  constexpr int kManyWays = 4;
  const auto type = cast<RankedTensorType>(value.getType());
  tlg::LocalLoadOp load = type.getRank() == 2 ? readOf(value) : tlg::LocalLoadOp();
  if (!load || load.getResult() == value)
    return {};
  const LinearLayout layout = tlg::layoutOf(type);
  const SharedAccess store = vectorStore(layout, to);
  if (store.conflictWays() < kManyWays)
    return {};
  const SharedLayout from = tlg::sharedLayoutOf(cast<tlg::SharedType>(load.getSource().getType()));
  const std::optional<LinearLayout> other =
      layoutBetween(type.getShape(), from, to, dim, layout.warpCount());
  if (!other || other->registerCount() > layout.registerCount() ||
      2 * (vectorLoad(*other, from).wavefronts + vectorStore(*other, to).wavefronts) >
          store.wavefronts)
    return {};
  return tlg::ConvertLayoutOp::create(builder, value.getLoc(), tlg::withLayout(type, *other),
                                      value);
}

/// Whether a dot takes an operand from registers as it is.
bool isReadFromRegisters(Operation *dot, unsigned operand) {
  auto wgmma = dyn_cast<tlg::WgmmaOp>(dot);
  if (!wgmma || operand != 0)
    return false;
  const auto type = dyn_cast<RankedTensorType>(wgmma.getA().getType());
  const llvm::ArrayRef<int32_t> warps = wgmma.getWarps();
  return type && tlg::layoutOf(type) ==
                     wgmmaOperandA(type.getShape(), static_cast<int>(wgmma.getOperandBytes()),
                                   {warps[0], warps[1], warps[2]}, depthOrderOf(wgmma));
}

/// The order of K in which `dot` wants an operand in shared memory: threads that read by themselves
/// find it in any.
DepthOrder stagedOrder(Operation *dot) {
  return isa<tlg::WgmmaOp>(dot) ? depthOrderOf(dot) : DepthOrder::Plain;
}

/// The buffer that an operand is put into for `dot`: threads read eight neighbours of K in one
/// piece without conflicts where rows lie far apart.
SharedLayout stagedLayout(Operation *dot, RankedTensorType type, int dim) {
  const SharedLayout layout = sharedForOperand(type, dim, stagedOrder(dot));
  return depthOrderOf(dot) == DepthOrder::Eights ? withReversedSwizzle(layout) : layout;
}

/// Whether a thread that multiplies by itself has enough neighbours of `operand` along M or N to
/// read whole vectors of them.
bool hasLineVectors(tlg::FmaOp dot, unsigned operand, int elementBytes) {
  const auto result = cast<RankedTensorType>(dot.getType());
  const int dim = static_cast<int>(result.getRank()) - (operand == 0 ? 2 : 1);
  const RegisterRuns runs =
      contiguity(tlg::layoutOf(result), ShapeBits(result.getShape()), dim, kVectorBytes);
  return runs.length * elementBytes >= kVectorBytes;
}

/// The dimension along which an operand of a dot lies in the buffer that it is put into: wgmma
/// takes only elements of 2 bytes along M or N.
int stagedDim(Operation *dot, unsigned operand, RankedTensorType type) {
  const int last = static_cast<int>(type.getRank()) - 1, bytes = tlg::elementBytes(type);
  const int depthDim = operand == 0 ? last : last - 1;
  auto wgmma = dyn_cast<tlg::WgmmaOp>(dot);
  if (wgmma && wgmma.getOperandBytes() != 2)
    return depthDim;
  auto fma = dyn_cast<tlg::FmaOp>(dot);
  if (fma && type.getDimSize(depthDim) * bytes >= kVectorBytes &&
      !hasLineVectors(fma, operand, bytes))
    return depthDim;
  return runDim(type);
}

/// Whether the result of `op` is computed from registers of its thread, or read from shared memory.
bool isMadeAnywhere(Operation *op) {
  return isa<tlg::LocalLoadOp>(op) ||
         (isMemoryEffectFree(op) &&
          (tl::isElementwise(op) ||
           isa<tl::SplatOp, tl::RangeOp, tl::BroadcastOp, tl::ExpandDimsOp, tlg::ConvertLayoutOp>(
               op)));
}

/// Moves what only `dot` needs, to make `value` from blocks in shared memory, to right before it.
/// `store`, before the dot, writes to none of these.
void makeLate(Value value, Operation *dot, Operation *store) {
  llvm::SetVector<Operation *> tree;
  const auto add = [&](Value each) {
    Operation *op = each.getDefiningOp();
    if (op && op->getBlock() == dot->getBlock() && isa<RankedTensorType>(each.getType()) &&
        isMadeAnywhere(op) && llvm::all_of(op->getUsers(), [&](Operation *user) {
          return user == dot || tree.contains(user);
        }))
      tree.insert(op);
  };
  add(value);
  for (size_t i = 0; i < tree.size(); ++i)
    for (Value operand : tree[i]->getOperands())
      add(operand);
  llvm::SmallVector<Operation *> ordered(tree.begin(), tree.end());
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  const auto first = llvm::find_if(ordered, llvm::IsaPred<tlg::LocalLoadOp>);
  if (first == ordered.end())
    return;
  for (Operation *op = *first; op != dot; op = op->getNextNode())
    if (op != store && !isMemoryEffectFree(op) &&
        !isa<tlg::LocalLoadOp, tlg::AllocSharedOp, tl::BarrierOp>(op))
      return; // it might make the buffer free
  for (Operation *op : ordered)
    op->moveBefore(dot);
}

/// A block with its dimensions in another order, or in another layout.
struct Permuted {
  Value block;
  llvm::SmallVector<int32_t> order; ///< by dimension of the result, that of the block
};

Permuted permuted(Value value) {
  const int rank = static_cast<int>(cast<ShapedType>(value.getType()).getRank());
  Permuted result{value, llvm::to_vector(llvm::seq<int32_t>(0, rank))};
  while (Operation *op = result.block.getDefiningOp()) {
    auto trans = dyn_cast<tl::TransOp>(op);
    if (!trans && !isa<tlg::ConvertLayoutOp>(op))
      break;
    if (trans)
      for (int32_t &dim : result.order)
        dim = trans.getOrder()[dim];
    result.block = op->getOperand(0);
  }
  return result;
}

/// Gives dots that `mayRead` what `value` is but in another order of dimensions a view of `buffer`,
/// where `value` is; `dim` is the dimension along which it lies there. The view is made by
/// `builder`, behind the store.
void giveInOtherOrders(OpBuilder &builder, Value value, Value buffer, int dim, Block &dots,
                       llvm::function_ref<bool(Operation *)> mayRead) {
  const Permuted from = permuted(value);
  for (Operation &user : dots) {
    if (!isa<tlg::WgmmaOp>(user) || !mayRead(&user))
      continue;
    for (const unsigned operand : {0U, 1U}) {
      Value other = user.getOperand(operand);
      const auto type = dyn_cast<RankedTensorType>(other.getType());
      if (!type || other == value || isReadFromRegisters(&user, operand))
        continue;
      const Permuted to = permuted(other);
      if (to.block != from.block || to.order == from.order)
        continue;
      const auto place = [&](int32_t of) {
        return static_cast<int32_t>(llvm::find(from.order, of) - from.order.begin());
      };
      const auto order = llvm::map_to_vector(to.order, place);
      const int along = static_cast<int>(llvm::find(order, dim) - order.begin());
      if (stagedDim(&user, operand, type) != along)
        continue;
      const auto viewType = transposedType(cast<tlg::SharedType>(buffer.getType()), order);
      user.setOperand(operand, tlg::TransSharedOp::create(builder, user.getLoc(), viewType, buffer,
                                                          builder.getDenseI32ArrayAttr(order)));
    }
  }
}

/// Puts `value`, which operand `operand` of `dot` is, into shared memory: where it is made, if
/// that is outside of the loop around the dot, else right before the dot. `isLast`: no other one
/// follows there, whose barrier will do for both.
void stageOperand(OpBuilder &builder, Operation *dot, unsigned operand, Value value, int dim,
                  bool isLast = true) {
  const auto type = cast<RankedTensorType>(value.getType());
  const Location location = dot->getLoc();
  const bool isOutside = isStagedOutside(dot, value);
  if (isOutside)
    builder.setInsertionPointAfterValue(value);
  else
    builder.setInsertionPoint(dot);
  const SharedLayout layout = stagedLayout(dot, type, dim);
  const auto bufferType = tlg::sharedType(type.getShape(), type.getElementType(), layout);
  Value buffer = tlg::AllocSharedOp::create(builder, location, bufferType, IntegerAttr());
  tl::BarrierOp::create(builder, location); // what was here before has been read
  Value stored = isOutside ? value : readTransposed(builder, value, layout, dim);
  // What is computed in two layouts is stored from the other one, and computed once.
  if (stored == value && value.hasOneUse() && value.getParentBlock() == dot->getBlock())
    stored = sameInOtherLayout(value, dot);
  tlg::ConvertLayoutOp conversion;
  if (stored == value && !isOutside && isa<tlg::WgmmaOp>(dot))
    if ((conversion = convertedForStore(builder, value, layout, dim)))
      stored = conversion.getResult();
  auto store = tlg::LocalStoreOp::create(builder, location, stored, buffer);
  // The operand in registers is made when those are free through which this one went.
  if (stored.getDefiningOp<tlg::LocalLoadOp>() && stored != value && operand == 1 &&
      isReadFromRegisters(dot, 0))
    makeLate(dot->getOperand(0), dot, store);
  if (isOutside || isLast) {
    if (isa<tlg::WgmmaOp>(dot))
      tlg::FenceAsyncOp::create(builder, location);
    tl::BarrierOp::create(builder, location);
  }
  dot->setOperand(operand, buffer);
  // Other loops, or later dots of the iteration, read the same buffer.
  value.replaceUsesWithIf(buffer, [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (user->getName() != dot->getName() || use.getOperandNumber() > 1)
      return false;
    return isOutside ? use.getOperandNumber() == operand && isMadeOutside(user, value) &&
                           stagedOrder(user) == stagedOrder(dot)
                     : user->getBlock() == dot->getBlock() && dot->isBeforeInBlock(user) &&
                           !isReadFromRegisters(user, use.getOperandNumber()) &&
                           stagedDim(user, use.getOperandNumber(), type) == dim &&
                           stagedOrder(user) == stagedOrder(dot);
  });
  if (isa<tlg::WgmmaOp>(dot))
    giveInOtherOrders(builder, value, buffer, dim, *dot->getBlock(), [&](Operation *user) {
      return stagedOrder(user) == stagedOrder(dot) &&
             (isOutside ? isMadeOutside(user, value) : dot->isBeforeInBlock(user));
    });
  if (conversion && readInWantedLayout(conversion))
    return; // `value` is gone
  if (conversion) {
    conversion.getResult().replaceAllUsesWith(value);
    conversion->erase();
  }
  if (Operation *op = value.getDefiningOp(); op && op->use_empty() && isa<tlg::LocalLoadOp>(op))
    op->erase();
}

/// Operands of wgmma and of products by threads. Behind two that are put there right before the dot
/// threads meet once.
void stageBothOperands(OpBuilder &builder, Operation *dot) {
  const auto isStaged = [&](unsigned operand) {
    return isa<RankedTensorType>(dot->getOperand(operand).getType()) &&
           !isReadFromRegisters(dot, operand);
  };
  for (const unsigned operand : {0U, 1U}) {
    if (!isStaged(operand))
      continue;
    Value value = dot->getOperand(operand);
    const bool isLast = operand == 1 || !isStaged(1) || isStagedOutside(dot, dot->getOperand(1));
    const int dim = stagedDim(dot, operand, cast<RankedTensorType>(value.getType()));
    stageOperand(builder, dot, operand, value, dim, isLast);
  }
}

/// An operand of 1 byte that lies along M or N in shared memory would be read byte by byte: it is
/// put along K first, in wide pieces.
void turnOperand(OpBuilder &builder, tlg::MmaOp dot, unsigned operand) {
  const auto shared = cast<tlg::SharedType>(dot->getOperand(operand).getType());
  const int depthDim = operand == 0 ? 1 : 0;
  const std::optional<SwizzleMatch> match = matchSwizzle(shared);
  if (tlg::elementBytes(shared.getElementType()) != 1 || !match || match->contiguousDim == depthDim)
    return;
  builder.setInsertionPoint(dot);
  const auto plain = RankedTensorType::get(shared.getShape(), shared.getElementType());
  const LinearLayout accumulator = tlg::layoutOf(dot.getType());
  const std::optional<LinearLayout> layout =
      transposingLayout(shared.getShape(), tlg::sharedLayoutOf(shared),
                        sharedForOperand(plain, depthDim), depthDim, accumulator.warpCount());
  if (!layout)
    return;
  const Type type = tlg::withLayout(plain, *layout);
  Value value = tlg::LocalLoadOp::create(builder, dot.getLoc(), type, dot->getOperand(operand));
  dot->setOperand(operand, value);
  stageOperand(builder, dot, operand, value, depthDim);
}

/// The registers, 32 bits each, that a thread has of a block of numbers.
int wordsOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !tlg::hasLayout(type) || isa<tl::PtrType>(type.getElementType()))
    return 0;
  return std::max(tlg::layoutOf(type).registerCount() * tlg::elementBytes(type) / 4, 1);
}

/// The registers that a thread keeps all through the loop around `dot`: variables, and operands
/// that are made outside of it.
int wordsKeptThroughLoop(tlg::MmaOp dot) {
  auto loop = dot->getParentOfType<LoopLikeOpInterface>();
  if (!loop)
    return 0;
  int words = 0;
  for (Value variable : loop.getRegionIterArgs())
    words += wordsOf(variable);
  llvm::SmallPtrSet<Operation *, 8> known;
  loop.walk([&](tlg::MmaOp other) {
    for (const unsigned operand : {0U, 1U}) {
      Value value = other->getOperand(operand);
      if (isMadeOutside(dot, value) && value.getDefiningOp() &&
          known.insert(value.getDefiningOp()).second)
        words += wordsOf(value);
    }
  });
  return words;
}

/// Whether other buffers are filled between the last user of `buffer` in the block of `later` and
/// `later`: they would lie where it lies.
bool isFollowedByOthers(Value buffer, Operation *later) {
  Operation *last = nullptr;
  for (Operation *user : buffer.getUsers())
    if (Operation *here = later->getBlock()->findAncestorOpInBlock(*user);
        here && here->isBeforeInBlock(later) && (!last || last->isBeforeInBlock(here)))
      last = here;
  for (Operation *op = last; op && op != later; op = op->getNextNode())
    if (isa<tlg::AllocSharedOp>(op))
      return true;
  return false;
}

/// The buffer of type `wanted` that `value` has been put into for a dot before `dot`; null where
/// there is none, or its place is wanted again before that.
Value stagedBefore(Value value, Operation *dot, tlg::SharedType wanted) {
  for (Operation *user : value.getUsers()) {
    auto store = dyn_cast<tlg::LocalStoreOp>(user);
    Operation *later = store ? store->getBlock()->findAncestorOpInBlock(*dot) : nullptr;
    if (!later || !store->isBeforeInBlock(later) || store.getValue() != value)
      continue;
    Value buffer = store.getDestination();
    const auto isStore = [](Operation *each) { return isa<tlg::LocalStoreOp>(each); };
    if (buffer.getType() == wanted && buffer.getDefiningOp<tlg::AllocSharedOp>() &&
        llvm::count_if(buffer.getUsers(), isStore) == 1 && !isFollowedByOthers(buffer, later))
      return buffer;
  }
  return {};
}

/// An operand of mma.sync that comes to its threads by way of shared memory anyway stays there, to
/// be read piece by piece, if it would take many registers, or a loop keeps many; so does one that
/// a warp could convert by itself, if these are too many beside those that it is converted from.
void stageLargeOperands(OpBuilder &builder, tlg::MmaOp dot) {
  constexpr int kManyWords = 64, kTooManyWords = 128, kManyKept = 96, kTooManyKept = 128;
  for (const unsigned operand : {0U, 1U}) {
    if (isa<tlg::SharedType>(dot->getOperand(operand).getType()))
      turnOperand(builder, dot, operand);
    auto convert = dot->getOperand(operand).getDefiningOp<tlg::ConvertLayoutOp>();
    if (!convert || convert.getType().getRank() != 2)
      continue;
    Value source = convert.getSource();
    const LinearLayout to = tlg::layoutOf(convert.getType());
    const int kept = isMadeOutside(dot, convert) ? wordsKeptThroughLoop(dot) : 0;
    const bool isLarge = wordsOf(convert) >= kManyWords || kept > kManyKept;
    const bool isTooLarge = wordsOf(convert) >= kTooManyWords || kept > kTooManyKept;
    if (!isLarge || (!isTooLarge && staysInWarps(tlg::layoutOf(source.getType()), to)))
      continue;
    const auto type = cast<RankedTensorType>(source.getType());
    const int dim = runDim(type);
    const auto shared =
        tlg::sharedType(type.getShape(), type.getElementType(), stagedLayout(dot, type, dim));
    if (Value buffer = stagedBefore(source, dot, shared))
      dot->setOperand(operand, buffer);
    else
      stageOperand(builder, dot, operand, source, dim);
    if (convert->use_empty())
      convert->erase();
  }
}

/// The last user of what `load` gives, if all of them are in its block and put it into shared
/// memory; else null.
Operation *lastStaging(tl::LoadOp load) {
  Operation *last = nullptr;
  for (Operation *user : load->getUsers()) {
    if (!isa<tlg::LocalStoreOp>(user) || user->getBlock() != load->getBlock())
      return nullptr;
    last = last && user->isBeforeInBlock(last) ? last : user;
  }
  return last;
}

/// Whether `load` may come right behind `op`, with nothing in between that uses it or that may
/// store to what it loads.
bool mayComeBehind(tl::LoadOp load, Operation *op) {
  for (Operation *user : load->getUsers()) {
    Operation *here = load->getBlock()->findAncestorOpInBlock(*user);
    if (!here || !op->isBeforeInBlock(here))
      return false;
  }
  for (Operation *between = load->getNextNode(); between != op; between = between->getNextNode())
    if (!isMemoryEffectFree(between) &&
        !isa<tl::LoadOp, tlg::AllocSharedOp, tlg::LocalStoreOp, tl::BarrierOp>(between))
      return false;
  return !load.getIsVolatile();
}

/// Puts a block into shared memory where it is loaded, if it has a buffer of its own between two
/// barriers.
void stageAtOnce(tl::LoadOp load, Operation *store) {
  auto alloc = cast<tlg::LocalStoreOp>(store).getDestination().getDefiningOp<tlg::AllocSharedOp>();
  if (!alloc || alloc->getBlock() != load->getBlock() ||
      alloc->getNextNode()->getNextNode() != store)
    return;
  Operation *before = alloc->getNextNode(), *behind = store->getNextNode();
  if (!isa<tl::BarrierOp>(before) || !isa<tl::BarrierOp>(behind))
    return;
  Operation *last = load;
  for (Operation *op : {alloc.getOperation(), before, store, behind}) {
    op->moveAfter(last);
    last = op;
  }
}

/// Two large blocks that are loaded for dots, and variables of the loop, may be more than a thread
/// has registers: then the second one is loaded when the first one has been put into shared memory,
/// and is put there at once, too.
void loadOneByOne(LoopLikeOpInterface loop) {
  constexpr int kLargeWords = 64, kMostWords = 224;
  int kept = 0;
  for (Value variable : loop.getRegionIterArgs())
    kept += wordsOf(variable);
  tl::LoadOp before;
  Operation *staging = nullptr; // of what `before` loads
  llvm::SmallVector<tl::LoadOp> loads;
  loop->walk([&](tl::LoadOp load) {
    if (load->getParentOfType<LoopLikeOpInterface>() == loop && wordsOf(load) >= kLargeWords)
      loads.push_back(load);
  });
  for (tl::LoadOp load : loads) {
    if (before && staging && load->getBlock() == before->getBlock() &&
        load->isBeforeInBlock(staging) && kept + wordsOf(before) + wordsOf(load) > kMostWords &&
        mayComeBehind(load, staging)) {
      load->moveAfter(staging);
      if (Operation *own = lastStaging(load))
        stageAtOnce(load, own);
    }
    before = load;
    staging = lastStaging(load);
  }
}

} // namespace

void stageOperands(func::FuncOp function) {
  OpBuilder builder(function.getContext());
  llvm::SmallVector<Operation *> dots;
  function.walk([&](Operation *op) {
    if (isa<tlg::FmaOp, tlg::MmaOp, tlg::WgmmaOp>(op))
      dots.push_back(op);
  });
  for (Operation *op : dots)
    if (auto dot = dyn_cast<tlg::MmaOp>(op))
      stageLargeOperands(builder, dot);
    else
      stageBothOperands(builder, op);
  eraseUnused(function); // what is stored in another layout
  function.walk([](LoopLikeOpInterface loop) { loadOneByOne(loop); });
}

} // namespace blockscope::gpu
