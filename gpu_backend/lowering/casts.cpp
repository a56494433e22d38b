// Conversions between element types, with the bits that the CPU gives.
//
// Between fp16, bf16, fp32 and fp64 the hardware rounds once. fp8e4nv and fp8e5 have instructions
// where GPUs have them, two elements at a time and to nearest only; all else goes by
// float_encoding.h. A value that needs two steps is cut to fp32 and rounded to odd first, so that
// it is rounded once.
#include "gpu_backend/lowering/casts.h"

#include "core/dtype.h"
#include "core/ir/convert.h"
#include "core/ir/tl_dialect.h"
#include "core/numeric/scalar.h"
#include "gpu_backend/lowering/each_register.h"
#include "gpu_backend/lowering/families.h"
#include "gpu_backend/lowering/float_encoding.h"
#include "gpu_backend/lowering/payload.h"
#include "gpu_backend/lowering/small_ints.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

using numeric::Rounding;
namespace Intrinsic = llvm::Intrinsic;

DType dtypeOf(Type type) { return fromMlirType(getElementTypeOrSelf(type)).dtype; }

const numeric::FloatFormat &formatOf(DType dtype) {
  if (dtype == DType::Fp8E4M3NV)
    return numeric::kFp8E4M3NV;
  if (dtype == DType::Fp8E4M3B8)
    return numeric::kFp8E4M3B8;
  return dtype == DType::Fp8E5M2 ? numeric::kFp8E5M2 : numeric::kFp8E5M2B16;
}

bool hasFp8Instructions(Lowering &lowering) { return lowering.target().hasFp8; }

/// Whether there are instructions for a format, where GPUs have any for fp8.
bool isHardwareFp8(DType dtype) { return dtype == DType::Fp8E4M3NV || dtype == DType::Fp8E5M2; }

template <typename Convert>
Registers mapped(llvm::ArrayRef<llvm::Value *> values, Convert convert) {
  Registers results;
  for (llvm::Value *value : values)
    results.push_back(convert(value));
  return results;
}

llvm::Value *call(Lowering &lowering, Intrinsic::ID id, llvm::ArrayRef<llvm::Value *> operands) {
  return lowering.builder().CreateIntrinsic(id, operands);
}

/// Between floats of 16 bits and more.
llvm::Value *resize(Lowering &lowering, llvm::Value *value, llvm::Type *to, Rounding rounding) {
  llvm::IRBuilder<> &builder = lowering.builder();
  llvm::Type *single = builder.getFloatTy(), *from = value->getType();
  const unsigned fromBits = from->getPrimitiveSizeInBits(), toBits = to->getPrimitiveSizeInBits();
  if (from == to)
    return value;
  if (fromBits == 16 && (toBits == 16 || from->isBFloatTy()) && to != single)
    return resize(lowering, builder.CreateFPExt(value, single), to, rounding);
  if (fromBits < toBits)
    return builder.CreateFPExt(value, to);
  if (rounding == Rounding::NearestEven)
    return builder.CreateFPTrunc(value, to);
  if (fromBits == 64) // cutting twice is cutting once
    return resize(lowering, call(lowering, Intrinsic::nvvm_d2f_rz, value), to, rounding);
  return call(lowering, to->isHalfTy() ? Intrinsic::nvvm_f2f16_rz : Intrinsic::nvvm_f2bf16_rz,
              value);
}

/// Two elements of fp32 or fp16 as fp8, in 16 bits.
llvm::Value *encodePair(Lowering &lowering, llvm::Value *low, llvm::Value *high, DType to) {
  const bool isE5M2 = to == DType::Fp8E5M2;
  if (low->getType()->isFloatTy())
    return call(lowering,
                isE5M2 ? Intrinsic::nvvm_ff_to_e5m2x2_rn : Intrinsic::nvvm_ff_to_e4m3x2_rn,
                {high, low});
  llvm::IRBuilder<> &builder = lowering.builder();
  llvm::Value *both = llvm::PoisonValue::get(llvm::FixedVectorType::get(low->getType(), 2));
  both = builder.CreateInsertElement(both, low, uint64_t{0});
  both = builder.CreateInsertElement(both, high, uint64_t{1});
  return call(lowering,
              isE5M2 ? Intrinsic::nvvm_f16x2_to_e5m2x2_rn : Intrinsic::nvvm_f16x2_to_e4m3x2_rn,
              both);
}

