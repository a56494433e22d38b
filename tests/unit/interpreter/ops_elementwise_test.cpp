// Rules of arithmetic that a test by numbers alone would not show: edges, NaN, predicates.
#include "ops_testing.h"

#include <cmath>
#include <limits>

using namespace blockscope;
using namespace blockscope::interpreter;
using namespace blockscope::interpreter::testing;

namespace {

constexpr int32_t kMin = std::numeric_limits<int32_t>::min();

std::vector<int32_t> binaryInts(const char *name, std::vector<int32_t> x, std::vector<int32_t> y) {
  const auto n = static_cast<int64_t>(x.size());
  const Data out = run1(name, {makeInts({n}, x), makeInts({n}, y)}, Type::get(DType::Int32, {n}));
  return {out.as<int32_t>(), out.as<int32_t>() + n};
}
using Ints = std::vector<int32_t>;

TEST(ElementwiseTest, IntegerDivisionNeverTraps) {
  EXPECT_EQ(binaryInts("arith.divsi", {7, -7, 7, kMin, kMin}, {2, 2, 0, -1, 0}),
            (Ints{3, -3, 0, kMin, 0}));
  EXPECT_EQ(binaryInts("arith.remsi", {7, -7, 7, kMin, kMin}, {2, 2, 0, -1, 3}),
            (Ints{1, -1, 0, 0, -2}));
  EXPECT_EQ(binaryInts("arith.divui", {-1, 5}, {2, 0}), (Ints{0x7fffffff, 0}));
  EXPECT_EQ(binaryInts("arith.remui", {-1, 5}, {10, 0}), (Ints{5, 0}));
}

TEST(ElementwiseTest, DivisionThroughFloatsIsExact) {
  const int64_t n = 100000;
  for (const bool isSigned : {true, false}) {
    const Data x = randomBits(DType::Int32, {n}, 1), y = randomBits(DType::Int32, {n}, 2);
    const Data q = run1(isSigned ? "arith.divsi" : "arith.divui", {x, y}, x.type);
    const Data r = run1(isSigned ? "arith.remsi" : "arith.remui", {x, y}, x.type);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t a = isSigned ? int64_t(x.as<int32_t>()[i]) : int64_t(x.as<uint32_t>()[i]);
      const int64_t b = isSigned ? int64_t(y.as<int32_t>()[i]) : int64_t(y.as<uint32_t>()[i]);
      ASSERT_EQ(q.as<int32_t>()[i], static_cast<int32_t>(b ? a / b : 0)) << a << " / " << b;
      ASSERT_EQ(r.as<int32_t>()[i], static_cast<int32_t>(b ? a % b : 0)) << a << " % " << b;
    }
  }
  for (int a = -128; a < 128; ++a) { // all of int8
    std::vector<int8_t> xs(256, static_cast<int8_t>(a)), ys(256);
    for (int b = -128; b < 128; ++b)
      ys[b + 128] = static_cast<int8_t>(b);
    const Data x = makeData(DType::Int8, {256}, xs), y = makeData(DType::Int8, {256}, ys);
    const Data q = run1("arith.divsi", {x, y}, x.type), r = run1("arith.remui", {x, y}, x.type);
    for (int b = -128; b < 128; ++b) {
      ASSERT_EQ(q.as<int8_t>()[b + 128], static_cast<int8_t>(b ? a / b : 0));
      ASSERT_EQ(r.as<uint8_t>()[b + 128], b ? uint8_t(a) % uint8_t(b) : 0);
    }
  }
}

TEST(ElementwiseTest, ShiftsPastTheWidthAreDefined) {
  EXPECT_EQ(binaryInts("arith.shli", {1, 1, 1}, {31, 32, -1}), (Ints{kMin, 0, 0}));
  EXPECT_EQ(binaryInts("arith.shrsi", {-8, -8, 8}, {1, 99, 99}), (Ints{-4, -1, 0}));
  EXPECT_EQ(binaryInts("arith.shrui", {-1, -1}, {31, 32}), (Ints{1, 0}));
}

TEST(ElementwiseTest, BoolsComputeModuloTwo) {
  const Data x = makeData<uint8_t>(DType::Int1, {4}, {0, 0, 1, 1});
  const Data y = makeData<uint8_t>(DType::Int1, {4}, {0, 1, 0, 1});
  EXPECT_EQ(run1("arith.addi", {x, y}, x.type).bytes, (std::vector<char>{0, 1, 1, 0}));
  EXPECT_EQ(run1("arith.subi", {x, y}, x.type).bytes, (std::vector<char>{0, 1, 1, 0}));
  EXPECT_EQ(run1("arith.ori", {x, y}, x.type).bytes, (std::vector<char>{0, 1, 1, 1}));
  EXPECT_EQ(run1("arith.extsi", {x}, Type::get(DType::Int32, {4})).as<int32_t>()[3], -1);
  EXPECT_EQ(run1("arith.extui", {x}, Type::get(DType::Int32, {4})).as<int32_t>()[3], 1);
}

