// tl.inline_asm: the user's PTX once for each `pack` elements that a thread has.
//
// As Triton does: elements of less than 32 bits share registers, and a thread also runs the
// assembly for the elements of which another thread holds a copy.
#include "core/ptx/constraints.h"

#include "core/ir/convert.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/layout/blocked_layout.h"
#include "gpu_backend/lowering/convert_layout.h"
#include "gpu_backend/lowering/families.h"
#include "gpu_backend/lowering/packs.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

using ptx::Slot;

llvm::Type *registerType(const Slot &slot, llvm::LLVMContext &context) {
  if (slot.letter == 'f')
    return llvm::Type::getFloatTy(context);
  if (slot.letter == 'd')
    return llvm::Type::getDoubleTy(context);
  return llvm::Type::getIntNTy(context, slot.bits);
}

/// A number as an integer of as many bits.
llvm::Value *bitsOf(llvm::IRBuilder<> &builder, llvm::Value *value) {
  llvm::Type *type = value->getType();
  if (type->isPointerTy())
    return builder.CreatePtrToInt(value, builder.getInt64Ty());
  return type->isIntegerTy()
             ? value
             : builder.CreateBitCast(value, builder.getIntNTy(type->getPrimitiveSizeInBits()));
}

llvm::Value *fromBits(llvm::IRBuilder<> &builder, llvm::Value *bits, llvm::Type *type) {
  if (type->isPointerTy())
    return builder.CreateIntToPtr(bits, type);
  return builder.CreateBitCast(bits, type);
}

/// The elements of one run in the register of a slot, the first one in the low bits.
llvm::Value *packed(llvm::IRBuilder<> &builder, const Slot &slot, Registers elements) {
  llvm::Value *word = bitsOf(builder, elements[0]);
  if (slot.elements > 1) {
    llvm::Type *each = word->getType();
    llvm::Value *vector = llvm::PoisonValue::get(llvm::FixedVectorType::get(each, elements.size()));
    for (size_t i = 0; i < elements.size(); ++i)
      vector = builder.CreateInsertElement(vector, bitsOf(builder, elements[i]), i);
    word = builder.CreateBitCast(vector,
                                 builder.getIntNTy(each->getIntegerBitWidth() * elements.size()));
  }
  word = builder.CreateZExtOrTrunc(word, builder.getIntNTy(slot.bits));
  return fromBits(builder, word, registerType(slot, builder.getContext()));
}

/// One run of the assembly, with its registers.
class Assembly {
public:
  Assembly(Lowering &lowering, Operation *op)
      : lowering_(lowering), op_(op), text_(op->getAttrOfType<StringAttr>("asm_string").getValue()),
        isVolatile_(isa<tl::InlineAsmVolatileOp>(op)) {
    llvm::SmallVector<blockscope::Type> arguments, results;
    for (const mlir::Type type : op->getOperandTypes())
      arguments.push_back(fromMlirType(type));
    for (const mlir::Type type : op->getResultTypes())
      results.push_back(fromMlirType(type));
    const auto pack = op->getAttrOfType<IntegerAttr>("pack");
    pack_ = pack ? pack.getInt() : 1;
    constraints_ = ptx::readConstraints(op->getAttrOfType<StringAttr>("constraints").getValue(),
                                        arguments, results, pack_);
  }

  int64_t pack() const { return pack_; }

  /// `operands` has `pack` registers of each operand; appends `pack` registers to each result.
  LogicalResult run(llvm::ArrayRef<Registers> operands, llvm::MutableArrayRef<Registers> results) {
    llvm::IRBuilder<> &builder = lowering_.builder();
    llvm::SmallVector<llvm::Value *> inputs;
    llvm::SmallVector<llvm::Type *> outputs;
    for (const Slot &slot : constraints_.slots) {
      if (slot.isResult) {
        outputs.push_back(registerType(slot, builder.getContext()));
        continue;
      }
      const Registers &all = operands[slot.value];
      Registers elements(all.begin() + slot.element, all.begin() + slot.element + slot.elements);
      inputs.push_back(packed(builder, slot, elements));
      if (slot.isImmediate && !isa<llvm::ConstantInt>(inputs.back()))
        return op_->emitError("tl.inline_asm_elementwise: constraint 'n' needs a constant, and "
                              "argument ")
               << slot.value << " is known only when the kernel runs";
    }
    llvm::Type *type =
        outputs.size() == 1 ? outputs[0] : llvm::StructType::get(builder.getContext(), outputs);
    const std::string constraints = constraints_.llvmText + (isVolatile_ ? ",~{memory}" : "");
    llvm::Value *made = lowering_.assembly(type, text_, constraints, inputs, isVolatile_);
    unsigned index = 0;
    for (const Slot &slot : constraints_.slots)
      if (slot.isResult) {
        llvm::Value *word = outputs.size() == 1 ? made : builder.CreateExtractValue(made, index++);
        give(slot, bitsOf(builder, word), results[slot.value]);
      }
    return success();
  }

private:
  /// Appends the elements that are in the register of a result.
  void give(const Slot &slot, llvm::Value *word, Registers &to) {
    llvm::IRBuilder<> &builder = lowering_.builder();
    llvm::Type *element = lowering_.elementType(op_->getResult(slot.value).getType());
    llvm::Type *bits = builder.getIntNTy(slot.elementBits);
    word = builder.CreateZExtOrTrunc(word, builder.getIntNTy(slot.elementBits * slot.elements));
    if (slot.elements == 1) {
      to.push_back(fromBits(builder, word, element));
      return;
    }
    llvm::Value *vector =
        builder.CreateBitCast(word, llvm::FixedVectorType::get(bits, slot.elements));
    for (int i = 0; i < slot.elements; ++i)
      to.push_back(fromBits(builder, builder.CreateExtractElement(vector, i), element));
  }