/// Two elements at a time from fp32 or fp16 to fp8.
Registers encodePairs(Lowering &lowering, llvm::ArrayRef<llvm::Value *> values, DType to) {
  llvm::IRBuilder<> &builder = lowering.builder();
  Registers results;
  for (size_t i = 0; i < values.size(); i += 2) {
    const bool isPair = i + 1 < values.size();
    llvm::Value *high = isPair ? values[i + 1] : llvm::ConstantFP::getZero(values[i]->getType());
    llvm::Value *both = encodePair(lowering, values[i], high, to);
    results.push_back(builder.CreateTrunc(both, builder.getInt8Ty()));
    if (isPair)
      results.push_back(builder.CreateTrunc(builder.CreateLShr(both, 8), builder.getInt8Ty()));
  }
  return results;
}

/// Two elements at a time from fp8e4nv or fp8e5 to fp16.
Registers decodePairs(Lowering &lowering, llvm::ArrayRef<llvm::Value *> values, DType from) {
  llvm::IRBuilder<> &builder = lowering.builder();
  Registers results;
  for (size_t i = 0; i < values.size(); i += 2) {
    const bool isPair = i + 1 < values.size();
    llvm::Value *both = builder.CreateZExt(values[i], builder.getInt16Ty());
    if (isPair)
      both = builder.CreateOr(
          both, builder.CreateShl(builder.CreateZExt(values[i + 1], builder.getInt16Ty()), 8));
    llvm::Value *halves = call(lowering,
                               from == DType::Fp8E5M2 ? Intrinsic::nvvm_e5m2x2_to_f16x2_rn
                                                      : Intrinsic::nvvm_e4m3x2_to_f16x2_rn,
                               both);
    for (int j = 0; j < (isPair ? 2 : 1); ++j)
      results.push_back(builder.CreateExtractElement(halves, j));
  }
  return results;
}

/// From fp8 to fp16 or fp32, whichever is nearer.
Registers decode(Lowering &lowering, llvm::ArrayRef<llvm::Value *> values, DType from) {
  llvm::IRBuilder<> &builder = lowering.builder();
  if (isHardwareFp8(from) && hasFp8Instructions(lowering))
    return decodePairs(lowering, values, from);
  if (from == DType::Fp8E5M2)
    return mapped(values, [&](llvm::Value *value) { return decodeE5M2(builder, value); });
  if (from == DType::Fp8E4M3B15)
    return mapped(values, [&](llvm::Value *value) { return decodeE4M3B15(builder, value); });
  return mapped(values,
                [&](llvm::Value *value) { return decodeFp8(builder, value, formatOf(from)); });
}

/// A wider float as fp32 whose rounding to fp8 is the rounding of the value.
llvm::Value *toSingle(Lowering &lowering, llvm::Value *value, Rounding rounding) {
  llvm::IRBuilder<> &builder = lowering.builder();
  if (!value->getType()->isDoubleTy())
    return resize(lowering, value, builder.getFloatTy(), rounding);
  llvm::Value *cut = call(lowering, Intrinsic::nvvm_d2f_rz, value);
  if (rounding == Rounding::TowardZero)
    return cut;
  llvm::Value *back = builder.CreateFPExt(cut, builder.getDoubleTy());
  return roundToOdd(builder, cut, builder.CreateFCmpUNE(back, value));
}