TEST(ElementwiseTest, MinimumAndMaximumKnowNanAndZero) {
  const Data x = makeFloats({4}, {NAN, 1, -0.0f, 2}), y = makeFloats({4}, {1, NAN, 0.0f, 3});
  const Data num = run1("arith.maxnumf", {x, y}, x.type);
  EXPECT_EQ(num.as<float>()[0], 1);
  EXPECT_EQ(num.as<float>()[1], 1);
  EXPECT_FALSE(std::signbit(num.as<float>()[2]));
  const Data propagated = run1("arith.minimumf", {x, y}, x.type);
  EXPECT_TRUE(std::isnan(propagated.as<float>()[0]) && std::isnan(propagated.as<float>()[1]));
  EXPECT_TRUE(std::signbit(propagated.as<float>()[2]));
  EXPECT_EQ(propagated.as<float>()[3], 2);
}

TEST(ElementwiseTest, PredicatesAsNumbersAndAsWords) {
  const Data x = makeFloats({3}, {1, 2, NAN}), y = makeFloats({3}, {2, 2, 1});
  const Type mask = Type::get(DType::Int1, {3});
  const auto compare = [&](Attribute predicate) {
    return run1("arith.cmpf", {x, y}, mask, {{"predicate", predicate}}).bytes;
  };
  EXPECT_EQ(compare(int64_t(4)), (std::vector<char>{1, 0, 0})); // olt
  EXPECT_EQ(compare(std::string("olt")), (std::vector<char>{1, 0, 0}));
  EXPECT_EQ(compare(std::string("une")), (std::vector<char>{1, 0, 1}));
  EXPECT_EQ(compare(std::string("ule")), (std::vector<char>{1, 1, 1}));
  EXPECT_EQ(compare(std::string("uno")), (std::vector<char>{0, 0, 1}));
  const Data a = makeInts({2}, {-1, 1}), b = makeInts({2}, {1, 1});
  const Type two = Type::get(DType::Int1, {2});
  EXPECT_EQ(run1("arith.cmpi", {a, b}, two, {{"predicate", std::string("slt")}}).bytes,
            (std::vector<char>{1, 0}));
  EXPECT_EQ(run1("arith.cmpi", {a, b}, two, {{"predicate", int64_t(6)}}).bytes,
            (std::vector<char>{0, 0})); // ult
}

TEST(ElementwiseTest, Bf16ComputesInFp32AndRoundsOnce) {
  const Data x = run1("tl.fp_cast", {makeFloats({4}, {1, 2, 3, 256})}, Type::get(DType::Bf16, {4}));
  const Data y = run1("tl.fp_cast", {makeFloats({4}, {1, 2, 3, 1})}, Type::get(DType::Bf16, {4}));
  const Data sum =
      run1("tl.fp_cast", {run1("arith.addf", {x, y}, x.type)}, Type::get(DType::Fp32, {4}));
  EXPECT_EQ(sum.as<float>()[0], 2);
  EXPECT_EQ(sum.as<float>()[2], 6);
  EXPECT_EQ(sum.as<float>()[3], 256); // 257 is a tie
}

TEST(ElementwiseTest, CastsSaturateAndRoundAsAsked) {
  const Data x = makeFloats({4}, {1.0f + 0x1p-11f + 0x1p-12f, 1e6f, -1e6f, NAN});
  const Type half = Type::get(DType::Fp16, {4});
  EXPECT_EQ(run1("tl.fp_cast", {x}, half).as<uint16_t>()[0], 0x3c01);
  EXPECT_EQ(run1("tl.fp_cast", {x}, half, {{"rounding", std::string("rtz")}}).as<uint16_t>()[0],
            0x3c00);
  EXPECT_EQ(run1("tl.fp_cast", {x}, half).as<uint16_t>()[1], 0x7c00);
  const Data e4 = run1("tl.fp_cast", {x}, Type::get(DType::Fp8E4M3NV, {4}));
  EXPECT_EQ(e4.as<uint8_t>()[1], 0x7e);
  EXPECT_EQ(e4.as<uint8_t>()[2], 0xfe);
  const Data n = run1("tl.float_to_int", {x}, Type::get(DType::Int32, {4}));
  EXPECT_EQ(n.as<int32_t>()[1], 1000000);
  EXPECT_EQ(n.as<int32_t>()[3], 0);
}

TEST(ElementwiseTest, UnsupportedTypesAreNamed) {
  const OpSignature signature{"arith.addi",
                              {Type::get(DType::Fp32, {4}), Type::get(DType::Fp32, {4})},
                              {Type::get(DType::Fp32, {4})},
                              {}};
  EXPECT_EQ(EvaluatorTable::instance().choose(signature).error,
            "arith.addi of fp32, fp32 to fp32 is not supported");
}

} // namespace
