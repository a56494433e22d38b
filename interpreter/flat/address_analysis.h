// Reads off the block IR what the pointers of accesses are: interpreter/address_form.h.
#pragma once

#include "interpreter/address_form.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <memory>

namespace blockscope::interpreter::flat {

/// Of one function. A product of an index and something that is the same in the whole launch is a
/// term of its own, with that factor as its stride; but powers of two that stand in the source are
/// taken for sizes of blocks, which name no dimension. What is added once and is the same in the
/// whole launch is a term too: it may be some rows.
class AddressAnalysis {
public:
  /// Null where the pointer of the access does not come from one parameter by additions.
  std::shared_ptr<const AddressForm> formOf(mlir::Operation &access);

private:
  using StepId = uint32_t;
  struct Index {
    bool isKnown = true;
    bool hasRange = false;
    StepId start = 0; ///< not set where the index is not known
    llvm::SmallVector<int64_t, 4> perLane;
  };
  struct Product {
    Index index;
    StepId stride;
    bool names; ///< as AddressForm::Term says
  };
  /// A sum of products, and of `unit`. Pointers have a parameter as well.
  struct Sum {
    std::optional<uint32_t> parameter;
    llvm::SmallVector<Product, 2> products;
    Index unit;
  };

  const Sum &sumOf(mlir::Value value);
  Sum compute(mlir::Value value);
  Sum ofArgument(mlir::BlockArgument argument);
  Sum ofCarried(mlir::scf::ForOp loop, mlir::BlockArgument argument);
  Sum ofOp(mlir::Operation &op, mlir::Value value);
  Sum ofScalar(mlir::Operation &op, mlir::Value value);
  Sum unknown(mlir::Value value) const;
  Sum scalar(StepId start) const;
  Sum addend(const Sum &sum);
  Sum multiple(Index index, StepId stride, bool names, size_t rank);
  bool isSize(StepId factor) const;
  Sum add(Sum lhs, const Sum &rhs);
  static bool hasUnknown(const Sum &sum);
  Sum negated(Sum sum);
  Sum product(mlir::Value value, const Sum &lhs, const Sum &rhs);
  Index scaled(Index index, StepId factor, bool mayCount);
  /// The value of a scalar; nothing where it is not known.
  std::optional<StepId> valueOf(const Sum &sum);
  std::optional<StepId> valueOf(mlir::Value value);
  /// What each iteration adds to a carried value; nothing where it is no sum with it.
  std::optional<Sum> stepOf(mlir::Value next, mlir::BlockArgument carried, int depth);

  StepId constant(int64_t value);
  StepId step(ScalarStep::Kind kind, llvm::ArrayRef<StepId> operands, int64_t value = 0);
  bool isLiteral(StepId id, int64_t value) const;
  bool changesIn(StepId id, int64_t loopDepth) const;
  bool dependsOnData(mlir::Value value);
  bool isDataFree(mlir::Operation &access);

  std::vector<ScalarStep> steps_;
  llvm::DenseMap<mlir::Value, std::unique_ptr<Sum>> known_;
  llvm::DenseMap<mlir::Value, bool> data_;
};

} // namespace blockscope::interpreter::flat
