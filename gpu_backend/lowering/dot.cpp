// tlg.fma: dots without tensor cores: exact fp32 (ieee), and types and sizes that they do not take.
//
// Both operands are in shared memory, from which a thread reads vectors: several k of a row or
// column, or several rows or columns of one k, as they lie there. Every element is one fma chain in
// order of k that begins with acc, bit for bit what the CPU computes.
#include "gpu_backend/lowering/families.h"
#include "gpu_backend/lowering/mma_operands.h"
#include "gpu_backend/lowering/payload_products.h"
#include "gpu_backend/lowering/words.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// How elements become what is multiplied.
struct Widening {
  llvm::Type *type;
  bool isUnsigned;
  bool isOfPayloads; ///< they are floats that stand for integers
};

llvm::Value *widen(Lowering &lowering, llvm::Value *value, Type type, const Widening &to) {
  llvm::IRBuilder<> &builder = lowering.builder();
  if (to.isOfPayloads)
    value = embedFloat(builder, value, payloadRuleOf(type));
  if (to.type->isIntegerTy())
    return to.isUnsigned ? builder.CreateZExt(value, to.type) : builder.CreateSExt(value, to.type);
  return builder.CreateFPExt(value, to.type);
}

/// An operand in shared memory, as a thread reads it: `steps` neighbouring k of the rows or columns
/// that its elements of the result need.
class Operand {
public:
  Operand(Lowering &lowering, Value value, bool isA, RankedTensorType result, int64_t steps,
          const Widening &widening)
      : lowering_(lowering), value_(value), widening_(widening),
        shared_(tlg::sharedLayoutOf(cast<tlg::SharedType>(value.getType()))),
        shape_(shapeOfOperand(value)), steps_(steps) {
    const int last = shape_.rank() - 1;
    depthDim_ = isA ? last : last - 1;
    const int lineDim = isA ? last - 1 : last;
    const ShapeBits of(result.getShape());
    const auto lines = [&](const Bases &bases) {
      Bases lines;
      for (const ElementBits basis : bases)
        lines.push_back(of.coordinate(basis, lineDim) << shape_.shift(lineDim) |
                        (last == 2 ? of.coordinate(basis, 0) << shape_.shift(0) : 0));
      return lines;
    };
    const LinearLayout accumulator = tlg::layoutOf(result);
    for (int64_t step = 1; step < steps; step *= 2)
      layout_.registers.push_back(depthBits(step));
    llvm::append_range(layout_.registers, lines(accumulator.registers));
    layout_.lanes = lines(accumulator.lanes);
    layout_.warps = lines(accumulator.warps);
    access_ = vectorLoad(layout_, shared_);
  }

  int64_t depth() const { return int64_t{1} << shape_.width(depthDim_); }

  /// Notes what all reads of a dot cost.
  void note() {
    noteConflicts(lowering_, "where a dot reads an operand", access_,
                  static_cast<int>(depth() / steps_));
  }

  /// Goes on to the k of `pass`, each of `unroll` k.
  void beginPass(llvm::Value *pass, int64_t unroll) {
    Bases offsets;
    for (int64_t step = unroll; step < depth(); step *= 2)
      offsets.push_back(shared_.offsetBytes(depthBits(step)));
    address_.emplace(lowering_, lowering_.scalar(value_), access_.lanes, access_.warps,
                     Moving{offsets, pass});
  }

  /// The elements at `step` of the pass and the k that follow it, for each of the result's
  /// registers: `steps` for the first one, then for the next.
  Registers load(int64_t step) {
    llvm::IRBuilder<> &builder = lowering_.builder();
    const Type type = elementOfOperand(value_);
    llvm::DenseMap<ElementBits, llvm::Value *> loaded;
    for (const SharedVector &vector : access_.vectors) {
      auto *vectorType = llvm::FixedVectorType::get(lowering_.memoryType(type),
                                                    static_cast<unsigned>(vector.registers.size()));
      llvm::Value *address =
          address_->at(vector.offsetBytes ^ shared_.offsetBytes(depthBits(step)));
      llvm::Value *read =
          builder.CreateAlignedLoad(vectorType, address, llvm::Align(access_.vectorBytes));
      for (auto [i, reg] : llvm::enumerate(vector.registers))
        loaded[layout_.registerElement(reg)] =
            widen(lowering_, fromMemory(lowering_, builder.CreateExtractElement(read, i), type),
                  type, widening_);
    }
    Registers values;
    for (int reg = 0; reg < layout_.registerCount(); ++reg)
      values.push_back(loaded.at(layout_.registerElement(reg)));
    return values;
  }

private:
  ElementBits depthBits(int64_t k) const {
    return static_cast<ElementBits>(k) << shape_.shift(depthDim_);
  }

  Lowering &lowering_;
  Value value_;
  Widening widening_;
  SharedLayout shared_;
  ShapeBits shape_;
  int depthDim_;
  int64_t steps_;
  LinearLayout layout_; ///< of what `load` gives
  SharedAccess access_;
  std::optional<SharedAddress> address_;
};

