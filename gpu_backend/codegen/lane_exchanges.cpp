// The lane is the lowest five bits of the thread's number: blocks of threads have one dimension.
#include "gpu_backend/codegen/lane_exchanges.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/PatternMatch.h"

#include <optional>

namespace blockscope::gpu {
namespace {

using namespace llvm::PatternMatch;

constexpr uint64_t kLanes = 31;

/// The number that the lowest bits of `value` differ by from those of the thread's own number.
std::optional<uint64_t> flipOf(const llvm::Value *value) {
  const llvm::Value *inner = nullptr;
  const llvm::APInt *constant = nullptr;
  if (match(value, m_Intrinsic<llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x>()) ||
      match(value, m_Intrinsic<llvm::Intrinsic::nvvm_read_ptx_sreg_laneid>()))
    return 0;
  if (match(value, m_And(m_Value(inner), m_APInt(constant))))
    return (constant->getZExtValue() & kLanes) == kLanes ? flipOf(inner) : std::nullopt;
  if (match(value, m_Xor(m_Value(inner), m_APInt(constant))))
    if (const std::optional<uint64_t> flip = flipOf(inner))
      return *flip ^ (constant->getZExtValue() & kLanes);
  return std::nullopt;
}

} // namespace

void nameLaneExchanges(llvm::Function &function) {
  llvm::SmallVector<llvm::IntrinsicInst *> shuffles;
  for (llvm::Instruction &instruction : llvm::instructions(function))
    if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
        call && call->getIntrinsicID() == llvm::Intrinsic::nvvm_shfl_sync_idx_i32)
      shuffles.push_back(call);
  for (llvm::IntrinsicInst *shuffle : shuffles) {
    llvm::Value *members = shuffle->getArgOperand(0), *value = shuffle->getArgOperand(1);
    llvm::Value *bounds = shuffle->getArgOperand(3);
    const std::optional<uint64_t> flip = flipOf(shuffle->getArgOperand(2));
    if (!flip || !match(bounds, m_SpecificInt(kLanes)))
      continue;
    llvm::IRBuilder<> builder(shuffle);
    llvm::Value *exchange =
        builder.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, {},
                                {members, value, builder.getInt32(*flip), bounds});
    shuffle->replaceAllUsesWith(exchange);
    shuffle->eraseFromParent();
  }
}

} // namespace blockscope::gpu
