// tl.histogram: atomic additions to counters in shared memory, one for each element.
#include "gpu_backend/lowering/convert_layout.h"
#include "gpu_backend/lowering/families.h"

#include "core/ir/tl_dialect.h"
#include "gpu_backend/layout/layout_queries.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

constexpr int kCounterBytes = 4;

llvm::Value *counterPointer(Lowering &lowering, llvm::Value *base, llvm::Value *bin) {
  return lowering.builder().CreateGEP(lowering.builder().getInt32Ty(), base, bin);
}

void clearCounters(Lowering &lowering, llvm::Value *base, int64_t bins) {
  llvm::IRBuilder<> &builder = lowering.builder();
  const int64_t threads = int64_t{32} * lowering.numWarps();
  llvm::Value *takesPart = nullptr;
  if (bins < threads)
    takesPart = builder.CreateICmpULT(lowering.threadId(), lowering.i32(bins));
  lowering.onlyIf(takesPart, [&] {
    for (int64_t first = 0; first < bins; first += threads)
      builder.CreateStore(lowering.i32(0), counterPointer(lowering, base,
                                                          builder.CreateAdd(lowering.threadId(),
                                                                            lowering.i32(first))));
  });
}

LogicalResult lowerHistogram(Lowering &lowering, Operation *op) {
  auto histogram = cast<tl::HistogramOp>(op);
  llvm::IRBuilder<> &builder = lowering.builder();
  const auto sourceType = cast<RankedTensorType>(histogram.getSource().getType());
  const auto type = cast<RankedTensorType>(histogram.getType());
  const LinearLayout layout = tlg::layoutOf(sourceType);
  const int64_t bins = type.getNumElements();
  Registers mask;
  if (Value given = histogram.getMask())
    mask = convertLayout(lowering, lowering.get(given), cast<RankedTensorType>(given.getType()),
                         tlg::layoutOf(given.getType()), layout);
  llvm::Value *base = lowering.scratch(bins * kCounterBytes);
  clearCounters(lowering, base, bins);
  lowering.barrier();

  llvm::Value *owner = lowering.ownsElements(layout);
  const uint32_t copies = freeBits(layout).registers;
  for (auto [reg, value] : llvm::enumerate(lowering.get(histogram.getSource()))) {
    if ((reg & copies) != 0)
      continue;
    // As in the evaluator narrow values are read unsigned, and negative ones are past every bin.
    llvm::Value *bin = value;
    if (bin->getType()->getIntegerBitWidth() < 32)
      bin = builder.CreateZExt(bin, builder.getInt32Ty());
    llvm::Value *counts = builder.CreateICmpULT(bin, llvm::ConstantInt::get(bin->getType(), bins));
    for (llvm::Value *condition : {owner, mask.empty() ? nullptr : mask[reg]})
      if (condition)
        counts = builder.CreateAnd(counts, condition);
    llvm::Value *pointer =
        counterPointer(lowering, base, builder.CreateTrunc(bin, builder.getInt32Ty()));
    lowering.assembly(builder.getVoidTy(), "@$1 red.relaxed.cta.shared.add.u32 [$0], 1;",
                      "r,b,~{memory}",
                      {builder.CreatePtrToInt(pointer, builder.getInt32Ty()), counts});
  }
  lowering.barrier();

  Registers results;
  for (llvm::Value *bin : lowering.coordinates(type, 0))
    results.push_back(builder.CreateZExtOrTrunc(
        builder.CreateLoad(builder.getInt32Ty(), counterPointer(lowering, base, bin)),
        lowering.elementType(type)));
  lowering.set(histogram, results);
  return success();
}

} // namespace

llvm::ArrayRef<LoweringRow> histogramRows() {
  static constexpr LoweringRow kRows[] = {{"tl.histogram", lowerHistogram}};
  return kRows;
}

} // namespace blockscope::gpu
