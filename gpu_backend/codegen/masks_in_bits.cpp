// Block by block: where a group of loads ends, and which masks are used on both sides.
#include "gpu_backend/codegen/masks_in_bits.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"

namespace blockscope::gpu {
namespace {

using llvm::Instruction;
using llvm::Value;
using Builder = llvm::IRBuilder<>;

/// What an instruction of PTX does, as far as it is of interest here.
enum class Kind { Load, Store, Other };

struct Access {
  Kind kind = Kind::Other;
  Value *mask = nullptr;
};

/// The access of memory that lowering has written as "@$n ld.global...", or another instruction.
Access accessOf(const Instruction &instruction) {
  const auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  const auto *text = call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
  if (!text)
    return {llvm::isa<llvm::StoreInst>(instruction) ? Kind::Store : Kind::Other};
  llvm::StringRef line = text->getAsmString();
  const bool isMasked = line.consume_front("@$");
  if (isMasked)
    line = line.drop_while([](char c) { return c != ' '; }).ltrim();
  if (!line.contains(".global"))
    return {};
  const Kind kind = line.starts_with("ld.")   ? Kind::Load
                    : line.starts_with("st.") ? Kind::Store
                                              : Kind::Other;
  Value *last = call->arg_empty() ? nullptr : call->getArgOperand(call->arg_size() - 1);
  const bool hasMask = isMasked && last && last->getType()->isIntegerTy(1);
  return {kind, hasMask && !llvm::isa<llvm::Constant>(last) ? last : nullptr};
}

/// Loads of a block that can all be in flight at once, by their masks, and the last one of them.
struct LoadGroup {
  llvm::SmallSetVector<Value *, 16> masks;
  Instruction *last = nullptr;
  unsigned bits = 0; ///< of what they load
};

/// The uses of a mask in the block of `place`, behind it.
llvm::SmallVector<llvm::Use *> usesBehind(Value *mask, const Instruction *place) {
  llvm::SmallVector<llvm::Use *> uses;
  for (llvm::Use &use : mask->uses()) {
    auto *user = llvm::dyn_cast<Instruction>(use.getUser());
    if (user && user->getParent() == place->getParent() && !llvm::isa<llvm::PHINode>(user) &&
        place->comesBefore(user))
      uses.push_back(&use);
  }
  return uses;
}

constexpr unsigned kWordBits = 32;

/// A word with one more bit where `mask` holds. Nobody sees through it, so nobody keeps the mask.
Value *withBit(Builder &builder, Value *word, Value *mask, unsigned bit) {
  llvm::Type *type = builder.getInt32Ty();
  auto *signature = llvm::FunctionType::get(type, {type, builder.getInt1Ty()}, false);
  const std::string text = "@$2 or.b32 $0, $0, " + std::to_string(1U << bit) + ";";
  return builder.CreateCall(llvm::InlineAsm::get(signature, text, "=r,0,b", false), {word, mask});
}

/// Keeps the masks of `group` that are used behind it, if they are many.
void keepInBits(const LoadGroup &group) {
  constexpr size_t kMostMasks = 5; // predicate registers, less two for what is computed
  constexpr unsigned kMostBits = 64 * kWordBits; // more in flight at once means spills
  llvm::SmallVector<std::pair<Value *, llvm::SmallVector<llvm::Use *>>> kept;
  if (group.masks.size() <= kMostMasks || group.bits > kMostBits)
    return;
  for (Value *mask : group.masks)
    if (auto uses = usesBehind(mask, group.last); !uses.empty())
      kept.emplace_back(mask, std::move(uses));
  if (kept.size() <= kMostMasks)
    return;
  // Where each is read: before its first use.
  llvm::SmallVector<Instruction *> places;
  for (const auto &[mask, uses] : kept) {
    auto *first = llvm::cast<Instruction>(uses.front()->getUser());
    for (const llvm::Use *use : uses)
      if (auto *user = llvm::cast<Instruction>(use->getUser()); user->comesBefore(first))
        first = user;
    places.push_back(first);
  }
  Builder builder(group.last->getNextNode());
  llvm::SmallVector<Value *> words;
  for (auto [i, entry] : llvm::enumerate(kept)) {
    if (i % kWordBits == 0)
      words.push_back(builder.getInt32(0));
    words.back() = withBit(builder, words.back(), entry.first, i % kWordBits);
  }
  for (auto [i, entry] : llvm::enumerate(kept)) {
    builder.SetInsertPoint(places[i]);
    Value *mask = builder.CreateIsNotNull(
        builder.CreateAnd(words[i / kWordBits], uint64_t{1} << (i % kWordBits)));
    for (llvm::Use *use : entry.second)
      use->set(mask);
  }
}

unsigned bitsOf(llvm::Type *type) {
  auto *parts = llvm::dyn_cast<llvm::StructType>(type);
  if (!parts)
    return type->getPrimitiveSizeInBits();
  unsigned bits = 0;
  for (llvm::Type *part : parts->elements())
    bits += bitsOf(part);
  return bits;
}

/// A group ends at a store, and where a load's address depends on its loads.
void keepMasksInBits(llvm::BasicBlock &block) {
  LoadGroup group;
  llvm::DenseSet<const Value *> loaded;
  const auto finish = [&] {
    keepInBits(group);
    group = {};
    loaded.clear();
  };
  for (Instruction &instruction : block) {
    const bool depends = llvm::any_of(instruction.operands(), [&](const llvm::Use &operand) {
      return loaded.contains(operand.get());
    });
    const Kind kind = accessOf(instruction).kind;
    const bool isLoad = kind == Kind::Load;
    if (group.last && (kind == Kind::Store || (isLoad && depends)))
      finish();
    if (Value *mask = accessOf(instruction).mask; mask && isLoad) {
      group.masks.insert(mask);
      group.last = &instruction;
    }
    if (isLoad)
      group.bits += bitsOf(instruction.getType());
    if (isLoad || depends)
      loaded.insert(&instruction);
  }
  if (group.last)
    finish();
}

} // namespace

void keepMasksInBits(llvm::Function &function) {
  const llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  for (llvm::BasicBlock &block : function)
    if (!loops.getLoopFor(&block))
      keepMasksInBits(block);
}

} // namespace blockscope::gpu
