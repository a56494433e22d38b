// tlg.wgmma: dots of warpgroups from shared memory, and waiting for them.
//
// wgmma reads an operand through a descriptor: address, swizzle and two distances. W is the width
// of the swizzle in bytes. An operand that is contiguous along K is read in chunks of W bytes of K,
// one that is contiguous along M or N in chunks of W bytes of that. The accumulators are operands
// and results of the inline assembly of every dot and of the wait, so that nothing that uses
// them can move above the wait.
#include "gpu_backend/lowering/families.h"
#include "gpu_backend/lowering/mma_operands.h"
#include "gpu_backend/lowering/payload_products.h"

#include "gpu_backend/codegen/nvptx.h"
#include "gpu_backend/layout/mma_layouts.h"
#include "gpu_backend/passes/shared_operands.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/FormatVariadic.h"

#include <array>
#include <utility>

using namespace mlir;

namespace blockscope::gpu {
namespace {

constexpr int kRows = 64, kWarps = 4, kStepBytes = 32, kWordsA = 4;
constexpr int kFewSums = 32; // registers of a thread

/// Where the threads' warpgroups begin in a dot.
struct Groups {
  int64_t m, n; ///< warpgroups along each
};

/// "{$0, $1}" of `count` operands from `first`.
std::string braces(int first, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i)
    text += llvm::formatv("{0}${1}", i == 0 ? "" : ", ", first + i).str();
  return text + "}";
}

/// "=f,=f,...,0,1,...": `count` results, which are operands too when they are tied.
std::string constraintsOf(llvm::StringRef letter, int count, bool isTied) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += (i == 0 ? "=" : ",=") + letter.str();
  for (int i = 0; isTied && i < count; ++i)
    text += llvm::formatv(",{0}", i).str();
  return text;
}

llvm::StringRef letterOf(llvm::Type *type) { return type->isFloatTy() ? "f" : "r"; }

llvm::Type *structOf(Lowering &lowering, llvm::ArrayRef<llvm::Value *> values) {
  llvm::SmallVector<llvm::Type *> types;
  for (llvm::Value *value : values)
    types.push_back(value->getType());
  return types.size() == 1 ? types.front() : llvm::StructType::get(lowering.context(), types);
}

/// The descriptors of an operand in shared memory.
class Descriptor {
public:
  /// `lineDim` is M or N, `depthDim` K; `lines` how many of M or N an instruction takes; the
  /// warpgroups lie along it, their bits begin at `firstGroupBit`.
  Descriptor(Lowering &lowering, Value operand, DepthOrder depthOrder, int lineDim, int64_t groups,
             int64_t lines, int firstGroupBit)
      : lowering_(lowering), lineDim_(lineDim) {
    const auto type = cast<tlg::SharedType>(operand.getType());
    layout_ = tlg::sharedLayoutOf(type);
    shape_ = ShapeBits(type.getShape());
    const SwizzleMatch match = *matchSwizzle(type, depthOrder);
    isTransposed_ = match.contiguousDim == lineDim;
    const int64_t depth = type.getShape()[1 - lineDim], width = match.swizzleBytes;
    const uint64_t leading = isTransposed_ ? depth * width : 16, stride = 8 * width;
    const uint64_t mode = width == 128 ? 1 : width == 64 ? 2 : 3;
    const uint64_t constant = (leading >> 4) << 16 | (stride >> 4) << 32 | mode << 62;
    llvm::IRBuilder<> &builder = lowering.builder();
    llvm::Value *start = lowering.scalar(operand);
    if (groups > 1) {
      Bases group(llvm::Log2_64(lowering.numWarps()), 0);
      for (int64_t i = 1, bit = firstGroupBit; i < groups; i *= 2, ++bit)
        group[bit] = offsetBytes(i * lines, 0);
      // Descriptors are in uniform registers. Made of the number of a thread, all of them would be
      // computed beside and moved there.
      llvm::Value *offset = lowering.combined(group, lowering.uniformWarpId());
      start = builder.CreateAdd(start, offset, "", true, true);
    }
    start = builder.CreatePtrToInt(lowering.sharedPointer(start), builder.getInt32Ty());
    start = builder.CreateAnd(builder.CreateLShr(start, 4), lowering.i32(0x3fff));
    base_ = builder.CreateOr(builder.CreateZExt(start, builder.getInt64Ty()),
                             builder.getInt64(constant));
  }

  bool isTransposed() const { return isTransposed_; }

