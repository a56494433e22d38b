// No op of the dialect is forgotten: each is in the round-trip test.
#include "core/ir/tl_dialect.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

using namespace blockscope;

namespace {

TEST(CompletenessTest, EveryOpOfTheDialectIsInTheRoundTripTest) {
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
    EXPECT_NE(text.str().find(name.getStringRef().str()), std::string::npos)
        << name.getStringRef().str();
  }
  EXPECT_GT(checked, 35);
}

} // namespace
