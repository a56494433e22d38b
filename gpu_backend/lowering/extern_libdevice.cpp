// tl.extern_elementwise: functions of libdevice, and of the bitcode of users, by symbol.
#include "core/bitcode.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/lowering/each_register.h"
#include "gpu_backend/lowering/families.h"
#include "gpu_backend/lowering/libdevice.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

llvm::StringRef calleeOf(Operation *op) {
  return op->getAttrOfType<StringAttr>("symbol").getValue();
}

llvm::Value *callSymbol(Lowering &lowering, Operation *op, Operands x) {
  const llvm::StringRef symbol = calleeOf(op);
  // Linked by LLVM it becomes sqrt.approx, which is less than it promises.
  if (symbol == "__nv_sqrtf")
    return lowering.builder().CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x[0]);
  return callLibdevice(lowering, symbol, lowering.elementType(op->getResult(0).getType()), x);
}

/// Functions of users' libraries.
LogicalResult lowerUsers(Lowering &lowering, Operation *op, ArrayAttr libraries) {
  llvm::SmallVector<std::string> paths;
  for (const auto path : libraries.getAsRange<StringAttr>())
    paths.push_back(path.str());
  std::string error;
  llvm::Function *function = declareExtern(lowering.module(), calleeOf(op), paths, &error);
  if (!function)
    return op->emitError(error);
  for (const std::string &path : paths)
    if (!llvm::is_contained(lowering.kernel().libraries, path))
      lowering.kernel().libraries.push_back(path);
  const Value result = op->getResult(0);
  Registers made;
  for (int reg = 0; reg < Lowering::registerCount(result.getType()); ++reg) {
    Registers operands;
    for (const Value operand : op->getOperands()) {
      const llvm::ArrayRef<llvm::Value *> registers = lowering.get(operand);
      operands.push_back(registers[registers.size() == 1 ? 0 : reg]);
    }
    llvm::Value *value = callExtern(lowering.builder(), function, operands,
                                    lowering.elementType(result.getType()), &error);
    if (!value)
      return op->emitError(error);
    made.push_back(value);
  }
  lowering.set(result, made);
  return success();
}

LogicalResult lowerExtern(Lowering &lowering, Operation *op) {
  if (const auto libraries = op->getAttrOfType<ArrayAttr>("libraries"))
    return lowerUsers(lowering, op, libraries);
  const llvm::StringRef symbol = calleeOf(op);
  if (!symbol.starts_with("__nv_"))
    return op->emitError("'" + symbol +
                         "' is not a function of libdevice, whose names begin with '__nv_'; name "
                         "the bitcode that has it in the launch: "
                         "extern_libs={'name': 'path.bc'}");
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
  static constexpr LoweringRow kRows[] = {{"tl.extern_elementwise", lowerExtern},
                                          {"tl.extern_elementwise_volatile", lowerExtern}};
  return kRows;
}

} // namespace blockscope::gpu
