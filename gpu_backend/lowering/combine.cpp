// Combine regions inlined, and where the values of elements are kept.
#include "gpu_backend/lowering/combine.h"

#include "core/ir/tl_dialect.h"
#include "gpu_backend/layout/blocked_layout.h"
#include "gpu_backend/layout/f2_matrix.h"
#include "gpu_backend/lowering/convert_layout.h"
#include "gpu_backend/lowering/words.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscope::gpu {

Elements Combine::operator()(const Elements &lhs, const Elements &rhs) {
  Elements arguments = lhs;
  llvm::append_range(arguments, rhs);
  const FailureOr<Registers> results = lowering_.inlineRegion(op_->getRegion(0), arguments);
  if (failed(results)) {
    hasFailed_ = true;
    return lhs;
  }
  return Elements(results->begin(), results->end());
}

llvm::StringRef Combine::onlyOp() const {
  Block &block = op_->getRegion(0).front();
  if (block.getNumArguments() != 2 || block.getOperations().size() != 2)
    return {};
  Operation &op = block.front();
  const bool takesBoth = op.getNumOperands() == 2 && op.getNumResults() == 1 &&
                         op.getOperand(0) != op.getOperand(1) &&
                         llvm::all_of(op.getOperands(), llvm::IsaPred<BlockArgument>);
  return takesBoth && block.getTerminator()->getOperand(0) == op.getResult(0)
             ? op.getName().getStringRef()
             : llvm::StringRef();
}

bool Combine::isCommutative() const {
  static constexpr llvm::StringLiteral kOps[] = {
      "arith.addf",  "arith.addi",  "arith.andi",  "arith.maximumf", "arith.maxnumf",
      "arith.maxsi", "arith.maxui", "arith.minsi", "arith.minimumf", "arith.minnumf",
      "arith.minui", "arith.mulf",  "arith.muli",  "arith.ori",      "arith.xori",
  };
  return llvm::is_contained(kOps, onlyOp());
}

std::optional<InputBits> bitsAlong(const LinearLayout &layout, const ShapeBits &shape, int dim) {
  bool isMixed = false;
  const auto along = [&](const Bases &bases) {
    uint32_t mask = 0;
    for (auto [bit, basis] : llvm::enumerate(bases)) {
      if ((basis & shape.mask(dim)) == 0)
        continue;
      isMixed |= (basis & ~shape.mask(dim)) != 0;
      mask |= 1U << bit;
    }
    return mask;
  };
  const InputBits free = freeBits(layout);
  const InputBits bits{along(layout.registers) & ~free.registers, along(layout.lanes) & ~free.lanes,
                       along(layout.warps) & ~free.warps};
  return isMixed ? std::nullopt : std::optional(bits);
}

llvm::SmallVector<int> inOrderOfAxis(uint32_t mask, const Bases &bases, const ShapeBits &shape,
                                     int dim) {
  llvm::SmallVector<int> bits;
  for (size_t bit = 0; bit < bases.size(); ++bit)
    if ((mask >> bit) & 1)
      bits.push_back(static_cast<int>(bit));
  llvm::sort(bits, [&](int a, int b) {
    return shape.coordinate(bases[a], dim) < shape.coordinate(bases[b], dim);
  });
  return bits;
}

std::optional<llvm::SmallVector<BitOwner>> ownersAlong(const LinearLayout &layout,
                                                       const ShapeBits &shape, int dim) {
  llvm::SmallVector<BitOwner> owners(shape.width());
  for (auto [level, bases] : {std::pair(Level::Registers, &layout.registers),
                              {Level::Lanes, &layout.lanes},
                              {Level::Warps, &layout.warps}}) {
    for (auto [bit, basis] : llvm::enumerate(*bases)) {
      if (basis == 0)
        continue;
      if (!llvm::isPowerOf2_32(basis) || owners[llvm::Log2_32(basis)].bit >= 0)
        return std::nullopt;
      owners[llvm::Log2_32(basis)] = {level, static_cast<int>(bit)};
    }
  }
  return llvm::SmallVector<BitOwner>(
      llvm::ArrayRef(owners).slice(shape.shift(dim), shape.width(dim)));
}

