// Moves a block's elements to the registers, lanes and warps of another layout.
#include "gpu_backend/lowering/convert_layout.h"

#include "gpu_backend/lowering/families.h"
#include "gpu_backend/lowering/words.h"

#include "gpu_backend/layout/layout_queries.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// The byte offsets of each register's element in row-major order, in this
/// thread.
Registers rowMajorOffsets(Lowering &lowering, const LinearLayout &layout,
                          int elementBytes) {
  llvm::IRBuilder<> &builder = lowering.builder();
  llvm::Value *thread = lowering.threadElement(layout);
  Registers offsets;
  for (int reg = 0; reg < layout.registerCount(); ++reg) {
    llvm::Value *element =
        builder.CreateXor(thread, lowering.i32(layout.registerElement(reg)));
    offsets.push_back(builder.CreateMul(element, lowering.i32(elementBytes)));
  }
  return offsets;
}

LogicalResult lowerConvertLayout(Lowering &lowering, Operation *op) {
  auto convert = cast<tlg::ConvertLayoutOp>(op);
  const RankedTensorType type = convert.getType();
  lowering.set(convert,
               convertLayout(lowering, lowering.get(convert.getSource()), type,
                             tlg::layoutOf(convert.getSource().getType()),
                             tlg::layoutOf(type)));
  return success();
}

} // namespace

Registers convertLayout(Lowering &lowering,
                        llvm::ArrayRef<llvm::Value *> source,
                        RankedTensorType type, const LinearLayout &from,
                        const LinearLayout &to) {
  Registers results;
  if (const auto registers = sourceRegisters(to, from)) {
    for (const uint32_t reg : *registers)
      results.push_back(source[reg]);
    return results;
  }
  llvm::IRBuilder<> &builder = lowering.builder();
  const int bytes = Lowering::elementBytes(type);
  llvm::Value *base = lowering.scratch(type.getNumElements() * bytes);
  llvm::Type *memory = lowering.memoryType(type);
  const Registers writes = rowMajorOffsets(lowering, from, bytes);
  const uint32_t copies = freeBits(from).registers;
  lowering.onlyIf(lowering.ownsElements(from), [&] {
    for (int reg = 0; reg < from.registerCount(); ++reg)
      if ((reg & copies) == 0)
        builder.CreateStore(
            toMemory(lowering, source[reg], type),
            builder.CreateGEP(builder.getInt8Ty(), base, writes[reg]));
  });
  lowering.barrier();
  for (llvm::Value *offset : rowMajorOffsets(lowering, to, bytes))
    results.push_back(fromMemory(
        lowering,
        builder.CreateLoad(
            memory, builder.CreateGEP(builder.getInt8Ty(), base, offset)),
        type));
  return results;
}

llvm::ArrayRef<LoweringRow> convertLayoutRows() {
  static constexpr LoweringRow kRows[] = {
      {"tlg.convert_layout", lowerConvertLayout}};
  return kRows;
}

} // namespace blockscope::gpu
