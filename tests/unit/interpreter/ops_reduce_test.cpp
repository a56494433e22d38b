// Orders of reductions and scans; sort, histogram, gather and the shape ops.
#include "ops_testing.h"

#include "core/numeric/scalar.h"
#include "core/op_facts.h"
#include "interpreter/ops/reduce_order.h"
#include "interpreter/simd/kernels.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace blockscope;
using namespace blockscope::interpreter;
using namespace blockscope::interpreter::testing;

namespace {

/// The documented order, element by element, as a reference.
float reduceByHalves(std::vector<float> values) {
  for (size_t half = values.size() / 2; half >= 1; half /= 2)
    for (size_t i = 0; i < half; ++i)
      values[i] = values[i] + values[i + half];
  return values[0];
}

/// Combines with an op of the table, lane by lane.
struct OpCombine {
  llvm::StringRef name;
  DType dtype;
  void operator()(int64_t n, void *const *out, const void *const *lhs,
                  const void *const *rhs) const {
    Data x(Type::get(dtype, {n})), y(Type::get(dtype, {n}));
    std::memcpy(x.bytes.data(), lhs[0], x.bytes.size());
    std::memcpy(y.bytes.data(), rhs[0], y.bytes.size());
    const Data result = run1(name, {x, y}, x.type);
    std::memcpy(out[0], result.bytes.data(), result.bytes.size());
  }
};

std::vector<const OpFacts *> combiningOps() {
  std::vector<const OpFacts *> combining;
  for (const OpFacts *facts : allOpFacts())
    if (facts->combining)
      combining.push_back(facts);
  EXPECT_GT(combining.size(), 14U);
  return combining;
}

std::vector<DType> dtypesOf(const OpFacts &facts) {
  if (facts.operands == Operands::Floats)
    return {DType::Fp32, DType::Fp64, DType::Fp16, DType::Bf16};
  return {DType::Int1, DType::Int8, DType::Int16, DType::Int32, DType::Int64};
}

/// A block of the identity that the facts of a combine give.
Data identityOf(const OpFacts &facts, DType dtype, int64_t count) {
  const bool isSigned = facts.operands == Operands::Signed;
  const int bits = bitWidth(dtype);
  Data data(Type::get(dtype, {count}));
  for (int64_t i = 0; i < count; ++i) {
    char *element = data.bytes.data() + i * byteSize(dtype);
    const auto setInt = [&](int64_t value) { numeric::writeInt(dtype, value, element); };
    const auto setFloat = [&](double value) { numeric::writeDouble(dtype, value, element); };
    switch (facts.combining->identity) {
    case Identity::Zero:
      setInt(0);
      break;
    case Identity::NegativeZero:
      setFloat(-0.0);
      break;
    case Identity::One:
      isFloating(dtype) ? setFloat(1) : setInt(1);
      break;
    case Identity::AllOnes:
      setInt(-1);
      break;
    case Identity::Least:
      isFloating(dtype) ? setFloat(-INFINITY) : setInt(isSigned ? INT64_MIN >> (64 - bits) : 0);
      break;
    case Identity::Greatest:
      isFloating(dtype) ? setFloat(INFINITY) : setInt(isSigned ? INT64_MAX >> (64 - bits) : -1);
      break;
    case Identity::NaN:
      setFloat(NAN);
      break;
    }
  }
  return data;
}

TEST(CombiningTest, TheIdentityLeavesTheOtherOperand) {
  for (const OpFacts *facts : combiningOps())
    for (const DType dtype : dtypesOf(*facts)) {
      const Data x = isFloating(dtype) ? randomFloats(dtype, {64}, 1) : randomBits(dtype, {64}, 1);
      const Data identity = identityOf(*facts, dtype, 64);
      EXPECT_TRUE(sameBits(run1(facts->name, {x, identity}, x.type), x)) << facts->name.str();
      EXPECT_TRUE(sameBits(run1(facts->name, {identity, x}, x.type), x)) << facts->name.str();
    }
}

TEST(CombiningTest, AnyOrderGivesTheSameBitsWhereTheFactsSaySo) {
  for (const OpFacts *facts : combiningOps())
    for (const DType dtype : dtypesOf(*facts)) {
      const auto make = [&](int seed) {
        return isFloating(dtype) ? randomFloats(dtype, {512}, seed)
                                 : randomBits(dtype, {512}, seed);
      };
      const auto combined = [&](const Data &a, const Data &b) {
        return run1(facts->name, {a, b}, a.type);
      };
      const Data x = make(1), y = make(2);
      // Products of fp64 have more bits than the sums of these numbers take.
      const Data z = isFloating(dtype) ? run1("arith.mulf", {make(3), make(4)}, x.type) : make(3);
      EXPECT_TRUE(sameBits(combined(x, y), combined(y, x))) << facts->name.str();
      EXPECT_EQ(combined(combined(x, y), z).bytes == combined(x, combined(y, z)).bytes,
                facts->combining->isAnyOrder)
          << facts->name.str() << " of " << dtypeName(dtype).str();
    }
}

TEST(ReduceTest, SumFollowsTheHalves) {
  for (int64_t n = 1; n <= 16384; n *= 2) {
    const Data x = randomFloats(DType::Fp32, {n}, n);
    const Evaluator sum = chooseKnownReduce("arith.addf", x.type, 0);
    const Data result = runBlock(sum, x, Type::get(DType::Fp32));
    EXPECT_EQ(*result.as<float>(), reduceByHalves({x.as<float>(), x.as<float>() + n})) << n;
  }
}

TEST(ReduceTest, KnownCombinesEqualCustomOnesOnEveryAxisAndInstructionSet) {
  const IsaScope scope;
  const std::vector<std::vector<int64_t>> shapes = {{1},     {2},        {64},
                                                    {8, 16}, {4, 2, 32}, {1, 256, 1}};
  for (const OpFacts *facts : combiningOps())
    for (const DType dtype : dtypesOf(*facts))
      for (const auto &shape : shapes)
        for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
          const Data x =
              isFloating(dtype) ? randomFloats(dtype, shape, axis) : randomBits(dtype, shape, axis);
          std::vector<int64_t> left = shape;
          left.erase(left.begin() + axis);
          Data expected(Type::get(dtype, left));
          void *const out[1] = {expected.bytes.data()};
          const void *const in[1] = {x.bytes.data()};
          setIsa(Isa::Baseline);
          const OpCombine combine{facts->name, dtype};
          reduceBlocks(x.type, axis, out, in, combine);
          for (const Isa isa : instructionSets()) {
            setIsa(isa);
            EXPECT_TRUE(sameBits(
                runBlock(chooseKnownReduce(facts->name, x.type, axis), x, expected.type), expected))
                << facts->name.str() << " axis " << axis << " of " << shape.size();
          }
        }
}

