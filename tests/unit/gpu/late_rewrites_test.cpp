// Constants taken out of indices, sums moved into the starts of pointers, products that say that
// their factors have 32 bits, and steps of variables behind their uses.
#include "gpu_backend/codegen/late_values.h"
#include "gpu_backend/codegen/parallel_pointers.h"
#include "gpu_backend/codegen/scaled_constants.h"
#include "gpu_backend/codegen/wide_products.h"

#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>

namespace blockscope::gpu {
namespace {

using llvm::APInt;
using llvm::Value;

std::unique_ptr<llvm::Module> parsed(llvm::LLVMContext &context, llvm::StringRef text) {
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  EXPECT_TRUE(module) << error.getMessage().str();
  return module;
}

/// The numbers that a function of one block computes. What breaks a promise of an instruction is
/// poison.
class Evaluation {
public:
  explicit Evaluation(std::map<const Value *, APInt> arguments) : values_(std::move(arguments)) {}

  std::optional<APInt> returned(const llvm::Function &function) {
    for (const llvm::Instruction &instruction : function.getEntryBlock()) {
      if (const auto *end = llvm::dyn_cast<llvm::ReturnInst>(&instruction))
        return of(end->getReturnValue());
      if (isPoison(instruction))
        return std::nullopt;
      values_.insert({&instruction, computed(instruction)});
    }
    return std::nullopt;
  }

private:
  APInt of(const Value *value) const {
    if (const auto *constant = llvm::dyn_cast<llvm::ConstantInt>(value))
      return constant->getValue();
    return values_.at(value);
  }

  bool isPoison(const llvm::Instruction &instruction) const {
    if (const auto *disjoint = llvm::dyn_cast<llvm::PossiblyDisjointInst>(&instruction))
      return disjoint->isDisjoint() &&
             of(instruction.getOperand(0)).intersects(of(instruction.getOperand(1)));
    if (const auto *cast = llvm::dyn_cast<llvm::PossiblyNonNegInst>(&instruction))
      return cast->hasNonNeg() && of(instruction.getOperand(0)).isNegative();
    const auto *operation = llvm::dyn_cast<llvm::OverflowingBinaryOperator>(&instruction);
    if (!operation)
      return false;
    const APInt a = of(instruction.getOperand(0)), b = of(instruction.getOperand(1));
    bool isSigned = false, isUnsigned = false;
    switch (instruction.getOpcode()) {
    case llvm::Instruction::Add:
      (void)a.sadd_ov(b, isSigned), (void)a.uadd_ov(b, isUnsigned);
      break;
    case llvm::Instruction::Mul:
      (void)a.smul_ov(b, isSigned), (void)a.umul_ov(b, isUnsigned);
      break;
    default:
      (void)a.sshl_ov(b, isSigned), (void)a.ushl_ov(b, isUnsigned);
    }
    return (operation->hasNoSignedWrap() && isSigned) ||
           (operation->hasNoUnsignedWrap() && isUnsigned);
  }

  APInt computed(const llvm::Instruction &instruction) const {
    const APInt first = of(instruction.getOperand(0));
    switch (instruction.getOpcode()) {
    case llvm::Instruction::ZExt:
      return first.zext(64);
    case llvm::Instruction::SExt:
      return first.sext(64);
    case llvm::Instruction::Or:
      return first | of(instruction.getOperand(1));
    case llvm::Instruction::Add:
      return first + of(instruction.getOperand(1));
    case llvm::Instruction::Mul:
      return first * of(instruction.getOperand(1));
    case llvm::Instruction::Shl:
      return first << of(instruction.getOperand(1));
    default: { // an address
      const auto &address = llvm::cast<llvm::GetElementPtrInst>(instruction);
      const uint64_t size = address.getSourceElementType()->getPrimitiveSizeInBits() / 8;
      return first + of(address.getOperand(1)) * APInt(64, size);
    }
    }
  }

  std::map<const Value *, APInt> values_;
};

/// An index of random operations on arguments and constants.
class RandomIndex {
public:
  RandomIndex(llvm::IRBuilder<> &builder, llvm::Function &function, std::mt19937 &random)
      : builder_(builder), function_(function), random_(random) {}

