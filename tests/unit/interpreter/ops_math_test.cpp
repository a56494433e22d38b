// Elementary functions of fp32 against the C library in double; libdevice by symbol.
#include "ops_testing.h"

#include "core/op_facts.h"
#include "interpreter/ops/special_functions.h"

#include <bit>
#include <cmath>
#include <map>

using namespace blockscope;
using namespace blockscope::interpreter;
using namespace blockscope::interpreter::testing;

namespace {

/// Distance in units in the last place of the exact value; 0 for equal or both NaN.
double ulpError(float found, double exact) {
  if (std::isnan(exact) || std::isnan(found))
    return std::isnan(exact) && std::isnan(found) ? 0 : 1e9;
  if (static_cast<float>(exact) == found)
    return 0;
  if (std::isinf(found) || std::isinf(static_cast<float>(exact)))
    return std::fabs(exact) > 3.4028235e38 * (1 - 1e-7) && std::fabs(found) > 3.402e38 ? 1 : 1e9;
  int exponent;
  std::frexp(exact, &exponent);
  return std::fabs(found - exact) / std::ldexp(1.0, std::max(exponent, -125) - 24);
}

std::vector<float> samples() {
  std::vector<float> values;
  for (uint64_t bits = 0; bits < (1ull << 32); bits += 9973) // every exponent, both signs
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  std::mt19937_64 random(7);
  for (int i = 0; i < 300000; ++i)
    values.push_back(static_cast<float>((static_cast<double>(random() >> 11) * 0x1p-53 - 0.5) *
                                        std::ldexp(1.0, i % 12 - 3)));
  for (const float value : {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN, 88.72283f, 88.7229f,
                            -103.97f, -103.98f, 128.0f, 127.999f, -149.0f, -150.0f, 1e-45f})
    values.push_back(value);
  return values;
}

/// The functions of double that the ops of math are held to.
const std::map<std::string, double (*)(double)> kExact = {
    {"math.exp", std::exp},
    {"math.exp2", std::exp2},
    {"math.log", std::log},
    {"math.log2", std::log2},
    {"math.sin", std::sin},
    {"math.cos", std::cos},
    {"math.tan", std::tan},
    {"math.tanh", std::tanh},
    {"math.erf", std::erf},
    {"math.sqrt", std::sqrt},
    {"math.rsqrt", [](double x) { return 1 / std::sqrt(x); }},
    {"math.floor", std::floor},
    {"math.ceil", std::ceil},
    {"math.roundeven", std::nearbyint},
    {"math.trunc", std::trunc},
};

TEST(MathTest, Fp32IsAsCloseToExactAsTheFactsSay) {
  const std::vector<float> values = samples();
  const Data in = makeFloats({static_cast<int64_t>(values.size())}, values);
  for (const OpFacts *facts : allOpFacts()) {
    if (facts->family != OpFamily::Math || facts->operands != Operands::WideFloats)
      continue;
    const std::string name = facts->name.str();
    ASSERT_TRUE(kExact.count(name)) << name << " has no exact function: add it to this test";
    const Data out = run1(name, {in}, in.type);
    double worst = 0;
    float where = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const double error = ulpError(out.as<float>()[i], kExact.at(name)(values[i]));
      if (error > worst) {
        worst = error;
        where = values[i];
      }
    }
    EXPECT_LE(worst, facts->error.cpu32) << name << " at " << where;
    RecordProperty(name, std::to_string(worst));
  }
}

TEST(MathTest, SignsOfZeroAreKept) {
  const Data zero = makeFloats({2}, {0.0f, -0.0f});
  for (const char *name :
       {"math.sin", "math.tan", "math.tanh", "math.erf", "math.sqrt", "math.floor", "math.ceil"}) {
    const Data out = run1(name, {zero}, zero.type);
    EXPECT_FALSE(std::signbit(out.as<float>()[0])) << name;
    EXPECT_TRUE(std::signbit(out.as<float>()[1])) << name;
  }
}

Data callExtern(const char *symbol, const std::vector<Data> &operands, DType result) {
  return run1("tl.extern_elementwise", operands, Type::get(result, operands[0].type.shape),
              {{"symbol", std::string(symbol)}});
}

