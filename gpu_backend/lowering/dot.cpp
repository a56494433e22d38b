// tl.dot without tensor cores: exact fp32 (ieee), and types and sizes that they do not take.
//
// Both operands go to shared memory, K outermost, so that a thread reads its rows and columns of
// one k as short vectors. Every element is one fma chain in order of k that begins with acc, bit
// for bit what the CPU computes.
#include "gpu_backend/lowering/families.h"
#include "gpu_backend/lowering/words.h"

#include "core/ir/tl_dialect.h"
#include "gpu_backend/layout/layout_queries.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// An operand in scratch memory: element (batch, k, x) with `x` a row of A or a column of B.
struct StagedOperand {
  Value value;
  int depthDim, lineDim; ///< K, and rows of A or columns of B
  int64_t depth, pitch;  ///< elements from one k to the next
  int64_t sizeBytes;
  bool isUnsigned;

  StagedOperand(Value operand, bool isA, bool isUnsigned) : value(operand), isUnsigned(isUnsigned) {
    const auto type = cast<RankedTensorType>(operand.getType());
    const int rank = static_cast<int>(type.getRank()), bytes = tlg::elementBytes(type);
    depthDim = isA ? rank - 1 : rank - 2;
    lineDim = isA ? rank - 2 : rank - 1;
    depth = type.getDimSize(depthDim);
    // A little more than a line: k and k + 1 begin in different banks.
    pitch = type.getDimSize(lineDim) + 16 / bytes;
    const int64_t batch = rank == 3 ? type.getDimSize(0) : 1;
    sizeBytes = (batch * depth * pitch * bytes + 15) / 16 * 16;
  }

  RankedTensorType type() const { return cast<RankedTensorType>(value.getType()); }
  int bytes() const { return tlg::elementBytes(type()); }
};

void stage(Lowering &lowering, const StagedOperand &operand, llvm::Value *memory) {
  llvm::IRBuilder<> &builder = lowering.builder();
  const RankedTensorType type = operand.type();
  const LinearLayout layout = tlg::layoutOf(type);
  const Registers depths = lowering.coordinates(type, operand.depthDim);
  const Registers lines = lowering.coordinates(type, operand.lineDim);
  const Registers batches = type.getRank() == 3 ? lowering.coordinates(type, 0) : Registers();
  const llvm::ArrayRef<llvm::Value *> values = lowering.get(operand.value);
  const uint32_t copies = freeBits(layout).registers;
  lowering.onlyIf(lowering.ownsElements(layout), [&] {
    for (int reg = 0; reg < layout.registerCount(); ++reg) {
      if ((reg & copies) != 0)
        continue;
      llvm::Value *depth = depths[reg];
      if (!batches.empty())
        depth = builder.CreateAdd(
            depth, builder.CreateMul(batches[reg], lowering.i32(operand.depth)), "", true, true);
      llvm::Value *index =
          builder.CreateAdd(builder.CreateMul(depth, lowering.i32(operand.pitch), "", true, true),
                            lines[reg], "", true, true);
      llvm::Type *memoryType = lowering.memoryType(type);
      builder.CreateStore(values[reg], builder.CreateGEP(memoryType, memory, index));
    }
  });
}

/// Where each register of the accumulator finds its element of an operand at k = 0.
Registers lineOffsets(Lowering &lowering, const StagedOperand &operand, bool isA,
                      RankedTensorType accumulator) {
  llvm::IRBuilder<> &builder = lowering.builder();
  const int rank = static_cast<int>(accumulator.getRank());
  Registers offsets = lowering.coordinates(accumulator, isA ? rank - 2 : rank - 1);
  if (rank == 3)
    for (auto [offset, batch] : llvm::zip(offsets, lowering.coordinates(accumulator, 0)))
      offset = builder.CreateAdd(
          offset, builder.CreateMul(batch, lowering.i32(operand.depth * operand.pitch)), "", true,
          true);
  return offsets;
}

llvm::Value *widen(Lowering &lowering, llvm::Value *value, llvm::Type *type, bool isUnsigned,
                   bool toTf32) {
  llvm::IRBuilder<> &builder = lowering.builder();
  if (type->isIntegerTy())
    return isUnsigned ? builder.CreateZExt(value, type) : builder.CreateSExt(value, type);
  value = builder.CreateFPExt(value, type);
  if (!toTf32)
    return value;
  return builder.CreateBitCast(builder.CreateIntrinsic(llvm::Intrinsic::nvvm_f2tf32_rna, {value}),
                               type);
}

/// The elements of one k for all registers: each different one is loaded once.
Registers loadLine(Lowering &lowering, const StagedOperand &operand, llvm::Value *memory,
                   const Registers &offsets, llvm::Type *wide, bool toTf32) {
  llvm::IRBuilder<> &builder = lowering.builder();
  llvm::DenseMap<llvm::Value *, llvm::Value *> loaded;
  Registers result;
  for (llvm::Value *offset : offsets) {
    llvm::Value *&value = loaded[offset];
    if (!value) {
      llvm::Type *memoryType = lowering.memoryType(operand.type());
      value = builder.CreateLoad(memoryType, builder.CreateGEP(memoryType, memory, offset));
      value = widen(lowering, value, wide, operand.isUnsigned, toTf32);
    }
    result.push_back(value);
  }
  return result;
}

