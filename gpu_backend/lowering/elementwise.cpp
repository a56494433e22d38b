// Arithmetic, comparisons, bit operations and selections, register by register; constants.
#include "gpu_backend/lowering/each_register.h"
#include "gpu_backend/lowering/families.h"
#include "gpu_backend/passes/equal_runs.h"
#include "gpu_backend/passes/exact_steps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <functional>
#include <map>
#include <numeric>

using namespace mlir;

namespace blockscope::gpu {
namespace {

using llvm::Intrinsic::ID;

template <llvm::Instruction::BinaryOps opcode>
llvm::Value *binary(Lowering &lowering, Operation *, Operands x) {
  return lowering.builder().CreateBinOp(opcode, x[0], x[1]);
}

/// Of a divisor that is written as 0 LLVM makes anything at all; on the CPU it gives 0.
template <llvm::Instruction::BinaryOps opcode>
llvm::Value *divide(Lowering &lowering, Operation *, Operands x) {
  if (auto *divisor = llvm::dyn_cast<llvm::ConstantInt>(x[1]); divisor && divisor->isZero())
    return divisor;
  return lowering.builder().CreateBinOp(opcode, x[0], x[1]);
}

template <ID id> llvm::Value *binaryIntrinsic(Lowering &lowering, Operation *, Operands x) {
  return lowering.builder().CreateBinaryIntrinsic(id, x[0], x[1]);
}

llvm::Value *negate(Lowering &lowering, Operation *, Operands x) {
  return lowering.builder().CreateFNeg(x[0]);
}

/// A shift by the width or more gives what shifting bit by bit gives, as PTX does.
template <llvm::Instruction::BinaryOps opcode>
llvm::Value *shift(Lowering &lowering, Operation *, Operands x) {
  llvm::IRBuilder<> &builder = lowering.builder();
  const unsigned width = x[0]->getType()->getIntegerBitWidth();
  auto *last = llvm::ConstantInt::get(x[0]->getType(), width - 1);
  llvm::Value *tooFar = builder.CreateICmpUGT(x[1], last);
  if constexpr (opcode == llvm::Instruction::AShr) {
    return builder.CreateAShr(x[0], builder.CreateSelect(tooFar, last, x[1]));
  } else {
    llvm::Value *amount = builder.CreateSelect(tooFar, last, x[1]);
    auto *zero = llvm::ConstantInt::get(x[0]->getType(), 0);
    return builder.CreateSelect(tooFar, zero, builder.CreateBinOp(opcode, x[0], amount));
  }
}

llvm::Value *compareIntegers(Lowering &lowering, Operation *op, Operands x) {
  using P = arith::CmpIPredicate;
  llvm::IRBuilder<> &builder = lowering.builder();
  switch (cast<arith::CmpIOp>(op).getPredicate()) {
  case P::eq:
    return builder.CreateICmpEQ(x[0], x[1]);
  case P::ne:
    return builder.CreateICmpNE(x[0], x[1]);
  case P::slt:
    return builder.CreateICmpSLT(x[0], x[1]);
  case P::sle:
    return builder.CreateICmpSLE(x[0], x[1]);
  case P::sgt:
    return builder.CreateICmpSGT(x[0], x[1]);
  case P::sge:
    return builder.CreateICmpSGE(x[0], x[1]);
  case P::ult:
    return builder.CreateICmpULT(x[0], x[1]);
  case P::ule:
    return builder.CreateICmpULE(x[0], x[1]);
  case P::ugt:
    return builder.CreateICmpUGT(x[0], x[1]);
  case P::uge:
    return builder.CreateICmpUGE(x[0], x[1]);
  }
  return nullptr;
}

llvm::Value *compareFloats(Lowering &lowering, Operation *op, Operands x) {
  using P = arith::CmpFPredicate;
  using L = llvm::CmpInst::Predicate;
  // The enumerations of MLIR and LLVM have the same order: false, oeq ... ord, ueq ... une, uno,
  // true.
  const auto predicate = cast<arith::CmpFOp>(op).getPredicate();
  L llvmPredicate = L::FCMP_FALSE;
  switch (predicate) {
  case P::AlwaysFalse:
    llvmPredicate = L::FCMP_FALSE;
    break;
  case P::OEQ:
    llvmPredicate = L::FCMP_OEQ;
    break;
  case P::OGT:
    llvmPredicate = L::FCMP_OGT;
    break;
  case P::OGE:
    llvmPredicate = L::FCMP_OGE;
    break;
  case P::OLT:
    llvmPredicate = L::FCMP_OLT;
    break;
  case P::OLE:
    llvmPredicate = L::FCMP_OLE;
    break;
  case P::ONE:
    llvmPredicate = L::FCMP_ONE;
    break;
  case P::ORD:
    llvmPredicate = L::FCMP_ORD;
    break;
  case P::UEQ:
    llvmPredicate = L::FCMP_UEQ;
    break;
  case P::UGT:
    llvmPredicate = L::FCMP_UGT;
    break;
  case P::UGE:
    llvmPredicate = L::FCMP_UGE;
    break;
  case P::ULT:
    llvmPredicate = L::FCMP_ULT;
    break;
  case P::ULE:
    llvmPredicate = L::FCMP_ULE;
    break;
  case P::UNE:
    llvmPredicate = L::FCMP_UNE;
    break;
  case P::UNO:
    llvmPredicate = L::FCMP_UNO;
    break;
  case P::AlwaysTrue:
    llvmPredicate = L::FCMP_TRUE;
    break;
  }
  return lowering.builder().CreateFCmp(llvmPredicate, x[0], x[1]);
}

llvm::Value *select(Lowering &lowering, Operation *, Operands x) {
  return lowering.builder().CreateSelect(x[0], x[1], x[2]);
}

llvm::Value *keep(Lowering &, Operation *, Operands x) { return x[0]; }

LogicalResult lowerConstant(Lowering &lowering, Operation *op) {
  Attribute value = cast<arith::ConstantOp>(op).getValue();
  if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    if (!dense.isSplat())
      return op->emitError("a constant block with different elements is not supported on the GPU");
    value = dense.getSplatValue<Attribute>();
  }
  llvm::Type *type = lowering.elementType(op->getResult(0).getType());
  llvm::APInt bits = isa<FloatAttr>(value) ? cast<FloatAttr>(value).getValue().bitcastToAPInt()
                                           : cast<IntegerAttr>(value).getValue();
  llvm::Constant *constant = llvm::ConstantInt::get(lowering.context(), bits);
  if (!type->isIntegerTy())
    constant = llvm::ConstantFP::get(type, cast<FloatAttr>(value).getValue());
  lowering.set(op->getResult(0),
               Registers(Lowering::registerCount(op->getResult(0).getType()), constant));
  return success();
}

/// Whether the elements of a thread's registers are as far apart in every thread.
bool hasBitsOfItsOwn(const LinearLayout &layout) {
  const auto bitsOf = [](const Bases &bases) {
    return std::accumulate(bases.begin(), bases.end(), ElementBits{0}, std::bit_or<>());
  };
  return (bitsOf(layout.registers) & (bitsOf(layout.lanes) | bitsOf(layout.warps))) == 0;
}

} // namespace

