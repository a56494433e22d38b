// Moves a block's elements to the registers, lanes and warps of another layout, as a plan of
// layout/conversion.h says: by renaming registers, by shuffles, or through scratch memory.
#include "gpu_backend/lowering/convert_layout.h"

#include "gpu_backend/lowering/families.h"
#include "gpu_backend/lowering/shared_access.h"
#include "gpu_backend/lowering/words.h"

#include "gpu_backend/layout/conversion.h"

#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

// -- shuffles -------------------------------------------------------------------------------------

class ShuffleCode {
public:
  ShuffleCode(Lowering &lowering, const ShufflePlan &plan, RankedTensorType type)
      : lowering_(lowering), builder_(lowering.builder()), plan_(plan), type_(type) {}

  Registers run(llvm::ArrayRef<llvm::Value *> source) {
    Registers sent(source), received(plan_.receivedCount, nullptr);
    for (const RegisterExchange &swap : plan_.before)
      exchange(sent, swap);
    llvm::Value *from = nullptr;
    if (!plan_.keepsLanes())
      from = lowering_.threadElement({{}, plan_.sourceLanes, plan_.sourceWarps});
    for (const ShuffleStep &step : plan_.steps)
      shuffle(step, from, sent, received);
    for (llvm::Value *&value : received)
      if (!value)
        value = llvm::PoisonValue::get(lowering_.elementType(type_));
    for (const RegisterExchange &swap : plan_.after)
      exchange(received, swap);
    Registers results;
    for (const uint32_t entry : plan_.results)
      results.push_back(received[entry]);
    return results;
  }

private:
  void exchange(Registers &values, const RegisterExchange &swap) {
    const uint32_t mask = swap.lanes | (swap.warps << 5);
    llvm::Value *bits = builder_.CreateAnd(lowering_.threadId(), lowering_.i32(mask));
    if (!llvm::isPowerOf2_32(mask))
      bits = builder_.CreateAnd(builder_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits),
                                lowering_.i32(1));
    llvm::Value *applies = builder_.CreateICmpNE(bits, lowering_.i32(0));
    for (uint32_t i = 0; i < values.size(); ++i) {
      const uint32_t other = i ^ swap.flip;
      if (other < i)
        continue;
      llvm::Value *first = values[i], *second = values[other];
      values[i] = builder_.CreateSelect(applies, second, first);
      values[other] = builder_.CreateSelect(applies, first, second);
    }
  }

  void shuffle(const ShuffleStep &step, llvm::Value *from, const Registers &sent,
               Registers &received) {
    if (!from && step.laneFlip == 0) { // stays in its lane
      for (auto [to, entry] : llvm::zip(step.received, step.sent))
        received[to] = sent[entry];
      return;
    }
    Registers packed;
    for (const uint32_t entry : step.sent)
      packed.push_back(sent[entry]);
    const auto count = static_cast<int>(llvm::PowerOf2Ceil(packed.size()));
    packed.resize(count, packed.front());
    const int size = count * Lowering::elementBytes(type_);
    const WordFormat words = wordsOf(size, size); // one word
    llvm::Value *word = packWords(lowering_, packed, type_, words).front();
    word = from ? lowering_.shuffle(word, builder_.CreateXor(from, lowering_.i32(step.laneFlip)))
                : lowering_.shuffleXor(word, static_cast<int>(step.laneFlip));
    const auto values = unpackWords(lowering_, word, type_, count, words);
    for (auto [i, to] : llvm::enumerate(step.received))
      received[to] = values[i];
  }

  Lowering &lowering_;
  llvm::IRBuilder<> &builder_;
  const ShufflePlan &plan_;
  RankedTensorType type_;
};

// -- shared memory --------------------------------------------------------------------------------

class SharedCode {
public:
  SharedCode(Lowering &lowering, const SharedPlan &plan, RankedTensorType type)
      : lowering_(lowering), builder_(lowering.builder()), plan_(plan), type_(type),
        memoryType_(lowering.memoryType(type)) {
    if (memoryType_->isPointerTy())
      memoryType_ = builder_.getInt64Ty();
  }