Slots::Slots(Lowering &lowering, ValueRange operands, int64_t count)
    : lowering_(lowering), types_(operands.getTypes()) {
  int64_t sizeBytes = 0;
  llvm::SmallVector<int64_t> starts;
  for (Value operand : operands) {
    starts.push_back(sizeBytes);
    sizeBytes += llvm::alignTo(count * Lowering::elementBytes(operand.getType()), 16);
  }
  llvm::Value *base = lowering.scratch(sizeBytes);
  for (const int64_t start : starts)
    bases_.push_back(lowering.builder().CreateConstGEP1_32(lowering.builder().getInt8Ty(), base,
                                                           static_cast<unsigned>(start)));
}

llvm::Value *Slots::pointer(size_t operand, llvm::Value *slot) {
  llvm::IRBuilder<> &builder = lowering_.builder();
  const int bytes = Lowering::elementBytes(types_[operand]);
  return builder.CreateGEP(builder.getInt8Ty(), bases_[operand],
                           builder.CreateMul(slot, lowering_.i32(bytes), "", true, true));
}

void Slots::store(llvm::Value *slot, const Elements &elements) {
  for (auto [i, element] : llvm::enumerate(elements))
    lowering_.builder().CreateStore(toMemory(lowering_, element, types_[i]), pointer(i, slot));
}

Elements Slots::load(llvm::Value *slot) {
  Elements elements;
  for (auto [i, type] : llvm::enumerate(types_)) {
    elements.push_back(fromMemory(
        lowering_, lowering_.builder().CreateLoad(lowering_.memoryType(type), pointer(i, slot)),
        type));
  }
  return elements;
}

void Slots::storeBlock(llvm::ArrayRef<llvm::Value *> registers, const LinearLayout &layout) {
  llvm::Value *thread = lowering_.threadElement(layout);
  const uint32_t copies = freeBits(layout).registers;
  lowering_.onlyIf(lowering_.ownsElements(layout), [&] {
    for (auto [reg, value] : llvm::enumerate(registers))
      if ((reg & copies) == 0)
        store(lowering_.builder().CreateXor(thread, lowering_.i32(layout.registerElement(reg))),
              {value});
  });
}

LinearLayout plainLayout(Type type, int numWarps) {
  const llvm::ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
  llvm::SmallVector<int> order(llvm::reverse(llvm::seq<int>(0, static_cast<int>(shape.size()))));
  return blockedForAccess(shape, order, 1, numWarps);
}

llvm::SmallVector<Registers> operandsIn(Lowering &lowering, Operation *op,
                                        const LinearLayout &layout) {
  llvm::SmallVector<Registers> result;
  for (Value operand : op->getOperands())
    result.push_back(convertLayout(lowering, lowering.get(operand),
                                   cast<RankedTensorType>(operand.getType()),
                                   tlg::layoutOf(operand.getType()), layout));
  return result;
}

void setResults(Lowering &lowering, Operation *op, llvm::ArrayRef<Registers> results,
                const LinearLayout &layout) {
  for (auto [result, registers] : llvm::zip(op->getResults(), results)) {
    const auto type = dyn_cast<RankedTensorType>(result.getType());
    lowering.set(result, type
                             ? convertLayout(lowering, registers, type, layout, tlg::layoutOf(type))
                             : registers);
  }
}

llvm::SmallVector<Elements> elementsOf(llvm::ArrayRef<Registers> operands) {
  llvm::SmallVector<Elements> elements(operands.front().size());
  for (const Registers &registers : operands)
    for (auto [reg, value] : llvm::enumerate(registers))
      elements[reg].push_back(value);
  return elements;
}

} // namespace blockscope::gpu
