// The products are inline assembly, as LLVM would have casts beside them in front of the loop
// again.
#include "gpu_backend/codegen/wide_products.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

namespace blockscope::gpu {
namespace {

/// Whether instruction selection sees that `factor` of a product in `block` has 32 bits.
bool isSeen(const llvm::Value *factor, const llvm::BasicBlock *block) {
  const auto *cast = llvm::dyn_cast<llvm::CastInst>(factor);
  return llvm::isa<llvm::Constant>(factor) ||
         (cast && llvm::isa<llvm::ZExtInst, llvm::SExtInst>(cast) && cast->getParent() == block);
}

/// The type of 32 bits that both factors of a product fit into, or null.
const char *typeOfFactors(const llvm::BinaryOperator &product, const llvm::SimplifyQuery &query) {
  const llvm::SimplifyQuery here = query.getWithInstruction(&product);
  if (llvm::all_of(product.operands(), [&](const llvm::Use &factor) {
        return llvm::ComputeNumSignBits(factor, query.DL, here.AC, here.CxtI, here.DT) > 32;
      }))
    return "s32";
  if (llvm::all_of(product.operands(), [&](const llvm::Use &factor) {
        return llvm::computeKnownBits(factor, here).countMinLeadingZeros() >= 32;
      }))
    return "u32";
  return nullptr;
}

} // namespace

void multiplyWide(llvm::Function &function) {
  const llvm::SimplifyQuery query(function.getDataLayout());
  for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto *product = llvm::dyn_cast<llvm::BinaryOperator>(&instruction);
    if (!product || product->getOpcode() != llvm::Instruction::Mul ||
        !product->getType()->isIntegerTy(64) ||
        llvm::all_of(product->operands(),
                     [&](const llvm::Use &factor) { return isSeen(factor, product->getParent()); }))
      continue;
    const char *type = typeOfFactors(*product, query);
    if (!type)
      continue;
    llvm::IRBuilder<> builder(product);
    llvm::Type *word = builder.getInt32Ty();
    auto *assembly = llvm::InlineAsm::get(
        llvm::FunctionType::get(product->getType(), {word, word}, false),
        ("mul.wide." + llvm::Twine(type) + " $0, $1, $2;").str(), "=l,r,r", /*sideEffects=*/false);
    product->replaceAllUsesWith(
        builder.CreateCall(assembly, {builder.CreateTrunc(product->getOperand(0), word),
                                      builder.CreateTrunc(product->getOperand(1), word)}));
    product->eraseFromParent();
  }
}

} // namespace blockscope::gpu