  Registers run(llvm::ArrayRef<llvm::Value *> source, size_t resultCount) {
    base_ = lowering_.i32(lowering_.scratchOffset(plan_.roundBytes));
    Registers loaded(resultCount, nullptr);
    for (int round = 0; round < plan_.rounds; ++round) {
      if (round != 0)
        lowering_.barrier();
      storeRound(round, source);
      if (plan_.withinWarps && plan_.rounds == 1)
        builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_bar_warp_sync, {lowering_.i32(-1)});
      else
        lowering_.barrier();
      load(round, loaded);
    }
    Registers results;
    for (const uint32_t reg : plan_.copyOf)
      results.push_back(loaded[reg]);
    return results;
  }

private:
  llvm::Value *takesPart(const InputBits &idle) {
    const uint32_t mask = idle.lanes | (idle.warps << 5);
    if (mask == 0)
      return nullptr;
    return builder_.CreateICmpEQ(builder_.CreateAnd(lowering_.threadId(), lowering_.i32(mask)),
                                 lowering_.i32(0));
  }

  bool isInRound(uint32_t offsetBytes, int round) const {
    return offsetBytes / plan_.roundBytes == static_cast<uint32_t>(round);
  }

  void storeRound(int round, llvm::ArrayRef<llvm::Value *> source) {
    llvm::Value *part = takesPart(plan_.matrixStore ? plan_.matrixStore->idle : plan_.store.idle);
    if (part && !plan_.matrixStore && plan_.store.vectors.size() <= kFewStores)
      return store(round, source, part);
    lowering_.onlyIf(part, [&] { store(round, source); });
  }

  /// By threads for which `part` is true; null: all of them.
  void store(int round, llvm::ArrayRef<llvm::Value *> source, llvm::Value *part = nullptr) {
    eachAccess(
        plan_.store, plan_.matrixStore, round,
        [&](const MatrixInstruction &instruction, llvm::Value *address) {
          storeMatrices(lowering_, *plan_.matrixStore, instruction, address, source, type_);
        },
        [&](const SharedVector &vector, llvm::Value *pointer, llvm::Value *condition) {
          if (part)
            condition = condition ? builder_.CreateAnd(condition, part) : part;
          Registers elements;
          for (const uint32_t reg : vector.registers)
            elements.push_back(source[reg]);
          if (condition)
            return storeToShared(lowering_, condition, elements, type_, pointer);
          llvm::Value *stored = llvm::PoisonValue::get(vectorType(vector));
          for (auto [i, element] : llvm::enumerate(elements))
            stored = builder_.CreateInsertElement(stored, asStored(element), i);
          builder_.CreateAlignedStore(stored, pointer, llvm::Align(plan_.store.vectorBytes));
        });
  }

  void load(int round, Registers &loaded) {
    eachAccess(
        plan_.load, plan_.matrixLoad, round,
        [&](const MatrixInstruction &instruction, llvm::Value *address) {
          loadMatrices(*plan_.matrixLoad, instruction, address, loaded);
        },
        [&](const SharedVector &vector, llvm::Value *pointer, llvm::Value *condition) {
          llvm::Value *all = builder_.CreateAlignedLoad(vectorType(vector), pointer,
                                                        llvm::Align(plan_.load.vectorBytes));
          for (auto [i, reg] : llvm::enumerate(vector.registers)) {
            llvm::Value *value = asLoaded(builder_.CreateExtractElement(all, i));
            // What another round has brought stays.
            loaded[reg] = condition && loaded[reg]
                              ? builder_.CreateSelect(condition, value, loaded[reg])
                              : value;
          }
        });
  }

  /// An element in the form that shared memory has it in, and back.
  llvm::Value *asStored(llvm::Value *element) {
    llvm::Value *value = toMemory(lowering_, element, type_);
    return value->getType()->isPointerTy() ? builder_.CreatePtrToInt(value, memoryType_) : value;
  }
  llvm::Value *asLoaded(llvm::Value *value) {
    llvm::Type *element = lowering_.elementType(type_);
    return element->isPointerTy() ? builder_.CreateIntToPtr(value, element)
                                  : fromMemory(lowering_, value, type_);
  }

  llvm::FixedVectorType *vectorType(const SharedVector &vector) {
    return llvm::FixedVectorType::get(memoryType_, static_cast<unsigned>(vector.registers.size()));
  }

  using OnMatrix = llvm::function_ref<void(const MatrixInstruction &, llvm::Value *)>;
  using OnVector = llvm::function_ref<void(const SharedVector &, llvm::Value *, llvm::Value *)>;

  /// A round of storing or loading: its matrix instructions where there is a plan of them, else its
  /// vectors, each with its address.
  void eachAccess(const SharedAccess &access, const std::optional<MatrixAccess> &matrices,
                  int round, OnMatrix onMatrix, OnVector onVector) {
    if (!matrices)
      return eachVector(access, round, onVector);
    SharedAddress address(lowering_, base_, matrices->lanes, matrices->warps);
    for (const MatrixInstruction &instruction : matrices->instructions)
      if (isInRound(instruction.offsetBytes, round))
        onMatrix(instruction,
                 builder_.CreatePtrToInt(address.at(instruction.offsetBytes % plan_.roundBytes),
                                         builder_.getInt32Ty()));
  }

  /// Where threads differ in which vectors are in the round, all vectors come, with the condition
  /// that this thread's is; else the condition is null.
  void eachVector(const SharedAccess &access, int round, OnVector each) {
    if (plan_.uniformRounds) {
      SharedAddress address(lowering_, base_, access.lanes, access.warps);
      for (const SharedVector &vector : access.vectors)
        if (isInRound(vector.offsetBytes, round))
          each(vector, address.at(vector.offsetBytes % plan_.roundBytes), nullptr);
      return;
    }
    llvm::Value *thread = lowering_.threadElement({{}, access.lanes, access.warps});
    for (const SharedVector &vector : access.vectors) {
      llvm::Value *offset = builder_.CreateXor(thread, lowering_.i32(vector.offsetBytes));
      llvm::Value *inRound =
          builder_.CreateAnd(offset, lowering_.i32(int64_t{plan_.roundBytes} - 1));
      llvm::Value *condition = builder_.CreateICmpEQ(
          builder_.CreateLShr(offset, llvm::Log2_32(plan_.roundBytes)), lowering_.i32(round));
      each(vector, lowering_.sharedPointer(builder_.CreateAdd(base_, inRound)), condition);
    }
  }

  void loadMatrices(const MatrixAccess &access, const MatrixInstruction &instruction,
                    llvm::Value *address, Registers &loaded) {
    const WordFormat words{access.matrices, 32};
    auto *call = llvm::cast<llvm::CallInst>(
        lowering_.assembly(words.structType(lowering_),
                           "ldmatrix" + matrixShape(access) + " " + matrixWords(0, access) +
                               llvm::formatv(", [${0}];", access.matrices).str(),
                           words.constraintList("=") + ",r,~{memory}", {address}));
    call->setConvergent();
    const auto elements =
        unpackWords(lowering_, call, type_, static_cast<int>(instruction.registers.size()), words);
    for (auto [reg, element] : llvm::zip(instruction.registers, elements))
      loaded[reg] = element;
  }

  Lowering &lowering_;
  llvm::IRBuilder<> &builder_;
  const SharedPlan &plan_;
  RankedTensorType type_;
  llvm::Type *memoryType_;
  llvm::Value *base_ = nullptr; ///< offset in shared memory
};