  Value *make(bool isWide, int depth) {
    if (depth == 0)
      return leaf(isWide);
    switch (random_() % (isWide ? 6 : 4)) {
    case 0:
      return builder_.CreateOr(make(isWide, depth - 1), make(isWide, depth - 1), "", true);
    case 1: {
      const uint32_t flags = random_();
      return builder_.CreateAdd(make(isWide, depth - 1), make(isWide, depth - 1), "", flags & 1,
                                flags & 2);
    }
    case 2: {
      const uint32_t flags = random_();
      return builder_.CreateShl(make(isWide, depth - 1), random_() % 12, "", flags & 1, flags & 2);
    }
    case 3: {
      const uint32_t flags = random_();
      Value *factor = llvm::ConstantInt::get(type(isWide), 1 + random_() % 100);
      return builder_.CreateMul(make(isWide, depth - 1), factor, "", flags & 1, flags & 2);
    }
    case 4:
      return builder_.CreateZExt(make(false, depth - 1), type(true), "", random_() % 2);
    default:
      return builder_.CreateSExt(make(false, depth - 1), type(true));
    }
  }

private:
  llvm::Type *type(bool isWide) { return isWide ? builder_.getInt64Ty() : builder_.getInt32Ty(); }

  Value *leaf(bool isWide) {
    constexpr std::array<int64_t, 8> kConstants = {1, 2, 32, 64, 4096, -1, -64, INT32_MIN};
    if (random_() % 3 == 0)
      return llvm::ConstantInt::get(type(isWide), kConstants[random_() % kConstants.size()], true);
    return function_.getArg(1 + 2 * (random_() % 2) + isWide);
  }

