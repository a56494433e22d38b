// tl.extern_elementwise: functions of libdevice by symbol.
#include "core/ir/tl_dialect.h"
#include "gpu_backend/lowering/each_register.h"
#include "gpu_backend/lowering/families.h"
#include "gpu_backend/lowering/libdevice.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

llvm::Value *callSymbol(Lowering &lowering, Operation *op, Operands x) {
  const llvm::StringRef symbol = cast<tl::ExternElementwiseOp>(op).getSymbol();
  // Linked by LLVM it becomes sqrt.approx, which is less than it promises.
  if (symbol == "__nv_sqrtf")
    return lowering.builder().CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x[0]);
  return callLibdevice(lowering, symbol, lowering.elementType(op->getResult(0).getType()), x);
}

LogicalResult lowerExtern(Lowering &lowering, Operation *op) {
  const llvm::StringRef symbol = cast<tl::ExternElementwiseOp>(op).getSymbol();
  if (!symbol.starts_with("__nv_"))
    return op->emitError("'" + symbol +
                         "' is not a function of libdevice, whose names begin with "
                         "'__nv_'; others are not supported on the GPU");
  return eachRegister<callSymbol>(lowering, op);
}

} // namespace

llvm::Value *callLibdevice(Lowering &lowering, llvm::StringRef symbol, llvm::Type *result,
                           llvm::ArrayRef<llvm::Value *> operands) {
  llvm::SmallVector<llvm::Type *> types;
  for (llvm::Value *operand : operands)
    types.push_back(operand->getType());
  auto *type = llvm::FunctionType::get(result, types, /*isVarArg=*/false);
  return lowering.builder().CreateCall(lowering.module().getOrInsertFunction(symbol, type),
                                       operands);
}

llvm::ArrayRef<LoweringRow> externLibdeviceRows() {
  static constexpr LoweringRow kRows[] = {{"tl.extern_elementwise", lowerExtern}};
  return kRows;
}

} // namespace blockscope::gpu