llvm::Value *toE4M3B15(Lowering &lowering, llvm::Value *value, Rounding rounding) {
  llvm::IRBuilder<> &builder = lowering.builder();
  // A cut NaN may lose its sign.
  llvm::Type *bits = builder.getIntNTy(value->getType()->getPrimitiveSizeInBits());
  llvm::Value *sign =
      builder.CreateICmpSLT(builder.CreateBitCast(value, bits), llvm::ConstantInt::get(bits, 0));
  llvm::Value *half = resize(lowering, value, builder.getHalfTy(), Rounding::TowardZero);
  return encodeE4M3B15(builder, half, sign, rounding);
}

Registers encode(Lowering &lowering, llvm::ArrayRef<llvm::Value *> values, DType to,
                 Rounding rounding) {
  if (to == DType::Fp8E4M3B15)
    return mapped(values, [&](llvm::Value *value) { return toE4M3B15(lowering, value, rounding); });
  const bool isHardware =
      isHardwareFp8(to) && hasFp8Instructions(lowering) && rounding == Rounding::NearestEven;
  if (isHardware && values.front()->getType()->isHalfTy())
    return encodePairs(lowering, values, to);
  const Registers singles =
      mapped(values, [&](llvm::Value *value) { return toSingle(lowering, value, rounding); });
  if (isHardware)
    return encodePairs(lowering, singles, to);
  return mapped(singles, [&](llvm::Value *value) {
    return encodeFp8(lowering.builder(), value, formatOf(to), rounding);
  });
}

LogicalResult lowerFloatCast(Lowering &lowering, Operation *op) {
  auto cast = dyn_cast<tl::FpCastOp>(op);
  const bool cuts = cast && cast.getRounding() == "rtz";
  lowering.set(op->getResult(0), castFloats(lowering, lowering.get(op->getOperand(0)),
                                            op->getOperand(0).getType(), op->getResult(0).getType(),
                                            cuts ? Rounding::TowardZero : Rounding::NearestEven));
  return success();
}

// -- integers -------------------------------------------------------------------------------------

/// What PTX calls a type of float, and the letter of the registers in which assembly takes it.
struct PtxFloat {
  llvm::StringRef name, letter;
};

PtxFloat ptxFloat(llvm::Type *type) {
  if (type->isDoubleTy())
    return {"f64", "d"};
  if (type->isFloatTy())
    return {"f32", "f"};
  return {type->isHalfTy() ? "f16" : "bf16", "h"};
}

/// Toward zero, as PTX defines it for every value: LLVM's fptosi leaves large ones undefined.
llvm::Value *truncateToInt(Lowering &lowering, llvm::Value *value, unsigned width,
                           bool isUnsigned) {
  llvm::IRBuilder<> &builder = lowering.builder();
  const bool isDouble = value->getType()->isDoubleTy(),
             isHalf = value->getType()->getPrimitiveSizeInBits() == 16;
  if (width <= 16 || isHalf) { // 8 bits are the low ones of 16
    const auto [name, letter] = ptxFloat(value->getType());
    const unsigned bits = std::max(width, 16U);
    const llvm::StringRef into = bits == 64 ? "=l," : bits == 32 ? "=r," : "=h,";
    llvm::Value *whole = lowering.assembly(
        builder.getIntNTy(bits),
        llvm::formatv("cvt.rzi.{0}{1}.{2} $0, $1;", isUnsigned ? "u" : "s", bits, name).str(),
        (into + letter).str(), isHalf ? builder.CreateBitCast(value, builder.getInt16Ty()) : value,
        /*hasSideEffects=*/false);
    return builder.CreateTrunc(whole, builder.getIntNTy(width));
  }
  static constexpr Intrinsic::ID kIds[2][2][2] = {
      {{Intrinsic::nvvm_f2i_rz, Intrinsic::nvvm_f2ui_rz},
       {Intrinsic::nvvm_f2ll_rz, Intrinsic::nvvm_f2ull_rz}},
      {{Intrinsic::nvvm_d2i_rz, Intrinsic::nvvm_d2ui_rz},
       {Intrinsic::nvvm_d2ll_rz, Intrinsic::nvvm_d2ull_rz}}};
  return call(lowering, kIds[isDouble][width == 64][isUnsigned], value);
}