TEST(ReduceTest, SeveralValuesReduceTogether) {
  const std::vector<int64_t> shape = {2, 8};
  const Data x = makeFloats(shape, {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3});
  std::vector<int32_t> numbers(16);
  for (int i = 0; i < 16; ++i)
    numbers[i] = i % 8;
  const Data index = makeInts(shape, numbers);
  Data best(Type::get(DType::Fp32, {2})), where(Type::get(DType::Int32, {2}));
  void *const out[2] = {best.bytes.data(), where.bytes.data()};
  const void *const in[2] = {x.bytes.data(), index.bytes.data()};
  const Type types[2] = {x.type, index.type};
  reduceBlocks(types, 1, out, in,
               [](int64_t n, void *const *o, const void *const *l, const void *const *r) {
                 for (int64_t i = 0; i < n; ++i) {
                   const float a = static_cast<const float *>(l[0])[i];
                   const float b = static_cast<const float *>(r[0])[i];
                   const int32_t p = static_cast<const int32_t *>(l[1])[i];
                   const int32_t q = static_cast<const int32_t *>(r[1])[i];
                   const bool left = a > b || (a == b && p < q);
                   static_cast<float *>(o[0])[i] = left ? a : b;
                   static_cast<int32_t *>(o[1])[i] = left ? p : q;
                 }
               });
  EXPECT_EQ(best.as<float>()[0], 9);
  EXPECT_EQ(where.as<int32_t>()[0], 5);
  EXPECT_EQ(best.as<float>()[1], 9);
  EXPECT_EQ(where.as<int32_t>()[1], 4); // the first of two
}

TEST(ReduceTest, MaximumIgnoresOrPropagatesNan) {
  const Data x = makeFloats({4}, {1, NAN, 3, 2});
  EXPECT_EQ(*runBlock(chooseKnownReduce("arith.maxnumf", x.type, 0), x, Type::get(DType::Fp32))
                 .as<float>(),
            3);
  EXPECT_TRUE(std::isnan(
      *runBlock(chooseKnownReduce("arith.maximumf", x.type, 0), x, Type::get(DType::Fp32))
           .as<float>()));
}

