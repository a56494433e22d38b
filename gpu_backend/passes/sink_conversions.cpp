// Moves conversions of layouts, and what is made of them alone, down to their first use.
#include "gpu_backend/passes/sink_conversions.h"

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/gpu_target.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/layout/shuffle_plan.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// The bits of registers that a thread holds a block in.
int64_t heldBits(Value block) {
  const unsigned bits = getElementTypeOrSelf(block.getType()).isIntOrIndexOrFloat()
                            ? getElementTypeOrSelf(block.getType()).getIntOrFloatBitWidth()
                            : 64;
  return int64_t{tlg::layoutOf(block.getType()).registerCount()} * bits;
}

/// Whether an op makes its result of one block alone, which takes no more registers.
bool mayWait(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumOperands() != 1 || !isPure(op) ||
      !(isa<tlg::ConvertLayoutOp, tl::ExpandDimsOp, tl::BroadcastOp>(op) || tl::isElementwise(op)))
    return false;
  Value from = op->getOperand(0), to = op->getResult(0);
  return tlg::hasLayout(from.getType()) && tlg::hasLayout(to.getType()) &&
         heldBits(from) <= heldBits(to);
}

/// The conversion of its block that `op` is, or is made of; null where there is none.
tlg::ConvertLayoutOp conversionBehind(Operation *op) {
  for (Operation *of = op; of && of->getBlock() == op->getBlock() && mayWait(of);
       of = of->getOperand(0).getDefiningOp())
    if (auto conversion = dyn_cast<tlg::ConvertLayoutOp>(of))
      return conversion;
  return {};
}

/// Whether lanes pass on what they share: to more registers of each, without a barrier.
bool spreads(tlg::ConvertLayoutOp conversion) {
  const LinearLayout from = tlg::layoutOf(conversion.getSource().getType()),
                     to = tlg::layoutOf(conversion.getType());
  return from.registers.size() < to.registers.size() && staysInWarps(from, to);
}

/// The first op of the block of `op` that uses it, itself or in a region; null where none does.
Operation *firstUse(Operation *op) {
  Operation *first = nullptr;
  for (Operation *user : op->getUsers()) {
    Operation *here = op->getBlock()->findAncestorOpInBlock(*user);
    if (!here)
      return nullptr;
    if (!first || here->isBeforeInBlock(first))
      first = here;
  }
  return first;
}

/// Whether what `op` is made of is needed behind it for something else.
bool sourceLivesOn(Operation *op) {
  Value source = op->getOperand(0);
  return source.getParentBlock() != op->getBlock() ||
         llvm::any_of(source.getUsers(), [&](Operation *user) {
           Operation *here = op->getBlock()->findAncestorOpInBlock(*user);
           return !here || op->isBeforeInBlock(here);
         });
}

/// The first dot between an op and its use, which then runs while threads convert; else the use.
Operation *beforeDot(Operation *op, Operation *use) {
  while (op != use && !isa<tlg::WgmmaOp>(op))
    op = op->getNextNode();
  return op;
}

bool hasLoadBetween(Operation *first, Operation *last) {
  for (Operation *op = first->getNextNode(); op != last; op = op->getNextNode())
    if (isa<tl::LoadOp>(op))
      return true;
  return false;
}

/// Whether what is loaded between two ops takes far more registers than a thread has. Up to twice
/// as many spill less where loads begin early.
bool loadsMuchBetween(Operation *first, Operation *last) {
  int64_t bits = 0;
  for (Operation *op = first->getNextNode(); op != last; op = op->getNextNode())
    if (isa<tl::LoadOp>(op) && tlg::hasLayout(op->getResult(0).getType()))
      bits += heldBits(op->getResult(0));
  return bits > int64_t{2} * 32 * GpuTarget::kThreadRegisters;
}

bool hasLoopBetween(Operation *first, Operation *last) {
  for (Operation *op = first->getNextNode(); op != last; op = op->getNextNode())
    if (isa<scf::ForOp, scf::WhileOp>(op))
      return true;
  return false;
}

