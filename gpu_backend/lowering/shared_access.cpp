// Vectors as LLVM loads and stores, matrices as ldmatrix.
#include "gpu_backend/lowering/shared_access.h"
#include "gpu_backend/lowering/words.h"
#include "gpu_backend/passes/place_shared.h"

#include "core/ir/convert.h"

#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/Support/FormatVariadic.h"

namespace blockscope::gpu {

namespace {

bool isNotOf2Bytes(mlir::Value value) {
  mlir::Type element;
  if (const auto buffer = mlir::dyn_cast<tlg::SharedType>(value.getType()))
    element = buffer.getElementType();
  else if (const auto block = mlir::dyn_cast<mlir::ShapedType>(value.getType()))
    element = block.getElementType();
  return element && element.isIntOrFloat() && element.getIntOrFloatBitWidth() != 16;
}

/// Also by way of a copy in shared memory.
bool reachesDot(mlir::Operation *op, int steps) {
  const auto isDot = [](mlir::Operation *user) {
    return mlir::isa<tlg::MmaOp, tlg::WgmmaOp>(user);
  };
  if (auto store = mlir::dyn_cast<tlg::LocalStoreOp>(op)) {
    bool isRead = false;
    eachUse(store.getDestination(), [&](mlir::Operation *user) { isRead |= isDot(user); });
    return isRead;
  }
  return llvm::any_of(op->getUsers(), [&](mlir::Operation *user) {
    return isDot(user) || (steps > 0 && reachesDot(user, steps - 1));
  });
}

/// Whether an access brings an operand to a dot, of elements that matrix instructions do not
/// transpose.
bool bringsDotOperand(mlir::Operation *op) {
  constexpr int kSteps = 3; // conversions in between
  if (op->getNumOperands() == 0 || !isNotOf2Bytes(op->getOperand(0)))
    return mlir::isa<tlg::MmaOp>(op);
  return mlir::isa<tlg::MmaOp, tlg::WgmmaOp>(op) || reachesDot(op, kSteps);
}

void noteWavefronts(Lowering &lowering, llvm::StringRef what, int bytesPerThread, int wavefronts,
                    int least) {
  mlir::Operation *op = lowering.currentOp();
  lowering.kernel().memory.exchanges.push_back(
      {fromMlirLocation(op->getLoc()), what.str(), bytesPerThread, std::max(wavefronts, least),
       least, op->getParentOfType<mlir::LoopLikeOpInterface>() != nullptr});
  const int ways = wavefronts > least ? wavefronts / least : 1;
  if (ways < 2)
    return;
  Finding &note = lowering.kernel().notes.emplace_back();
  note.code = FindingCode::BankConflict;
  note.severity =
      op->getParentOfType<mlir::LoopLikeOpInterface>() ? Severity::Warning : Severity::Note;
  note.site.location = fromMlirLocation(op->getLoc());
  note.message = llvm::formatv("{0}-way bank conflicts {1}", ways, what);
  note.cost = llvm::formatv("these accesses of shared memory take {0} times as long", ways);
  note.hint = bringsDotOperand(op)
                  ? "an operand that does not lie along K in memory is turned on its way: keep the "
                    "transposed tensor in memory, and tl.trans what is loaded; or 2 bytes an "
                    "element, which are read across without conflicts"
                  : "a larger inner dimension of the block, or another num_warps, changes who "
                    "holds what";
  note.measure = {ways, 1};
}

constexpr int kMatrixRowBytes = 16;

} // namespace

void noteConflicts(Lowering &lowering, llvm::StringRef what, const SharedAccess &access,
                   int times) {
  noteWavefronts(lowering, what, access.vectorBytes, times * access.wavefronts,
                 times * access.leastWavefronts());
}

void noteConflicts(Lowering &lowering, llvm::StringRef what, const MatrixAccess &access) {
  noteWavefronts(lowering, what, kMatrixRowBytes, access.wavefronts, access.leastWavefronts());
}

SharedAddress::SharedAddress(Lowering &lowering, llvm::Value *base,
                             llvm::ArrayRef<ElementBits> lanes, llvm::ArrayRef<ElementBits> warps,
                             const Moving &moving)
    : lowering_(lowering), base_(base),
      thread_(lowering.threadElement({{}, Bases(lanes), Bases(warps)})),
      threadBits_(flippedBits(lanes) | flippedBits(warps)) {
  if (moving.offsets.empty())
    return;
  thread_ = lowering.builder().CreateXor(thread_, lowering.combined(moving.offsets, moving.number));
  threadBits_ |= flippedBits(moving.offsets);
}

llvm::Value *SharedAddress::at(uint32_t offsetBytes) {
  llvm::IRBuilder<> &builder = lowering_.builder();
  const uint32_t flips = offsetBytes & threadBits_;
  llvm::Value *&pointer = flipped_[flips];
  if (!pointer)
    pointer = lowering_.sharedPointer(
        builder.CreateAdd(base_, builder.CreateXor(thread_, lowering_.i32(flips))));
  return builder.CreateGEP(builder.getInt8Ty(), pointer, lowering_.i32(offsetBytes & ~threadBits_));
}

SharedReader::SharedReader(Lowering &lowering, llvm::Value *base, mlir::Type elementType,
                           const SharedLayout &shared, const LinearLayout &layout)
    : lowering_(lowering), elementType_(elementType), offsets_(inShared(layout, shared)),
      matrices_(matrixLoad(layout, shared)), vectors_(vectorLoad(layout, shared)),
      values_(layout.registerCount(), nullptr) {
  llvm::DenseMap<ElementBits, int> instructionOf; // by place, so that copies find it too
  const auto note = [&](llvm::ArrayRef<uint32_t> registers, int instruction) {
    for (const uint32_t reg : registers)
      instructionOf[offsets_.registerElement(reg)] = instruction;
  };
  if (matrices_)
    for (auto [i, instruction] : llvm::enumerate(matrices_->instructions))
      note(instruction.registers, static_cast<int>(i));
  else
    for (auto [i, vector] : llvm::enumerate(vectors_.vectors))
      note(vector.registers, static_cast<int>(i));
  constexpr const char *kRead = "where a block is read from shared memory";
  if (matrices_)
    noteConflicts(lowering, kRead, *matrices_);
  else
    noteConflicts(lowering, kRead, vectors_);
  for (int reg = 0; reg < layout.registerCount(); ++reg)
    instructions_.push_back(instructionOf.lookup(offsets_.registerElement(reg)));
  if (matrices_)
    address_.emplace(lowering, base, matrices_->lanes, matrices_->warps);
  else
    address_.emplace(lowering, base, vectors_.lanes, vectors_.warps);
}

llvm::Value *SharedReader::get(uint32_t reg) {
  if (values_[reg])
    return values_[reg];
  llvm::ArrayRef<uint32_t> registers;
  const int instruction = instructions_[reg];
  if (matrices_) {
    loadMatrices(matrices_->instructions[instruction]);
    registers = matrices_->instructions[instruction].registers;
  } else {
    loadVector(vectors_.vectors[instruction]);
    registers = vectors_.vectors[instruction].registers;
  }
  if (!values_[reg]) // a copy of another register
    for (const uint32_t other : registers)
      if (offsets_.registerElement(other) == offsets_.registerElement(reg))
        values_[reg] = values_[other];
  return values_[reg];
}

int64_t SharedReader::instructionCount() const {
  return static_cast<int64_t>(matrices_ ? matrices_->instructions.size() : vectors_.vectors.size());
}

void SharedReader::loadVector(const SharedVector &vector) {
  llvm::IRBuilder<> &builder = lowering_.builder();
  auto *type = llvm::FixedVectorType::get(lowering_.memoryType(elementType_),
                                          static_cast<unsigned>(vector.registers.size()));
  llvm::Value *loaded = builder.CreateAlignedLoad(type, address_->at(vector.offsetBytes),
                                                  llvm::Align(vectors_.vectorBytes));
  for (auto [i, reg] : llvm::enumerate(vector.registers))
    values_[reg] = fromMemory(lowering_, builder.CreateExtractElement(loaded, i), elementType_);
}

void SharedReader::loadMatrices(const MatrixInstruction &instruction) {
  llvm::IRBuilder<> &builder = lowering_.builder();
  const WordFormat words{matrices_->matrices, 32};
  const std::string text = llvm::formatv("ldmatrix{0} {1}, [${2}];", matrixShape(*matrices_),
                                         matrixWords(0, *matrices_), words.count)
                               .str();
  llvm::Value *address =
      builder.CreatePtrToInt(address_->at(instruction.offsetBytes), builder.getInt32Ty());
  auto *call = llvm::cast<llvm::CallInst>(lowering_.assembly(
      words.structType(lowering_), text, words.constraintList("=") + ",r,~{memory}", {address},
      /*hasSideEffects=*/false));
  call->setOnlyReadsMemory(); // without the clobber LLVM takes it to read none
  call->setConvergent();      // all lanes take part
  const auto elements = unpackWords(lowering_, call, elementType_,
                                    static_cast<int>(instruction.registers.size()), words);
  for (auto [reg, element] : llvm::zip(instruction.registers, elements))
    values_[reg] = element;
}

std::string matrixShape(const MatrixAccess &access) {
  return llvm::formatv(".sync.aligned.m8n8.x{0}{1}.shared.b16", access.matrices,
                       access.transposed ? ".trans" : "")
      .str();
}

std::string matrixWords(int first, const MatrixAccess &access) {
  std::string list;
  for (int i = 0; i < access.matrices; ++i)
    list += llvm::formatv("{0}${1}", i == 0 ? "" : ", ", first + i).str();
  return "{" + list + "}";
}

void storeMatrices(Lowering &lowering, const MatrixAccess &access,
                   const MatrixInstruction &instruction, llvm::Value *address,
                   llvm::ArrayRef<llvm::Value *> values, mlir::Type elementType) {
  const WordFormat words{access.matrices, 32};
  Registers elements;
  for (const uint32_t reg : instruction.registers)
    elements.push_back(values[reg]);
  llvm::SmallVector<llvm::Value *> operands = {address};
  llvm::append_range(operands, packWords(lowering, elements, elementType, words));
  auto *call = llvm::cast<llvm::CallInst>(
      lowering.assembly(lowering.builder().getVoidTy(),
                        "stmatrix" + matrixShape(access) + " [$0], " + matrixWords(1, access) + ";",
                        "r," + words.constraintList("") + ",~{memory}", operands));
  call->setConvergent();
}

void storeShared(Lowering &lowering, llvm::ArrayRef<llvm::Value *> values, mlir::Type elementType,
                 const LinearLayout &layout, llvm::Value *base, const SharedLayout &shared) {
  llvm::IRBuilder<> &builder = lowering.builder();
  const SharedAccess access = vectorStore(layout, shared);
  const std::optional<MatrixAccess> matrices =
      lowering.target().hasMatrixStore ? matrixStore(layout, shared) : std::nullopt;
  if (matrices && matrices->instructions.size() < access.vectors.size()) {
    noteConflicts(lowering, "where a block is written to shared memory", *matrices);
    SharedAddress address(lowering, base, matrices->lanes, matrices->warps);
    lowering.onlyIf(lowering.ownsElements(inShared(layout, shared)), [&] {
      for (const MatrixInstruction &instruction : matrices->instructions)
        storeMatrices(
            lowering, *matrices, instruction,
            builder.CreatePtrToInt(address.at(instruction.offsetBytes), builder.getInt32Ty()),
            values, elementType);
    });
    return;
  }
  noteConflicts(lowering, "where a block is written to shared memory", access);
  SharedAddress address(lowering, base, access.lanes, access.warps);
  llvm::Value *owns = lowering.ownsElements(inShared(layout, shared));
  if (owns && access.vectors.size() <= kFewStores) {
    for (const SharedVector &vector : access.vectors) {
      Registers elements;
      for (const uint32_t reg : vector.registers)
        elements.push_back(values[reg]);
      storeToShared(lowering, owns, elements, elementType, address.at(vector.offsetBytes));
    }
    return;
  }
  lowering.onlyIf(owns, [&] {
    for (const SharedVector &vector : access.vectors) {
      auto *type = llvm::FixedVectorType::get(lowering.memoryType(elementType),
                                              static_cast<unsigned>(vector.registers.size()));
      llvm::Value *stored = llvm::PoisonValue::get(type);
      for (auto [i, reg] : llvm::enumerate(vector.registers))
        stored =
            builder.CreateInsertElement(stored, toMemory(lowering, values[reg], elementType), i);
      builder.CreateAlignedStore(stored, address.at(vector.offsetBytes),
                                 llvm::Align(access.vectorBytes));
    }
  });
}

} // namespace blockscope::gpu