TEST(ScanTest, IntegersEqualTheRunningSum) {
  const std::vector<std::vector<int64_t>> shapes = {{1}, {64}, {4, 16}, {2, 8, 4}};
  for (const auto &shape : shapes)
    for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis)
      for (const bool reverse : {false, true}) {
        const Data x = randomBits(DType::Int32, shape, 3);
        const Data out = runBlock(chooseKnownScan("arith.addi", x.type, axis, reverse), x, x.type);
        const AxisSplit split = splitAtAxis(shape, axis);
        for (int64_t o = 0; o < split.outer; ++o)
          for (int64_t j = 0; j < split.inner; ++j) {
            uint32_t sum = 0;
            for (int64_t step = 0; step < split.length; ++step) {
              const int64_t i = reverse ? split.length - 1 - step : step;
              const int64_t at = (o * split.length + i) * split.inner + j;
              sum += x.as<uint32_t>()[at];
              ASSERT_EQ(out.as<uint32_t>()[at], sum);
            }
          }
      }
}

TEST(ScanTest, KnownCombinesEqualCustomOnes) {
  const IsaScope scope;
  for (const OpFacts *facts : combiningOps())
    for (const DType dtype : dtypesOf(*facts))
      for (const int axis : {0, 1})
        for (const bool reverse : {false, true}) {
          const Data x = isFloating(dtype) ? randomFloats(dtype, {8, 32}, axis)
                                           : randomBits(dtype, {8, 32}, axis);
          Data expected(x.type);
          void *const out[1] = {expected.bytes.data()};
          const void *const in[1] = {x.bytes.data()};
          const OpCombine combine{facts->name, dtype};
          scanBlocks(x.type, axis, reverse, out, in, combine);
          for (const Isa isa : instructionSets()) {
            setIsa(isa);
            EXPECT_TRUE(sameBits(
                runBlock(chooseKnownScan(facts->name, x.type, axis, reverse), x, x.type), expected))
                << facts->name.str();
          }
        }
}

TEST(ScanTest, CustomCombineGetsTheEarlierValueFirst) {
  const Data x = makeInts({4}, {1, 2, 3, 4});
  const auto first = [](int64_t n, void *const *o, const void *const *l, const void *const *) {
    std::memmove(o[0], l[0], n * sizeof(int32_t));
  };
  Data out(x.type);
  void *const results[1] = {out.bytes.data()};
  const void *const in[1] = {x.bytes.data()};
  scanBlocks(x.type, 0, false, results, in, first);
  EXPECT_EQ(out.as<int32_t>()[3], 1);
  scanBlocks(x.type, 0, true, results, in, first);
  EXPECT_EQ(out.as<int32_t>()[0], 4);
}

TEST(SortTest, TotalOrderWithNanLast) {
  const Data x = makeFloats({2, 4}, {3, NAN, -INFINITY, 0.0f, -0.0f, 0.0f, -1, 2});
  const Data up = run1("tl.sort", {x}, x.type);
  EXPECT_EQ(up.as<float>()[0], -INFINITY);
  EXPECT_EQ(up.as<float>()[2], 3);
  EXPECT_TRUE(std::isnan(up.as<float>()[3]));
  EXPECT_TRUE(std::signbit(up.as<float>()[5]));
  EXPECT_FALSE(std::signbit(up.as<float>()[6]));
  const Data down = run1("tl.sort", {x}, x.type, {{"descending", true}});
  EXPECT_TRUE(std::isnan(down.as<float>()[0]));
  EXPECT_EQ(down.as<float>()[1], 3);
  EXPECT_EQ(down.as<float>()[4], 2);

  const Data n = makeInts({4}, {-1, 5, -7, 0});
  EXPECT_EQ(run1("tl.sort", {n}, n.type).as<int32_t>()[0], -7);
  EXPECT_EQ(run1("tl.sort", {n}, n.type, {{"is_unsigned", true}}).as<int32_t>()[0], 0);
  for (const DType dtype :
       {DType::Fp16, DType::Bf16, DType::Fp64, DType::Fp8E5M2, DType::Fp8E4M3B8}) {
    const Data wide = randomFloats(dtype, {64}, 5);
    const Data sorted = run1("tl.sort", {wide}, wide.type);
    const Data values = run1("tl.fp_cast", {sorted}, Type::get(DType::Fp64, {64}));
    EXPECT_TRUE(std::is_sorted(values.as<double>(), values.as<double>() + 64));
  }
}

