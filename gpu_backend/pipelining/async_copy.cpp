// What cp.async needs: pieces of 4, 8 or 16 bytes, zeros elsewhere, no order with other accesses.
#include "gpu_backend/pipelining/async_copy.h"

#include "core/ir/facts.h"
#include "gpu_backend/layout/matrix_access.h"
#include "gpu_backend/passes/equal_runs.h"
#include "gpu_backend/passes/shape_transfer.h"
#include "gpu_backend/passes/shared_operands.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace blockscope::gpu {

namespace {

/// Whether a dot may read the buffer of what is loaded: elements lie there as it wants them.
bool feedsDotAsIs(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    if (isa<tlg::FmaOp, tlg::MmaOp, tlg::WgmmaOp>(user))
      return true;
    return isa<tlg::ConvertLayoutOp, tl::TransOp, tl::ReshapeOp>(user) &&
           feedsDotAsIs(user->getResult(0));
  });
}

/// The shape in which a dot reads what is loaded, which may be reshaped on its way.
llvm::ArrayRef<int64_t> shapeForDot(Value value) {
  for (Operation *user : value.getUsers())
    if (isa<tlg::ConvertLayoutOp, tl::ReshapeOp>(user) && feedsDotAsIs(user->getResult(0)))
      return shapeForDot(user->getResult(0));
  return cast<ShapedType>(value.getType()).getShape();
}

/// Whether all that takes a block are products by threads, of which it is the second operand: lanes
/// read neighbours of a row of it, which meet no conflicts as they are.
bool feedsColumnsOfFma(Value value) {
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<tlg::ConvertLayoutOp>(user))
      return feedsColumnsOfFma(user->getResult(0));
    return isa<tlg::FmaOp>(user) && use.getOperandNumber() == 1;
  });
}

/// The buffer of what is loaded, if a dot may read it as it is, with neighbours in memory along
/// `dim`: elements keep their numbers where a block is reshaped, so it is that of the shape which
/// the dot takes.
SharedLayout sharedForDot(tl::LoadOp load, int dim) {
  const auto type = cast<RankedTensorType>(load.getType());
  if (dim == static_cast<int>(type.getRank()) - 1 && feedsColumnsOfFma(load.getResult()))
    return plainShared(ShapeBits(type.getShape()).width(), tlg::elementBytes(type));
  const llvm::ArrayRef<int64_t> shape = shapeForDot(load.getResult());
  const int lowest = ShapeBits(type.getShape()).shift(dim);
  const ShapeBits bits(shape);
  for (int other = 0; other < bits.rank(); ++other)
    if (bits.shift(other) == lowest && bits.width(other) != 0)
      return sharedForOperand(RankedTensorType::get(shape, type.getElementType()), other);
  return sharedForOperand(type, dim);
}

/// The dimension along K of a block that wgmma takes as tf32, which has to be contiguous in its
/// buffer; nothing for others, or where it goes elsewhere as well.
std::optional<int> depthDimOfTf32(Value value) {
  std::optional<int> depth;
  for (OpOperand &use : value.getUses()) {
    std::optional<int> dim;
    const int rank = static_cast<int>(cast<ShapedType>(value.getType()).getRank());
    if (isa<tlg::ConvertLayoutOp>(use.getOwner()))
      dim = depthDimOfTf32(use.getOwner()->getResult(0));
    else if (auto dot = dyn_cast<tlg::WgmmaOp>(use.getOwner());
             dot && dot.getOperandBytes() == 4 && use.getOperandNumber() < 2)
      dim = rank - (use.getOperandNumber() == 0 ? 1 : 2);
    if (!dim || (depth && *depth != *dim))
      return std::nullopt;
    depth = dim;
  }
  return depth;
}

/// The dimension along which a load's elements lie in their buffer: that of memory, but where few
/// elements of a thread would have to be turned for a dot. Copies of 4 bytes do that on the way.
int dimInBuffer(tl::LoadOp load, int dimInMemory) {
  constexpr int kFewElements = 4;
  const auto type = cast<RankedTensorType>(load.getType());
  if (tlg::layoutOf(type).registerCount() > kFewElements)
    return dimInMemory;
  return depthDimOfTf32(load.getResult()).value_or(dimInMemory);
}

