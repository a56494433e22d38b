// Mathematical functions and division.
//
// In fp32 as accurate as Triton's GPU code, which is less than the CPU here: exp by ex2.approx,
// `/` and sqrt by approximations within 2 units in the last place where the op is marked
// `fastmath<afn>` (the language's div_rn and sqrt_rn are not), the rest by libdevice. In fp64 by
// libdevice.
#include "core/ir/tl_dialect.h"
#include "gpu_backend/lowering/each_register.h"
#include "gpu_backend/lowering/families.h"
#include "gpu_backend/lowering/libdevice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

namespace Intrinsic = llvm::Intrinsic;

bool mayApproximate(Operation *op, llvm::Value *x) {
  auto marked = dyn_cast<arith::ArithFastMathInterface>(op);
  return x->getType()->isFloatTy() && marked &&
         bitEnumContainsAll(marked.getFastMathFlagsAttr().getValue(), arith::FastMathFlags::afn);
}

/// "math.log" on fp32 is __nv_logf, on fp64 __nv_log; also for "arith.remf" with `name` "fmod".
llvm::Value *library(Lowering &lowering, llvm::StringRef name, Operands x) {
  llvm::Type *type = x[0]->getType();
  const std::string symbol = ("__nv_" + name + (type->isFloatTy() ? "f" : "")).str();
  return callLibdevice(lowering, symbol, type, x);
}

llvm::Value *libraryOfName(Lowering &lowering, Operation *op, Operands x) {
  return library(lowering, op->getName().stripDialect(), x);
}

template <Intrinsic::ID id> llvm::Value *unary(Lowering &lowering, Operation *, Operands x) {
  return lowering.builder().CreateUnaryIntrinsic(id, x[0]);
}

llvm::Value *exp(Lowering &lowering, Operation *, Operands x) {
  llvm::IRBuilder<> &builder = lowering.builder();
  if (!x[0]->getType()->isFloatTy())
    return library(lowering, "exp", x);
  constexpr double kLog2OfE = 1.4426950408889634;
  llvm::Value *scaled =
      builder.CreateFMul(x[0], llvm::ConstantFP::get(builder.getFloatTy(), kLog2OfE));
  return builder.CreateUnaryIntrinsic(Intrinsic::nvvm_ex2_approx, scaled);
}

/// Results below 2^-126 are 0, as Triton's are: keeping them costs three instructions for each
/// element, in the inner loop of attention.
llvm::Value *exp2(Lowering &lowering, Operation *, Operands x) {
  if (!x[0]->getType()->isFloatTy())
    return library(lowering, "exp2", x);
  return lowering.builder().CreateUnaryIntrinsic(Intrinsic::nvvm_ex2_approx_ftz, x[0]);
}

llvm::Value *rsqrt(Lowering &lowering, Operation *, Operands x) {
  if (!x[0]->getType()->isFloatTy())
    return library(lowering, "rsqrt", x);
  return lowering.builder().CreateIntrinsic(Intrinsic::nvvm_rsqrt_approx_f, x);
}

llvm::Value *sqrt(Lowering &lowering, Operation *op, Operands x) {
  if (mayApproximate(op, x[0]))
    return lowering.builder().CreateIntrinsic(Intrinsic::nvvm_sqrt_approx_f, x);
  return lowering.builder().CreateUnaryIntrinsic(Intrinsic::sqrt, x[0]);
}

llvm::Value *divide(Lowering &lowering, Operation *op, Operands x) {
  if (mayApproximate(op, x[0]))
    return lowering.builder().CreateIntrinsic(Intrinsic::nvvm_div_full, x);
  return lowering.builder().CreateFDiv(x[0], x[1]);
}

llvm::Value *remainder(Lowering &lowering, Operation *, Operands x) {
  return library(lowering, "fmod", x);
}

llvm::Value *fma(Lowering &lowering, Operation *, Operands x) {
  return lowering.builder().CreateIntrinsic(Intrinsic::fma, x[0]->getType(), x);
}

llvm::Value *absoluteInteger(Lowering &lowering, Operation *, Operands x) {
  return lowering.builder().CreateBinaryIntrinsic(Intrinsic::abs, x[0],
                                                  lowering.builder().getFalse());
}

llvm::Value *clamp(Lowering &lowering, Operation *op, Operands x) {
  llvm::IRBuilder<> &builder = lowering.builder();
  const bool propagates = cast<tl::ClampOp>(op).getPropagateNan();
  llvm::Value *atLeast = builder.CreateBinaryIntrinsic(
      propagates ? Intrinsic::maximum : Intrinsic::maxnum, x[0], x[1]);
  return builder.CreateBinaryIntrinsic(propagates ? Intrinsic::minimum : Intrinsic::minnum, atLeast,
                                       x[2]);
}

/// The upper half of the product in twice the width.
template <bool isSigned> llvm::Value *multiplyHigh(Lowering &lowering, Operation *, Operands x) {
  llvm::IRBuilder<> &builder = lowering.builder();
  const unsigned width = x[0]->getType()->getIntegerBitWidth();
  llvm::Type *wide = builder.getIntNTy(2 * width);
  const auto widened = [&](llvm::Value *value) {
    return isSigned ? builder.CreateSExt(value, wide) : builder.CreateZExt(value, wide);
  };
  llvm::Value *product = builder.CreateMul(widened(x[0]), widened(x[1]));
  return builder.CreateTrunc(builder.CreateLShr(product, width), x[0]->getType());
}

} // namespace

llvm::ArrayRef<LoweringRow> mathRows() {
  constexpr NarrowestFloat kFp32 = NarrowestFloat::Fp32;
  static constexpr LoweringRow kRows[] = {
      {"arith.divf", eachFloat<divide, kFp32>},
      {"arith.remf", eachFloat<remainder, kFp32>},
      {"math.absf", eachFloat<unary<Intrinsic::fabs>>},
      {"math.absi", eachRegister<absoluteInteger>},
      {"math.ceil", eachFloat<unary<Intrinsic::ceil>, kFp32>},
      {"math.cos", eachFloat<libraryOfName, kFp32>},
      {"math.erf", eachFloat<libraryOfName, kFp32>},
      {"math.exp", eachFloat<exp, kFp32>},
      {"math.exp2", eachFloat<exp2, kFp32>},
      {"math.floor", eachFloat<unary<Intrinsic::floor>, kFp32>},
      {"math.fma", eachFloat<fma, kFp32>},
      {"math.log", eachFloat<libraryOfName, kFp32>},
      {"math.log2", eachFloat<libraryOfName, kFp32>},
      {"math.roundeven", eachFloat<unary<Intrinsic::roundeven>, kFp32>},
      {"math.rsqrt", eachFloat<rsqrt, kFp32>},
      {"math.sin", eachFloat<libraryOfName, kFp32>},
      {"math.sqrt", eachFloat<sqrt, kFp32>},
      {"math.tan", eachFloat<libraryOfName, kFp32>},
      {"math.tanh", eachFloat<libraryOfName, kFp32>},
      {"math.trunc", eachFloat<unary<Intrinsic::trunc>, kFp32>},
      {"tl.clamp", eachFloat<clamp>},
      {"tl.mulhisi", eachRegister<multiplyHigh<true>>},
      {"tl.mulhiui", eachRegister<multiplyHigh<false>>},
  };
  return kRows;
}

} // namespace blockscope::gpu
