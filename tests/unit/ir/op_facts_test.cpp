// The facts of ops are complete and agree with the dialect: an op without facts, evaluator or
// lowering fails here, with what to add where.
#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/lowering/lowering.h"
#include "interpreter/evaluator.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <set>

using namespace blockscope;

namespace {

class OpFactsTest : public testing::Test {
protected:
  OpFactsTest() : context(mlir::MLIRContext::Threading::DISABLED) { tl::loadDialects(context); }

  /// The registered ops of a dialect.
  std::set<std::string> opsOf(llvm::StringRef dialect) {
    std::set<std::string> names;
    for (const mlir::RegisteredOperationName name : context.getRegisteredOperations())
      if (name.getDialectNamespace() == dialect)
        names.insert(name.getStringRef().str());
    return names;
  }

  mlir::MLIRContext context;
};

/// The op has no evaluator of its own: constants and combine regions are lowered by the builder,
/// and a scaled operand is its first operand there.
bool isBuiltIn(llvm::StringRef name) {
  return name == "arith.constant" || name == "tl.map" || name == "tl.reduce" || name == "tl.scan" ||
         name == "tl.yield" || name == "tl.scaled";
}

TEST_F(OpFactsTest, EveryOpOfTheDialectHasFacts) {
  const std::set<std::string> ops = opsOf("tl");
  EXPECT_GT(ops.size(), 35U);
  for (const std::string &name : ops)
    EXPECT_TRUE(findOpFacts(name)) << name << " has no facts: add its row to core/op_facts.def";
}

TEST_F(OpFactsTest, EveryRowNamesAnOp) {
  std::set<std::string> known;
  for (const char *dialect : {"tl", "arith", "math"})
    known.merge(opsOf(dialect));
  std::set<std::string> seen;
  for (const OpFacts *facts : allOpFacts()) {
    const std::string name = facts->name.str();
    EXPECT_TRUE(known.count(name)) << name << " of core/op_facts.def is no op: add its record to "
                                   << "core/ir/tl_ops.td";
    EXPECT_TRUE(seen.insert(name).second) << name << " has two rows in core/op_facts.def";
  }
  EXPECT_GT(seen.size(), 80U);
}

TEST_F(OpFactsTest, EveryRowHasAnEvaluator) {
  for (const OpFacts *facts : allOpFacts())
    EXPECT_NE(interpreter::EvaluatorTable::instance().contains(facts->name), isBuiltIn(facts->name))
        << facts->name.str() << " has no evaluator: add one to interpreter/ops/"
        << wordOf(facts->family).str() << ".cpp, or make its row one of those with a kernel";
  for (const std::string &name : interpreter::EvaluatorTable::instance().names())
    EXPECT_TRUE(findOpFacts(name))
        << name << " has an evaluator and no facts: add its row to core/op_facts.def";
}

TEST_F(OpFactsTest, EveryRowHasALowering) {
  for (const OpFacts *facts : allOpFacts())
    if (facts->name != "tl.yield")
      EXPECT_TRUE(gpu::findLowering(facts->name))
          << facts->name.str() << " is not lowered for the GPU: add its row to "
          << "gpu_backend/lowering/" << wordOf(facts->family).str() << ".cpp";
  for (const std::string &name : gpu::loweredOps())
    if (const llvm::StringRef dialect = llvm::StringRef(name).split('.').first;
        dialect == "tl" || dialect == "arith" || dialect == "math")
      EXPECT_TRUE(findOpFacts(name))
          << name << " is lowered and has no facts: add its row to core/op_facts.def";
}

TEST_F(OpFactsTest, ElementwiseOpsHaveTheTraitAndOthersDoNot) {
  for (const OpFacts *facts : allOpFacts()) {
    const mlir::OperationName name(facts->name, &context);
    EXPECT_EQ(name.hasTrait<mlir::OpTrait::Elementwise>(), facts->isElementwise)
        << facts->name.str() << ": core/op_facts.def and the trait Elementwise differ; records of "
        << "elementwise ops in core/ir/tl_ops.td begin with TL_ElementwiseOp or TL_BinaryOp";
  }
}

TEST_F(OpFactsTest, EffectsOnMemoryAreThoseOfTheDialect) {
  const mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceFile<mlir::ModuleOp>(BLK_SOURCE_DIR "/tests/lit/round-trip.mlir", &context);
  ASSERT_TRUE(module);
  std::set<llvm::StringRef> seen;
  module.get().walk([&](mlir::Operation *op) {
    const OpFacts *facts = tl::factsOf(op);
    if (!facts || op->getNumRegions() != 0)
      return;
    seen.insert(facts->name);
    EXPECT_EQ(mlir::isMemoryEffectFree(op), facts->memory == OpMemory::None) << facts->name.str();
    if (facts->reads())
      EXPECT_TRUE(mlir::hasEffect<mlir::MemoryEffects::Read>(op)) << facts->name.str();
    if (facts->writes())
      EXPECT_TRUE(mlir::hasEffect<mlir::MemoryEffects::Write>(op)) << facts->name.str();
  });
  EXPECT_GT(seen.size(), 35U);
}

TEST_F(OpFactsTest, NamedCombinesAreOpsThatCombine) {
  EXPECT_GT(allNamedCombines().size(), 6U);
  for (const NamedCombine &combine : allNamedCombines())
    for (const llvm::StringRef name :
         {combine.floats, combine.signedIntegers, combine.unsignedIntegers, combine.bools})
      if (!name.empty()) {
        const OpFacts *facts = findOpFacts(name);
        EXPECT_TRUE(facts && facts->combining)
            << "'" << combine.name.str() << "' is " << name.str()
            << ", whose row in core/op_facts.def is no BLK_INTEGER_COMBINE or BLK_FLOAT_COMBINE";
      }
}

} // namespace