/// Moves conversions, and what is made of them, down to `placeFor(conversion, first op that is
/// moved, its first use)`, where that is not null.
void sink(
    func::FuncOp function,
    llvm::function_ref<Operation *(tlg::ConvertLayoutOp, Operation *, Operation *)> placeFor) {
  function.walk([&](Block *block) {
    // From the last to the first: what uses a conversion goes before it does.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block))) {
      tlg::ConvertLayoutOp conversion = conversionBehind(&op);
      Operation *use = conversion ? firstUse(&op) : nullptr;
      if (Operation *place = use ? placeFor(conversion, &op, use) : nullptr)
        op.moveBefore(place);
    }
  });
}

/// A block's value that is made of a conversion, and the ops that use it, in order.
struct Converted {
  Operation *op;
  llvm::SmallVector<Operation *> uses;
};

/// What is converted to many more registers than it was in, and used at several places of its
/// block.
llvm::SmallVector<Converted> wideOnesUsedAgain(Block &block) {
  constexpr int64_t kWide = int64_t{32} * 48; // bits: a fifth of the registers
  constexpr int64_t kGrows = 4;
  llvm::SmallVector<Converted> found;
  for (Operation &op : block) {
    tlg::ConvertLayoutOp conversion = conversionBehind(&op);
    if (!conversion || heldBits(op.getResult(0)) < kWide ||
        heldBits(op.getResult(0)) < kGrows * heldBits(conversion.getSource()))
      continue;
    Converted converted{&op, {}};
    for (Operation *user : op.getUsers())
      if (user->getBlock() == &block && !llvm::is_contained(converted.uses, user))
        converted.uses.push_back(user);
    llvm::sort(converted.uses, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    if (converted.uses.size() > 1)
      found.push_back(std::move(converted));
  }
  return found;
}

/// Makes a value once more, from its conversion on, before an op that uses it.
void makeAgain(Operation *op, Operation *use) {
  llvm::SmallVector<Operation *> chain;
  for (Operation *of = op;; of = of->getOperand(0).getDefiningOp()) {
    chain.push_back(of);
    if (isa<tlg::ConvertLayoutOp>(of))
      break;
  }
  OpBuilder builder(use);
  IRMapping mapping;
  for (Operation *of : llvm::reverse(chain))
    builder.clone(*of, mapping);
  use->replaceUsesOfWith(op->getResult(0), mapping.lookup(op->getResult(0)));
}

/// Blocks that are converted to many registers and used again later would wait for that on the
/// stack, where there are several: they are converted again, which takes less time than to store
/// and load each of their registers.
void convertAgain(Block &block) {
  const llvm::SmallVector<Converted> wide = wideOnesUsedAgain(block);
  llvm::SmallVector<std::pair<Operation *, Operation *>> again;
  for (const Converted &converted : wide)
    for (auto [use, next] : llvm::zip(converted.uses, llvm::drop_begin(converted.uses))) {
      int64_t bits = 0; // that are held, at some time, from one use to the next
      for (const Converted &other : wide)
        if (other.uses.front()->isBeforeInBlock(next) && use->isBeforeInBlock(other.uses.back()))
          bits += heldBits(other.op->getResult(0));
      if (bits > int64_t{32} * GpuTarget::kThreadRegisters)
        again.emplace_back(converted.op, next);
    }
  for (auto [op, use] : again)
    makeAgain(op, use);
}

} // namespace

void sinkConversions(func::FuncOp function) {
  sink(function, [](tlg::ConvertLayoutOp, Operation *op, Operation *use) {
    return hasLoopBetween(op, use) ? use : nullptr;
  });
}

void delayConversions(func::FuncOp function) {
  function.walk([](Block *block) { convertAgain(*block); });
  sink(function, [](tlg::ConvertLayoutOp conversion, Operation *op, Operation *use) {
    const bool livesOn = sourceLivesOn(conversion);
    Operation *place = livesOn ? use : beforeDot(op, use);
    // Such loads would wait on the stack for what is converted; behind it, each is used as it
    // comes.
    if (loadsMuchBetween(op, place))
      return static_cast<Operation *>(nullptr);
    const bool pays = livesOn || heldBits(conversion.getSource()) < heldBits(op->getResult(0)) ||
                      hasLoadBetween(op, place);
    return pays ? place : nullptr;
  });
}

void sinkSpreadingConversions(func::FuncOp function) {
  sink(function, [](tlg::ConvertLayoutOp conversion, Operation *, Operation *use) {
    return spreads(conversion) ? use : nullptr;
  });
}

} // namespace blockscope::gpu
