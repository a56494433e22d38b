// The rules of undefined data, held to their meaning: every choice of the undefined bits is tried,
// and what the op's own evaluator then gives may differ only in bits that the rule calls undefined.
#include "interpreter/evaluator.h"
#include "sanitizer/undefined/rules.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace blockscope::sanitizer {
namespace {

struct Operand {
  uint64_t value = 0, undefined = 0;
};

/// An elementwise op over blocks of one element; operands and result of up to 8 bytes.
class OneElement {
public:
  OneElement(llvm::StringRef name, llvm::ArrayRef<DType> operands, DType result,
             Attributes attributes = {}) {
    signature_.name = name;
    signature_.attributes = std::move(attributes);
    for (const DType dtype : operands)
      signature_.operands.push_back(Type::get(dtype, {1}));
    signature_.results.push_back(Type::get(result, {1}));
    const EvaluatorOrError chosen = interpreter::EvaluatorTable::instance().choose(signature_);
    EXPECT_EQ(chosen.error, "");
    evaluator_ = chosen.evaluator;
  }

  uint64_t run(llvm::ArrayRef<Operand> operands) const {
    uint64_t out = 0;
    llvm::SmallVector<const void *, 3> in;
    for (const Operand &operand : operands)
      in.push_back(&operand.value);
    void *const results[] = {&out};
    evaluator_.elementwise(1, 0, results, in.data(), 0, evaluator_.payload.get());
    return out;
  }

  /// The bits that differ between two choices of the undefined ones.
  uint64_t differing(llvm::ArrayRef<Operand> operands) const {
    llvm::SmallVector<std::pair<size_t, int>, 16> free;
    for (size_t i = 0; i < operands.size(); ++i)
      for (int bit = 0; bit < 64; ++bit)
        if (operands[i].undefined >> bit & 1)
          free.push_back({i, bit});
    const uint64_t base = run(operands);
    uint64_t differing = 0;
    for (uint64_t choice = 0; choice < uint64_t{1} << free.size(); ++choice) {
      llvm::SmallVector<Operand, 3> chosen(operands);
      for (size_t k = 0; k < free.size(); ++k)
        chosen[free[k].first].value ^= (choice >> k & 1) << free[k].second;
      differing |= run(chosen) ^ base;
    }
    return differing;
  }

  /// The bits that the rule calls undefined.
  uint64_t ruled(llvm::ArrayRef<Operand> operands) const {
    OpInfo op;
    op.name = signature_.name.str();
    LaunchInfo launch;
    OriginTable origins(launch);
    ShadowValues shadows;
    Moves moves;
    uint64_t out = run(operands);
    llvm::SmallVector<ValueView, 3> views;
    for (size_t i = 0; i < operands.size(); ++i) {
      views.push_back({&operands[i].value, &signature_.operands[i], ValueView::Extent::Strip});
      if (operands[i].undefined)
        shadows.set(&operands[i].value,
                    {0, {origins.after(op, kDefined)}, {operands[i].undefined}});
    }
    const ValueView result{&out, &signature_.results[0], ValueView::Extent::Strip};
    followOp({&op, &signature_, 0, 0, 0, 1, views, result, {}}, shadows, origins, moves);
    return ShadowedView(result, shadows).undefinedBits(0);
  }

  int width(size_t operand) const {
    const Type &type = signature_.operands[operand];
    return type.isBool() ? 1 : type.elementBytes() * 8;
  }
  size_t operands() const { return signature_.operands.size(); }

private:
  interpreter::OpSignature signature_;
  interpreter::Evaluator evaluator_;
};

struct Case {
  std::string name;
  std::vector<DType> operands;
  DType result;
  bool isExact; ///< the rule calls no other bit undefined
  Attributes attributes = {};
};

std::vector<Case> cases() {
  using enum DType;
  std::vector<Case> all;
  for (const char *name : {"arith.andi", "arith.ori", "arith.xori"})
    for (const DType dtype : {Int1, Int8, Int32})
      all.push_back({name, {dtype, dtype}, dtype, true});
  for (const char *name : {"arith.addi", "arith.subi", "arith.muli", "arith.maxsi", "arith.minui"})
    for (const DType dtype : {Int8, Int32, Int64})
      all.push_back({name, {dtype, dtype}, dtype, false});
  for (const char *name : {"arith.shli", "arith.shrui", "arith.shrsi"})
    all.push_back({name, {Int8, Int8}, Int8, false});
  for (const char *predicate : {"eq", "ne"})
    all.push_back(
        {"arith.cmpi", {Int8, Int8}, Int1, true, {{"predicate", std::string(predicate)}}});
  for (const char *predicate : {"slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"})
    all.push_back(
        {"arith.cmpi", {Int8, Int8}, Int1, true, {{"predicate", std::string(predicate)}}});
  all.push_back({"arith.select", {Int1, Int8, Int8}, Int8, true});
  all.push_back({"arith.extsi", {Int8}, Int32, true});
  all.push_back({"arith.extui", {Int8}, Int32, true});
  all.push_back({"arith.trunci", {Int32}, Int8, true});
  all.push_back({"arith.divui", {Int8, Int8}, Int8, false});
  all.push_back({"arith.addf", {Fp32, Fp32}, Fp32, false});
  return all;
}

TEST(UndefinedRules, NoBitIsCalledDefinedThatMayDiffer) {
  std::mt19937_64 random(7);
  for (const Case &each : cases()) {
    const OneElement op(each.name, each.operands, each.result, each.attributes);
    for (int trial = 0; trial < 400; ++trial) {
      llvm::SmallVector<Operand, 3> operands(op.operands());
      for (size_t i = 0; i < operands.size(); ++i) {
        const uint64_t mask = ~uint64_t{0} >> (64 - op.width(i));
        // Small and sparse numbers are where rules have something to say.
        operands[i].value = random() & (random() % 3 == 0 ? random() & 3 : random()) & mask;
        for (uint64_t bits = random() % 4; bits > 0; --bits)
          operands[i].undefined |= uint64_t{1} << (random() % static_cast<uint64_t>(op.width(i)));
      }
      const uint64_t differing = op.differing(operands), ruled = op.ruled(operands);
      const auto told = [&] {
        std::string text = each.name;
        for (const Operand &operand : operands)
          text += " " + std::to_string(operand.value) + "/" + std::to_string(operand.undefined);
        return text + ": differing " + std::to_string(differing) + ", ruled " +
               std::to_string(ruled);
      };
      ASSERT_EQ(differing & ~ruled, 0U) << told();
      if (each.isExact)
        ASSERT_EQ(ruled, differing) << told();
    }
  }
}

TEST(UndefinedRules, AddAndMultiplyKeepTheLowBitsThatCannotDiffer) {
  const OneElement add("arith.addi", {DType::Int8, DType::Int8}, DType::Int8);
  EXPECT_EQ(add.ruled({{0, 8}, {3, 0}}), 8U);
  EXPECT_EQ(add.ruled({{0, 1}, {1, 0}}), 3U);
  const OneElement mul("arith.muli", {DType::Int8, DType::Int8}, DType::Int8);
  EXPECT_EQ(mul.ruled({{0, 255}, {0, 0}}), 0U);
  EXPECT_EQ(mul.ruled({{0, 255}, {16, 0}}), 0xf0U);
}

} // namespace
} // namespace blockscope::sanitizer