TEST(LibdeviceTest, CallsBySymbol) {
  const Data x = makeFloats({2}, {0.5f, 2.0f}), y = makeFloats({2}, {3.0f, -1.0f});
  EXPECT_EQ(callExtern("__nv_powf", {x, y}, DType::Fp32).as<float>()[0], 0.125f);
  EXPECT_EQ(callExtern("__nv_asinf", {x}, DType::Fp32).as<float>()[0], std::asin(0.5f));
  EXPECT_TRUE(std::isnan(callExtern("__nv_asinf", {x}, DType::Fp32).as<float>()[1]));
  EXPECT_EQ(callExtern("__nv_isnanf", {x}, DType::Int32).as<int32_t>()[0], 0);
  const Data n = makeInts({2}, {1, -2});
  EXPECT_EQ(callExtern("__nv_ldexpf", {y, n}, DType::Fp32).as<float>()[0], 6.0f);
  EXPECT_EQ(callExtern("__nv_clz", {n}, DType::Int32).as<int32_t>()[0], 31);
  EXPECT_EQ(callExtern("__nv_popc", {n}, DType::Int32).as<int32_t>()[1], 31);
  EXPECT_EQ(callExtern("__nv_mulhi", {n, n}, DType::Int32).as<int32_t>()[1], 0);
  const Data d = makeData<double>(DType::Fp64, {1}, {2.5});
  EXPECT_EQ(callExtern("__nv_rint", {d}, DType::Fp64).as<double>()[0], 2.0);
  EXPECT_EQ(callExtern("__nv_round", {d}, DType::Fp64).as<double>()[0], 3.0);
}

TEST(LibdeviceTest, DirectedRoundingBrackets) {
  const Data x = makeFloats({1}, {1.0f}), y = makeFloats({1}, {3.0f});
  const float down = callExtern("__nv_fdiv_rd", {x, y}, DType::Fp32).as<float>()[0];
  const float up = callExtern("__nv_fdiv_ru", {x, y}, DType::Fp32).as<float>()[0];
  EXPECT_EQ(std::nextafter(down, 1.0f), up);
  EXPECT_EQ(callExtern("__nv_fdiv_rz", {x, y}, DType::Fp32).as<float>()[0], down);
  const Data big = makeInts({1}, {16777217});
  EXPECT_EQ(callExtern("__nv_int2float_rd", {big}, DType::Fp32).as<float>()[0], 16777216.0f);
  EXPECT_EQ(callExtern("__nv_int2float_ru", {big}, DType::Fp32).as<float>()[0], 16777218.0f);
  const Data half = makeFloats({1}, {-2.5f});
  EXPECT_EQ(callExtern("__nv_float2int_rn", {half}, DType::Int32).as<int32_t>()[0], -2);
  EXPECT_EQ(callExtern("__nv_float2int_rd", {half}, DType::Int32).as<int32_t>()[0], -3);
  EXPECT_EQ(callExtern("__nv_float2int_rz", {half}, DType::Int32).as<int32_t>()[0], -2);
}

TEST(LibdeviceTest, SaysWhatIsWrong) {
  OpSignature signature{"tl.extern_elementwise",
                        {Type::get(DType::Int32, {4})},
                        {Type::get(DType::Int32, {4})},
                        {{"symbol", std::string("__nv_asinf")}}};
  EXPECT_EQ(EvaluatorTable::instance().choose(signature).error,
            "'__nv_asinf' takes (fp32) and gives fp32, found (int32) and int32");
  signature.attributes.set("symbol", std::string("__nv_nothing"));
  EXPECT_EQ(EvaluatorTable::instance().choose(signature).error,
            "'__nv_nothing' of (int32) cannot run: it is no function of libdevice");
}

TEST(SpecialFunctionsTest, InversesAndKnownValues) {
  using namespace special;
  for (const double x : {1e-300, 1e-10, 0.1, 0.3, 0.5, 0.7, 0.99, 1.0, 1.5, 1.9999}) {
    EXPECT_NEAR(std::erfc(erfcinv(x)) / x, 1, 1e-12) << x;
    if (x < 1) {
      EXPECT_NEAR(std::erf(erfinv(x)) / x, 1, 1e-13) << x;
      EXPECT_NEAR(normcdf(normcdfinv(x)) / x, 1, 1e-12) << x;
    }
  }
  EXPECT_EQ(erfinv(1), INFINITY);
  EXPECT_TRUE(std::isnan(erfinv(1.5)));
  EXPECT_NEAR(besselI0(1), 1.2660658777520082, 1e-15);
  EXPECT_NEAR(besselI1(1), 0.5651591039924850, 1e-15);
  EXPECT_NEAR(besselI0(50) / 2.932553783849336e20, 1, 1e-13);
  EXPECT_NEAR(erfcx(30), 0.0187958888614, 1e-12);
  EXPECT_EQ(sinpi(1e15 + 0.5), 1);
  EXPECT_EQ(cospi(0.5), 0);
  EXPECT_EQ(sinpi(-3), 0);
}

} // namespace
