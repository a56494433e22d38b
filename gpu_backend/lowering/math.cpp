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
#include "llvm/ADT/DenseMap.h"
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
/// element, in the inner loop of attention, and so it does for roots.
llvm::Value *exp2(Lowering &lowering, Operation *, Operands x) {
  if (!x[0]->getType()->isFloatTy())
    return library(lowering, "exp2", x);
  return lowering.builder().CreateUnaryIntrinsic(Intrinsic::nvvm_ex2_approx_ftz, x[0]);
}

/// Subnormal numbers count as 0, as for Triton: this and the next one.
llvm::Value *rsqrt(Lowering &lowering, Operation *, Operands x) {
  if (!x[0]->getType()->isFloatTy())
    return library(lowering, "rsqrt", x);
  return lowering.builder().CreateIntrinsic(Intrinsic::nvvm_rsqrt_approx_ftz_f, x);
}

llvm::Value *sqrt(Lowering &lowering, Operation *op, Operands x) {
  if (mayApproximate(op, x[0]))
    return lowering.builder().CreateIntrinsic(Intrinsic::nvvm_sqrt_approx_ftz_f, x);
  return lowering.builder().CreateUnaryIntrinsic(Intrinsic::sqrt, x[0]);
}

llvm::Value *divide(Lowering &lowering, Operation *op, Operands x) {
  if (mayApproximate(op, x[0]))
    return lowering.builder().CreateIntrinsic(Intrinsic::nvvm_div_full, x);
  return lowering.builder().CreateFDiv(x[0], x[1]);
}

/// Sine or cosine of |x| < 105615 as libdevice computes it: quarters of a turn are subtracted in
/// three parts, then a polynomial. Rounded by an addition, which costs less than two conversions.
llvm::Value *sineOfSmall(llvm::IRBuilder<> &builder, llvm::Value *x, bool isCosine) {
  const auto constant = [&](double value) {
    return llvm::ConstantFP::get(builder.getFloatTy(), value);
  };
  const auto fma = [&](llvm::Value *a, llvm::Value *b, llvm::Value *c) {
    return builder.CreateIntrinsic(Intrinsic::fma, builder.getFloatTy(), {a, b, c});
  };
  const auto exactly = [&](Intrinsic::ID id, llvm::Value *a, llvm::Value *b) {
    return builder.CreateIntrinsic(id, {a, b}); // not fused
  };
  llvm::Value *rounder = constant(0x1.8p23);
  llvm::Value *quarters = exactly(Intrinsic::nvvm_mul_rn_f, x, constant(0x1.45f306p-1));
  llvm::Value *rounded = exactly(Intrinsic::nvvm_add_rn_f, quarters, rounder);
  llvm::Value *count = exactly(Intrinsic::nvvm_add_rn_f, rounded, constant(-0x1.8p23));
  llvm::Value *rest = fma(count, constant(-0x1.921fb4p0), x);
  rest = fma(count, constant(-0x1.4442dp-24), rest);
  rest = fma(count, constant(-0x1.84698ap-48), rest);
  llvm::Value *quadrant = builder.CreateBitCast(rounded, builder.getInt32Ty());
  if (isCosine)
    quadrant = builder.CreateAdd(quadrant, builder.getInt32(1));
  const auto isSet = [&](uint32_t bit) {
    return builder.CreateICmpNE(builder.CreateAnd(quadrant, builder.getInt32(bit)),
                                builder.getInt32(0));
  };
  llvm::Value *isOdd = isSet(1);
  const auto either = [&](double ifOdd, double ifEven) {
    return builder.CreateSelect(isOdd, constant(ifOdd), constant(ifEven));
  };
  llvm::Value *square = exactly(Intrinsic::nvvm_mul_rn_f, rest, rest);
  llvm::Value *first = builder.CreateSelect(isOdd, constant(1), rest);
  llvm::Value *sum =
      builder.CreateSelect(isOdd, fma(constant(0x1.97580p-16), square, constant(-0x1.6c0fdap-10)),
                           constant(-0x1.9a82a6p-13));
  sum = fma(sum, square, either(0x1.555576p-5, 0x1.110bc8p-7));
  sum = fma(sum, square, either(-0x1.fffffep-2, -0x1.55555p-3));
  sum = fma(sum, fma(square, first, constant(0)), first);
  return builder.CreateSelect(isSet(2), fma(sum, constant(-1), constant(0)), sum);
}

