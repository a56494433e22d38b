// tl.gather: the source goes to shared memory, and every thread picks its elements from there.
#include "gpu_backend/lowering/combine.h"
#include "gpu_backend/lowering/families.h"

#include "core/ir/tl_dialect.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

LogicalResult lowerGather(Lowering &lowering, Operation *op) {
  auto gather = cast<tl::GatherOp>(op);
  llvm::IRBuilder<> &builder = lowering.builder();
  const auto sourceType = cast<RankedTensorType>(gather.getSource().getType());
  const auto type = cast<RankedTensorType>(gather.getType());
  const ShapeBits sourceShape(sourceType.getShape());
  const int axis = static_cast<int>(gather.getAxis());
  Slots slots(lowering, gather.getSource(), sourceType.getNumElements());
  slots.storeBlock(lowering.get(gather.getSource()), tlg::layoutOf(sourceType));
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
            element, builder.CreateShl(coordinates[dim][reg], sourceShape.shift(dim)));
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
