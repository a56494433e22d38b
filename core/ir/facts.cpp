// Facts by the name of the operation; what is a trait upstream is asked as a trait.
#include "core/ir/facts.h"

#include "mlir/IR/OpDefinition.h"

namespace blockscope::tl {

const OpFacts *factsOf(mlir::Operation *op) { return findOpFacts(op->getName().getStringRef()); }

bool isAtomic(mlir::Operation *op) {
  const OpFacts *facts = factsOf(op);
  return facts && facts->isAtomic();
}

bool isElementwise(mlir::Operation *op) {
  if (op->hasTrait<mlir::OpTrait::Elementwise>())
    return true;
  const OpFacts *facts = factsOf(op);
  return facts && facts->isElementwise;
}

} // namespace blockscope::tl
