// What must hold of the ops for inline assembly: their constraints fit their values.
#include "core/ir/convert.h"
#include "core/ir/tl_dialect.h"
#include "core/ptx/constraints.h"

namespace blockscope::tl {
namespace {

mlir::LogicalResult verifyAssembly(mlir::Operation *op, llvm::StringRef constraints,
                                   uint32_t pack) {
  if (op->getNumResults() == 0)
    return op->emitOpError("needs a result");
  llvm::SmallVector<Type> arguments, results;
  for (const mlir::Type type : op->getOperandTypes())
    arguments.push_back(fromMlirType(type));
  for (const mlir::Type type : op->getResultTypes())
    results.push_back(fromMlirType(type));
  const Type &first = results.front();
  for (const auto *types : {&arguments, &results})
    for (const Type &type : *types)
      if (type.shape != first.shape)
        return op->emitOpError("has values of different shapes");
  const ptx::Constraints read = ptx::readConstraints(constraints, arguments, results, pack);
  if (!read.error.empty())
    return op->emitOpError("does not fit: ") << read.error;
  if (first.isBlock() && first.numElements() % pack != 0)
    return op->emitOpError("has ")
           << first.numElements() << " elements, expected a multiple of its "
           << "pack, " << pack;
  return mlir::success();
}

} // namespace

mlir::LogicalResult InlineAsmOp::verify() {
  return verifyAssembly(*this, getConstraints(), getPack());
}

mlir::LogicalResult InlineAsmVolatileOp::verify() {
  return verifyAssembly(*this, getConstraints(), getPack());
}

} // namespace blockscope::tl