  Lowering &lowering_;
  Operation *op_;
  llvm::StringRef text_;
  bool isVolatile_;
  int64_t pack_ = 1;
  ptx::Constraints constraints_;
};

/// Without blocks there is one run; elements that are missing in its pack have any value.
LogicalResult lowerScalars(Lowering &lowering, Operation *op, Assembly &assembly) {
  llvm::SmallVector<Registers> operands, results(op->getNumResults());
  for (const Value operand : op->getOperands()) {
    llvm::Value *scalar = lowering.scalar(operand);
    Registers &made =
        operands.emplace_back(assembly.pack(), llvm::PoisonValue::get(scalar->getType()));
    made[0] = scalar;
  }
  if (failed(assembly.run(operands, results)))
    return failure();
  for (auto [value, registers] : llvm::zip(op->getResults(), results))
    lowering.set(value, registers[0]);
  return success();
}

/// Whether a thread's registers are runs of `pack` elements that follow each other along some
/// dimension.
bool hasRuns(const LinearLayout &layout, int64_t pack) {
  for (size_t bit = 0; (int64_t{1} << bit) < pack; ++bit)
    if (bit >= layout.registers.size() || layout.registers[bit] == 0 ||
        layout.registers[bit] != layout.registers[0] << bit)
      return false;
  return true;
}

LogicalResult lowerInlineAsm(Lowering &lowering, Operation *op) {
  Assembly assembly(lowering, op);
  const auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type)
    return lowerScalars(lowering, op, assembly);
  // Which elements a run takes is open: along another dimension than the last, it takes the
  // thread's own, without an exchange.
  LinearLayout layout = tlg::layoutOf(type);
  if (!hasRuns(layout, assembly.pack()))
    layout = layoutOfPacks(layout, type.getNumElements(), assembly.pack(), lowering.numWarps());
  llvm::SmallVector<Registers> operands, results(op->getNumResults());
  for (const Value operand : op->getOperands())
    operands.push_back(convertLayout(lowering, lowering.get(operand),
                                     cast<RankedTensorType>(operand.getType()),
                                     tlg::layoutOf(operand.getType()), layout));
  llvm::SmallDenseMap<ElementBits, size_t> done; // copies within a thread
  for (int64_t reg = 0; reg < layout.registerCount(); reg += assembly.pack()) {
    const auto [known, isNew] =
        done.try_emplace(layout.registerElement(static_cast<int>(reg)), reg);
    if (!isNew) {
      for (Registers &result : results)
        for (int64_t k = 0; k < assembly.pack(); ++k)
          result.push_back(result[known->second + k]);
      continue;
    }
    llvm::SmallVector<Registers> taken;
    for (const Registers &operand : operands)
      taken.emplace_back(operand.begin() + reg, operand.begin() + reg + assembly.pack());
    if (failed(assembly.run(taken, results)))
      return failure();
  }
  for (auto [value, registers] : llvm::zip(op->getResults(), results))
    lowering.set(value, convertLayout(lowering, registers, cast<RankedTensorType>(value.getType()),
                                      layout, tlg::layoutOf(value.getType())));
  return success();
}

} // namespace

llvm::ArrayRef<LoweringRow> inlineAsmRows() {
  static constexpr LoweringRow kRows[] = {{"tl.inline_asm", lowerInlineAsm},
                                          {"tl.inline_asm_volatile", lowerInlineAsm}};
  return kRows;
}

} // namespace blockscope::gpu