TEST(HistogramTest, CountsOnlyWhatIsInRange) {
  const Data x = makeInts({8}, {0, 1, 1, 3, 4, -1, 2, 1});
  const Type bins = Type::get(DType::Int32, {4});
  const Data counts = run1("tl.histogram", {x}, bins);
  EXPECT_EQ(std::vector<int32_t>(counts.as<int32_t>(), counts.as<int32_t>() + 4),
            (std::vector<int32_t>{1, 3, 1, 1}));
  const Data mask = makeData<uint8_t>(DType::Int1, {8}, {1, 1, 0, 1, 1, 1, 1, 0});
  EXPECT_EQ(run1("tl.histogram", {x, mask}, bins).as<int32_t>()[1], 1);
}

TEST(GatherTest, AlongEitherAxis) {
  const Data x = makeInts({2, 4}, {10, 11, 12, 13, 20, 21, 22, 23});
  const Data columns = makeInts({2, 2}, {3, 0, 1, 9});
  const Data g = run1("tl.gather", {x, columns}, columns.type, {{"axis", int64_t(1)}});
  EXPECT_EQ(g.as<int32_t>()[0], 13);
  EXPECT_EQ(g.as<int32_t>()[2], 21);
  EXPECT_EQ(g.as<int32_t>()[3], 0); // outside
  const Data rows = makeInts({1, 4}, {1, 0, 1, 0});
  const Data h = run1("tl.gather", {x, rows}, rows.type, {{"axis", int64_t(0)}});
  EXPECT_EQ(h.as<int32_t>()[0], 20);
  EXPECT_EQ(h.as<int32_t>()[1], 11);
}

TEST(ShapeTest, EachOpMovesElements) {
  const Data range = run1("tl.range", {}, Type::get(DType::Int32, {8}), {{"start", int64_t(4)}});
  EXPECT_EQ(range.as<int32_t>()[7], 11);
  const Data scalar = makeData<int32_t>(DType::Int32, {}, {7});
  EXPECT_EQ(run1("tl.splat", {scalar}, Type::get(DType::Int32, {4})).as<int32_t>()[3], 7);

  const Data column = makeInts({4, 1}, {1, 2, 3, 4});
  const Data wide = run1("tl.broadcast", {column}, Type::get(DType::Int32, {4, 8}));
  EXPECT_EQ(wide.as<int32_t>()[15], 2);
  const Data row = makeInts({1, 4}, {1, 2, 3, 4});
  EXPECT_EQ(run1("tl.broadcast", {row}, Type::get(DType::Int32, {8, 4})).as<int32_t>()[30], 3);

  std::vector<int32_t> numbers(2 * 4 * 8);
  std::iota(numbers.begin(), numbers.end(), 0);
  const Data cube = makeInts({2, 4, 8}, numbers);
  const std::vector<std::vector<int64_t>> orders = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const auto &order : orders) {
    const int64_t shape[3] = {2, 4, 8};
    const std::vector<int64_t> to = {shape[order[0]], shape[order[1]], shape[order[2]]};
    const Data out = run1("tl.trans", {cube}, Type::get(DType::Int32, to), {{"order", order}});
    int64_t at = 0, index[3];
    for (index[0] = 0; index[0] < to[0]; ++index[0])
      for (index[1] = 0; index[1] < to[1]; ++index[1])
        for (index[2] = 0; index[2] < to[2]; ++index[2], ++at) {
          int64_t source[3];
          for (int d = 0; d < 3; ++d)
            source[order[d]] = index[d];
          ASSERT_EQ(out.as<int32_t>()[at], (source[0] * 4 + source[1]) * 8 + source[2]);
        }
  }
  for (const DType dtype : {DType::Int8, DType::Fp16, DType::Fp32, DType::Fp64}) {
    const Data plane = randomBits(dtype, {32, 16}, 1);
    const Data turned = run1("tl.trans", {plane}, Type::get(dtype, {16, 32}),
                             {{"order", std::vector<int64_t>{1, 0}}});
    const int size = byteSize(dtype);
    for (int i = 0; i < 32; ++i)
      for (int j = 0; j < 16; ++j)
        ASSERT_EQ(std::memcmp(&plane.bytes[(i * 16 + j) * size], &turned.bytes[(j * 32 + i) * size],
                              size),
                  0);
  }
  const Data a = makeInts({2}, {1, 2}), b = makeInts({2}, {3, 4});
  const Data joined = run1("tl.join", {a, b}, Type::get(DType::Int32, {2, 2}));
  EXPECT_EQ(joined.as<int32_t>()[1], 3);
  const auto split = run("tl.split", {joined}, {a.type, a.type});
  EXPECT_EQ(split[1].as<int32_t>()[0], 3);
  const Data cat = run1("tl.cat", {a, b}, Type::get(DType::Int32, {4}), {{"dim", int64_t(0)}});
  EXPECT_EQ(cat.as<int32_t>()[2], 3);
}

} // namespace