llvm::Value *multiplyAdd(Lowering &lowering, llvm::Value *a, llvm::Value *b, llvm::Value *sum) {
  llvm::IRBuilder<> &builder = lowering.builder();
  if (sum->getType()->isIntegerTy())
    return builder.CreateAdd(builder.CreateMul(a, b), sum);
  return builder.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()}, {a, b, sum});
}

/// The loop over k, a few of them at a time.
void multiply(Lowering &lowering, const StagedOperand &a, const StagedOperand &b,
              llvm::Value *memoryA, llvm::Value *memoryB, RankedTensorType type, bool toTf32,
              Registers &sums) {
  constexpr int64_t kProductsPerTurn = 512;
  llvm::IRBuilder<> &builder = lowering.builder();
  const Registers rows = lineOffsets(lowering, a, true, type),
                  columns = lineOffsets(lowering, b, false, type);
  int64_t unroll = 1;
  while (2 * unroll <= a.depth &&
         2 * unroll * static_cast<int64_t>(sums.size()) <= kProductsPerTurn)
    unroll *= 2;
  llvm::BasicBlock *before = builder.GetInsertBlock();
  auto *body = llvm::BasicBlock::Create(lowering.context(), "dot", &lowering.function());
  auto *after = llvm::BasicBlock::Create(lowering.context(), "dot.end", &lowering.function());
  builder.CreateBr(body);
  builder.SetInsertPoint(body);
  auto *k = builder.CreatePHI(builder.getInt32Ty(), 2, "k");
  k->addIncoming(lowering.i32(0), before);
  llvm::SmallVector<llvm::PHINode *> phis;
  for (llvm::Value *&sum : sums) {
    auto *phi = builder.CreatePHI(sum->getType(), 2);
    phi->addIncoming(sum, before);
    phis.push_back(phi);
    sum = phi;
  }
  llvm::Type *wide = sums.front()->getType();
  const auto lineAt = [&](const StagedOperand &operand, llvm::Value *memory, int64_t step) {
    llvm::Value *line = builder.CreateAdd(k, lowering.i32(step), "", true, true);
    return builder.CreateGEP(lowering.memoryType(operand.type()), memory,
                             builder.CreateMul(line, lowering.i32(operand.pitch), "", true, true));
  };
  for (int64_t step = 0; step < unroll; ++step) {
    const Registers left = loadLine(lowering, a, lineAt(a, memoryA, step), rows, wide, toTf32);
    const Registers right = loadLine(lowering, b, lineAt(b, memoryB, step), columns, wide, toTf32);
    for (auto [sum, x, y] : llvm::zip(sums, left, right))
      sum = multiplyAdd(lowering, x, y, sum);
  }
  llvm::Value *next = builder.CreateAdd(k, lowering.i32(unroll), "", true, true);
  k->addIncoming(next, body);
  for (auto [phi, sum] : llvm::zip(phis, sums))
    phi->addIncoming(sum, body);
  builder.CreateCondBr(builder.CreateICmpULT(next, lowering.i32(a.depth)), body, after);
  builder.SetInsertPoint(after);
}

LogicalResult lowerDot(Lowering &lowering, Operation *op) {
  auto dot = cast<tl::DotOp>(op);
  llvm::IRBuilder<> &builder = lowering.builder();
  const auto type = cast<RankedTensorType>(dot.getType());
  const StagedOperand a(dot.getA(), true, dot.getAUnsigned());
  const StagedOperand b(dot.getB(), false, dot.getBUnsigned());
  const bool isTf32 = a.type().getElementType().isF32() && dot.getInputPrecision() == "tf32";
  llvm::Value *memoryA = lowering.scratch(a.sizeBytes + b.sizeBytes);
  llvm::Value *memoryB = builder.CreateGEP(builder.getInt8Ty(), memoryA, lowering.i32(a.sizeBytes));
  stage(lowering, a, memoryA);
  stage(lowering, b, memoryB);
  lowering.barrier();
  Registers sums(lowering.get(dot.getAcc()));
  llvm::Type *element = lowering.elementType(type);
  const bool isNarrow = element->isHalfTy();
  if (isNarrow)
    for (llvm::Value *&sum : sums)
      sum = builder.CreateFPExt(sum, builder.getFloatTy());
  multiply(lowering, a, b, memoryA, memoryB, type, isTf32, sums);
  if (isNarrow)
    for (llvm::Value *&sum : sums)
      sum = builder.CreateFPTrunc(sum, element);
  lowering.set(dot, sums);
  return success();
}

} // namespace

llvm::ArrayRef<LoweringRow> dotRows() {
  static constexpr LoweringRow kRows[] = {{"tl.dot", lowerDot}};
  return kRows;
}

} // namespace blockscope::gpu