/// Both sides of an exchange.
void noteExchange(Lowering &lowering, const SharedPlan &plan) {
  constexpr const char *kStored = "where elements are stored on their way to other threads";
  constexpr const char *kLoaded = "where elements are loaded on their way to other threads";
  if (plan.matrixStore)
    noteConflicts(lowering, kStored, *plan.matrixStore);
  else
    noteConflicts(lowering, kStored, plan.store);
  if (plan.matrixLoad)
    noteConflicts(lowering, kLoaded, *plan.matrixLoad);
  else
    noteConflicts(lowering, kLoaded, plan.load);
}

/// How many 32-bit registers that follow each other what uses `value` takes at a time.
int wordsTogether(Value value) {
  int most = 1;
  for (OpOperand &use : value.getUses())
    if (isa<tlg::MmaOp, tlg::WgmmaOp>(use.getOwner()))
      most = std::max(most, use.getOperandNumber() == 0 ? 4 : use.getOperandNumber() == 1 ? 2 : 1);
  return tlg::elementBytes(value.getType()) <= 4 ? most : 1;
}

LogicalResult lowerConvertLayout(Lowering &lowering, Operation *op) {
  auto convert = cast<tlg::ConvertLayoutOp>(op);
  const RankedTensorType type = convert.getType();
  lowering.set(convert, convertLayout(lowering, lowering.get(convert.getSource()), type,
                                      tlg::layoutOf(convert.getSource().getType()),
                                      tlg::layoutOf(type), wordsTogether(convert)));
  return success();
}