llvm::SmallVector<int> firstEqualRegisters(Operation *op) {
  const Type type = op->getResult(0).getType();
  auto all = llvm::to_vector(llvm::seq<int>(0, Lowering::registerCount(type)));
  if (!tlg::hasLayout(type))
    return all;
  const LinearLayout layout = tlg::layoutOf(type);
  const ShapeBits shape(cast<RankedTensorType>(type).getShape());
  if (const ElementBits inRun = equalBits(op, shape)) {
    llvm::DenseMap<ElementBits, int> known;
    for (int &reg : all)
      reg = known.try_emplace(layout.registerElement(reg) & ~inRun, reg).first->second;
    return all;
  }
  if (!isa<arith::AddIOp, arith::SubIOp>(op) || !hasBitsOfItsOwn(layout))
    return all;
  if (const auto steps = exactSteps(op->getResult(0))) {
    std::map<uint64_t, int> known; // by the distance from register 0, which may wrap
    for (int &reg : all) {
      uint64_t distance = 0;
      for (auto [dim, step] : llvm::enumerate(*steps))
        distance += static_cast<uint64_t>(step) *
                    shape.coordinate(layout.registerElement(reg), static_cast<int>(dim));
      reg = known.try_emplace(distance, reg).first->second;
    }
  }
  return all;
}

llvm::ArrayRef<LoweringRow> elementwiseRows() {
  using I = llvm::Instruction;
  static constexpr LoweringRow kRows[] = {
      {"arith.addf", eachFloat<binary<I::FAdd>>},
      {"arith.addi", eachRegister<binary<I::Add>>},
      {"arith.andi", eachRegister<binary<I::And>>},
      {"arith.cmpf", eachFloat<compareFloats>},
      {"arith.cmpi", eachRegister<compareIntegers>},
      {"arith.constant", lowerConstant},
      {"arith.divsi", eachRegister<divide<I::SDiv>>},
      {"arith.divui", eachRegister<divide<I::UDiv>>},
      {"arith.maximumf", eachFloat<binaryIntrinsic<llvm::Intrinsic::maximum>>},
      {"arith.maxnumf", eachFloat<binaryIntrinsic<llvm::Intrinsic::maxnum>>},
      {"arith.maxsi", eachRegister<binaryIntrinsic<llvm::Intrinsic::smax>>},
      {"arith.maxui", eachRegister<binaryIntrinsic<llvm::Intrinsic::umax>>},
      {"arith.minimumf", eachFloat<binaryIntrinsic<llvm::Intrinsic::minimum>>},
      {"arith.minnumf", eachFloat<binaryIntrinsic<llvm::Intrinsic::minnum>>},
      {"arith.minsi", eachRegister<binaryIntrinsic<llvm::Intrinsic::smin>>},
      {"arith.minui", eachRegister<binaryIntrinsic<llvm::Intrinsic::umin>>},
      {"arith.mulf", eachFloat<binary<I::FMul>>},
      {"arith.muli", eachRegister<binary<I::Mul>>},
      {"arith.negf", eachFloat<negate>},
      {"arith.ori", eachRegister<binary<I::Or>>},
      {"arith.remsi", eachRegister<divide<I::SRem>>},
      {"arith.remui", eachRegister<divide<I::URem>>},
      {"arith.select", eachRegister<select>},
      {"arith.shli", eachRegister<shift<I::Shl>>},
      {"arith.shrsi", eachRegister<shift<I::AShr>>},
      {"arith.shrui", eachRegister<shift<I::LShr>>},
      {"arith.subf", eachFloat<binary<I::FSub>>},
      {"arith.subi", eachRegister<binary<I::Sub>>},
      {"arith.xori", eachRegister<binary<I::Xor>>},
      {"tl.hint", eachRegister<keep>},
  };
  return kRows;
}

} // namespace blockscope::gpu
