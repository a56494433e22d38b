// The operands of tensor core instructions as the words that the instructions take.
#pragma once

#include "core/dot_precision.h"
#include "gpu_backend/lowering/mma_order.h"
#include "gpu_backend/lowering/shared_access.h"

namespace blockscope::gpu {

/// The shape of an operand in registers or in shared memory.
llvm::ArrayRef<int64_t> shapeOfOperand(mlir::Value operand);

mlir::Type elementOfOperand(mlir::Value operand);

/// What PTX calls the type of an operand whose elements are multiplied in `operandBytes` bytes.
llvm::StringRef operandTypeName(mlir::Type type, int operandBytes, bool isUnsigned);

/// Elements that are multiplied in `operandBytes` bytes as the words that instructions take.
llvm::SmallVector<llvm::Value *, 4>
packFragment(Lowering &lowering, llvm::ArrayRef<llvm::Value *> values, int operandBytes);

/// The bits of an fp32 number that are multiplied in tf32: sign, exponent and 10 bits.
inline constexpr uint32_t kKeptByTf32 = 0xffffe000;

/// How operands are converted to what is multiplied.
struct OperandFormat {
  int operandBytes;          ///< of an element as it is multiplied
  llvm::StringRef precision; ///< input_precision, for fp32
  bool isFp32 = false;       ///< the elements in the IR are fp32
  bool isPayload = false;    ///< words are of the integers that elements stand for

  template <typename Op> static OperandFormat of(Op op) {
    const llvm::StringRef precision = op.getInputPrecision();
    return {static_cast<int>(op.getOperandBytes()), precision, isFp32Block(op.getA()),
            isOfPayloads(precision)};
  }
  static bool isFp32Block(mlir::Value operand);

  /// In how many terms an operand is split: one unless the precision is tf32x3, bf16x3 or bf16x6.
  int termCount() const;
  /// Which terms of the first operand meet which of the second, in the order of the CPU.
  llvm::SmallVector<std::pair<int, int>, 6> termProducts() const;
};

/// One operand of a dot in registers or in shared memory, as the words of its fragments.
/// Fragments are made when they are first asked for, so that few of them live at a time.
class MmaOperand {
public:
  /// `layout` is that in registers, of which each `fragmentSize` make a fragment; an operand in
  /// shared memory is read to it. Of a fragment that is twice as deep as the operand, the second
  /// half is zeros; with `isDeep` none is.
  MmaOperand(Lowering &lowering, mlir::Value operand, const OperandFormat &format,
             const LinearLayout &layout, int fragmentSize, bool isDeep = false);

  /// The words of fragment `tile`, of one term of the split.
  llvm::ArrayRef<llvm::Value *> words(int64_t tile, int term = 0);
  /// What fragments cost; with `widens` each word is multiplied as two.
  FragmentCost cost(bool widens) const;
  /// Has fragments made anew when they are asked for again, if they come from shared memory.
  void forget();

private:
  using Fragment = llvm::SmallVector<llvm::Value *, 4>;
  void make(int64_t tile);

  Lowering &lowering_;
  OperandFormat format_;
  int fragmentSize_;
  uint32_t zeros_ = 0; ///< the bit of registers beyond K
  std::optional<SharedReader> reader_;
  llvm::ArrayRef<llvm::Value *> registers_;
  mlir::Type element_;
  llvm::DenseMap<int64_t, llvm::SmallVector<Fragment, 1>> fragments_;
};

} // namespace blockscope::gpu
