// No op of the dialect is forgotten: each survives printing and parsing.
#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

using namespace blockscope;

namespace {

std::string textOf(mlir::ModuleOp module, bool isGeneric) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, mlir::OpPrintingFlags().printGenericOpForm(isGeneric));
  return text;
}

/// Prints and parses an elementwise op of one to three operands of a type, and back; false when
/// there is no such op of that name.
bool survivesParsing(llvm::StringRef name, mlir::MLIRContext &context) {
  for (const char *operands :
       {"(%x) : (T) -> T", "(%x, %x) : (T, T) -> T", "(%x, %x, %x) : (T, T, T) -> T"}) {
    const std::string op = "\"" + name.str() + "\"" + operands;
    std::string text = "func.func @f(%x: T) { %y = " + op + " return }";
    for (size_t at; (at = text.find('T')) != std::string::npos;)
      text.replace(at, 1, "tensor<4xf32>");
    const mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) {});
    const auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module)
      continue;
    const auto again = mlir::parseSourceString<mlir::ModuleOp>(textOf(*module, false), &context);
    return again && textOf(*again, true) == textOf(*module, true);
  }
  return false;
}

TEST(CompletenessTest, EveryOpOfTheDialectSurvivesParsing) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  tl::loadDialects(context);
  std::ifstream file(BLK_SOURCE_DIR "/tests/lit/round-trip.mlir");
  std::stringstream text;
  text << file.rdbuf();
  ASSERT_FALSE(text.str().empty());
  int checked = 0;
  for (const mlir::RegisteredOperationName name : context.getRegisteredOperations()) {
    if (name.getDialectNamespace() != "tl")
      continue;
    ++checked;
    const std::string op = name.getStringRef().str();
    EXPECT_TRUE(text.str().find(op) != std::string::npos || survivesParsing(op, context))
        << op << " is not in tests/lit/round-trip.mlir, and is no elementwise op that can be "
        << "printed and parsed without it";
  }
  EXPECT_GT(checked, 35);
}

TEST(CompletenessTest, BinaryOpsSurviveParsing) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  tl::loadDialects(context);
  EXPECT_TRUE(survivesParsing("tl.mulhiui", context));
  EXPECT_FALSE(survivesParsing("tl.nothing", context));
}

} // namespace
