// Walks pointers backwards: through arithmetic, selections and what loops carry.
#include "interpreter/flat/memory_use.h"

#include "core/ir/convert.h"
#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"
#include "core/ptx/program.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/DenseSet.h"

namespace blockscope::interpreter::flat {
namespace {

bool isPointer(mlir::Value value) { return fromMlirType(value.getType()).isPointer(); }

/// The parameters that one pointer may come from.
class Origins {
public:
  explicit Origins(size_t parameters) : found(parameters, false) {}

  void follow(mlir::Value pointer) {
    push(pointer);
    while (!open_.empty() && !isUnknown) {
      const mlir::Value value = open_.pop_back_val();
      if (const auto argument = mlir::dyn_cast<mlir::BlockArgument>(value))
        followArgument(argument);
      else
        followResult(mlir::cast<mlir::OpResult>(value));
    }
  }

  std::vector<bool> found;
  bool isUnknown = false;

private:
  void push(mlir::Value value) {
    if (seen_.insert(value).second)
      open_.push_back(value);
  }

  void followArgument(mlir::BlockArgument argument) {
    mlir::Operation *parent = argument.getOwner()->getParentOp();
    const unsigned number = argument.getArgNumber();
    if (mlir::isa<mlir::func::FuncOp>(parent)) {
      found[number] = true;
    } else if (auto loop = mlir::dyn_cast<mlir::scf::ForOp>(parent); loop && number > 0) {
      push(loop.getInitArgs()[number - 1]);
      push(loop.getBody()->getTerminator()->getOperand(number - 1));
    } else if (auto loop = mlir::dyn_cast<mlir::scf::WhileOp>(parent)) {
      if (argument.getOwner() == loop.getBeforeBody()) {
        push(loop.getInits()[number]);
        push(loop.getAfterBody()->getTerminator()->getOperand(number));
      } else {
        push(loop.getConditionOp().getArgs()[number]);
      }
    } else {
      isUnknown = true;
    }
  }

  void followResult(mlir::OpResult result) {
    mlir::Operation *op = result.getOwner();
    const unsigned number = result.getResultNumber();
    if (auto choice = mlir::dyn_cast<mlir::scf::IfOp>(op)) {
      for (mlir::Region *region : {&choice.getThenRegion(), &choice.getElseRegion()})
        push(region->front().getTerminator()->getOperand(number));
      return;
    }
    if (auto loop = mlir::dyn_cast<mlir::scf::ForOp>(op)) {
      push(loop.getInitArgs()[number]);
      push(loop.getBody()->getTerminator()->getOperand(number));
      return;
    }
    if (auto loop = mlir::dyn_cast<mlir::scf::WhileOp>(op)) {
      push(loop.getConditionOp().getArgs()[number]);
      return;
    }
    bool hasPointer = false;
    for (const mlir::Value operand : op->getOperands())
      if (isPointer(operand)) {
        hasPointer = true;
        push(operand);
      }
    const OpFacts *facts = tl::factsOf(op);
    if (!hasPointer || op->getNumRegions() != 0 || !facts || facts->memory != OpMemory::None)
      isUnknown = true;
  }

  llvm::SmallVector<mlir::Value> open_;
  llvm::DenseSet<mlir::Value> seen_;
};

} // namespace

/// Inline assembly may load and store through every pointer that it gets, and through addresses.
static void addAssembly(mlir::Operation *op, MemoryUse &use) {
  const auto text = op->getAttrOfType<mlir::StringAttr>("asm_string");
  const ptx::Effects effects = ptx::effectsOf(text.getValue());
  if (!effects.accesses)
    return;
  use.orders |= effects.orders;
  Origins origins(use.loaded.size());
  for (const mlir::Value operand : op->getOperands()) {
    if (isPointer(operand))
      origins.follow(operand);
    else if (fromMlirType(operand.getType()).elementBytes() == 8)
      use.isKnown = false;
  }
  use.isKnown &= !origins.isUnknown;
  for (size_t i = 0; i < origins.found.size(); ++i)
    if (origins.found[i])
      use.loaded[i] = use.stored[i] = true;
}

MemoryUse findMemoryUse(mlir::func::FuncOp function) {
  const size_t parameters = function.getNumArguments();
  MemoryUse use;
  use.isKnown = true;
  use.orders = use.prints = use.mayLoopForever = false;
  use.usesProgramId = {};
  use.loaded.assign(parameters, false);
  use.stored.assign(parameters, false);
  function.walk([&](mlir::Operation *op) {
    use.prints |= mlir::isa<tl::PrintOp>(op);
    use.mayLoopForever |= mlir::isa<mlir::scf::WhileOp>(op);
    if (auto id = mlir::dyn_cast<tl::ProgramIdOp>(op))
      use.usesProgramId[id.getAxis()] = true;
    const OpFacts *facts = tl::factsOf(op);
    if (facts && facts->family == OpFamily::InlineAsm)
      return addAssembly(op, use);
    const bool isOfLibrary = mlir::isa<tl::ExternElementwiseVolatileOp>(op); // has its own memory
    if (!facts || isOfLibrary || !(facts->reads() || facts->writes()))
      return;
    use.orders |= facts->isAtomic() && !op->use_empty();
    if (auto load = mlir::dyn_cast<tl::LoadOp>(op))
      use.orders |= load.getIsVolatile();
    Origins origins(parameters);
    origins.follow(op->getOperand(0));
    use.isKnown &= !origins.isUnknown;
    for (size_t i = 0; i < parameters; ++i) {
      use.loaded[i] = use.loaded[i] || (facts->reads() && origins.found[i]);
      use.stored[i] = use.stored[i] || (facts->writes() && origins.found[i]);
    }
  });
  return use;
}

} // namespace blockscope::interpreter::flat