  llvm::IRBuilder<> &builder_;
  llvm::Function &function_;
  std::mt19937 &random_;
};

/// Numbers of few bits, so that promises are often kept, and those at whose sums and products they
/// are barely kept.
APInt someNumber(unsigned width, std::mt19937 &random) {
  constexpr std::array<uint64_t, 6> kMasks = {0, 31, 96, 0xf00, 0x7fffffff, ~uint64_t{0}};
  uint64_t bits = (uint64_t{random()} << 32 | random()) & kMasks[random() % kMasks.size()];
  if (random() % 3 == 0)
    bits = (uint64_t{1} << random() % width) + random() % 128 - 64;
  return APInt(width, random() % 4 == 0 ? ~bits : bits, false, /*implicitTrunc=*/true);
}

TEST(ScaledConstants, AddressesStay) {
  std::mt19937 random(7);
  int compared = 0, changed = 0;
  for (int round = 0; round < 8000; ++round) {
    llvm::LLVMContext context;
    const auto module = parsed(context, "define ptr @f(ptr %p, i32 %a, i64 %b, i32 %c, i64 %d) {\n"
                                        "  ret ptr %p\n}\n");
    llvm::Function &function = *module->getFunction("f");
    llvm::Instruction *end = function.getEntryBlock().getTerminator();
    llvm::IRBuilder<> builder(end);
    Value *index = RandomIndex(builder, function, random).make(true, 2 + round % 4);
    llvm::Type *element = random() % 2 ? builder.getInt8Ty() : builder.getInt32Ty();
    end->setOperand(0, builder.CreateGEP(element, function.getArg(0), index));
    std::vector<std::map<const Value *, APInt>> arguments;
    std::vector<std::optional<APInt>> before;
    for (int sample = 0; sample < 40; ++sample) {
      std::map<const Value *, APInt> &made = arguments.emplace_back();
      for (const llvm::Argument &argument : function.args())
        made.insert({&argument, someNumber(argument.getType()->isIntegerTy(32) ? 32 : 64, random)});
      before.push_back(Evaluation(made).returned(function));
    }
    takeOutScaledConstants(function);
    ASSERT_FALSE(llvm::verifyFunction(function));
    const auto *outer = llvm::dyn_cast<llvm::GetElementPtrInst>(end->getOperand(0));
    changed += outer && llvm::isa<llvm::GetElementPtrInst>(outer->getPointerOperand());
    for (size_t sample = 0; sample < arguments.size(); ++sample)
      if (before[sample]) {
        ++compared;
        EXPECT_EQ(Evaluation(arguments[sample]).returned(function), before[sample]);
      }
  }
  EXPECT_GT(compared, 10000);
  EXPECT_GT(changed, 400);
}

/// The distances of the addresses that a function makes of another address.
std::vector<int64_t> distancesIn(const llvm::Function &function) {
  std::vector<int64_t> found;
  for (const llvm::Instruction &instruction : llvm::instructions(function))
    if (const auto *address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction))
      if (const auto *constant = llvm::dyn_cast<llvm::ConstantInt>(address->getOperand(1)))
        found.push_back(constant->getSExtValue());
  return found;
}

TEST(ScaledConstants, RowsOfAThreadAreOneAddress) {
  llvm::LLVMContext context;
  const auto module = parsed(context, R"(
define ptr @f(ptr %p, i32 %thread, i32 %program) {
  %row = and i32 %thread, 31
  %tile = shl i32 %program, 7
  %second = or disjoint i32 %row, 32
  %own = or disjoint i32 %second, %tile
  %wide = sext i32 %own to i64
  %offset = shl nsw i64 %wide, 11
  %address = getelementptr i8, ptr %p, i64 %offset
  ret ptr %address
})");
  takeOutScaledConstants(*module->getFunction("f"));
  EXPECT_EQ(distancesIn(*module->getFunction("f")), std::vector<int64_t>{32 << 11});
}

TEST(ScaledConstants, SumsThatMayWrapStay) {
  // Without its constant, a number that the shift just holds is too small for it.
  for (const llvm::StringRef sum : {"add", "add nsw"}) {
    llvm::LLVMContext context;
    const auto module = parsed(context, ("define ptr @f(ptr %p, i32 %row) {\n"
                                         "  %second = " +
                                         sum +
                                         " i32 %row, 32\n"
                                         "  %scaled = shl nsw i32 %second, 4\n"
                                         "  %wide = sext i32 %scaled to i64\n"
                                         "  %address = getelementptr i8, ptr %p, i64 %wide\n"
                                         "  ret ptr %address\n"
                                         "}\n")
                                            .str());
    takeOutScaledConstants(*module->getFunction("f"));
    EXPECT_TRUE(distancesIn(*module->getFunction("f")).empty());
  }
  llvm::LLVMContext context;
  const auto module = parsed(context, R"(
define ptr @f(ptr %p, i32 %row) {
  %second = add i32 %row, 32
  %wide = sext i32 %second to i64
  %offset = shl nsw i64 %wide, 11
  %address = getelementptr i8, ptr %p, i64 %offset
  ret ptr %address
})");
  takeOutScaledConstants(*module->getFunction("f"));
  EXPECT_TRUE(distancesIn(*module->getFunction("f")).empty());
}

/// The addresses that the loop of a function makes, beside its pointers.
size_t sumsInLoop(llvm::Function &function) {
  llvm::TargetLibraryInfoImpl info(function.getParent()->getTargetTriple());
  llvm::TargetLibraryInfo library(info);
  llvm::AssumptionCache assumptions(function);
  llvm::DominatorTree dominators(function);
  llvm::LoopInfo loops(dominators);
  llvm::ScalarEvolution evolution(function, library, assumptions, dominators, loops);
  moveSumsIntoStarts(loops, evolution);
  EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
  size_t count = 0;
  for (const llvm::Instruction &instruction : llvm::instructions(function))
    count += llvm::isa<llvm::GetElementPtrInst>(instruction) &&
             loops.getLoopFor(instruction.getParent());
  return count;
}

/// A loop over a pointer `%at`, which begins at `%start`, with these accesses.
std::string loopWith(llvm::StringRef accesses) {
  return ("define void @f(ptr %start, i64 %x, i64 %y, i32 %count) {\n"
          "entry:\n"
          "  br label %loop\n"
          "loop:\n"
          "  %at = phi ptr [ %start, %entry ], [ %next, %loop ]\n"
          "  %i = phi i32 [ 0, %entry ], [ %more, %loop ]\n" +
          accesses +
          "  %next = getelementptr i8, ptr %at, i64 128\n"
          "  %more = add i32 %i, 1\n"
          "  %again = icmp slt i32 %more, %count\n"
          "  br i1 %again, label %loop, label %end\n"
          "end:\n"
          "  ret void\n"
          "}\n")
      .str();
}

size_t sumsOf(llvm::StringRef accesses) {
  llvm::LLVMContext context;
  const auto module = parsed(context, loopWith(accesses));
  return sumsInLoop(*module->getFunction("f"));
}

TEST(SumsInStarts, OneNumberGoesIntoTheStart) {
  EXPECT_EQ(sumsOf("  %a = getelementptr i8, ptr %at, i64 %x\n  store i32 1, ptr %a\n"), 1U);
  EXPECT_EQ(sumsOf("  %a = getelementptr i8, ptr %at, i64 %x\n  store i32 1, ptr %a\n"
                   "  %b = getelementptr i8, ptr %at, i64 %x\n  store i32 2, ptr %b\n"),
            1U);
}

TEST(SumsInStarts, OneThatDiffersByAConstantIsADistance) {
  llvm::LLVMContext context;
  std::string text =
      loopWith("  %a = getelementptr i8, ptr %at, i64 %x\n  store i32 1, ptr %a\n"
               "  %b = getelementptr i8, ptr %at, i64 %far\n  store i32 2, ptr %b\n");
  text.insert(text.find("  br label %loop"), "  %far = add i64 %x, 4096\n");
  const auto module = parsed(context, text);
  EXPECT_EQ(sumsInLoop(*module->getFunction("f")), 2U);
  EXPECT_EQ(distancesIn(*module->getFunction("f")), (std::vector<int64_t>{-4096, 128}));
}

TEST(SumsInStarts, TwoNumbersStay) {
  EXPECT_EQ(sumsOf("  %a = getelementptr i8, ptr %at, i64 %x\n  store i32 1, ptr %a\n"
                   "  %b = getelementptr i8, ptr %at, i64 %y\n  store i32 2, ptr %b\n"),
            3U);
}

TEST(SumsInStarts, APointerThatIsUsedItselfStays) {
  EXPECT_EQ(sumsOf("  %a = getelementptr i8, ptr %at, i64 %x\n  store i32 1, ptr %a\n"
                   "  store i32 2, ptr %at\n"),
            2U);
}

TEST(SumsInStarts, WhatTheLoopChangesStays) {
  EXPECT_EQ(sumsOf("  %a = getelementptr i8, ptr %at, i32 %i\n  store i32 1, ptr %a\n"), 2U);
}

/// The assembly in the loop of a function that multiplies there by `factor`, which is made before
/// it.
std::string productOf(llvm::StringRef factor, llvm::StringRef widened) {
  llvm::LLVMContext context;
  const auto module = parsed(context, ("define void @f(ptr %p, i32 %x, i64 %y) {\n"
                                       "entry:\n" +
                                       factor +
                                       "  br label %loop\n"
                                       "loop:\n"
                                       "  %i = phi i32 [ 0, %entry ], [ %more, %loop ]\n" +
                                       widened +
                                       "  %product = mul i64 %i64, %factor\n"
                                       "  %a = getelementptr i8, ptr %p, i64 %product\n"
                                       "  store i32 1, ptr %a\n"
                                       "  %more = add i32 %i, 1\n"
                                       "  %again = icmp slt i32 %more, %x\n"
                                       "  br i1 %again, label %loop, label %end\n"
                                       "end:\n"
                                       "  ret void\n"
                                       "}\n")
                                          .str());
  llvm::Function &function = *module->getFunction("f");
  multiplyWide(function);
  EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
  for (const llvm::Instruction &instruction : llvm::instructions(function))
    if (const auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction))
      return llvm::cast<llvm::InlineAsm>(call->getCalledOperand())->getAsmString().str();
  return {};
}