LogicalResult lowerFloatToInt(Lowering &lowering, Operation *op) {
  auto cast = mlir::cast<tl::FloatToIntOp>(op);
  const Type from = cast.getSource().getType();
  const unsigned width = getElementTypeOrSelf(cast.getType()).getIntOrFloatBitWidth();
  if (width == 1)
    return op->emitError("a float as int1 is not supported on the GPU; compare it with 0");
  Builder types(op->getContext());
  const Type element = getElementTypeOrSelf(from);
  const bool isKept =
      element.isF64() || element.isF16() || (element.isBF16() && lowering.target().hasBf16Integers);
  const Registers values = castFloats(lowering, lowering.get(cast.getSource()), from,
                                      isKept ? element : types.getF32Type());
  lowering.set(cast, mapped(values, [&](llvm::Value *value) {
                 return truncateToInt(lowering, value, width, cast.getIsUnsigned());
               }));
  return success();
}

/// To fp32 toward zero, or to odd: rounded from there to fewer bits it is rounded once.
llvm::Value *intToOdd(Lowering &lowering, llvm::Value *value, bool isUnsigned) {
  static constexpr Intrinsic::ID kTo[2][2] = {{Intrinsic::nvvm_i2f_rz, Intrinsic::nvvm_ui2f_rz},
                                              {Intrinsic::nvvm_ll2f_rz, Intrinsic::nvvm_ull2f_rz}};
  const unsigned width = value->getType()->getIntegerBitWidth();
  llvm::Value *cut = call(lowering, kTo[width == 64][isUnsigned], value);
  llvm::Value *back = truncateToInt(lowering, cut, width, isUnsigned);
  return roundToOdd(lowering.builder(), cut, lowering.builder().CreateICmpNE(back, value));
}

llvm::Value *intToFloat(Lowering &lowering, llvm::Value *value, llvm::Type *to, bool isUnsigned) {
  llvm::IRBuilder<> &builder = lowering.builder();
  const unsigned width = value->getType()->getIntegerBitWidth();
  if (width < 32)
    value = isUnsigned ? builder.CreateZExt(value, builder.getInt32Ty())
                       : builder.CreateSExt(value, builder.getInt32Ty());
  const bool isByTwo = to->isBFloatTy() && !lowering.target().hasBf16Integers;
  if (isByTwo && width >= 32)
    return builder.CreateFPTrunc(intToOdd(lowering, value, isUnsigned), to);
  llvm::Type *wide = isByTwo || (to->isBFloatTy() && width < 32) ? builder.getFloatTy() : to;
  llvm::Value *result =
      isUnsigned ? builder.CreateUIToFP(value, wide) : builder.CreateSIToFP(value, wide);
  return resize(lowering, result, to, Rounding::NearestEven);
}

LogicalResult lowerIntToFloat(Lowering &lowering, Operation *op) {
  auto cast = mlir::cast<tl::IntToFloatOp>(op);
  const Type to = cast.getType();
  const Type single = Builder(op->getContext()).getF32Type();
  const bool isSmall = isFp8Type(to); // by way of fp32, as on the CPU
  llvm::Type *type = lowering.elementType(isSmall ? single : to);
  const llvm::ArrayRef<llvm::Value *> ints = lowering.get(cast.getSource());
  std::optional<Registers> exact = smallIntsToFloats(lowering, ints, type, cast.getIsUnsigned());
  const Registers values = exact ? std::move(*exact) : mapped(ints, [&](llvm::Value *value) {
    return intToFloat(lowering, value, type, cast.getIsUnsigned());
  });
  lowering.set(cast, isSmall ? castFloats(lowering, values, single, to) : values);
  return success();
}

template <llvm::Instruction::CastOps opcode>
llvm::Value *castTo(Lowering &lowering, Operation *op, Operands x) {
  return lowering.builder().CreateCast(opcode, x[0],
                                       lowering.elementType(op->getResult(0).getType()));
}

llvm::Value *intToPointer(Lowering &lowering, Operation *op, Operands x) {
  return lowering.builder().CreateIntToPtr(x[0], lowering.elementType(op->getResult(0).getType()));
}

