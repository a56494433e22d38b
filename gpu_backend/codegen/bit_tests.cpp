// Finds tests in either form, by the word that is tested and the number.
#include "gpu_backend/codegen/bit_tests.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Local.h"

#include <optional>
#include <utility>

namespace blockscope::gpu {
namespace {

using llvm::APInt;
using llvm::Value;
namespace match = llvm::PatternMatch;

/// `word` & (`bits` << (`number` + `constant`)), compared with 0.
struct BitTest {
  llvm::ICmpInst *compare;
  Value *word;
  APInt bits;
  Value *number;
  uint64_t constant;
};

/// The two parts of a distance that a word is shifted by. One that is not below the word's width
/// has no meaning, so extending a part as an unsigned number is as good as extending the sum.
std::pair<Value *, uint64_t> partsOf(Value *distance) {
  Value *narrow = distance;
  match::match(distance, match::m_ZExtOrSExt(match::m_Value(narrow)));
  Value *number = nullptr;
  const APInt *constant = nullptr;
  const bool isSum =
      match::match(narrow, match::m_DisjointOr(match::m_Value(number), match::m_APInt(constant))) ||
      match::match(narrow, match::m_NUWAdd(match::m_Value(number), match::m_APInt(constant)));
  if (isSum && constant->ult(64))
    return {number, constant->getZExtValue()};
  return {narrow, 0};
}

std::optional<BitTest> bitTestOf(llvm::Instruction &instruction) {
  auto *compare = llvm::dyn_cast<llvm::ICmpInst>(&instruction);
  if (!compare || !compare->isEquality() ||
      !match::match(compare->getOperand(1), match::m_ZeroInt()) ||
      !compare->getOperand(0)->getType()->isIntegerTy())
    return std::nullopt;
  Value *word = nullptr, *distance = nullptr;
  const APInt *bits = nullptr;
  const bool isTest =
      match::match(compare->getOperand(0),
                   match::m_c_And(match::m_Shl(match::m_APInt(bits), match::m_Value(distance)),
                                  match::m_Value(word))) ||
      match::match(compare->getOperand(0),
                   match::m_And(match::m_LShr(match::m_Value(word), match::m_Value(distance)),
                                match::m_APInt(bits)));
  if (!isTest || llvm::isa<llvm::Constant>(word) || llvm::isa<llvm::Constant>(distance))
    return std::nullopt;
  const auto [number, constant] = partsOf(distance);
  if (constant >= bits->getBitWidth())
    return std::nullopt;
  return BitTest{compare, word, *bits, number, constant};
}

/// A mask of two registers is two instructions to test, a bit of a constant place is one, so the
/// shift pays for itself. Of one register they are alike, and the shift is what fewer registers in
/// the loop cost.
size_t leastTests(const llvm::Type &word) { return word.getIntegerBitWidth() > 32 ? 3 : 8; }

} // namespace

void shareShiftsOfBitTests(llvm::Function &function) {
  for (llvm::BasicBlock &block : function) {
    llvm::MapVector<std::pair<Value *, Value *>, llvm::SmallVector<BitTest>> groups;
    for (llvm::Instruction &instruction : block)
      if (const std::optional<BitTest> test = bitTestOf(instruction))
        groups[{test->word, test->number}].push_back(*test);
    for (const auto &[key, tests] : groups) {
      const auto [word, number] = key;
      if (tests.size() < leastTests(*word->getType()))
        continue;
      llvm::IRBuilder<> builder(tests.front().compare);
      Value *shifted = builder.CreateLShr(word, builder.CreateZExtOrTrunc(number, word->getType()));
      for (const BitTest &test : tests) {
        builder.SetInsertPoint(test.compare);
        Value *before = test.compare->getOperand(0);
        test.compare->setOperand(
            0, builder.CreateAnd(shifted, builder.getInt(test.bits.shl(test.constant))));
        llvm::RecursivelyDeleteTriviallyDeadInstructions(before);
      }
    }
  }
}

} // namespace blockscope::gpu
