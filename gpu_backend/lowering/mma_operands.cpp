// fp32 operands are multiplied in tf32 as they are, since the instructions ignore the bits that
// tf32 lacks, or split into a sum of tf32 or bf16 terms.
#include "gpu_backend/lowering/mma_operands.h"
#include "gpu_backend/lowering/payload.h"
#include "gpu_backend/lowering/words.h"

#include "gpu_backend/layout/layout_queries.h"
#include "gpu_backend/layout/mma_layouts.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// Each term is what the instruction keeps of what the ones before it left. An infinity has a NaN
/// for its second term: its product with the 0 that is the second term of most numbers is one, too.
llvm::SmallVector<llvm::Value *, 3> splitInTf32(Lowering &lowering, int count, llvm::Value *value) {
  llvm::IRBuilder<> &builder = lowering.builder();
  llvm::SmallVector<llvm::Value *, 3> terms{value};
  while (static_cast<int>(terms.size()) < count) {
    llvm::Value *bits = builder.CreateBitCast(terms.back(), builder.getInt32Ty());
    llvm::Value *kept =
        builder.CreateBitCast(builder.CreateAnd(bits, kKeptByTf32), value->getType());
    terms.push_back(builder.CreateFSub(terms.back(), kept));
  }
  return terms;
}

/// Each term is the rounding of what the ones before it left; infinity and NaN are in the first
/// only.
llvm::SmallVector<llvm::Value *, 3> splitInBf16(Lowering &lowering, int count, llvm::Value *value) {
  llvm::IRBuilder<> &builder = lowering.builder();
  llvm::SmallVector<llvm::Value *, 3> terms;
  llvm::Value *zero = llvm::ConstantFP::get(builder.getFloatTy(), 0);
  for (int term = 0; term < count; ++term) {
    terms.push_back(builder.CreateFPTrunc(value, builder.getBFloatTy()));
    if (term + 1 == count)
      break;
    llvm::Value *wide = builder.CreateFPExt(terms.back(), builder.getFloatTy());
    llvm::Value *difference = builder.CreateFSub(value, value);
    llvm::Value *isFinite = builder.CreateFCmpOEQ(difference, zero);
    value = builder.CreateSelect(isFinite, builder.CreateFSub(value, wide), zero);
  }
  return terms;
}

} // namespace

llvm::ArrayRef<int64_t> shapeOfOperand(Value operand) {
  if (auto shared = dyn_cast<tlg::SharedType>(operand.getType()))
    return shared.getShape();
  return cast<RankedTensorType>(operand.getType()).getShape();
}

Type elementOfOperand(Value operand) {
  if (auto shared = dyn_cast<tlg::SharedType>(operand.getType()))
    return shared.getElementType();
  return getElementTypeOrSelf(operand.getType());
}

llvm::StringRef operandTypeName(Type type, int operandBytes, bool isUnsigned) {
  if (isa<Float8E4M3FNType>(type))
    return "e4m3";
  if (isa<Float8E5M2Type>(type))
    return "e5m2";
  if (type.isInteger(8))
    return isUnsigned ? "u8" : "s8";
  if (type.isF16())
    return "f16";
  if (type.isF64())
    return "f64";
  return operandBytes == 4 ? "tf32" : "bf16"; // bf16, or fp32 in terms
}

llvm::SmallVector<llvm::Value *, 4>
packFragment(Lowering &lowering, llvm::ArrayRef<llvm::Value *> values, int operandBytes) {
  if (operandBytes == 8)
    return llvm::SmallVector<llvm::Value *, 4>(values);
  llvm::IRBuilder<> &builder = lowering.builder();
  const int perWord = 4 / operandBytes;
  llvm::SmallVector<llvm::Value *, 4> words;
  for (size_t i = 0; i < values.size(); i += perWord) {
    llvm::Value *vector =
        llvm::PoisonValue::get(llvm::FixedVectorType::get(values[i]->getType(), perWord));
    for (int j = 0; j < perWord; ++j)
      vector = builder.CreateInsertElement(vector, values[i + j], j);
    words.push_back(builder.CreateBitCast(vector, builder.getInt32Ty()));
  }
  return words;
}