llvm::Value *pointerToInt(Lowering &lowering, Operation *op, Operands x) {
  return lowering.builder().CreatePtrToInt(x[0], lowering.elementType(op->getResult(0).getType()));
}

llvm::Value *bitcast(Lowering &lowering, Operation *op, Operands x) {
  llvm::Type *type = lowering.elementType(op->getResult(0).getType());
  return x[0]->getType() == type ? x[0] : lowering.builder().CreateBitCast(x[0], type);
}

template <bool embeds> llvm::Value *payload(Lowering &lowering, Operation *op, Operands x) {
  const numeric::Payload rule =
      payloadRuleOf((embeds ? op->getOperand(0) : op->getResult(0)).getType());
  llvm::IRBuilder<> &builder = lowering.builder();
  return embeds
             ? embedFloat(builder, x[0], rule)
             : unembedFloat(builder, x[0], rule, lowering.elementType(op->getResult(0).getType()));
}

} // namespace

bool isFp8Type(Type type) {
  type = getElementTypeOrSelf(type);
  return !isa<tl::PtrType>(type) && isFp8(dtypeOf(type));
}

Registers castFloats(Lowering &lowering, llvm::ArrayRef<llvm::Value *> values, Type from, Type to,
                     Rounding rounding) {
  const DType source = dtypeOf(from), target = dtypeOf(to);
  if (source == target)
    return Registers(values);
  const Registers wide = isFp8(source) ? decode(lowering, values, source) : Registers(values);
  if (isFp8(target))
    return encode(lowering, wide, target, rounding);
  return mapped(wide, [&](llvm::Value *value) {
    return resize(lowering, value, lowering.elementType(to), rounding);
  });
}

LogicalResult widened(Lowering &lowering, Operation *op, NarrowestFloat narrowest,
                      MakeOne makeOne) {
  const Type single = Builder(op->getContext()).getF32Type();
  const auto isNarrow = [&](Type type) {
    const Type element = getElementTypeOrSelf(type);
    return isFp8Type(element) ||
           (narrowest == NarrowestFloat::Fp32 && (element.isF16() || element.isBF16()));
  };
  llvm::SmallVector<Registers, 4> operands;
  for (Value operand : op->getOperands()) {
    const llvm::ArrayRef<llvm::Value *> values = lowering.get(operand);
    operands.push_back(isNarrow(operand.getType())
                           ? castFloats(lowering, values, operand.getType(), single)
                           : Registers(values));
  }
  const Type type = op->getResult(0).getType();
  Registers results;
  llvm::SmallVector<llvm::Value *, 4> one(operands.size());
  for (int reg = 0; reg < Lowering::registerCount(type); ++reg) {
    for (auto [value, registers] : llvm::zip(one, operands))
      value = registers[registers.size() == 1 ? 0 : reg];
    results.push_back(makeOne(lowering, op, one));
  }
  lowering.set(op->getResult(0),
               isNarrow(type) ? castFloats(lowering, results, single, type) : results);
  return success();
}

llvm::ArrayRef<LoweringRow> castRows() {
  using I = llvm::Instruction;
  static constexpr LoweringRow kRows[] = {
      {"arith.extsi", eachRegister<castTo<I::SExt>>},
      {"arith.extui", eachRegister<castTo<I::ZExt>>},
      {"arith.trunci", eachRegister<castTo<I::Trunc>>},
      {"tl.bitcast", eachRegister<bitcast>},
      {"tl.float_to_int", lowerFloatToInt},
      {"tl.fp_cast", lowerFloatCast},
      {"tl.int_to_float", lowerIntToFloat},
      {"tl.from_payload", eachRegister<payload<false>>},
      {"tl.int_to_ptr", eachRegister<intToPointer>},
      {"tl.ptr_to_int", eachRegister<pointerToInt>},
      {"tl.to_payload", eachRegister<payload<true>>},
  };
  return kRows;
}

} // namespace blockscope::gpu
