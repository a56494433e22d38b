// Finds claims in the block IR, and shows them.
#include "interpreter/flat/claims.h"

#include "core/ir/convert.h"
#include "core/ir/tl_dialect.h"
#include "interpreter/execution_context.h"
#include "interpreter/flat/shown_values.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/DenseSet.h"

namespace blockscope::interpreter::flat {
namespace {

/// Where an answer may go: masks and selections are how kernels drop what they have tested.
enum class Way : uint8_t { Decides, Dropped, Further };

Way wayOf(mlir::OpOperand &use) {
  mlir::Operation *op = use.getOwner();
  if (mlir::isa<mlir::scf::IfOp, mlir::scf::ForOp, mlir::scf::ConditionOp, mlir::scf::YieldOp,
                tl::AssertOp, tl::AddPtrOp>(op))
    return Way::Decides;
  if (mlir::isa<mlir::arith::SelectOp>(op) && use.getOperandNumber() == 0)
    return Way::Dropped;
  return Way::Further;
}

/// Whether what a comparison says may do more than choose between values.
bool decides(mlir::Value answer) {
  llvm::SmallVector<mlir::Value, 8> open = {answer};
  llvm::DenseSet<mlir::Value> seen = {answer};
  while (!open.empty())
    for (mlir::OpOperand &use : open.pop_back_val().getUses()) {
      const Way way = wayOf(use);
      if (way == Way::Decides)
        return true;
      if (way == Way::Further)
        for (const mlir::Value result : use.getOwner()->getResults())
          if (!fromMlirType(result.getType()).isFloating() && seen.insert(result).second)
            open.push_back(result);
    }
  return false;
}

void evalClaim(ExecutionContext &context, void *const *, const void *const *operands,
               const void *payload) {
  if (context.launch->observers.needs().claims)
    showOperands(context, *static_cast<const ShownOp *>(payload), operands);
}

} // namespace

bool isClaim(mlir::Operation &op) {
  const llvm::StringRef name = op.getName().getStringRef();
  if (name == "tl.fp_cast")
    return isFp8(fromMlirType(op.getResult(0).getType()).dtype);
  return name == "tl.hint" || name == "tl.assume" || name == "tl.float_to_int" ||
         (name == "arith.cmpf" && decides(op.getResult(0)));
}

Evaluator makeClaim(ShownOp shown) {
  return Evaluator::makeContext(evalClaim, std::make_shared<ShownOp>(std::move(shown)));
}

} // namespace blockscope::interpreter::flat
