// What the tensor cores' instructions compute, on floats that stand for integers (docs/algebra.md).
//
// The instructions themselves cannot: each is done by its threads, which take operands from where
// the instruction takes them, in registers of other lanes or in shared memory by a descriptor. So
// layouts, copies and addresses of a kernel in the algebra are those of the kernel.
#pragma once

#include "gpu_backend/lowering/lowering.h"
#include "gpu_backend/lowering/payload.h"

namespace blockscope::gpu {

/// An operand of wgmma in shared memory: its descriptor, an i64, and whether it lies along M or N.
struct DescribedOperand {
  llvm::Value *descriptor;
  bool isTransposed;
};

/// Products of operands whose elements have `operandBytes` bytes, summed modulo 2^bits of the sums.
class PayloadProducts {
public:
  PayloadProducts(Lowering &lowering, mlir::Type a, mlir::Type b, int operandBytes,
                  mlir::Type sums);

  /// The floats in the registers of sums as integers, and back.
  void embedSums(llvm::MutableArrayRef<llvm::Value *> sums) const;
  void unembedSums(llvm::MutableArrayRef<llvm::Value *> sums) const;

  /// One mma.sync: words of payloads, as the instruction takes those of floats; `sums` are
  /// integers.
  void multiply(llvm::ArrayRef<llvm::Value *> a, llvm::ArrayRef<llvm::Value *> b,
                llvm::MutableArrayRef<llvm::Value *> sums) const;
  /// One wgmma of `columns`, without waiting; `wordsA` are words of payloads if not empty, else `a`
  /// is read. The operands in shared memory are floats.
  void multiplyGroup(llvm::ArrayRef<llvm::Value *> wordsA, const DescribedOperand *a,
                     const DescribedOperand &b, llvm::MutableArrayRef<llvm::Value *> sums) const;

private:
  llvm::Value *widened(llvm::Value *payload) const;
  /// Element `index` of a word, as wide as sums.
  llvm::Value *element(llvm::Value *word, llvm::Value *index) const;
  llvm::Value *loaded(const DescribedOperand &operand, const numeric::Payload &rule,
                      llvm::Value *line, llvm::Value *depth) const;
  llvm::Value *multiplyAdd(llvm::Value *a, llvm::Value *b, llvm::Value *sum) const;

  Lowering &lowering_;
  llvm::IRBuilder<> &builder_;
  numeric::Payload a_, b_, sum_;
  int operandBytes_;
  llvm::Type *sumType_, *wideType_;
};

} // namespace blockscope::gpu