/// Memory of this thread for a while: all who ask for the same type have the same.
llvm::Value *elementsInMemory(llvm::Function &function, llvm::Type *type) {
  constexpr llvm::StringRef kName = "elements";
  llvm::BasicBlock &entry = function.getEntryBlock();
  for (llvm::Instruction &instruction : entry)
    if (auto *memory = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
      if (memory->getAllocatedType() == type && memory->getName().starts_with(kName))
        return memory;
  return llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(type, nullptr, kName);
}

using Values = llvm::SmallVector<llvm::Value *, 2>;
using Function = llvm::function_ref<llvm::Value *(Operands)>;

/// The results of `function` for all of `x`, in a loop: code that hardly ever runs.
llvm::SmallVector<llvm::Value *> oneByOne(Lowering &lowering, llvm::ArrayRef<Values> x,
                                          Function function) {
  llvm::IRBuilder<> &builder = lowering.builder();
  llvm::Type *type = x.front().front()->getType();
  const size_t operands = x.front().size();
  auto *array = llvm::ArrayType::get(type, x.size() * operands);
  llvm::Value *memory = elementsInMemory(lowering.function(), array);
  const auto element = [&](llvm::Value *number, size_t operand) {
    llvm::Value *first = builder.CreateInBoundsGEP(type, memory, lowering.i32(operand * x.size()));
    return builder.CreateInBoundsGEP(type, first, number);
  };
  for (auto [number, values] : llvm::enumerate(x))
    for (auto [operand, value] : llvm::enumerate(values))
      builder.CreateStore(value, element(lowering.i32(number), operand));
  llvm::BasicBlock *before = builder.GetInsertBlock();
  auto *body = llvm::BasicBlock::Create(lowering.context(), "slow", &lowering.function());
  auto *after = llvm::BasicBlock::Create(lowering.context(), "slow.end", &lowering.function());
  builder.CreateBr(body);
  builder.SetInsertPoint(body);
  llvm::PHINode *number = builder.CreatePHI(builder.getInt32Ty(), 2);
  Values values;
  for (size_t operand = 0; operand < operands; ++operand)
    values.push_back(builder.CreateLoad(type, element(number, operand)));
  llvm::Value *result = function(values);
  builder.CreateStore(result, element(number, 0));
  llvm::Value *next = builder.CreateAdd(number, lowering.i32(1));
  number->addIncoming(lowering.i32(0), before);
  number->addIncoming(next, builder.GetInsertBlock());
  llvm::BranchInst *back =
      builder.CreateCondBr(builder.CreateICmpULT(next, lowering.i32(x.size())), body, after);
  llvm::Metadata *once = llvm::MDNode::get(
      lowering.context(), llvm::MDString::get(lowering.context(), "llvm.loop.unroll.disable"));
  llvm::MDNode *loop = llvm::MDNode::getDistinct(lowering.context(), {nullptr, once});
  loop->replaceOperandWith(0, loop);
  back->setMetadata(llvm::LLVMContext::MD_loop, loop);
  builder.SetInsertPoint(after);
  llvm::SmallVector<llvm::Value *> results;
  for (size_t i = 0; i < x.size(); ++i)
    results.push_back(builder.CreateLoad(type, element(lowering.i32(i), 0)));
  return results;
}

/// A result that is right where a condition holds.
struct Quick {
  llvm::Value *result, *isRight;
};

/// The results of a thread's elements without a branch for each: only if `quick` is not right for
/// one do all go through libdevice's `name`, whose code is long. For fp32.
LogicalResult quickly(Lowering &lowering, Operation *op, llvm::StringRef name,
                      llvm::function_ref<Quick(Operands)> quick) {
  llvm::IRBuilder<> &builder = lowering.builder();
  const llvm::SmallVector<int> first = firstEqualRegisters(op);
  llvm::SmallVector<Values> x;
  llvm::SmallDenseMap<std::pair<llvm::Value *, llvm::Value *>, size_t> known;
  llvm::SmallVector<size_t> places; // of the registers in `x`
  for (const int reg : first) {
    Values values;
    for (Value operand : op->getOperands())
      values.push_back(lowering.get(operand)[reg]);
    const auto [place, isNew] = known.insert({{values.front(), values.back()}, x.size()});
    places.push_back(place->second);
    if (isNew)
      x.push_back(values);
  }
  llvm::SmallVector<llvm::Value *> results;
  llvm::Value *areRight = nullptr;
  for (const Values &values : x) {
    const Quick made = quick(values);
    areRight = areRight ? builder.CreateAnd(areRight, made.isRight) : made.isRight;
    results.push_back(made.result);
  }
  llvm::BasicBlock *before = builder.GetInsertBlock();
  llvm::BasicBlock *slowEnd = nullptr;
  llvm::SmallVector<llvm::Value *> slow;
  lowering.onlyIf(builder.CreateNot(areRight), [&] {
    slow = oneByOne(lowering, x, [&](Operands values) { return library(lowering, name, values); });
    slowEnd = builder.GetInsertBlock();
  });
  for (auto [result, exact] : llvm::zip(results, slow)) {
    llvm::PHINode *phi = builder.CreatePHI(exact->getType(), 2);
    phi->addIncoming(result, before);
    phi->addIncoming(exact, slowEnd);
    result = phi;
  }
  Registers registers;
  for (const size_t place : places)
    registers.push_back(results[place]);
  lowering.set(op->getResult(0), registers);
  return success();
}

/// Whether an op works on one element of fp32 for a thread, or on elements of other types: there
/// libdevice is called for each.
bool isForEach(Lowering &lowering, Operation *op) {
  return !lowering.get(op->getOperand(0)).front()->getType()->isFloatTy() ||
         firstEqualRegisters(op).size() == 1;
}

template <bool isCosine> LogicalResult sine(Lowering &lowering, Operation *op) {
  if (isForEach(lowering, op))
    return eachFloat<libraryOfName, NarrowestFloat::Fp32>(lowering, op);
  llvm::IRBuilder<> &builder = lowering.builder();
  return quickly(lowering, op, isCosine ? "cos" : "sin", [&](Operands x) -> Quick {
    llvm::Value *isSmall =
        builder.CreateFCmpULT(builder.CreateUnaryIntrinsic(Intrinsic::fabs, x[0]),
                              llvm::ConstantFP::get(builder.getFloatTy(), 105615.0));
    return {sineOfSmall(builder, x[0], isCosine), isSmall};
  });
}

/// `size`, which is not negative, with the sign of `x`. LLVM takes several instructions for a
/// copysign of what was cast.
llvm::Value *withSignOf(llvm::IRBuilder<> &builder, llvm::Value *size, llvm::Value *x) {
  llvm::Type *type = x->getType();
  const unsigned bits = type->getPrimitiveSizeInBits();
  llvm::Type *integer = builder.getIntNTy(bits);
  llvm::Value *sign =
      builder.CreateAnd(builder.CreateBitCast(x, integer),
                        llvm::ConstantInt::get(integer, llvm::APInt::getSignMask(bits)));
  return builder.CreateBitCast(builder.CreateOr(builder.CreateBitCast(size, integer), sign), type);
}

/// 1 / 2^n of a constant 2^n of 1 or more, or of -2^n: nothing of others.
std::optional<llvm::APFloat> inverseOfPower(llvm::Value *divisor) {
  auto *constant = llvm::dyn_cast<llvm::ConstantFP>(divisor);
  if (!constant)
    return std::nullopt;
  const llvm::APFloat power = llvm::abs(constant->getValueAPF());
  llvm::APFloat inverse = power;
  if (!power.getExactInverse(&inverse) || inverse.isDenormal() ||
      inverse > llvm::APFloat::getOne(power.getSemantics()))
    return std::nullopt;
  return inverse;
}

/// The remainder by a constant 2^n of 1 or more, exactly: null for other divisors.
llvm::Value *remainderByPower(llvm::IRBuilder<> &builder, Operands x) {
  const std::optional<llvm::APFloat> inverse = inverseOfPower(x[1]);
  if (!inverse)
    return nullptr;
  llvm::Type *type = x[0]->getType();
  const llvm::APFloat power = llvm::abs(llvm::cast<llvm::ConstantFP>(x[1])->getValueAPF());
  llvm::Value *size = builder.CreateUnaryIntrinsic(Intrinsic::fabs, x[0]);
  llvm::Value *quotient = builder.CreateUnaryIntrinsic(
      Intrinsic::trunc, builder.CreateFMul(size, llvm::ConstantFP::get(type, *inverse)));
  llvm::Value *rest = builder.CreateIntrinsic(
      Intrinsic::fma, type, {quotient, llvm::ConstantFP::get(type, -power), size});
  return withSignOf(builder, rest, x[0]);
}

/// The remainder where the quotient is below 2^19. The approximate one is never too small, and too
/// large by one at most: the rest is from -y to y then, and so exact.
Quick remainderOfSmall(llvm::IRBuilder<> &builder, Operands x) {
  const auto constant = [&](double value) {
    return llvm::ConstantFP::get(builder.getFloatTy(), value);
  };
  llvm::Value *a = builder.CreateUnaryIntrinsic(Intrinsic::fabs, x[0]);
  llvm::Value *b = builder.CreateUnaryIntrinsic(Intrinsic::fabs, x[1]);
  // rcp.approx is off by up to 2^-23 of 1, which may be twice the result, and each product by 2^-24
  // of what it gives: never by 2^-20 in all. It often leaves loops.
  llvm::Value *inverse = builder.CreateFMul(
      builder.CreateIntrinsic(Intrinsic::nvvm_rcp_approx_ftz_f, {b}), constant(1 + 0x5p-23));
  llvm::Value *about = builder.CreateFMul(a, inverse);
  llvm::Value *quotient = builder.CreateUnaryIntrinsic(Intrinsic::trunc, about);
  llvm::Value *rest = builder.CreateIntrinsic(Intrinsic::fma, builder.getFloatTy(),
                                              {builder.CreateFNeg(quotient), b, a});
  rest = builder.CreateSelect(builder.CreateFCmpOLT(rest, constant(0)), builder.CreateFAdd(rest, b),
                              rest);
  // Divisors below 2^-126 count as 0 in rcp.approx, those above 2^126 as infinity.
  llvm::Value *isSmall = builder.CreateAnd(builder.CreateFCmpOLT(about, constant(0x1p19)),
                                           builder.CreateFCmpOLE(b, constant(0x1p126)));
  return {withSignOf(builder, rest, x[0]), isSmall};
}

llvm::Value *remainderOf(Lowering &lowering, Operation *, Operands x) {
  if (llvm::Value *result = remainderByPower(lowering.builder(), x))
    return result;
  return library(lowering, "fmod", x);
}

LogicalResult remainder(Lowering &lowering, Operation *op) {
  llvm::Value *divisor = lowering.get(op->getOperand(1)).front();
  if (!divisor->getType()->isFloatTy() || inverseOfPower(divisor))
    return eachFloat<remainderOf, NarrowestFloat::Fp32>(lowering, op);
  return quickly(lowering, op, "fmod",
                 [&](Operands x) { return remainderOfSmall(lowering.builder(), x); });
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
      {"arith.remf", remainder},
      {"math.absf", eachFloat<unary<Intrinsic::fabs>>},
      {"math.absi", eachRegister<absoluteInteger>},
      {"math.ceil", eachFloat<unary<Intrinsic::ceil>, kFp32>},
      {"math.cos", sine<true>},
      {"math.erf", eachFloat<libraryOfName, kFp32>},
      {"math.exp", eachFloat<exp, kFp32>},
      {"math.exp2", eachFloat<exp2, kFp32>},
      {"math.floor", eachFloat<unary<Intrinsic::floor>, kFp32>},
      {"math.fma", eachFloat<fma, kFp32>},
      {"math.log", eachFloat<libraryOfName, kFp32>},
      {"math.log2", eachFloat<libraryOfName, kFp32>},
      {"math.roundeven", eachFloat<unary<Intrinsic::roundeven>, kFp32>},
      {"math.rsqrt", eachFloat<rsqrt, kFp32>},
      {"math.sin", sine<false>},
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
