// tl.extern_elementwise: functions of libdevice, and of the bitcode of users, by symbol.
#include "core/bitcode.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/lowering/each_register.h"
#include "gpu_backend/lowering/families.h"
#include "gpu_backend/lowering/libdevice.h"

#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

llvm::StringRef calleeOf(Operation *op) {
  return op->getAttrOfType<StringAttr>("symbol").getValue();
}

/// Of functions that are little more than one instruction of PTX the one that takes subnormal
/// numbers for 0, as Triton has all of libdevice do: the others cost three instructions more for
/// each element. Nothing for other functions, in which subnormal numbers stay.
llvm::Value *flushing(llvm::IRBuilder<> &builder, llvm::StringRef symbol, Operands x) {
  using llvm::Intrinsic::nvvm_ex2_approx_ftz, llvm::Intrinsic::nvvm_lg2_approx_ftz_f;
  const auto exp2 = [&](llvm::Value *of) {
    return builder.CreateUnaryIntrinsic(nvvm_ex2_approx_ftz, of);
  };
  const auto log2 = [&] { return builder.CreateIntrinsic(nvvm_lg2_approx_ftz_f, {x[0]}); };
  const auto times = [&](llvm::Value *of, double factor) {
    return builder.CreateFMul(of, llvm::ConstantFP::get(builder.getFloatTy(), factor));
  };
  using llvm::numbers::ln10, llvm::numbers::ln2, llvm::numbers::log2e;
  if (symbol == "__nv_rsqrtf")
    return builder.CreateIntrinsic(llvm::Intrinsic::nvvm_rsqrt_approx_ftz_f, {x[0]});
  if (symbol == "__nv_exp2f")
    return exp2(x[0]);
  if (symbol == "__nv_fast_expf")
    return exp2(times(x[0], log2e));
  if (symbol == "__nv_fast_exp10f")
    return exp2(times(x[0], ln10 * log2e));
  if (symbol == "__nv_fast_log2f")
    return log2();
  if (symbol == "__nv_fast_logf")
    return times(log2(), ln2);
  if (symbol == "__nv_fast_log10f")
    return times(log2(), ln2 / ln10);
  if (symbol == "__nv_fast_powf")
    return exp2(builder.CreateFMul(x[1], log2()));
  return nullptr;
}

llvm::Value *callSymbol(Lowering &lowering, Operation *op, Operands x) {
  const llvm::StringRef symbol = calleeOf(op);
  // Linked by LLVM it becomes sqrt.approx, which is less than it promises.
  if (symbol == "__nv_sqrtf")
    return lowering.builder().CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x[0]);
  if (llvm::Value *value = flushing(lowering.builder(), symbol, x))
    return value;
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
