// Elements packed into the machine words that PTX instructions move.
#pragma once

#include "gpu_backend/lowering/lowering.h"

namespace blockscope::gpu {

/// How some bytes go through the operands of one instruction: `count` registers of `bits` each.
struct WordFormat {
  int count = 1;
  int bits = 32; ///< 8 and 16 go in a 16-bit register

  /// "r,r" with `prefix` before each letter.
  std::string constraintList(llvm::StringRef prefix) const;
  /// The result of inline assembly that gives these words.
  llvm::Type *structType(Lowering &lowering) const;
  llvm::Type *registerType(Lowering &lowering) const;
};

/// The format of 1, 2, 4, 8 or 16 bytes of elements: words of 32 bits where there are enough,
/// but of 64 for elements of 8 bytes.
WordFormat wordsOf(int sizeBytes, int elementBytes);

/// An element as it is in memory (int1 as a byte, pointers as integers), and back.
llvm::Value *toMemory(Lowering &lowering, llvm::Value *element, mlir::Type type);
llvm::Value *fromMemory(Lowering &lowering, llvm::Value *element, mlir::Type type);

/// A vector with the bits of `elements` side by side in memory, the first one lowest.
llvm::Value *vectorOf(Lowering &lowering, llvm::ArrayRef<llvm::Value *> elements, mlir::Type type);

/// The words that hold `elements` of a type, the first element lowest; and back, from what inline
/// assembly of `words.structType` gave.
llvm::SmallVector<llvm::Value *> packWords(Lowering &lowering,
                                           llvm::ArrayRef<llvm::Value *> elements, mlir::Type type,
                                           const WordFormat &words);
llvm::SmallVector<llvm::Value *> unpackWords(Lowering &lowering, llvm::Value *result,
                                             mlir::Type type, int elementCount,
                                             const WordFormat &words);

/// Stores elements side by side into shared memory, up to 16 bytes, where `predicate` is true.
void storeToShared(Lowering &lowering, llvm::Value *predicate,
                   llvm::ArrayRef<llvm::Value *> elements, mlir::Type type, llvm::Value *pointer);

/// So many stores are predicated, one by one; more stand behind a branch. A branch ends LLVM's
/// basic block: what is used behind it is computed there, with all that goes into it held until
/// then.
inline constexpr size_t kFewStores = 4;

} // namespace blockscope::gpu
