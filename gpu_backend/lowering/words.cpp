// Packs by way of LLVM vectors, which NVPTX turns into moves between registers.
#include "gpu_backend/lowering/words.h"

#include "llvm/IR/PatternMatch.h"

namespace blockscope::gpu {

std::string WordFormat::constraintList(llvm::StringRef prefix) const {
  const char *letter = bits == 64 ? "l" : bits == 32 ? "r" : "h";
  std::string text;
  for (int i = 0; i < count; ++i)
    text += (i == 0 ? "" : ",") + prefix.str() + letter;
  return text;
}

llvm::Type *WordFormat::registerType(Lowering &lowering) const {
  return llvm::Type::getIntNTy(lowering.context(), std::max(bits, 16));
}

llvm::Type *WordFormat::structType(Lowering &lowering) const {
  if (count == 1)
    return registerType(lowering);
  return llvm::StructType::get(lowering.context(),
                               llvm::SmallVector<llvm::Type *>(count, registerType(lowering)));
}

WordFormat wordsOf(int sizeBytes, int elementBytes) {
  if (sizeBytes < 4)
    return {1, sizeBytes * 8};
  if (elementBytes == 8) // halves of them would be put together by shifts
    return {sizeBytes / 8, 64};
  return {sizeBytes / 4, 32};
}

llvm::Value *toMemory(Lowering &lowering, llvm::Value *element, mlir::Type type) {
  llvm::IRBuilder<> &builder = lowering.builder();
  if (element->getType()->isIntegerTy(1))
    return builder.CreateZExt(element, builder.getInt8Ty());
  return element;
}

llvm::Value *fromMemory(Lowering &lowering, llvm::Value *element, mlir::Type type) {
  llvm::Type *wanted = lowering.elementType(type);
  if (wanted->isIntegerTy(1)) // any byte but 0 is true
    return lowering.builder().CreateICmpNE(element, llvm::ConstantInt::get(element->getType(), 0));
  return element;
}

/// Bytes that were made two at a time, as those two together; null where they were not.
static llvm::Value *vectorOfPairs(llvm::IRBuilder<> &builder,
                                  llvm::ArrayRef<llvm::Value *> elements) {
  using namespace llvm::PatternMatch;
  if (elements.size() % 2 != 0)
    return nullptr;
  llvm::Value *vector = llvm::PoisonValue::get(
      llvm::FixedVectorType::get(builder.getInt16Ty(), static_cast<unsigned>(elements.size() / 2)));
  for (size_t i = 0; i < elements.size(); i += 2) {
    llvm::Value *both = nullptr;
    if (!match(elements[i], m_Trunc(m_Value(both))) || !both->getType()->isIntegerTy(16) ||
        !elements[i]->getType()->isIntegerTy(8) ||
        !match(elements[i + 1], m_Trunc(m_LShr(m_Specific(both), m_SpecificInt(8)))))
      return nullptr;
    vector = builder.CreateInsertElement(vector, both, i / 2);
  }
  return vector;
}

llvm::Value *vectorOf(Lowering &lowering, llvm::ArrayRef<llvm::Value *> elements, mlir::Type type) {
  llvm::IRBuilder<> &builder = lowering.builder();
  if (llvm::Value *pairs = vectorOfPairs(builder, elements))
    return pairs;
  llvm::Type *memory = lowering.memoryType(type);
  if (memory->isPointerTy())
    memory = builder.getInt64Ty();
  llvm::Value *vector = llvm::PoisonValue::get(
      llvm::FixedVectorType::get(memory, static_cast<unsigned>(elements.size())));
  for (auto [i, element] : llvm::enumerate(elements)) {
    llvm::Value *value = toMemory(lowering, element, type);
    if (value->getType()->isPointerTy())
      value = builder.CreatePtrToInt(value, memory);
    vector = builder.CreateInsertElement(vector, value, i);
  }
  return vector;
}

llvm::SmallVector<llvm::Value *> packWords(Lowering &lowering,
                                           llvm::ArrayRef<llvm::Value *> elements, mlir::Type type,
                                           const WordFormat &words) {
  llvm::IRBuilder<> &builder = lowering.builder();
  llvm::Value *packed =
      builder.CreateBitCast(vectorOf(lowering, elements, type),
                            llvm::FixedVectorType::get(builder.getIntNTy(words.bits), words.count));
  llvm::SmallVector<llvm::Value *> result;
  for (int i = 0; i < words.count; ++i)
    result.push_back(
        builder.CreateZExt(builder.CreateExtractElement(packed, i), words.registerType(lowering)));
  return result;
}

llvm::SmallVector<llvm::Value *> unpackWords(Lowering &lowering, llvm::Value *result,
                                             mlir::Type type, int elementCount,
                                             const WordFormat &words) {
  llvm::IRBuilder<> &builder = lowering.builder();
  llvm::Type *word = builder.getIntNTy(words.bits);
  llvm::SmallVector<llvm::Value *> parts;
  for (int i = 0; i < words.count; ++i) {
    llvm::Value *part = words.count == 1 ? result : builder.CreateExtractValue(result, i);
    parts.push_back(builder.CreateTrunc(part, word));
  }
  llvm::Type *memory = lowering.memoryType(type);
  const bool isPointer = memory->isPointerTy();
  if (isPointer)
    memory = builder.getInt64Ty();
  // Word by word, where elements do not reach over words: so LLVM sees words that are put together
  // again.
  const int inWord = elementCount / words.count;
  llvm::SmallVector<llvm::Value *> elements;
  const auto addElements = [&](llvm::Value *bits, int count) {
    bits = builder.CreateBitCast(bits, llvm::FixedVectorType::get(memory, count));
    for (int i = 0; i < count; ++i)
      elements.push_back(builder.CreateExtractElement(bits, i));
  };
  if (inWord > 0) {
    for (llvm::Value *part : parts)
      addElements(part, inWord);
  } else {
    llvm::Value *vector = llvm::PoisonValue::get(llvm::FixedVectorType::get(word, words.count));
    for (auto [i, part] : llvm::enumerate(parts))
      vector = builder.CreateInsertElement(vector, part, i);
    addElements(vector, elementCount);
  }
  for (llvm::Value *&element : elements) {
    if (isPointer)
      element = builder.CreateIntToPtr(element, lowering.memoryType(type));
    element = fromMemory(lowering, element, type);
  }
  return elements;
}

void storeToShared(Lowering &lowering, llvm::Value *predicate,
                   llvm::ArrayRef<llvm::Value *> elements, mlir::Type type, llvm::Value *pointer) {
  llvm::IRBuilder<> &builder = lowering.builder();
  const int bytes = Lowering::elementBytes(type);
  const WordFormat words = wordsOf(bytes * static_cast<int>(elements.size()), bytes);
  llvm::SmallVector<llvm::Value *> operands{predicate,
                                            builder.CreatePtrToInt(pointer, builder.getInt32Ty())};
  llvm::append_range(operands, packWords(lowering, elements, type, words));
  std::string registers = "$2";
  for (int i = 1; i < words.count; ++i)
    registers += ", $" + std::to_string(i + 2);
  const std::string vector = words.count == 1 ? "" : ".v" + std::to_string(words.count);
  lowering.assembly(
      builder.getVoidTy(),
      llvm::formatv("@$0 st.shared{0}.b{1} [$1], {{{2}};", vector, words.bits, registers).str(),
      "b,r," + words.constraintList("") + ",~{memory}", operands);
}

} // namespace blockscope::gpu
