// Rules of operators, shapes and memory: which ops come out, and which errors.
#include "tests/unit/semantic/recording_emitter.h"

#include <gtest/gtest.h>

namespace blockscope {
namespace {

using Names = std::vector<std::string>;

class RulesTest : public testing::Test {
protected:
  static Value value(DType dtype, llvm::ArrayRef<int64_t> shape = {}) {
    return RecordingEmitter::value(dtype, shape);
  }
  static Value pointer(DType dtype, llvm::ArrayRef<int64_t> shape = {}) {
    return RecordingEmitter::value(Type::get(dtype, shape).pointerTo());
  }
  std::string error() const { return semantic.failed() ? semantic.error().message : ""; }

  RecordingEmitter emitter;
  Semantic semantic{emitter};
};

TEST_F(RulesTest, SignednessChoosesTheOp) {
  semantic.binary(BinaryOp::FloorDiv, value(DType::Int32), value(DType::Int32));
  semantic.binary(BinaryOp::FloorDiv, value(DType::UInt32), value(DType::UInt32));
  semantic.binary(BinaryOp::Shr, value(DType::Int8), value(DType::Int8));
  semantic.binary(BinaryOp::Shr, value(DType::UInt8), value(DType::UInt8));
  EXPECT_EQ(emitter.names, (Names{"arith.divsi", "arith.divui", "arith.shrsi", "arith.shrui"}));
}

TEST_F(RulesTest, DivisionOfIntegersIsInFloat) {
  const Value result = semantic.binary(BinaryOp::TrueDiv, value(DType::Int64), value(DType::Int64));
  EXPECT_EQ(result.type.dtype, DType::Fp32);
  EXPECT_EQ(emitter.names, (Names{"tl.int_to_float", "tl.int_to_float", "arith.divf"}));
}

TEST_F(RulesTest, UnorderedOnlyForNotEqual) {
  semantic.compare(CompareOp::NotEqual, value(DType::Fp32), value(DType::Fp32));
  EXPECT_EQ(emitter.lastAttributes.getInt("predicate"), 13);
  semantic.compare(CompareOp::Less, value(DType::UInt32), value(DType::UInt32));
  EXPECT_EQ(emitter.lastAttributes.getInt("predicate"), 6);
}

TEST_F(RulesTest, BroadcastAddsLeadingDimensions) {
  const auto [a, b] = semantic.broadcast(value(DType::Int32, {8}), value(DType::Int32, {4, 1}));
  EXPECT_EQ(a.type.shape, (llvm::SmallVector<int64_t, 4>{4, 8}));
  EXPECT_EQ(b.type.shape, a.type.shape);
  EXPECT_EQ(emitter.names, (Names{"tl.expand_dims", "tl.broadcast", "tl.broadcast"}));
}

TEST_F(RulesTest, SameWidthCastEmitsNothing) {
  const Value cast = semantic.cast(value(DType::Int32, {8}), DType::UInt32);
  EXPECT_EQ(cast.type.dtype, DType::UInt32);
  EXPECT_TRUE(emitter.names.empty());
}

TEST_F(RulesTest, PointerMinusUnsignedWidensFirst) {
  semantic.binary(BinaryOp::Sub, pointer(DType::Fp32), value(DType::UInt32));
  EXPECT_EQ(emitter.names.front(), "arith.extui");
  EXPECT_EQ(emitter.names.back(), "tl.addptr");
  EXPECT_FALSE(emitter.lastAttributes.getBool("is_unsigned"));
}

TEST_F(RulesTest, BoolsAreLoadedAsBytes) {
  const Value flag = semantic.load(pointer(DType::Int1, {8}), {});
  EXPECT_EQ(flag.type, Type::get(DType::Int1, {8}));
  EXPECT_EQ(emitter.names.front(), "tl.bitcast");
  EXPECT_EQ(emitter.names.back(), "arith.cmpi");
}

TEST_F(RulesTest, ReductionsToAScalar) {
  const Value sum = semantic.reduceNamed(*findNamedCombine("add"), value(DType::Fp32, {4, 8}),
                                         std::nullopt, /*keepDims=*/false);
  EXPECT_EQ(sum.type, Type::get(DType::Fp32));
  EXPECT_EQ(emitter.names, (Names{"tl.reshape", "tl.reduce", "arith.addf"}));
}

TEST_F(RulesTest, TheFirstErrorStaysAndNothingMoreIsEmitted) {
  semantic.begin("tl.load");
  semantic.load(value(DType::Int32), {});
  semantic.arange(0, 3);
  semantic.programId(0);
  EXPECT_EQ(error(), "tl.load: pointer is int32, expected a pointer or a block of pointers");
  EXPECT_TRUE(emitter.names.empty());
  semantic.begin("tl.program_id");
  EXPECT_TRUE(semantic.programId(0));
}

TEST_F(RulesTest, MaskMustBeACondition) {
  Semantic::LoadOptions options;
  options.mask = value(DType::Int32, {8});
  semantic.load(pointer(DType::Fp32, {8}), options);
  EXPECT_EQ(error(), "mask is int32[8], expected int1 (a condition such as offsets < n)");
}

TEST_F(RulesTest, BlockShapes) {
  EXPECT_TRUE(semantic.checkBlockShape({1024, 1024}));
  EXPECT_FALSE(semantic.checkBlockShape({1024, 2048}));
  EXPECT_EQ(error(), "shape [1024, 2048] has more than 1048576 elements");
  semantic.begin("tl.zeros");
  EXPECT_FALSE(semantic.checkBlockShape({4, 3}));
  EXPECT_EQ(error(), "tl.zeros: Shape element 1 must be a power of 2; the shape is [4, 3]");
  EXPECT_EQ(semantic.error().sentence, "Shape element 1 must be a power of 2");
  semantic.begin("");
  EXPECT_FALSE(semantic.checkBlockShape({int64_t{1} << 62, int64_t{1} << 62}));
  semantic.begin("");
  EXPECT_FALSE(semantic.checkBlockShape({4, 0}));
}

} // namespace
} // namespace blockscope