bool OperandFormat::isFp32Block(Value operand) { return elementOfOperand(operand).isF32(); }

int OperandFormat::termCount() const {
  if (!isFp32)
    return 1;
  return precision == "bf16x6" ? 3 : precision.ends_with("x3") ? 2 : 1;
}

llvm::SmallVector<std::pair<int, int>, 6> OperandFormat::termProducts() const {
  switch (termCount()) {
  case 2:
    return {{1, 0}, {0, 1}, {0, 0}};
  case 3:
    return {{1, 1}, {2, 0}, {0, 2}, {1, 0}, {0, 1}, {0, 0}};
  default:
    return {{0, 0}};
  }
}

MmaOperand::MmaOperand(Lowering &lowering, Value operand, const OperandFormat &format,
                       const LinearLayout &layout, int fragmentSize, bool isDeep)
    : lowering_(lowering), format_(format), fragmentSize_(fragmentSize),
      element_(elementOfOperand(operand)) {
  if (auto shared = dyn_cast<tlg::SharedType>(operand.getType()))
    reader_.emplace(lowering, lowering.scalar(operand), shared.getElementType(),
                    tlg::sharedLayoutOf(shared), layout);
  else
    registers_ = lowering.get(operand);
  // The second half of a fragment's depth is its last bit; copies there would be multiplied twice.
  if (!isDeep && fragmentSize > 1 && (freeBits(layout).registers & fragmentSize / 2) != 0)
    zeros_ = static_cast<uint32_t>(fragmentSize) / 2;
}

llvm::ArrayRef<llvm::Value *> MmaOperand::words(int64_t tile, int term) {
  if (!fragments_.contains(tile))
    make(tile);
  return fragments_[tile][term];
}

FragmentCost MmaOperand::cost(bool widens) const {
  const int64_t terms = format_.termCount(), loaded = fragmentSize_ * format_.operandBytes / 4;
  FragmentCost result;
  result.words = loaded * terms * (widens ? 2 : 1);
  if (!reader_)
    return result;
  constexpr int64_t kOfTerm = 3; // instructions for each element of a term behind the first
  const int64_t converting = widens ? result.words : kOfTerm * fragmentSize_ * (terms - 1);
  const int64_t fragments = reader_->registerCount() / fragmentSize_;
  result.making = reader_->instructionCount() + fragments * converting;
  return result;
}

void MmaOperand::forget() {
  if (!reader_)
    return;
  reader_->forget();
  fragments_.clear();
}

void MmaOperand::make(int64_t tile) {
  const int termCount = format_.termCount();
  llvm::SmallVector<llvm::SmallVector<llvm::Value *>, 3> terms(termCount);
  for (int i = 0; i < fragmentSize_; ++i) {
    const auto reg = static_cast<uint32_t>(tile * fragmentSize_ + i);
    llvm::Value *value = reader_ ? reader_->get(reg) : registers_[reg];
    if ((reg & zeros_) != 0)
      value = llvm::Constant::getNullValue(value->getType());
    llvm::SmallVector<llvm::Value *, 3> parts{value};
    if (format_.isPayload)
      parts = {embedFloat(lowering_.builder(), value, payloadRuleOf(element_))};
    else if (format_.isFp32)
      parts = format_.operandBytes == 4 ? splitInTf32(lowering_, termCount, value)
                                        : splitInBf16(lowering_, termCount, value);
    for (auto [term, part] : llvm::enumerate(parts))
      terms[term].push_back(part);
  }
  llvm::SmallVector<Fragment, 1> &fragment = fragments_[tile];
  for (const auto &term : terms)
    fragment.push_back(packFragment(lowering_, term, format_.operandBytes));
}

} // namespace blockscope::gpu
