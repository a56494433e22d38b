// tl.dot: one fma chain per element in order of k, whatever the tile and the instruction set.
#include "ops_testing.h"

#include "core/numeric/float_format.h"

#include <cmath>

using namespace blockscope;
using namespace blockscope::interpreter;
using namespace blockscope::interpreter::testing;

namespace {

Data dot(const Data &a, const Data &b, const Data &acc, const char *precision = "ieee") {
  return run1("tl.dot", {a, b, acc}, acc.type, {{"input_precision", std::string(precision)}});
}

template <typename T> Data reference(const Data &a, const Data &b, const Data &acc) {
  Data out = acc;
  const int rank = a.type.rank();
  const int64_t m = a.type.shape[rank - 2], k = a.type.shape[rank - 1], n = b.type.shape[rank - 1];
  const int64_t batch = a.type.numElements() / (m * k);
  for (int64_t p = 0; p < batch; ++p)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        T sum = acc.as<T>()[(p * m + i) * n + j];
        for (int64_t t = 0; t < k; ++t)
          sum = std::fma(a.as<T>()[(p * m + i) * k + t], b.as<T>()[(p * k + t) * n + j], sum);
        out.as<T>()[(p * m + i) * n + j] = sum;
      }
  return out;
}

TEST(DotTest, EveryShapeAndInstructionSetGivesTheSameChains) {
  const IsaScope scope;
  for (const int64_t m : {1, 2, 4, 16, 32})
    for (const int64_t n : {1, 4, 8, 16, 32, 64})
      for (const int64_t k : {1, 8, 32}) {
        const Data a = randomFloats(DType::Fp32, {m, k}, m),
                   b = randomFloats(DType::Fp32, {k, n}, n);
        const Data acc = randomFloats(DType::Fp32, {m, n}, k);
        const Data expected = reference<float>(a, b, acc);
        const Data a64 = randomFloats(DType::Fp64, {m, k}, m);
        const Data b64 = randomFloats(DType::Fp64, {k, n}, n);
        const Data acc64 = randomFloats(DType::Fp64, {m, n}, k);
        const Data expected64 = reference<double>(a64, b64, acc64);
        for (const Isa isa : instructionSets()) {
          setIsa(isa);
          ASSERT_EQ(dot(a, b, acc).bytes, expected.bytes) << m << "x" << n << "x" << k;
          ASSERT_EQ(dot(a64, b64, acc64).bytes, expected64.bytes) << m << "x" << n << "x" << k;
        }
      }
}

TEST(DotTest, BatchesAreIndependent) {
  const Data a = randomFloats(DType::Fp32, {3, 16, 8}, 1),
             b = randomFloats(DType::Fp32, {3, 8, 32}, 2);
  const Data acc = randomFloats(DType::Fp32, {3, 16, 32}, 3);
  EXPECT_EQ(dot(a, b, acc).bytes, reference<float>(a, b, acc).bytes);
}

TEST(DotTest, SmallFloatsAreWidenedFirst) {
  for (const DType dtype : {DType::Fp16, DType::Bf16, DType::Fp8E4M3NV, DType::Fp8E5M2}) {
    const Data a = randomFloats(dtype, {16, 32}, 1), b = randomFloats(dtype, {32, 16}, 2);
    const Data acc(Type::get(DType::Fp32, {16, 16}));
    const Data wideA = run1("tl.fp_cast", {a}, Type::get(DType::Fp32, {16, 32}));
    const Data wideB = run1("tl.fp_cast", {b}, Type::get(DType::Fp32, {32, 16}));
    const Data expected = reference<float>(wideA, wideB, acc);
    EXPECT_EQ(dot(a, b, acc, "tf32").bytes, expected.bytes);
    // A result in fp16 is rounded once.
    const Type half = Type::get(DType::Fp16, {16, 16});
    EXPECT_EQ(dot(a, b, Data(half)).bytes, run1("tl.fp_cast", {expected}, half).bytes);
  }
}

TEST(DotTest, IntegersAreExact) {
  const Data a = randomBits(DType::Int8, {16, 32}, 1), b = randomBits(DType::Int8, {32, 64}, 2);
  const Data acc = randomBits(DType::Int32, {16, 64}, 3);
  const Data out = run1("tl.dot", {a, b, acc}, acc.type);
  const Data mixed = run1("tl.dot", {a, b, acc}, acc.type, {{"a_unsigned", true}});
  for (int64_t i = 0; i < 16; ++i)
    for (int64_t j = 0; j < 64; ++j) {
      uint32_t sum = acc.as<uint32_t>()[i * 64 + j], unsignedSum = sum;
      for (int64_t k = 0; k < 32; ++k) {
        const int right = b.as<int8_t>()[k * 64 + j];
        sum += static_cast<uint32_t>(a.as<int8_t>()[i * 32 + k] * right);
        unsignedSum += static_cast<uint32_t>(a.as<uint8_t>()[i * 32 + k] * right);
      }
      ASSERT_EQ(out.as<uint32_t>()[i * 64 + j], sum);
      ASSERT_EQ(mixed.as<uint32_t>()[i * 64 + j], unsignedSum);
    }
}

TEST(DotTest, InputPrecisionsRankAsTheyShould) {
  const Data a = randomFloats(DType::Fp32, {32, 64}, 1), b = randomFloats(DType::Fp32, {64, 32}, 2);
  const Data acc(Type::get(DType::Fp32, {32, 32}));
  const auto error = [&](const char *precision) {
    const Data out = dot(a, b, acc, precision);
    double worst = 0;
    for (int64_t i = 0; i < 32; ++i)
      for (int64_t j = 0; j < 32; ++j) {
        double exact = 0;
        for (int64_t k = 0; k < 64; ++k)
          exact += double(a.as<float>()[i * 64 + k]) * b.as<float>()[k * 32 + j];
        worst = std::max(worst, std::fabs(out.as<float>()[i * 32 + j] - exact));
      }
    return worst;
  };
  EXPECT_LT(error("ieee"), 1e-4);
  EXPECT_LT(error("tf32x3"), 1e-4);
  EXPECT_LT(error("bf16x6"), 1e-4);
  EXPECT_LT(error("bf16x3"), 1e-2);
  EXPECT_LT(error("tf32"), 0.1);
  EXPECT_GT(error("tf32"), 1e-4);

  // tf32: the operands are rounded, then it is the exact chain.
  Data roundedA = a, roundedB = b;
  for (int64_t i = 0; i < a.type.numElements(); ++i)
    roundedA.as<float>()[i] = numeric::roundToTf32(a.as<float>()[i]);
  for (int64_t i = 0; i < b.type.numElements(); ++i)
    roundedB.as<float>()[i] = numeric::roundToTf32(b.as<float>()[i]);
  EXPECT_EQ(dot(a, b, acc, "tf32").bytes, reference<float>(roundedA, roundedB, acc).bytes);
}

TEST(DotTest, UnknownPrecisionIsAnError) {
  OpSignature signature{"tl.dot",
                        {Type::get(DType::Fp32, {16, 16}), Type::get(DType::Fp32, {16, 16}),
                         Type::get(DType::Fp32, {16, 16})},
                        {Type::get(DType::Fp32, {16, 16})},
                        {{"input_precision", std::string("best")}}};
  EXPECT_EQ(EvaluatorTable::instance().choose(signature).error,
            "tl.dot has input_precision 'best', expected ieee, tf32, tf32x3, bf16x3 or bf16x6");
}

} // namespace
