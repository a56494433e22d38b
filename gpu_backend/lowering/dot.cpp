// tl.dot without tensor cores: exact fp32 (ieee), and types and sizes that they do not take.
//
// Both operands go to shared memory, from which a thread reads vectors: its rows or columns of one
// k, or, where it has few of them, several k of each. Every element is one fma chain in order of k
// that begins with acc, bit for bit what the CPU computes.
#include "gpu_backend/lowering/families.h"
#include "gpu_backend/lowering/words.h"

#include "core/ir/tl_dialect.h"
#include "gpu_backend/layout/layout_queries.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

constexpr int kVectorBytes = 16;

/// How many neighbouring elements of `dim` a thread has in its first registers.
int64_t runOf(const LinearLayout &layout, llvm::ArrayRef<int64_t> shape, int dim) {
  return contiguity(layout, ShapeBits(shape), dim).length;
}

/// An operand in scratch memory: element (batch, k, x) with `x` a row of A or a column of B.
struct StagedOperand {
  Value value;
  int depthDim, lineDim; ///< K, and rows of A or columns of B
  int64_t depth, lines;
  bool alongDepth; ///< neighbours in memory are those of a line; else those of a k
  int64_t pitch;   ///< elements from one line to the next, or from one k
  int64_t sizeBytes;
  bool isUnsigned;

  /// `run` rows or columns that a thread needs are neighbours.
  StagedOperand(Value operand, bool isA, bool isUnsigned, int64_t run)
      : value(operand), isUnsigned(isUnsigned) {
    const auto type = cast<RankedTensorType>(operand.getType());
    const int rank = static_cast<int>(type.getRank()), bytes = tlg::elementBytes(type);
    depthDim = isA ? rank - 1 : rank - 2;
    lineDim = isA ? rank - 2 : rank - 1;
    depth = type.getDimSize(depthDim);
    lines = type.getDimSize(lineDim);
    alongDepth = run * bytes < kVectorBytes && depth * bytes >= kVectorBytes;
    // A little more than a line: neighbours begin in different banks.
    pitch = (alongDepth ? depth : lines) + kVectorBytes / bytes;
    const int64_t batch = rank == 3 ? type.getDimSize(0) : 1;
    sizeBytes = (batch * batchPitch() * bytes + 15) / 16 * 16;
  }

  RankedTensorType type() const { return cast<RankedTensorType>(value.getType()); }
  int bytes() const { return tlg::elementBytes(type()); }
  int64_t batchPitch() const { return (alongDepth ? lines : depth) * pitch; }
  int64_t depthPitch() const { return alongDepth ? 1 : pitch; }
  int64_t linePitch() const { return alongDepth ? pitch : 1; }
};

llvm::Value *timesPlus(llvm::IRBuilder<> &builder, llvm::Value *value, int64_t factor,
                       llvm::Value *addend) {
  llvm::Value *product =
      builder.CreateMul(value, llvm::ConstantInt::get(value->getType(), factor), "", true, true);
  return builder.CreateAdd(product, addend, "", true, true);
}

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
      llvm::Value *index = timesPlus(builder, lines[reg], operand.linePitch(), lowering.i32(0));
      index = timesPlus(builder, depths[reg], operand.depthPitch(), index);
      if (!batches.empty())
        index = timesPlus(builder, batches[reg], operand.batchPitch(), index);
      llvm::Type *memoryType = lowering.memoryType(type);
      builder.CreateStore(values[reg], builder.CreateGEP(memoryType, memory, index));
    }
  });
}

