// tl.gather: the source goes to shared memory, and every thread picks its elements from there.
#include "gpu_backend/lowering/combine.h"
#include "gpu_backend/lowering/families.h"
#include "gpu_backend/lowering/partial_sort.h"

#include "gpu_backend/layout/shared_layout.h"

#include "core/ir/tl_dialect.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// Stores the elements with coordinates below `needed`, a power of two, along the last dimension,
/// which has `width` bits; their slots are numbered without the others.
void storeFirst(Lowering &lowering, Slots &slots, llvm::ArrayRef<llvm::Value *> registers,
                const LinearLayout &layout, int width, int64_t needed) {
  llvm::IRBuilder<> &builder = lowering.builder();
  const int kept = static_cast<int>(llvm::Log2_64(needed));
  const ElementBits beyond = (ElementBits{1} << width) - (ElementBits{1} << kept);
  const ElementBits ofThreads = flippedBits(layout.lanes) | flippedBits(layout.warps);
  const uint32_t copies = freeBits(layout).registers;
  llvm::Value *thread = lowering.threadElement(layout);
  llvm::Value *threadBeyond = builder.CreateAnd(thread, lowering.i32(beyond));
  lowering.onlyIf(lowering.ownsElements(layout), [&] {
    for (auto [reg, value] : llvm::enumerate(registers)) {
      const ElementBits own = layout.registerElement(reg);
      if ((reg & copies) != 0 || (own & beyond & ~ofThreads) != 0)
        continue;
      llvm::Value *element = builder.CreateXor(thread, lowering.i32(own));
      llvm::Value *row = builder.CreateShl(builder.CreateLShr(element, width), kept);
      llvm::Value *slot =
          builder.CreateOr(row, builder.CreateAnd(element, lowering.i32(needed - 1)));
      lowering.onlyIf(builder.CreateICmpEQ(threadBeyond, lowering.i32(own & beyond)),
                      [&, value = value] { slots.store(slot, {value}); });
    }
  });
}

LogicalResult lowerGather(Lowering &lowering, Operation *op) {
  auto gather = cast<tl::GatherOp>(op);
  llvm::IRBuilder<> &builder = lowering.builder();
  const auto sourceType = cast<RankedTensorType>(gather.getSource().getType());
  const auto type = cast<RankedTensorType>(gather.getType());
  const ShapeBits sourceShape(sourceType.getShape());
  const int axis = static_cast<int>(gather.getAxis());
  // Of a sort of which only the first elements are needed, these are stored alone.
  auto sort = gather.getSource().getDefiningOp<tl::SortOp>();
  const bool isAlongSort = sort && axis + 1 == sourceShape.rank();
  const int64_t size = sourceType.getDimSize(axis);
  const int64_t needed = isAlongSort ? neededOfSort(sort) : size;
  Slots slots(lowering, gather.getSource(), sourceType.getNumElements() / (size / needed));
  const int left = static_cast<int>(llvm::Log2_64(size / needed)); // out of an element's number
  if (left == 0)
    slots.storeBlock(lowering.get(gather.getSource()), tlg::layoutOf(sourceType));
  else
    storeFirst(lowering, slots, lowering.get(gather.getSource()), tlg::layoutOf(sourceType),
               sourceShape.width(axis), needed);
  lowering.barrier();

  llvm::SmallVector<Registers> coordinates;
  for (int dim = 0; dim < sourceShape.rank(); ++dim)
    coordinates.push_back(dim == axis ? Registers() : lowering.coordinates(type, dim));
  Registers results;
  const llvm::ArrayRef<llvm::Value *> indices = lowering.get(gather.getIndices());
  for (int reg = 0; reg < Lowering::registerCount(type); ++reg) {
    llvm::Value *index = indices[reg];
    if (index->getType()->getIntegerBitWidth() < 32)
      index = builder.CreateSExt(index, builder.getInt32Ty());
    // Negative indices are outside, too.
    llvm::Value *isInside = builder.CreateICmpULT(
        index, llvm::ConstantInt::get(index->getType(), sourceType.getDimSize(axis)));
    index = builder.CreateTrunc(index, builder.getInt32Ty());
    llvm::Value *element = builder.CreateShl(builder.CreateSelect(isInside, index, lowering.i32(0)),
                                             sourceShape.shift(axis));
    for (int dim = 0; dim < sourceShape.rank(); ++dim)
      if (dim != axis)
        element = builder.CreateOr(
            element, builder.CreateShl(coordinates[dim][reg], sourceShape.shift(dim) - left));
    llvm::Value *value = slots.load(element)[0];
    results.push_back(
        builder.CreateSelect(isInside, value, llvm::Constant::getNullValue(value->getType())));
  }
  lowering.set(gather, results);
  return success();
}

} // namespace

llvm::ArrayRef<LoweringRow> gatherRows() {
  static constexpr LoweringRow kRows[] = {{"tl.gather", lowerGather}};
  return kRows;
}

} // namespace blockscope::gpu
