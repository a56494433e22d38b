// Addresses and accesses of buffers in shared memory, for the ops that read or write them.
#pragma once

#include "gpu_backend/layout/matrix_access.h"
#include "gpu_backend/lowering/lowering.h"

namespace blockscope::gpu {

/// Notes an access of shared memory of the op that is being lowered, which it makes `times` times,
/// and its bank conflicts if there are: `what` as in "where an operand is read".
void noteConflicts(Lowering &lowering, llvm::StringRef what, const SharedAccess &access,
                   int times = 1);
void noteConflicts(Lowering &lowering, llvm::StringRef what, const MatrixAccess &access);

/// What moves through a buffer in a loop: bit i of `number`, an i32, flips the byte offset
/// `offsets[i]`.
struct Moving {
  Bases offsets;
  llvm::Value *number = nullptr;
};

/// The addresses of this thread in a buffer of shared memory.
class SharedAddress {
public:
  /// `base` is where the buffer starts, an i32 in bytes; `lanes` and `warps` what the bits of the
  /// thread's number flip.
  SharedAddress(Lowering &lowering, llvm::Value *base, llvm::ArrayRef<ElementBits> lanes,
                llvm::ArrayRef<ElementBits> warps, const Moving &moving = {});

  /// The address whose offset in the buffer is `offsetBytes` XOR that of the thread. Offsets that
  /// differ in bits that threads do not flip differ by a constant.
  llvm::Value *at(uint32_t offsetBytes);

private:
  Lowering &lowering_;
  llvm::Value *base_, *thread_;
  ElementBits threadBits_;
  llvm::DenseMap<uint32_t, llvm::Value *> flipped_;
};

/// Reads the registers of a layout from a buffer in shared memory, by ldmatrix where it fits; only
/// those that are asked for.
class SharedReader {
public:
  SharedReader(Lowering &lowering, llvm::Value *base, mlir::Type elementType,
               const SharedLayout &shared, const LinearLayout &layout);
  llvm::Value *get(uint32_t reg);
  int64_t registerCount() const { return static_cast<int64_t>(values_.size()); }
  /// How many instructions load all registers.
  int64_t instructionCount() const;
  /// Has registers loaded anew when they are asked for again.
  void forget() { values_.assign(values_.size(), nullptr); }

private:
  void loadMatrices(const MatrixInstruction &instruction);
  void loadVector(const SharedVector &vector);

  Lowering &lowering_;
  mlir::Type elementType_;
  LinearLayout offsets_; ///< in bytes
  std::optional<MatrixAccess> matrices_;
  SharedAccess vectors_;
  std::optional<SharedAddress> address_;
  /// For each register the instruction that loads it, then what was loaded.
  llvm::SmallVector<int> instructions_;
  Registers values_;
};

/// ".sync.aligned.m8n8.x4.trans.shared.b16", and "{$0, $1, $2, $3}" for operands from `first` on.
std::string matrixShape(const MatrixAccess &access);
std::string matrixWords(int first, const MatrixAccess &access);

/// One stmatrix of registers of a block; all lanes take part.
void storeMatrices(Lowering &lowering, const MatrixAccess &access,
                   const MatrixInstruction &instruction, llvm::Value *address,
                   llvm::ArrayRef<llvm::Value *> values, mlir::Type elementType);

/// Writes a block to shared memory, each element once; by stmatrix where it takes fewer
/// instructions.
void storeShared(Lowering &lowering, llvm::ArrayRef<llvm::Value *> values, mlir::Type elementType,
                 const LinearLayout &layout, llvm::Value *base, const SharedLayout &shared);

} // namespace blockscope::gpu