  /// That of the instruction that begins at this row or column and depth: a sum that LLVM cannot
  /// make in front of a loop. It would make all of them there, and ptxas keep each in a register,
  /// or on the stack, where one instruction of the uniform registers makes it again.
  llvm::Value *at(int64_t line, int64_t depth) {
    const uint32_t distance = offsetBytes(line, depth) >> 4;
    if (distance == 0)
      return base_;
    const std::string text = llvm::formatv("add.s64 $0, $1, {0};", distance).str();
    return lowering_.assembly(base_->getType(), text, "=l,l", {base_});
  }

private:
  uint32_t offsetBytes(int64_t line, int64_t depth) const {
    return layout_.offsetBytes(static_cast<ElementBits>(line) << shape_.shift(lineDim_) |
                               static_cast<ElementBits>(depth) << shape_.shift(1 - lineDim_));
  }

  Lowering &lowering_;
  int lineDim_;
  SharedLayout layout_;
  ShapeBits shape_;
  bool isTransposed_ = false;
  llvm::Value *base_ = nullptr;
};

/// The inline assembly of one dot: `result` = a * b, or added to what `result` was. `isTied`: it is
/// in the registers of what it was, as it also is where it is added.
struct Instruction {
  std::string text, constraints;
};

Instruction makeInstruction(tlg::WgmmaOp op, int64_t columns, llvm::StringRef letter,
                            bool aInRegisters, bool transposeA, bool transposeB, bool isTied,
                            bool adds) {
  const auto bytes = static_cast<int>(op.getOperandBytes());
  const auto size = static_cast<int>(columns / 2);
  const bool isInteger = letter == "r";
  Instruction result;
  result.constraints = constraintsOf(letter, size, isTied) + (aInRegisters ? ",r,r,r,r,l" : ",l,l");
  const int a = isTied ? 2 * size : size;
  const std::string left = aInRegisters ? braces(a, 4) : llvm::formatv("${0}", a).str();
  std::string modifiers = isInteger ? "" : ", 1, 1";
  if (bytes == 2)
    modifiers += (aInRegisters ? ""
                  : transposeA ? ", 1"
                               : ", 0") +
                 std::string(transposeB ? ", 1" : ", 0");
  result.text =
      llvm::formatv("{{.reg .pred p; setp.{9}.u32 p, 0, 0; "
                    "wgmma.mma_async.sync.aligned.m64n{0}k{1}.{2}.{3}.{4} {5}, {6}, ${7}, p{8};}",
                    columns, kStepBytes / bytes, isInteger ? "s32" : "f32",
                    operandTypeName(elementOfOperand(op.getA()), bytes, op.getAUnsigned()),
                    operandTypeName(elementOfOperand(op.getB()), bytes, op.getBUnsigned()),
                    braces(0, size), left, a + (aInRegisters ? 4 : 1), modifiers,
                    adds ? "eq" : "ne")
          .str();
  return result;
}

/// An instruction without operands of its own: `sums` are ready when it comes, and nothing that
/// uses them moves above it; `read` are ready and stay as they are until then.
void fence(Lowering &lowering, llvm::StringRef text, llvm::MutableArrayRef<llvm::Value *> sums,
           llvm::ArrayRef<llvm::Value *> read = {}) {
  std::string constraints;
  const auto add = [&](const std::string &constraint) {
    constraints += (constraints.empty() ? "" : ",") + constraint;
  };
  for (llvm::Value *sum : sums)
    add("=" + letterOf(sum->getType()).str());
  for (size_t i = 0; i < sums.size(); ++i)
    add(std::to_string(i));
  for (llvm::Value *value : read)
    add(letterOf(value->getType()).str());
  llvm::SmallVector<llvm::Value *> operands(sums.begin(), sums.end());
  llvm::append_range(operands, read);
  llvm::Type *type = sums.empty() ? lowering.builder().getVoidTy() : structOf(lowering, sums);
  llvm::Value *result = lowering.assembly(type, text, constraints, operands);
  for (auto [i, sum] : llvm::enumerate(sums))
    sum = sums.size() == 1 ? result : lowering.builder().CreateExtractValue(result, i);
}

bool isZero(llvm::ArrayRef<llvm::Value *> values) {
  return llvm::all_of(values, [](llvm::Value *value) {
    auto *constant = dyn_cast<llvm::Constant>(value);
    return constant && constant->isNullValue();
  });
}