/// The layouts in which threads will read the buffer of a block: those of the block itself, or of
/// what is made of it element by element, which is made where it is wanted (wanted_layouts.h).
class Readers {
public:
  /// False where something else reads it than threads, or it is reshaped.
  bool find(Value value) {
    return add(value, /*isComputed=*/false, [](const LinearLayout &own) { return own; });
  }
  llvm::ArrayRef<LinearLayout> layouts() const { return layouts_; }

private:
  using InBlock = llvm::function_ref<LinearLayout(const LinearLayout &)>;

  /// `inBlock` gives a layout of the block for one of `value`.
  bool add(Value value, bool isComputed, InBlock inBlock) {
    for (Operation *user : value.getUsers()) {
      if (!seen_.insert(user).second)
        continue;
      if (isa<tlg::ConvertLayoutOp>(user) ||
          (tl::isElementwise(user) && user->getNumResults() == 1)) {
        if (!add(user->getResult(0), isComputed || tl::isElementwise(user), inBlock))
          return false;
      } else if (isa<tl::TransOp>(user)) {
        const auto back = [&](const LinearLayout &layout) {
          return inBlock(*operandLayout(user, 0, layout));
        };
        if (!add(user->getResult(0), isComputed, back))
          return false;
      } else if (isa<tlg::MmaOp>(user) || isComputed) {
        const LinearLayout layout = inBlock(tlg::layoutOf(value.getType()));
        if (!llvm::is_contained(layouts_, layout))
          layouts_.push_back(layout);
      } else {
        return false;
      }
    }
    return true;
  }

  llvm::SmallVector<LinearLayout, 2> layouts_;
  llvm::SmallPtrSet<Operation *, 16> seen_;
};

/// The layout of a buffer that only threads read, by whole words or by ldmatrix, with the swizzle
/// by which they meet fewer conflicts.
SharedLayout withFewestConflicts(tl::LoadOp load, const SharedLayout &layout, int copiedBytes) {
  constexpr int kWordBytes = 4;
  Readers readers;
  if (!readers.find(load.getResult()))
    return layout;
  bool readsWords = true;
  const auto wavefronts = [&](const SharedLayout &shared) {
    int sum = vectorStore(tlg::layoutOf(load.getType()), shared, copiedBytes).wavefronts;
    for (const LinearLayout &reader : readers.layouts()) {
      if (const auto matrices = matrixLoad(reader, shared)) {
        sum += matrices->wavefronts;
        continue;
      }
      const SharedAccess vectors = vectorLoad(reader, shared);
      sum += vectors.wavefronts;
      readsWords &= vectors.vectorBytes >= kWordBytes;
    }
    return sum;
  };
  const SharedLayout reversed = withReversedSwizzle(layout);
  return wavefronts(reversed) < wavefronts(layout) && readsWords ? reversed : layout;
}

} // namespace

AsyncCopy asyncCopyOf(tl::LoadOp load, bool withOther) {
  constexpr int kLeastBytes = 4;
  const auto type = dyn_cast<RankedTensorType>(load.getType());
  const auto vector = load->getAttrOfType<DenseI32ArrayAttr>(tlg::kVectorAttribute);
  const llvm::StringRef cache = load.getCacheModifier();
  const auto no = [](LoadReason why) { return AsyncCopy{{}, why}; };
  if (!type || !vector || (load.getMask() && !tlg::hasLayout(load.getMask().getType())))
    return no(LoadReason::NotATile);
  const ShapeBits shape(type.getShape());
  const ElementBits equal = equalBits(load, shape);
  SharedLayout layout =
      feedsDotAsIs(load.getResult())
          ? sharedForDot(load, dimInBuffer(load, vector[0]))
          : sharedForRuns(sharedForOperand(RankedTensorType::get(shapeWithout(shape, equal),
                                                                 type.getElementType()),
                                           vector[0]),
                          shape, equal);
  // Memory and the buffer may be in another order: what follows in both.
  const int bytes = contiguousBytes(layout, shape, vector[0], vector[1] * layout.elementBytes);
  const int pieceBytes = vectorStore(tlg::layoutOf(type), layout, bytes).vectorBytes;
  if (pieceBytes < kLeastBytes)
    return {{}, LoadReason::Narrow, pieceBytes};
  if (load.getIsVolatile())
    return no(LoadReason::Volatile);
  if (!cache.empty() && cache != ".ca" && cache != ".cg")
    return no(LoadReason::CacheModifier);
  if (hasOther(load) && !withOther)
    return no(LoadReason::Other);
  layout = withFewestConflicts(load, layout, bytes);
  return {tlg::sharedType(type.getShape(), type.getElementType(), layout), LoadReason::None,
          pieceBytes};
}

} // namespace blockscope::gpu
