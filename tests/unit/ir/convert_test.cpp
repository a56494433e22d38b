// Types and attributes survive the way through MLIR and back.
#include "core/ir/convert.h"
#include "core/ir/ir_emitter.h"
#include "core/ir/tl_dialect.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace blockscope;

namespace {

TEST(ConvertTest, EveryStorageTypeRoundTrips) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  tl::loadDialects(context);
  int checked = 0;
  for (int i = 1; i <= static_cast<int>(DType::Fp64); ++i) {
    const Type scalar = Type::get(storageDType(static_cast<DType>(i)));
    for (const Type &type : {scalar, scalar.withShape({4, 8}), scalar.pointerTo(),
                             scalar.pointerTo().pointerTo().withShape({2})}) {
      EXPECT_EQ(fromMlirType(toMlirType(context, type)), type) << type.str();
      ++checked;
    }
  }
  EXPECT_EQ(checked, 4 * 18);
}

TEST(ConvertTest, AttributesOfAnOpHaveDefaultsAndNumbers) {
  IrEmitter emitter;
  const Type i32 = Type::get(DType::Int32);
  const ValueList arguments = emitter.beginFunction("f", {i32, i32.pointerTo()}, {});
  const Attributes predicate = {{"predicate", std::string("ult")}};
  const Value compared = emitter.emit(
      {"arith.cmpi", {arguments[0], arguments[0]}, predicate, {Type::get(DType::Int1)}})[0];
  const Value loaded =
      emitter.emit({"tl.load", {arguments[1], compared}, {{"has_mask", true}}, {i32}})[0];
  auto opOf = [](const Value &value) {
    return mlir::Value::getFromOpaquePointer(value.handle.get()).getDefiningOp();
  };
  EXPECT_EQ(attributesOf(opOf(compared)).getInt("predicate"), 6);
  const Attributes load = attributesOf(opOf(loaded));
  EXPECT_TRUE(load.getBool("has_mask"));
  EXPECT_FALSE(load.getBool("has_other", true));
  EXPECT_NE(load.find("is_volatile"), nullptr);
  const Value constant = emitter.intConstant(Type::get(DType::Int8), -3);
  EXPECT_EQ(attributesOf(opOf(constant)).getInt("value"), -3);
}

} // namespace