llvm::Value *multiplyAdd(Lowering &lowering, llvm::Value *a, llvm::Value *b, llvm::Value *sum) {
  llvm::IRBuilder<> &builder = lowering.builder();
  if (sum->getType()->isIntegerTy())
    return builder.CreateAdd(builder.CreateMul(a, b), sum);
  return builder.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()}, {a, b, sum});
}

/// The loop over k, `unroll` of them in a pass and `steps` at a time.
void multiply(Lowering &lowering, Operand &a, Operand &b, int64_t steps, int64_t unroll,
              Registers &sums) {
  llvm::IRBuilder<> &builder = lowering.builder();
  llvm::BasicBlock *before = builder.GetInsertBlock();
  auto *body = llvm::BasicBlock::Create(lowering.context(), "dot", &lowering.function());
  auto *after = llvm::BasicBlock::Create(lowering.context(), "dot.end", &lowering.function());
  builder.CreateBr(body);
  builder.SetInsertPoint(body);
  auto *pass = builder.CreatePHI(builder.getInt32Ty(), 2, "pass");
  pass->addIncoming(lowering.i32(0), before);
  llvm::SmallVector<llvm::PHINode *> phis;
  for (llvm::Value *&sum : sums) {
    auto *phi = builder.CreatePHI(sum->getType(), 2);
    phi->addIncoming(sum, before);
    phis.push_back(phi);
    sum = phi;
  }
  a.beginPass(pass, unroll);
  b.beginPass(pass, unroll);
  for (int64_t step = 0; step < unroll; step += steps) {
    const Registers left = a.load(step), right = b.load(step);
    for (int64_t i = 0; i < steps; ++i)
      for (size_t reg = 0; reg < sums.size(); ++reg)
        sums[reg] = multiplyAdd(lowering, left[reg * steps + i], right[reg * steps + i], sums[reg]);
  }
  llvm::Value *next = builder.CreateAdd(pass, lowering.i32(1), "", true, true);
  pass->addIncoming(next, body);
  for (auto [phi, sum] : llvm::zip(phis, sums))
    phi->addIncoming(sum, body);
  builder.CreateCondBr(builder.CreateICmpULT(next, lowering.i32(a.depth() / unroll)), body, after);
  builder.SetInsertPoint(after);
}

LogicalResult lowerFma(Lowering &lowering, Operation *op) {
  // More products in a pass are more code, but fewer of the instructions that lead to the next one:
  // 512 are 9 % faster than 128 (docs/gpu-performance.md).
  constexpr int64_t kProductsPerPass = 512, kStepsAtATime = 4;
  auto dot = cast<tlg::FmaOp>(op);
  if (!isa<tlg::SharedType>(dot.getA().getType()) || !isa<tlg::SharedType>(dot.getB().getType()))
    return op->emitError("has an operand that is not in shared memory (a mistake in blockscope)");
  llvm::IRBuilder<> &builder = lowering.builder();
  const auto type = cast<RankedTensorType>(dot.getType());
  Registers sums(lowering.get(dot.getAcc()));
  llvm::Type *element = lowering.elementType(type);
  std::optional<PayloadProducts> payloads;
  if (isOfPayloads(dot.getInputPrecision()))
    payloads.emplace(lowering, elementOfOperand(dot.getA()), elementOfOperand(dot.getB()),
                     tlg::elementBytes(elementOfOperand(dot.getA())), type.getElementType());
  const bool isNarrow = element->isHalfTy() && !payloads;
  llvm::Type *wide = isNarrow ? builder.getFloatTy() : element;
  if (payloads) {
    payloads->embedSums(sums);
    wide = sums.front()->getType();
  }
  if (isNarrow)
    for (llvm::Value *&sum : sums)
      sum = builder.CreateFPExt(sum, wide);
  const int64_t depth = shapeOfOperand(dot.getA()).back();
  const int64_t steps = std::min(depth, kStepsAtATime);
  int64_t unroll = steps;
  while (2 * unroll <= depth && 2 * unroll * static_cast<int64_t>(sums.size()) <= kProductsPerPass)
    unroll *= 2;
  Operand a(lowering, dot.getA(), true, type, steps,
            {wide, dot.getAUnsigned(), payloads.has_value()});
  Operand b(lowering, dot.getB(), false, type, steps,
            {wide, dot.getBUnsigned(), payloads.has_value()});
  a.note();
  b.note();
  multiply(lowering, a, b, steps, unroll, sums);
  if (isNarrow)
    for (llvm::Value *&sum : sums)
      sum = builder.CreateFPTrunc(sum, element);
  if (payloads)
    payloads->unembedSums(sums);
  lowering.set(dot, sums);
  return success();
}

/// Every tl.dot has become tlg.fma, tlg.mma or tlg.wgmma when layouts were assigned, and every
/// tl.scaled a part of one or its first operand: their rows say that the GPU has them.
LogicalResult lowerDot(Lowering &, Operation *op) {
  return op->emitError("has no layout (a mistake in blockscope)");
}

} // namespace

llvm::ArrayRef<LoweringRow> dotRows() {
  static constexpr LoweringRow kRows[] = {
      {"tl.dot", lowerDot}, {"tl.scaled", lowerDot}, {"tlg.fma", lowerFma}};
  return kRows;
}

} // namespace blockscope::gpu