/// The shared memory of a multiprocessor that is there for a block which takes its share of the
/// registers: with that much no fewer programs run than these registers allow.
int64_t sharedBesideRegisters(const Lowering &lowering, int64_t blockBytes) {
  const GpuTarget &target = lowering.target();
  const int64_t registerBytes = int64_t(4) * target.multiprocessor.registers;
  return blockBytes * target.sharedBytes() / registerBytes - lowering.sharedPlaces().sizeBytes();
}

/// Up to 32 KiB in a round, or what is there anyway: more would leave room for fewer programs. But
/// where threads differ in what such a round moves, all its accesses are predicated and what they
/// load is selected: a large block may take as much as its registers leave, then.
ConversionPlan planWithin(const Lowering &lowering, const LinearLayout &from,
                          const LinearLayout &to, RankedTensorType type,
                          ConversionOptions options) {
  const int width = ShapeBits(type.getShape()).width(), bytes = Lowering::elementBytes(type);
  options.sharedLimitBytes = std::max(32 * 1024U, static_cast<uint32_t>(lowering.freeBytes()));
  ConversionPlan plan = planConversion(from, to, width, bytes, options);
  const int64_t more = sharedBesideRegisters(lowering, type.getNumElements() * bytes);
  if (!plan.shared || plan.shared->uniformRounds || more < 2 * int64_t(plan.shared->roundBytes))
    return plan;
  options.sharedLimitBytes = static_cast<uint32_t>(more);
  ConversionPlan larger = planConversion(from, to, width, bytes, options);
  return larger.cost < plan.cost ? larger : plan;
}

} // namespace

Registers convertLayout(Lowering &lowering, llvm::ArrayRef<llvm::Value *> source,
                        RankedTensorType type, const LinearLayout &from, const LinearLayout &to,
                        int tupleWords) {
  ConversionOptions options;
  options.tupleWords = tupleWords;
  options.matrixStore = lowering.target().hasMatrixStore;
  const ConversionPlan plan = planWithin(lowering, from, to, type, options);
  switch (plan.kind) {
  case ConversionPlan::Kind::None:
    return Registers(source);
  case ConversionPlan::Kind::Registers: {
    Registers results;
    for (const uint32_t reg : plan.registers)
      results.push_back(source[reg]);
    return results;
  }
  case ConversionPlan::Kind::Shuffles:
    return ShuffleCode(lowering, *plan.shuffles, type).run(source);
  case ConversionPlan::Kind::Shared:
    noteExchange(lowering, *plan.shared);
    return SharedCode(lowering, *plan.shared, type).run(source, to.registerCount());
  }
  return {};
}

llvm::ArrayRef<LoweringRow> convertLayoutRows() {
  static constexpr LoweringRow kRows[] = {{"tlg.convert_layout", lowerConvertLayout}};
  return kRows;
}

} // namespace blockscope::gpu
