// A word of four scales serves several instructions: each says which bytes it takes, and from which
// of the threads that share its rows or columns (layout/mma_layouts.h).
#include "gpu_backend/lowering/scaled_mma.h"

#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/lowering/mma_operands.h"
#include "gpu_backend/passes/scaled_dots.h"

#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

constexpr int kSums = 4;

/// One operand with its scales: words for every tile and step.
class ScaledOperand {
public:
  ScaledOperand(Lowering &lowering, Value operand, Value scales, MmaScales take, MmaWarps warps,
                DepthOrder depth)
      : lowering_(lowering), take_(take), warps_(warps),
        isPacked_(depth == DepthOrder::PackedNeighbours), scaleShape_(shapeOfOperand(scales)),
        operand_(lowering, operand, {.operandBytes = 1, .precision = "ieee"},
                 take.isOfRows ? mmaOperandA(shapeOfOperand(operand), 1, warps, depth)
                               : mmaOperandB(shapeOfOperand(operand), 1, warps, depth),
                 (take.isOfRows ? 16 : 8) / (isPacked_ ? 2 : 1), /*isDeep=*/true) {
    constexpr int kPerWord = 4;
    Registers values(lowering.get(scales));
    values.resize(llvm::alignTo(values.size(), kPerWord),
                  llvm::Constant::getNullValue(values.front()->getType()));
    scales_ = packFragment(lowering, values, 1);
  }

  /// The words of fragment `number`.
  llvm::SmallVector<llvm::Value *, 4> words(int64_t number) {
    const llvm::ArrayRef<llvm::Value *> words = operand_.words(number);
    if (!isPacked_)
      return llvm::SmallVector<llvm::Value *, 4>(words);
    llvm::SmallVector<llvm::Value *, 4> &wide = wide_[number];
    if (wide.empty())
      wide = widened(words);
    return wide;
  }

  ScalePlace placeOf(int64_t batch, int64_t tile, int64_t step) const {
    return scalePlace(scaleShape_, take_, warps_, batch, tile, step);
  }
  llvm::Value *scales(ScalePlace place) const { return scales_[place.word]; }

private:
  /// The eight e2m1 of each word in bytes, where the instruction has them: the first words of all
  /// lines, then the second ones.
  llvm::SmallVector<llvm::Value *, 4> widened(llvm::ArrayRef<llvm::Value *> words) {
    constexpr uint32_t kBits = 0x3c3c3c3c, kFirst = 0x5140, kSecond = 0x7362;
    llvm::IRBuilder<> &builder = lowering_.builder();
    llvm::SmallVector<llvm::Value *, 4> first, second;
    for (llvm::Value *word : words) {
      llvm::Value *even = builder.CreateAnd(builder.CreateShl(word, 2), kBits);
      llvm::Value *odd = builder.CreateAnd(builder.CreateLShr(word, 2), kBits);
      const auto mixed = [&](uint32_t order) {
        return builder.CreateIntrinsic(llvm::Intrinsic::nvvm_prmt,
                                       {even, odd, builder.getInt32(order)});
      };
      first.push_back(mixed(kFirst));
      second.push_back(mixed(kSecond));
    }
    llvm::append_range(first, second);
    return first;
  }

  Lowering &lowering_;
  MmaScales take_;
  MmaWarps warps_;
  bool isPacked_; ///< its e2m1 become bytes
  llvm::SmallVector<int64_t, 3> scaleShape_;
  MmaOperand operand_;
  llvm::SmallVector<llvm::Value *> scales_;
  llvm::DenseMap<int64_t, llvm::SmallVector<llvm::Value *, 4>> wide_;
};

llvm::StringRef formatOf(Value operand) {
  const Type type = elementOfOperand(operand);
  return type.isInteger(8) ? "e2m1" : operandTypeName(type, 1, false);
}

/// The name of the instruction.
std::string nameOf(tlg::MmaOp op, ScaledMma::Kind kind) {
  llvm::StringRef how;
  switch (kind) {
  case ScaledMma::Kind::Mxf8f6f4:
    how = "m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X";
    break;
  case ScaledMma::Kind::Mxf4:
    how = "m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X";
    break;
  case ScaledMma::Kind::Mxf4nvf4:
    how = "m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X";
    break;
  }
  return llvm::formatv("mma.sync.aligned.{0}.f32.{1}.{2}.f32.{3}", how, formatOf(op.getA()),
                       formatOf(op.getB()), kind == ScaledMma::Kind::Mxf4nvf4 ? "ue4m3" : "ue8m0");
}

} // namespace

void lowerScaledMma(Lowering &lowering, tlg::MmaOp op) {
  const llvm::ArrayRef<int32_t> split = op.getWarps();
  const MmaWarps warps{split[0], split[1], split[2]};
  const ScaledMma mma =
      scaledMmaOf(op.getA().getType(), op.getB().getType(), op.getScales()[0].getType());
  ScaledOperand a(lowering, op.getA(), op.getScales()[0], mma.scalesA, warps, mma.depthA);
  ScaledOperand b(lowering, op.getB(), op.getScales()[1], mma.scalesB, warps, mma.depthB);
  const std::string name = nameOf(op, mma.kind);
  llvm::IRBuilder<> &builder = lowering.builder();
  auto *result = llvm::StructType::get(
      lowering.context(), llvm::SmallVector<llvm::Type *>(kSums, builder.getFloatTy()));

  Registers sums(lowering.get(op.getAcc()));
  const llvm::ArrayRef<int64_t> shape = op.getType().getShape();
  const auto along = [](int64_t size, int64_t step) { return std::max<int64_t>(1, size / step); };
  const int64_t batches = shape.size() == 3 ? along(shape[0], warps.batch) : 1;
  const int64_t rows = along(shape[shape.size() - 2], 16 * warps.m);
  const int64_t columns = along(shape.back(), 8 * warps.n);
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t step = 0; step < mma.steps; ++step)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) {
          const ScalePlace ofA = a.placeOf(batch, i, step), ofB = b.placeOf(batch, j, step);
          llvm::SmallVector<llvm::Value *> operands(a.words((batch * rows + i) * mma.steps + step));
          llvm::append_range(operands, b.words((batch * columns + j) * mma.steps + step));
          const auto part =
              llvm::MutableArrayRef(sums).slice(((batch * rows + i) * columns + j) * kSums, kSums);
          llvm::append_range(operands, part);
          operands.append({a.scales(ofA), b.scales(ofB)});
          const std::string text =
              llvm::formatv("{0} {{$0, $1, $2, $3}, {{$4, $5, $6, $7}, {{$8, $9}, "
                            "{{$10, $11, $12, $13}, {{$14}, {{{1}, {2}}, {{$15}, {{{3}, {4}};",
                            name, ofA.byte, ofA.thread, ofB.byte, ofB.thread);
          auto *call = cast<llvm::CallInst>(lowering.assembly(
              result, text, "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f,r,r", operands, false));
          call->setDoesNotAccessMemory();
          call->setConvergent(); // all lanes take part
          for (auto [k, sum] : llvm::enumerate(part))
            sum = builder.CreateExtractValue(call, k);
        }
  lowering.set(op.getResult(), sums);
}

} // namespace blockscope::gpu