TEST(WideProducts, FactorsOf32BitsFromElsewhere) {
  constexpr llvm::StringLiteral kSigned = "  %i64 = sext i32 %i to i64\n";
  constexpr llvm::StringLiteral kUnsigned = "  %i64 = zext i32 %i to i64\n";
  EXPECT_EQ(productOf("  %factor = sext i32 %x to i64\n", kSigned), "mul.wide.s32 $0, $1, $2;");
  EXPECT_EQ(productOf("  %factor = zext i32 %x to i64\n", kUnsigned), "mul.wide.u32 $0, $1, $2;");
  EXPECT_EQ(productOf("  %factor = and i64 %y, 4294967295\n", kUnsigned),
            "mul.wide.u32 $0, $1, $2;");
  // A factor of 33 bits, with its sign.
  EXPECT_EQ(productOf("  %factor = zext i32 %x to i64\n", kSigned), "");
  EXPECT_EQ(productOf("  %factor = shl i64 %y, 1\n", kSigned), "");
}

TEST(LateValues, VariablesOfLoopsWithWgmmaStepBehindTheirLastUse) {
  llvm::LLVMContext context;
  const auto module = parsed(context, R"(
    define void @f(ptr %p, i32 %n, i32 %step) {
    entry:
      br label %loop
    loop:
      %at = phi ptr [ %p, %entry ], [ %next, %loop ]
      %i = phi i32 [ 0, %entry ], [ %more, %loop ]
      %next = getelementptr i8, ptr %at, i64 64
      %more = add i32 %i, %step
      call void asm sideeffect "wgmma.mma_async", ""()
      store i32 %i, ptr %at
      %again = icmp slt i32 %more, %n
      br i1 %again, label %loop, label %end
    end:
      ret void
    })");
  llvm::Function &function = *module->getFunction("f");
  makeValuesLate(function);
  EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
  const llvm::BasicBlock &loop = *std::next(function.begin());
  const llvm::Instruction *end = loop.getTerminator();
  EXPECT_EQ(end->getPrevNode()->getName(), "next");
  // What the loop's end asks for stays in front of it.
  EXPECT_EQ(std::next(loop.begin(), 2)->getName(), "more");
}

} // namespace
} // namespace blockscope::gpu
