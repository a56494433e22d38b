// The addresses that an access of the block IR touches, computed for a few elements with made-up
// arguments: which elements lie in one sector of memory does not depend on where a tensor begins.
//
// Pointers begin at aligned addresses far apart; integers are large, multiples of 16 where the
// kernel may know it; what comes from memory or from floats is noise. `dependsOn` changes one of
// these and looks whether the distances between addresses change with it: so a stride that is known
// and one that is an argument look different without taking the expression to pieces, and
// remainders, selects and bit tricks are as good as sums.
#pragma once

#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <deque>

namespace blockscope::gpu {

class AddressProbe {
public:
  using Numbers = llvm::SmallVector<int64_t, 32>;

  explicit AddressProbe(mlir::func::FuncOp function) : function_(function) {}

  /// The addresses of `elements` (their row-major numbers) of a block of pointers.
  ///
  /// Units: bytes.
  Numbers addresses(mlir::Value pointer, llvm::ArrayRef<uint32_t> elements);

  /// What the distances between the addresses of `elements` depend on, besides constants.
  struct Dependence {
    llvm::SmallVector<mlir::BlockArgument, 2> arguments; ///< integers of the kernel
    bool onData = false;                                 ///< loaded, or computed from floats
  };
  Dependence dependsOn(mlir::Value pointer, llvm::ArrayRef<uint32_t> elements);

  /// The kernel's arguments that the value is computed from, in their order.
  llvm::SmallVector<mlir::BlockArgument, 4> argumentsOf(mlir::Value value);
  /// The argument that is the pointer to the tensor; null when it is not one.
  static mlir::BlockArgument tensorOf(mlir::Value pointer);

private:
  /// Elements of a value, one set for each way in which shape ops move them.
  using Elements = llvm::SmallVector<uint32_t, 32>;

  const Numbers &at(mlir::Value value, unsigned elements);
  Numbers compute(mlir::Value value, unsigned elements);
  Numbers computeOp(mlir::Operation *op, mlir::OpResult result, unsigned elements);
  Numbers hinted(tl::HintOp hint, unsigned elements);
  Numbers noise(mlir::Value value, unsigned elements);
  int64_t argument(mlir::BlockArgument argument);
  unsigned moved(unsigned elements, llvm::function_ref<uint32_t(uint32_t)> map);
  Numbers distances(mlir::Value pointer, llvm::ArrayRef<uint32_t> elements);

  mlir::func::FuncOp function_;
  std::deque<Elements> elements_;
  std::deque<Numbers> numbers_;
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, size_t> known_;
  llvm::DenseMap<mlir::Value, unsigned> noiseOf_;
  mlir::Value changed_; ///< this argument has another value
  bool isDataChanged_ = false;
};

} // namespace blockscope::gpu