LogicalResult lowerWgmma(Lowering &lowering, Operation *op) {
  auto wgmma = cast<tlg::WgmmaOp>(op);
  llvm::IRBuilder<> &builder = lowering.builder();
  const auto bytes = static_cast<int>(wgmma.getOperandBytes());
  const auto type = cast<RankedTensorType>(wgmma.getType());
  const int64_t m = type.getDimSize(0), n = type.getDimSize(1);
  const int64_t k = shapeOfOperand(wgmma.getA()).back();
  const llvm::ArrayRef<int32_t> warps = wgmma.getWarps();
  const Groups groups{warps[0] / kWarps, warps[1]};
  const int64_t columns = wgmmaColumns(n, groups.n);
  const int64_t tilesM = m / (kRows * groups.m), tilesN = n / (columns * groups.n);
  const int64_t depth = kStepBytes / bytes, steps = k / depth;
  const auto size = static_cast<int>(columns / 2);
  Registers sums(lowering.get(wgmma.getAcc()));
  if (!isa<tlg::SharedType>(wgmma.getB().getType()))
    return op->emitError("reads its second operand from shared memory, but finds a block in "
                         "registers; tlg-stage-operands has to come before (in the usual pipeline "
                         "this is a mistake in blockscope)");
  if (static_cast<int64_t>(sums.size()) != tilesM * tilesN * size)
    return op->emitError("has operands that are not of wgmma (a mistake in blockscope)");

  const bool aInRegisters = tlg::hasLayout(wgmma.getA().getType());
  std::optional<Descriptor> a;
  std::optional<MmaOperand> registers;
  const int rowBits = static_cast<int>(llvm::Log2_64(warps[0]));
  if (aInRegisters) {
    lowering.function().addFnAttr(kNeedsRegisters);
    registers.emplace(lowering, wgmma.getA(), OperandFormat::of(wgmma), LinearLayout(), 16 / bytes);
  } else {
    a.emplace(lowering, wgmma.getA(), depthOrderOf(wgmma), /*lineDim=*/0, groups.m, kRows,
              /*firstGroupBit=*/2);
  }
  Descriptor b(lowering, wgmma.getB(), depthOrderOf(wgmma), /*lineDim=*/1, groups.n, columns,
               rowBits);
  const llvm::StringRef letter = letterOf(sums.front()->getType());
  std::optional<PayloadProducts> payloads;
  if (isOfPayloads(wgmma.getInputPrecision()))
    payloads.emplace(lowering, elementOfOperand(wgmma.getA()), elementOfOperand(wgmma.getB()),
                     bytes, type.getElementType());
  const bool isFresh = isZero(sums);      // the first dots need not add
  llvm::SmallVector<llvm::Value *> words; // made before the fence
  if (registers)
    for (int64_t tile = 0; tile < tilesM * steps; ++tile)
      llvm::append_range(words, registers->words(tile));
  // Step `step` of the tiles in row i, for as many columns from `column` on as `part` has sums of;
  // added to `part` or in its place, and with `isTied` in its registers.
  const auto multiply = [&](int64_t i, int64_t column, int64_t step,
                            llvm::MutableArrayRef<llvm::Value *> part, bool isTied, bool adds) {
    llvm::SmallVector<llvm::Value *> operands;
    llvm::ArrayRef<llvm::Value *> wordsA;
    if (aInRegisters)
      wordsA = llvm::ArrayRef(words).slice((i * steps + step) * kWordsA, kWordsA);
    llvm::Value *left = a ? a->at(i * kRows * groups.m, step * depth) : nullptr;
    llvm::Value *right = b.at(column, step * depth);
    if (payloads) {
      const DescribedOperand described{left, a && a->isTransposed()};
      payloads->multiplyGroup(wordsA, left ? &described : nullptr, {right, b.isTransposed()}, part);
      return;
    }
    if (isTied)
      operands.assign(part.begin(), part.end());
    if (left)
      operands.push_back(left);
    else
      llvm::append_range(operands, wordsA);
    operands.push_back(right);
    const Instruction code =
        makeInstruction(wgmma, 2 * static_cast<int64_t>(part.size()), letter, aInRegisters,
                        a && a->isTransposed(), b.isTransposed(), isTied, adds);
    llvm::Value *result =
        lowering.assembly(structOf(lowering, part), code.text, code.constraints, operands);
    for (auto [index, sum] : llvm::enumerate(part))
      sum = builder.CreateExtractValue(result, index);
  };
  constexpr llvm::StringLiteral kBegin = "wgmma.fence.sync.aligned;";
  constexpr llvm::StringLiteral kCommit = "wgmma.commit_group.sync.aligned;";
  const std::optional<uint32_t> limit = wgmma.getMaxNumImpreciseAcc();
  if (limit && !payloads) { // those of payloads are exact
    // Part by part, as each takes registers beside those of its sums. Where these fill half of what
    // a thread has, a part is an eighth of that, and is added while the next one is multiplied. Two
    // sets of registers take turns: ptxas would give each part its own, and add all of them last.
    const bool isTight = sums.size() >= kManyWgmmaSums;
    const int count = isTight ? std::min(size, kFewSums) : size;
    const int64_t most = std::max<int64_t>(1, *limit / depth);
    struct Part {
      Registers products;
      llvm::MutableArrayRef<llvm::Value *> sums; ///< that they are added to
    };
    std::array<Part, 2> parts;
    const auto finish = [&](Part &part, int pending) {
      if (part.sums.empty())
        return;
      // First operands in registers stay as they are while dots may read them.
      fence(lowering, llvm::formatv("wgmma.wait_group.sync.aligned {0};", pending).str(),
            part.products, words);
      for (auto [sum, product] : llvm::zip(part.sums, part.products))
        sum = builder.CreateFAdd(sum, product);
      part.sums = {};
    };
    for (int64_t i = 0; i < tilesM; ++i)
      for (int64_t first = 0; first < tilesN * size; first += count)
        for (int64_t begin = 0; begin < steps; begin += most) {
          Part &now = parts.front();
          now.sums = llvm::MutableArrayRef(sums).slice(i * tilesN * size + first, count);
          const bool isUsedAgain = !now.products.empty();
          if (!isUsedAgain)
            now.products.assign(now.sums.begin(), now.sums.end());
          const int64_t column = first / size * columns * groups.n + first % size * 2;
          fence(lowering, kBegin, {}, words);
          for (int64_t step = begin; step < std::min(steps, begin + most); ++step)
            multiply(i, column, step, now.products, isUsedAgain || step != begin,
                     /*adds=*/step != begin);
          fence(lowering, kCommit, {});
          if (isTight) {
            std::swap(parts[0], parts[1]);
            finish(parts[0], /*pending=*/1);
          } else {
            finish(now, /*pending=*/0);
          }
        }
    finish(parts[1], /*pending=*/0);
    lowering.set(wgmma.getResult(), sums);
    return success();
  }
  const int64_t tiles = tilesM * tilesN;
  const auto sumsOf = [&](int64_t tile) {
    return llvm::MutableArrayRef(sums).slice(tile * size, size);
  };
  const auto multiplyTile = [&](int64_t tile, int64_t step) {
    multiply(tile / tilesN, tile % tilesN * columns * groups.n, step, sumsOf(tile),
             /*isTied=*/step > 0 || !isFresh, /*adds=*/step > 0 || !isFresh);
  };
  const auto begin = [&](llvm::MutableArrayRef<llvm::Value *> part) {
    fence(lowering, kBegin, isFresh ? llvm::MutableArrayRef<llvm::Value *>() : part, words);
  };
  // Of sums that a thread cannot hold each tile is complete before the next one begins: dots that
  // are on their way have all of their sums in registers.
  if (static_cast<int64_t>(sums.size()) >=
          lowering.target().registersPerThread(lowering.numWarps()) &&
      !payloads) {
    for (int64_t tile = 0; tile < tiles; ++tile) {
      begin(sumsOf(tile));
      for (int64_t step = 0; step < steps; ++step)
        multiplyTile(tile, step);
      fence(lowering, kCommit, {});
      if (tile + 1 < tiles)
        fence(lowering, "wgmma.wait_group.sync.aligned 0;", sumsOf(tile), words);
    }
    lowering.set(wgmma.getResult(), sums);
    return success();
  }
  if (payloads)
    payloads->embedSums(sums);
  else
    begin(sums);
  for (int64_t n = 0; n < steps * tiles; ++n)
    multiplyTile(n % tiles, n / tiles);
  if (payloads)
    payloads->unembedSums(sums);
  else
    fence(lowering, kCommit, {});
  lowering.set(wgmma.getResult(), sums);
  return success();
}

