// tlg.mma: dots by mma.sync, instruction by instruction.
//
// A block's registers are fragments one after the other (layout/mma_layouts.h), so fragment t of an
// operand is its registers [t * size, (t + 1) * size) packed into words. Products of small terms
// come first, as on the CPU. A result in fp16 is accumulated in fp32 and rounded once.
#include "gpu_backend/lowering/families.h"
#include "gpu_backend/lowering/mma_operands.h"
#include "gpu_backend/lowering/mma_order.h"
#include "gpu_backend/lowering/payload_products.h"
#include "gpu_backend/lowering/scaled_mma.h"

#include "gpu_backend/layout/mma_layouts.h"
#include "gpu_backend/passes/shared_operands.h"

#include "llvm/IR/IntrinsicsNVPTX.h"
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

bool isFp8(Type type) { return isa<Float8E4M3FNType, Float8E5M2Type>(type); }

/// Whether mma.sync of fp8 is made of others: GPUs with wgmma have it for wgmma only, and ptxas
/// would widen the operands for each of two halves and add their sums separately.
bool widensFp8(Lowering &lowering, tlg::MmaOp op) {
  return op.getOperandBytes() == 1 && isFp8(elementOfOperand(op.getA())) &&
         lowering.target().hasWgmma;
}

Instruction makeInstruction(Lowering &lowering, tlg::MmaOp op) {
  const int bytes = widensFp8(lowering, op) ? 2 : static_cast<int>(op.getOperandBytes());
  llvm::IRBuilder<> &builder = lowering.builder();
  const Type a = elementOfOperand(op.getA()), b = elementOfOperand(op.getB()); // if turned, alike
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
  const auto typeName = [&](Type type, bool isUnsigned) {
    return bytes == 2 && isFp8(type) ? llvm::StringRef("f16")
                                     : operandTypeName(type, bytes, isUnsigned);
  };
  result.text = llvm::formatv("mma.sync.aligned.m{0}n8k{1}.row.col.{2}.{3}.{4}.{2} ",
                              isDouble ? 8 : 16, mmaDepth(bytes), sum,
                              typeName(a, op.getAUnsigned()), typeName(b, op.getBUnsigned()))
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

/// Words of four fp8 as words of two fp16: those of elements 0 and 1 of each, then those of 2
/// and 3.
llvm::SmallVector<llvm::Value *, 4> widened(Lowering &lowering, llvm::ArrayRef<llvm::Value *> words,
                                            Type type) {
  llvm::IRBuilder<> &builder = lowering.builder();
  const llvm::Intrinsic::ID id = isa<Float8E5M2Type>(type)
                                     ? llvm::Intrinsic::nvvm_e5m2x2_to_f16x2_rn
                                     : llvm::Intrinsic::nvvm_e4m3x2_to_f16x2_rn;
  llvm::SmallVector<llvm::Value *, 4> result;
  for (const int shift : {0, 16})
    for (llvm::Value *word : words) {
      llvm::Value *pair =
          builder.CreateTrunc(builder.CreateLShr(word, shift), builder.getInt16Ty());
      result.push_back(
          builder.CreateBitCast(builder.CreateIntrinsic(id, {pair}), builder.getInt32Ty()));
    }
  return result;
}

/// An mma of fp8 as two of fp16, of half its depth each. An mma takes pairs of elements from two
/// halves of its depth; which elements of K these are does not matter as long as both operands take
/// the same ones, so they are the two pairs of a word.
void multiplyWidened(Lowering &lowering, const Instruction &instruction,
                     std::pair<Type, Type> types, llvm::ArrayRef<llvm::Value *> a,
                     llvm::ArrayRef<llvm::Value *> b, llvm::MutableArrayRef<llvm::Value *> sums) {
  for (const int half : {0, 1})
    multiply(lowering, instruction, widened(lowering, a.slice(2 * half, 2), types.first),
             widened(lowering, b.slice(half, 1), types.second), sums);
}

/// Registers of a dot's operands, and of floats that are made before it and used behind it.
/// Integers are left out: most are indices, which are made anew, or the same in many elements.
int64_t wordsBeside(Lowering &lowering, tlg::MmaOp op) {
  llvm::DenseSet<const llvm::Value *> held;
  int64_t bits = 0;
  const auto count = [&](Value value) {
    const auto type = dyn_cast<RankedTensorType>(value.getType());
    if (value == op.getAcc() || !type || !isa<FloatType>(type.getElementType()))
      return;
    for (const llvm::Value *reg : lowering.get(value))
      if (!isa<llvm::Constant>(reg) && held.insert(reg).second)
        bits += type.getElementTypeBitWidth();
  };
  const llvm::ArrayRef<llvm::Value *> sums = lowering.get(op.getAcc());
  held.insert(sums.begin(), sums.end());
  count(op.getA());
  count(op.getB());
  Operation *here = op;
  for (; !isa<FunctionOpInterface>(here); here = here->getParentOp()) {
    const auto isUsedBehind = [here](Value value) {
      return llvm::any_of(value.getUsers(), [&](Operation *user) {
        Operation *at = here->getBlock()->findAncestorOpInBlock(*user);
        return at && !at->isBeforeInBlock(here) && user != here;
      });
    };
    for (const Value argument : here->getBlock()->getArguments())
      if (isUsedBehind(argument))
        count(argument);
    for (Operation &before : llvm::make_range(here->getBlock()->begin(), here->getIterator()))
      for (const Value made : before.getResults())
        if (isUsedBehind(made))
          count(made);
  }
  return bits / 32;
}

LogicalResult lowerMma(Lowering &lowering, Operation *op) {
  auto mma = cast<tlg::MmaOp>(op);
  if (!mma.getScales().empty()) {
    lowerScaledMma(lowering, mma);
    return success();
  }
  llvm::IRBuilder<> &builder = lowering.builder();
  const auto bytes = static_cast<int>(mma.getOperandBytes());
  const auto type = cast<RankedTensorType>(mma.getType());
  const llvm::ArrayRef<int64_t> shape = type.getShape();
  const size_t rank = shape.size();
  const int64_t k = shapeOfOperand(mma.getA()).back();
  const llvm::ArrayRef<int32_t> warps = mma.getWarps();
  const auto along = [](int64_t size, int64_t step) { return std::max<int64_t>(1, size / step); };
  // Rows and columns are those of the instruction from here on.
  const bool isTurned = mma.getTurned();
  const int rows = isTurned ? 1 : 0, columns = 1 - rows;
  const Tiles tiles{along(shape[rank - 2 + rows], (bytes == 8 ? 8 : 16) * warps[rows]),
                    along(shape[rank - 2 + columns], 8 * warps[columns]), along(k, mmaDepth(bytes)),
                    rank == 3 ? along(shape[0], warps[2]) : 1};
  const Instruction instruction = makeInstruction(lowering, mma);
  const OperandFormat format = OperandFormat::of(mma);
  const bool widens = widensFp8(lowering, mma);
  const int size = instruction.accumulatorSize;
  std::optional<PayloadProducts> payloads;
  if (format.isPayload)
    payloads.emplace(lowering, elementOfOperand(mma.getA()), elementOfOperand(mma.getB()), bytes,
                     type.getElementType());

  Registers sums(lowering.get(mma.getAcc()));
  if (static_cast<int64_t>(sums.size()) != tiles.batch * tiles.m * tiles.n * size)
    return op->emitError("has an accumulator that is not of mma.sync (a mistake in blockscope)");
  llvm::Type *element = lowering.elementType(type);
  const bool isNarrow = element->isHalfTy() && !payloads;
  if (payloads)
    payloads->embedSums(sums);
  if (isNarrow)
    for (llvm::Value *&sum : sums)
      sum = builder.CreateFPExt(sum, instruction.accumulator);

  const MmaWarps split{warps[0], warps[1], warps[2]};
  const int depth = mmaDepth(bytes);
  const DepthOrder depthOrder = depthOrderOf(mma);
  MmaLayouts layouts = mmaLayouts(shapeOfOperand(mma.getA()), shapeOfOperand(mma.getB()), bytes,
                                  split, depthOrder, isTurned);
  if (isTurned)
    std::swap(layouts.a, layouts.b);
  MmaOperand a(lowering, isTurned ? mma.getB() : mma.getA(), format, layouts.a,
               (bytes == 8 ? 8 : 16) * depth / 32);
  MmaOperand b(lowering, isTurned ? mma.getA() : mma.getB(), format, layouts.b, 8 * depth / 32);
  const auto multiplyTile = [&](int64_t batch, int64_t i, int64_t j, int64_t step,
                                const std::pair<int, int> &terms) {
    llvm::SmallVector<llvm::Value *, 4> wordsA(
        a.words((batch * tiles.m + i) * tiles.k + step, terms.first));
    if (depthOrder == DepthOrder::Eights)
      std::swap(wordsA[1], wordsA[2]);
    const auto wordsB = b.words((batch * tiles.n + j) * tiles.k + step, terms.second);
    const auto part =
        llvm::MutableArrayRef(sums).slice(((batch * tiles.m + i) * tiles.n + j) * size, size);
    if (payloads)
      payloads->multiply(wordsA, wordsB, part);
    else if (widens)
      multiplyWidened(lowering, instruction,
                      {elementOfOperand(mma.getA()), elementOfOperand(mma.getB())}, wordsA, wordsB,
                      part);
    else
      multiply(lowering, instruction, wordsA, wordsB, part);
  };
  const auto multiplyGroup = [&](const MmaOrder &group, int64_t batch, int64_t row,
                                 int64_t column) {
    for (const auto &terms : format.termProducts())
      for (int64_t step = 0; step < tiles.k; ++step)
        for (int64_t tile = 0; tile < group.rows * group.columns; ++tile) {
          const int64_t i = group.holdsA ? tile % group.rows : tile / group.columns;
          const int64_t j = group.holdsA ? tile / group.rows : tile % group.columns;
          multiplyTile(batch, row + i, column + j, step, terms);
        }
  };
  MmaProducts products;
  products.rows = tiles.m, products.columns = tiles.n, products.batches = tiles.batch;
  products.steps = tiles.k * static_cast<int64_t>(format.termProducts().size());
  products.sumWords = size * (bytes == 8 ? 2 : 1);
  products.a = a.cost(widens);
  products.b = b.cost(widens);
  products.otherWords = wordsBeside(lowering, mma);
  products.registers = lowering.target().registersPerThread(lowering.numWarps());
  const MmaOrder order = mmaOrderOf(products);
  for (int64_t batch = 0; batch < tiles.batch; ++batch)
    for (int64_t i = 0; i < tiles.m; i += order.rows)
      for (int64_t j = 0; j < tiles.n; j += order.columns) {
        if (i + j != 0) {
          // What is made again: without a barrier ptxas finds that the loads are the same.
          builder.CreateIntrinsic(llvm::Intrinsic::nvvm_bar_warp_sync, {lowering.i32(-1)});
          if (order.columns < tiles.n)
            a.forget();
          if (order.rows < tiles.m)
            b.forget();
        }
        multiplyGroup(order, batch, i, j);
      }
  if (isNarrow)
    for (llvm::Value *&sum : sums)
      sum = builder.CreateFPTrunc(sum, element);
  if (payloads)
    payloads->unembedSums(sums);
  lowering.set(mma.getResult(), sums);
  return success();
}

} // namespace

llvm::ArrayRef<LoweringRow> mmaRows() {
  static constexpr LoweringRow kRows[] = {{"tlg.mma", lowerMma}};
  return kRows;
}

} // namespace blockscope::gpu
