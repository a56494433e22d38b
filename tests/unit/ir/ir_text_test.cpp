// What may be read as IR.
#include "core/ir/ir_text.h"
#include "core/ir/tl_dialect.h"

#include "mlir/IR/Diagnostics.h"

#include <gtest/gtest.h>

using namespace blockscope;

namespace {

std::string repeated(const std::string &text, int times) {
  std::string all;
  for (int time = 0; time < times; ++time)
    all += text;
  return all;
}

/// `levels` types, each of the one before it.
std::string aliases(int levels) {
  std::string text = "!t0 = tuple<i1>\n";
  for (int level = 1; level < levels; ++level)
    text += "!t" + std::to_string(level) + " = tuple<!t" + std::to_string(level - 1) + ">\n";
  return text;
}

TEST(IrTextTest, WhatIsNestedWithoutEndIsNotParsed) {
  for (const char bracket : {'(', '[', '{', '<'})
    EXPECT_EQ(problemOfText("\n" + std::string(100'000, bracket)),
              "line 2 is nested more than 500 deep");
  EXPECT_EQ(problemOfText(aliases(1'000)), "line 168 is nested more than 500 deep");
  EXPECT_NE(problemOfText("#a = affine_map<(d0) -> (d0" + repeated("+d0", 10'000) + ")>"), "");
}

TEST(IrTextTest, LongTextsThatAreNotDeepAreParsed) {
  EXPECT_EQ(problemOfText(repeated("%0 = \"a.b\"(%1) {x = [1, 2]} : (i1) -> i1\n", 100'000)), "");
  EXPECT_EQ(problemOfText(repeated("#l = loc(\"a\"(\"b\"))\n", 10'000)), "");
  EXPECT_EQ(problemOfText(repeated("// (((( [[[[\n\"((((\\\"[[[[\"\n", 10'000)), "");
  EXPECT_EQ(problemOfText(aliases(100)), "");
  EXPECT_EQ(problemOfText("#l = loc(\"a\")\n" + repeated("module {} loc(#l)\n", 10'000)), "");
}

TEST(IrTextTest, TheProblemIsAnErrorOfTheContext) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  tl::loadDialects(context);
  std::string error;
  const mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    error = diagnostic.str();
    return mlir::success();
  });
  EXPECT_FALSE(readModule(std::string(100'000, '('), context));
  EXPECT_EQ(error, "line 1 is nested more than 500 deep");
  EXPECT_TRUE(readModule("module {}", context));
}

} // namespace