LogicalResult lowerWgmmaWait(Lowering &lowering, Operation *op) {
  auto wait = cast<tlg::WgmmaWaitOp>(op);
  // Sums become complete; first operands in registers are only kept until here.
  const auto isSum = [](Value value) { return tlg::elementBytes(value.getType()) == 4; };
  Registers sums, read;
  for (Value value : wait.getValues()) {
    const llvm::ArrayRef<llvm::Value *> registers = lowering.get(value);
    if (isSum(value))
      llvm::append_range(sums, registers);
    else
      llvm::append_range(read,
                         packFragment(lowering, registers, tlg::elementBytes(value.getType())));
  }
  fence(lowering, llvm::formatv("wgmma.wait_group.sync.aligned {0};", wait.getPending()).str(),
        sums, read);
  llvm::ArrayRef<llvm::Value *> left = sums;
  for (auto [value, complete] : llvm::zip(wait.getValues(), wait.getResults())) {
    Registers registers(lowering.get(value));
    if (isSum(value)) {
      registers = Registers(left.take_front(registers.size()));
      left = left.drop_front(registers.size());
    }
    lowering.set(complete, registers);
  }
  return success();
}

} // namespace

llvm::ArrayRef<LoweringRow> wgmmaRows() {
  static constexpr LoweringRow kTable[] = {{"tlg.wgmma", lowerWgmma},
                                           {"tlg.wgmma_wait", lowerWgmmaWait}};
  return kTable;
}

} // namespace blockscope::gpu
