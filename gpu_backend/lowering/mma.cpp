// tlg.mma: dots by mma.sync, instruction by instruction.
//
// A block's registers are fragments one after the other (layout/mma_layouts.h), so fragment t of an
// operand is its registers [t * size, (t + 1) * size) packed into words. Products of small terms
// come first, as on the CPU. A result in fp16 is accumulated in fp32 and rounded once.
#include "gpu_backend/lowering/families.h"
#include "gpu_backend/lowering/mma_operands.h"

#include "gpu_backend/layout/mma_layouts.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// How many fragments the threads have along each dimension.
struct Tiles {
  int64_t m, n, k, batch;
};

struct Instruction {
  std::string text, constraints;
  llvm::Type *accumulator; ///< of one register of it
  int accumulatorSize, wordsA, wordsB;
};

Instruction makeInstruction(Lowering &lowering, tlg::MmaOp op) {
  const auto bytes = static_cast<int>(op.getOperandBytes());
  llvm::IRBuilder<> &builder = lowering.builder();
  const Type a = elementOfOperand(op.getA()), b = elementOfOperand(op.getB());
  Instruction result;
  const bool isDouble = bytes == 8;
  const bool isInteger = a.isInteger(8);
  result.accumulator = isDouble    ? builder.getDoubleTy()
                       : isInteger ? static_cast<llvm::Type *>(builder.getInt32Ty())
                                   : builder.getFloatTy();
  result.accumulatorSize = isDouble ? 2 : 4;
  result.wordsA = isDouble ? 1 : 4;
  result.wordsB = isDouble ? 1 : 2;
  const llvm::StringRef sum = isDouble ? "f64" : isInteger ? "s32" : "f32";
  const char *sumLetter = isDouble ? "d" : isInteger ? "r" : "f";
  const char *wordLetter = isDouble ? "d" : "r";
  int next = 0;
  const auto list = [&](int count) {
    std::string text = "{";
    for (int i = 0; i < count; ++i)
      text += llvm::formatv("{0}${1}", i == 0 ? "" : ", ", next++).str();
    return text + "}";
  };
  const auto letters = [&](int count, llvm::StringRef letter) {
    for (int i = 0; i < count; ++i)
      result.constraints += (result.constraints.empty() ? "" : ",") + letter.str();
  };
  result.text =
      llvm::formatv("mma.sync.aligned.m{0}n8k{1}.row.col.{2}.{3}.{4}.{2} ", isDouble ? 8 : 16,
                    mmaDepth(bytes), sum, operandTypeName(a, bytes, op.getAUnsigned()),
                    operandTypeName(b, bytes, op.getBUnsigned()))
          .str();
  result.text += list(result.accumulatorSize) + ", ";
  result.text += list(result.wordsA) + ", ";
  result.text += list(result.wordsB) + ", ";
  result.text += list(result.accumulatorSize) + ";";
  letters(result.accumulatorSize, std::string("=") + sumLetter);
  letters(result.wordsA + result.wordsB, wordLetter);
  letters(result.accumulatorSize, sumLetter);
  return result;
}

/// One mma.sync on `sums`, the registers of its accumulator.
void multiply(Lowering &lowering, const Instruction &instruction, llvm::ArrayRef<llvm::Value *> a,
              llvm::ArrayRef<llvm::Value *> b, llvm::MutableArrayRef<llvm::Value *> sums) {
  llvm::SmallVector<llvm::Value *> operands(a);
  llvm::append_range(operands, b);
  llvm::append_range(operands, sums);
  auto *type = llvm::StructType::get(
      lowering.context(),
      llvm::SmallVector<llvm::Type *>(instruction.accumulatorSize, instruction.accumulator));
  auto *call = cast<llvm::CallInst>(
      lowering.assembly(type, instruction.text, instruction.constraints, operands, false));
  call->setDoesNotAccessMemory();
  call->setConvergent(); // all lanes take part
  for (auto [i, sum] : llvm::enumerate(sums))
    sum = lowering.builder().CreateExtractValue(call, i);
}

LogicalResult lowerMma(Lowering &lowering, Operation *op) {
  auto mma = cast<tlg::MmaOp>(op);
  llvm::IRBuilder<> &builder = lowering.builder();
  const auto bytes = static_cast<int>(mma.getOperandBytes());
  const auto type = cast<RankedTensorType>(mma.getType());
  const llvm::ArrayRef<int64_t> shape = type.getShape();
  const size_t rank = shape.size();
  const int64_t k = shapeOfOperand(mma.getA()).back();
  const llvm::ArrayRef<int32_t> warps = mma.getWarps();
  const auto along = [](int64_t size, int64_t step) { return std::max<int64_t>(1, size / step); };
  const Tiles tiles{along(shape[rank - 2], (bytes == 8 ? 8 : 16) * warps[0]),
                    along(shape[rank - 1], 8 * warps[1]), along(k, mmaDepth(bytes)),
                    rank == 3 ? along(shape[0], warps[2]) : 1};
  const Instruction instruction = makeInstruction(lowering, mma);
  const int size = instruction.accumulatorSize;

  Registers sums(lowering.get(mma.getAcc()));
  if (static_cast<int64_t>(sums.size()) != tiles.batch * tiles.m * tiles.n * size)
    return op->emitError("has an accumulator that is not of mma.sync (a mistake in blockscope)");
  llvm::Type *element = lowering.elementType(type);
  const bool isNarrow = element->isHalfTy();
  if (isNarrow)
    for (llvm::Value *&sum : sums)
      sum = builder.CreateFPExt(sum, instruction.accumulator);

  const MmaWarps split{warps[0], warps[1], warps[2]};
  const OperandFormat format = OperandFormat::of(mma);
  const int depth = mmaDepth(bytes);
  MmaOperand a(lowering, mma.getA(), format, mmaOperandA(shapeOfOperand(mma.getA()), bytes, split),
               (bytes == 8 ? 8 : 16) * depth / 32);
  MmaOperand b(lowering, mma.getB(), format, mmaOperandB(shapeOfOperand(mma.getB()), bytes, split),
               8 * depth / 32);
  for (const auto &[termA, termB] : format.termProducts())
    for (int64_t batch = 0; batch < tiles.batch; ++batch)
      for (int64_t step = 0; step < tiles.k; ++step)
        for (int64_t i = 0; i < tiles.m; ++i)
          for (int64_t j = 0; j < tiles.n; ++j)
            multiply(lowering, instruction, a.words((batch * tiles.m + i) * tiles.k + step, termA),
                     b.words((batch * tiles.n + j) * tiles.k + step, termB),
                     llvm::MutableArrayRef(sums).slice(((batch * tiles.m + i) * tiles.n + j) * size,
                                                       size));
  if (isNarrow)
    for (llvm::Value *&sum : sums)
      sum = builder.CreateFPTrunc(sum, element);
  lowering.set(mma.getResult(), sums);
  return success();
}

} // namespace

llvm::ArrayRef<LoweringRow> mmaRows() {
  static constexpr LoweringRow kRows[] = {{"tlg.mma", lowerMma}};
  return kRows;
}

} // namespace blockscope::gpu