/// Where each register of the accumulator finds its element of an operand at k = 0: one value for
/// each different place.
Registers lineOffsets(Lowering &lowering, const StagedOperand &operand, bool isA,
                      RankedTensorType accumulator) {
  llvm::IRBuilder<> &builder = lowering.builder();
  const int rank = static_cast<int>(accumulator.getRank());
  const Registers lines = lowering.coordinates(accumulator, isA ? rank - 2 : rank - 1);
  const Registers batches =
      rank == 3 ? lowering.coordinates(accumulator, 0) : Registers(lines.size(), lowering.i32(0));
  llvm::DenseMap<std::pair<llvm::Value *, llvm::Value *>, llvm::Value *> places;
  Registers offsets;
  for (auto [line, batch] : llvm::zip(lines, batches)) {
    llvm::Value *&place = places[{line, batch}];
    if (!place)
      place = timesPlus(builder, batch, operand.batchPitch(),
                        timesPlus(builder, line, operand.linePitch(), lowering.i32(0)));
    offsets.push_back(place);
  }
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

/// The elements of `count` k from `memory` on for all registers, k after k: each different one is
/// loaded once.
llvm::SmallVector<Registers, 4> loadLines(Lowering &lowering, const StagedOperand &operand,
                                          llvm::Value *memory, const Registers &offsets,
                                          int64_t count, llvm::Type *wide, bool toTf32) {
  llvm::IRBuilder<> &builder = lowering.builder();
  llvm::Type *memoryType = lowering.memoryType(operand.type());
  const int64_t length =
      operand.alongDepth ? std::min<int64_t>(count, kVectorBytes / operand.bytes()) : 1;
  auto *vectorType = llvm::FixedVectorType::get(memoryType, static_cast<unsigned>(length));
  const llvm::Align alignment(static_cast<uint64_t>(length * operand.bytes()));
  llvm::DenseMap<llvm::Value *, Registers> loaded;
  llvm::SmallVector<Registers, 4> result(count);
  for (llvm::Value *offset : offsets) {
    Registers &values = loaded[offset];
    for (int64_t step = static_cast<int64_t>(values.size()); step < count; step += length) {
      llvm::Value *address = builder.CreateGEP(memoryType, memory, offset);
      address = builder.CreateGEP(memoryType, address, lowering.i32(step * operand.depthPitch()));
      llvm::Value *vector = builder.CreateAlignedLoad(vectorType, address, alignment);
      for (int64_t i = 0; i < length; ++i)
        values.push_back(widen(lowering, builder.CreateExtractElement(vector, i), wide,
                               operand.isUnsigned, toTf32));
    }
    for (int64_t step = 0; step < count; ++step)
      result[step].push_back(values[step]);
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
  // What is loaded for one pass takes registers, and programs hide the latency for each other.
  constexpr int64_t kProductsPerPass = 128, kStepsAtATime = 4;
  llvm::IRBuilder<> &builder = lowering.builder();
  const Registers rows = lineOffsets(lowering, a, true, type),
                  columns = lineOffsets(lowering, b, false, type);
  const int64_t together = std::min(a.depth, kStepsAtATime);
  int64_t unroll = together;
  while (2 * unroll <= a.depth &&
         2 * unroll * static_cast<int64_t>(sums.size()) <= kProductsPerPass)
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
                             timesPlus(builder, line, operand.depthPitch(), lowering.i32(0)));
  };
  for (int64_t step = 0; step < unroll; step += together) {
    const auto left =
        loadLines(lowering, a, lineAt(a, memoryA, step), rows, together, wide, toTf32);
    const auto right =
        loadLines(lowering, b, lineAt(b, memoryB, step), columns, together, wide, toTf32);
    for (int64_t i = 0; i < together; ++i)
      for (auto [sum, x, y] : llvm::zip(sums, left[i], right[i]))
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
  const LinearLayout layout = tlg::layoutOf(type);
  const int rank = static_cast<int>(type.getRank());
  const StagedOperand a(dot.getA(), true, dot.getAUnsigned(),
                        runOf(layout, type.getShape(), rank - 2));
  const StagedOperand b(dot.getB(), false, dot.getBUnsigned(),
                        runOf(layout, type.getShape(), rank - 1));
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
