// Structured control flow as basic blocks.
#include "gpu_backend/lowering/families.h"

#include "core/ir/option_attributes.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/passes/read_only_loads.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <optional>

using namespace mlir;

namespace blockscope::gpu {
namespace {

using Phis = llvm::SmallVector<llvm::SmallVector<llvm::PHINode *, 8>>;

/// How many registers of a value go through control flow as one: as many small elements as fill a
/// hardware register.
size_t perPhi(llvm::ArrayRef<llvm::Value *> registers) {
  const unsigned bits = registers.front()->getType()->getScalarSizeInBits();
  const size_t count = bits == 8 || bits == 16 ? 32 / bits : 1;
  return registers.size() % count == 0 ? count : 1;
}

/// The registers as what goes through phis.
Registers packed(Lowering &lowering, llvm::ArrayRef<llvm::Value *> registers) {
  llvm::IRBuilder<> &builder = lowering.builder();
  const size_t count = perPhi(registers);
  if (count == 1)
    return Registers(registers);
  Registers result;
  for (size_t i = 0; i < registers.size(); i += count) {
    llvm::Value *vector = llvm::PoisonValue::get(
        llvm::FixedVectorType::get(registers[i]->getType(), static_cast<unsigned>(count)));
    for (size_t j = 0; j < count; ++j)
      vector = builder.CreateInsertElement(vector, registers[i + j], j);
    result.push_back(vector);
  }
  return result;
}

/// The types of what wgmma sums up in a loop.
llvm::SmallPtrSet<Type, 4> sumsOfWgmma(Operation *loop) {
  llvm::SmallPtrSet<Type, 4> types;
  loop->walk([&](tlg::WgmmaOp dot) { types.insert(dot.getType()); });
  return types;
}

/// Constants as values of their own, of which nothing is known: LLVM has one register for all equal
/// constants of a block, and makes it that of one sum where what follows the loop uses the sums. It
/// is another one than in the loop then, so that ptxas has no row of registers for both, and runs
/// every wgmma by itself (C7511).
void keepApart(Lowering &lowering, Registers &registers) {
  for (llvm::Value *&value : registers) {
    std::optional<llvm::APInt> bits;
    if (auto *number = llvm::dyn_cast<llvm::ConstantFP>(value))
      bits = number->getValueAPF().bitcastToAPInt();
    else if (auto *integer = llvm::dyn_cast<llvm::ConstantInt>(value))
      bits = integer->getValue();
    if (bits && bits->getBitWidth() == 32)
      value = lowering.assembly(
          value->getType(),
          llvm::formatv("mov.b32 $0, {0};", llvm::format_hex(bits->getZExtValue(), 10)).str(),
          value->getType()->isFloatTy() ? "=f" : "=r", {});
  }
}

/// Phis for the registers of each value, with one incoming edge from a block that is complete.
Phis makePhis(Lowering &lowering, ValueRange values, ValueRange initial, llvm::BasicBlock *from,
              const llvm::SmallPtrSet<Type, 4> &sums = {}) {
  llvm::IRBuilder<> &builder = lowering.builder();
  Phis phis;
  for (Value start : initial) {
    Registers incoming;
    {
      const llvm::IRBuilderBase::InsertPointGuard guard(builder);
      builder.SetInsertPoint(from->getTerminator());
      incoming = packed(lowering, lowering.get(start));
      if (sums.contains(start.getType()))
        keepApart(lowering, incoming);
    }
    auto &made = phis.emplace_back();
    for (llvm::Value *value : incoming) {
      made.push_back(builder.CreatePHI(value->getType(), 2));
      made.back()->addIncoming(value, from);
    }
  }
  for (auto [made, value, start] : llvm::zip(phis, values, initial)) {
    const size_t count = perPhi(lowering.get(start));
    Registers result;
    for (llvm::PHINode *phi : made)
      for (size_t j = 0; j < count; ++j)
        result.push_back(count == 1 ? phi : builder.CreateExtractElement(phi, j));
    lowering.set(value, result);
  }
  return phis;
}

void addIncoming(Lowering &lowering, const Phis &phis, ValueRange values, llvm::BasicBlock *from) {
  for (auto [registers, value] : llvm::zip(phis, values))
    for (auto [phi, incoming] : llvm::zip(registers, packed(lowering, lowering.get(value))))
      phi->addIncoming(incoming, from);
}

llvm::BasicBlock *newBlock(Lowering &lowering, const char *name) {
  return llvm::BasicBlock::Create(lowering.context(), name, &lowering.function());
}

/// Whether a loop loads and computes, each element by itself, some of it perhaps under conditions
/// (LLVM makes short ones predicates), and does nothing else.
bool onlyLoads(scf::ForOp loop) {
  const WalkResult result = loop->walk([&](Operation *op) {
    const bool isPlain = op == loop || isa<tl::LoadOp, scf::YieldOp, scf::IfOp>(op) ||
                         (op->getNumRegions() == 0 && isMemoryEffectFree(op));
    return isPlain ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

/// Whether a scalar is loaded, or computed of one that is.
bool isLoaded(Value scalar) {
  Operation *op = scalar.getDefiningOp();
  return op && (isa<tl::LoadOp>(op) || (op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
                                        llvm::any_of(op->getOperands(), isLoaded)));
}

/// What the blocks of a loop have.
struct Body {
  uint32_t instructions = 0, loads = 0;
};

/// Counts the blocks from `header` on.
Body bodySince(const llvm::BasicBlock *header) {
  Body body;
  for (auto block = header->getIterator(); block != header->getParent()->end(); ++block)
    for (const llvm::Instruction &instruction : *block) {
      const auto *call = dyn_cast<llvm::CallInst>(&instruction);
      const auto *text = call ? dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
      body.instructions += !isa<llvm::PHINode>(instruction);
      body.loads += isa<llvm::LoadInst>(instruction) ||
                    (text && llvm::StringRef(text->getAsmString()).contains("ld.global"));
    }
  return body;
}

/// How many iterations LLVM shall make one of; nothing where it or ptxas may decide. ptxas unrolls
/// no long loop that stores, but then loads that may pass the stores stand alone; of those that
/// only load it unrolls some. A short one that only loads a few numbers is unrolled as a whole, or
/// each iteration would wait for its own; LLVM does so up to 300 instructions.
std::optional<uint32_t> wishedUnrolling(Operation *loop, const llvm::BasicBlock *header) {
  constexpr int64_t kLong = 16;
  constexpr uint32_t kTogether = 4, kLoads = 8, kMostLoads = 16, kMostInstructions = 1024,
                     kMostUnrolled = 512;
  auto counted = dyn_cast<scf::ForOp>(loop);
  const std::optional<llvm::APInt> count = counted ? counted.getStaticTripCount() : std::nullopt;
  if (!count)
    return std::nullopt;
  const Body body = onlyLoads(counted) ? bodySince(header) : Body();
  if (count->slt(kLong)) {
    const auto iterations = static_cast<uint32_t>(count->getZExtValue());
    return iterations * body.loads != 0 && iterations * body.loads <= kMostLoads &&
                   iterations * body.instructions <= kMostInstructions
               ? std::optional(iterations)
               : std::nullopt;
  }
  const bool hasReadOnlyLoads = loop->walk([](tl::LoadOp load) {
                                      return load->hasAttr(kReadOnlyAttribute)
                                                 ? WalkResult::interrupt()
                                                 : WalkResult::advance();
                                    })
                                    .wasInterrupted();
  // No load passes a loop that stands between.
  const bool hasLoop = loop->walk([&](Operation *op) {
                             return op != loop && isa<scf::ForOp, scf::WhileOp>(op)
                                        ? WalkResult::interrupt()
                                        : WalkResult::advance();
                           })
                           .wasInterrupted();
  const uint32_t together = hasReadOnlyLoads && !hasLoop ? kTogether : 0;
  if (body.loads != 0 && body.loads < kLoads)
    return std::max(together, llvm::bit_floor(kLoads / body.loads));
  if (body.loads == 0 || together != 0)
    return together != 0 ? std::optional(together) : std::nullopt;
  // ptxas unrolls none of so many loads; what each adds to its address is then added once.
  return body.instructions * kTogether <= kMostUnrolled ? std::optional(kTogether) : std::nullopt;
}

/// Whether the blocks from `header` on have a barrier, a shuffle or the like.
bool isConvergentSince(const llvm::BasicBlock *header) {
  for (auto block = header->getIterator(); block != header->getParent()->end(); ++block)
    for (const llvm::Instruction &instruction : *block)
      if (const auto *call = dyn_cast<llvm::CallBase>(&instruction); call && call->isConvergent())
        return true;
  return false;
}

/// What LLVM can do of wishedUnrolling: it makes no rest of the iterations of a loop that has a
/// barrier or a shuffle, and unrolls as a whole, up to 16384 instructions, what it cannot unroll as
/// wished.
std::optional<uint32_t> possibleUnrolling(Operation *loop, const llvm::BasicBlock *header) {
  std::optional<uint32_t> wish = wishedUnrolling(loop, header);
  if (!wish || !isConvergentSince(header))
    return wish;
  const llvm::APInt count = *cast<scf::ForOp>(loop).getStaticTripCount();
  while (count.urem(*wish) != 0)
    --*wish;
  return *wish > 1 ? wish : std::nullopt;
}

/// Goes back to the header of `loop`, with the loop's wishes as LLVM's metadata.
void createBackEdge(Lowering &lowering, Operation *loop, llvm::BasicBlock *header) {
  llvm::BranchInst *again = lowering.builder().CreateBr(header);
  llvm::LLVMContext &context = lowering.context();
  llvm::SmallVector<llvm::Metadata *> parts{nullptr};
  if (loop->hasAttr(tl::kDisableLicmHint))
    parts.push_back(llvm::MDNode::get(context, llvm::MDString::get(context, "llvm.licm.disable")));
  if (const std::optional<uint32_t> count = possibleUnrolling(loop, header))
    parts.push_back(llvm::MDNode::get(
        context, {llvm::MDString::get(context, "llvm.loop.unroll.count"),
                  llvm::ConstantAsMetadata::get(lowering.builder().getInt32(*count))}));
  // ptxas brings loads of iterations together that it unrolls, and leaves alone what LLVM has.
  // Where an argument says how many there are, what LLVM has unrolled was quicker.
  if (auto counted = dyn_cast<scf::ForOp>(loop);
      counted && isLoaded(counted.getUpperBound()) && onlyLoads(counted))
    parts.push_back(llvm::MDNode::get(
        context, llvm::MDString::get(context, "llvm.loop.unroll.runtime.disable")));
  if (parts.size() == 1)
    return;
  llvm::MDNode *name = llvm::MDNode::getDistinct(context, parts);
  name->replaceOperandWith(0, name); // a loop's name is itself
  again->setMetadata(llvm::LLVMContext::MD_loop, name);
}

LogicalResult lowerFor(Lowering &lowering, Operation *op) {
  auto loop = cast<scf::ForOp>(op);
  llvm::IRBuilder<> &builder = lowering.builder();
  llvm::BasicBlock *before = builder.GetInsertBlock();
  llvm::BasicBlock *header = newBlock(lowering, "for"), *body = newBlock(lowering, "for.body"),
                   *after = newBlock(lowering, "for.end");
  llvm::Value *lower = lowering.scalar(loop.getLowerBound());
  builder.CreateBr(header);
  builder.SetInsertPoint(header);
  auto *counter = builder.CreatePHI(lower->getType(), 2, "i");
  counter->addIncoming(lower, before);
  lowering.set(loop.getInductionVar(), counter);
  const Phis phis =
      makePhis(lowering, loop.getRegionIterArgs(), loop.getInitArgs(), before, sumsOfWgmma(loop));
  llvm::SmallVector<Registers> carried;
  for (Value argument : loop.getRegionIterArgs())
    carried.emplace_back(lowering.get(argument));
  llvm::Value *upper = lowering.scalar(loop.getUpperBound());
  builder.CreateCondBr(loop.getUnsignedCmp() ? builder.CreateICmpULT(counter, upper)
                                             : builder.CreateICmpSLT(counter, upper),
                       body, after);
  builder.SetInsertPoint(body);
  if (failed(lowering.lowerBlock(*loop.getBody())))
    return failure();
  llvm::Value *next = builder.CreateAdd(counter, lowering.scalar(loop.getStep()), "",
                                        /*HasNUW=*/false, /*HasNSW=*/!loop.getUnsignedCmp());
  llvm::BasicBlock *last = builder.GetInsertBlock();
  counter->addIncoming(next, last);
  addIncoming(lowering, phis, loop.getYieldedValues(), last);
  createBackEdge(lowering, op, header);
  builder.SetInsertPoint(after);
  for (auto [result, registers] : llvm::zip(loop.getResults(), carried))
    lowering.set(result, registers);
  return success();
}

LogicalResult lowerWhile(Lowering &lowering, Operation *op) {
  auto loop = cast<scf::WhileOp>(op);
  llvm::IRBuilder<> &builder = lowering.builder();
  llvm::BasicBlock *before = builder.GetInsertBlock();
  llvm::BasicBlock *header = newBlock(lowering, "while"), *body = newBlock(lowering, "while.body"),
                   *after = newBlock(lowering, "while.end");
  builder.CreateBr(header);
  builder.SetInsertPoint(header);
  const Phis phis =
      makePhis(lowering, loop.getBeforeArguments(), loop.getInits(), before, sumsOfWgmma(loop));
  if (failed(lowering.lowerBlock(*loop.getBeforeBody())))
    return failure();
  auto condition = loop.getConditionOp();
  llvm::SmallVector<Registers> forwarded;
  for (Value value : condition.getArgs())
    forwarded.emplace_back(lowering.get(value));
  builder.CreateCondBr(lowering.scalar(condition.getCondition()), body, after);
  builder.SetInsertPoint(body);
  for (auto [argument, registers] : llvm::zip(loop.getAfterArguments(), forwarded))
    lowering.set(argument, registers);
  if (failed(lowering.lowerBlock(*loop.getAfterBody())))
    return failure();
  addIncoming(lowering, phis, loop.getYieldOp().getOperands(), builder.GetInsertBlock());
  createBackEdge(lowering, op, header);
  builder.SetInsertPoint(after);
  for (auto [result, registers] : llvm::zip(loop.getResults(), forwarded))
    lowering.set(result, registers);
  return success();
}

LogicalResult lowerIf(Lowering &lowering, Operation *op) {
  auto branch = cast<scf::IfOp>(op);
  llvm::IRBuilder<> &builder = lowering.builder();
  llvm::BasicBlock *then = newBlock(lowering, "then"), *otherwise = newBlock(lowering, "else"),
                   *after = newBlock(lowering, "end");
  builder.CreateCondBr(lowering.scalar(branch.getCondition()), then, otherwise);
  builder.SetInsertPoint(then);
  if (failed(lowering.lowerBlock(*branch.thenBlock())))
    return failure();
  llvm::SmallVector<Registers> yielded;
  for (Value value : branch.thenYield().getOperands())
    yielded.emplace_back(lowering.get(value));
  llvm::BasicBlock *thenEnd = builder.GetInsertBlock();
  builder.CreateBr(after);
  builder.SetInsertPoint(otherwise);
  if (Block *block = branch.elseBlock())
    if (failed(lowering.lowerBlock(*block)))
      return failure();
  llvm::BasicBlock *elseEnd = builder.GetInsertBlock();
  builder.CreateBr(after);
  builder.SetInsertPoint(after);
  for (auto [index, result] : llvm::enumerate(branch.getResults())) {
    Registers registers;
    llvm::ArrayRef<llvm::Value *> elseRegisters =
        lowering.get(branch.elseYield().getOperand(index));
    for (auto [a, b] : llvm::zip(yielded[index], elseRegisters)) {
      auto *phi = builder.CreatePHI(a->getType(), 2);
      phi->addIncoming(a, thenEnd);
      phi->addIncoming(b, elseEnd);
      registers.push_back(phi);
    }
    lowering.set(result, registers);
  }
  return success();
}

} // namespace

llvm::ArrayRef<LoweringRow> controlFlowRows() {
  static constexpr LoweringRow kRows[] = {
      {"scf.for", lowerFor},
      {"scf.if", lowerIf},
      {"scf.while", lowerWhile},
  };
  return kRows;
}

} // namespace blockscope::gpu
