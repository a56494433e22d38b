// tl.extern_elementwise: libdevice functions by symbol, as the language's libdevice module names
// them.
//
// Functions with a SIMD kernel use it (exp, log, sin, ...). All others are scalar: the fp64 ones
// are the C library's or special_functions.h, the fp32 ones the same in double, rounded once, so
// they are nearly always the correctly rounded result. Directed rounding (_rd, _ru, _rz) is exact.
#include "interpreter/bitcode/library_function.h"
#include "interpreter/ops/element_type.h"
#include "interpreter/ops/special_functions.h"

#include "core/numeric/float_to_int.h"
#include "core/numeric/integer.h"

#include "llvm/ADT/StringMap.h"

#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>

namespace blockscope::interpreter {
namespace {

/// A loop over one C++ function, and the types it takes.
struct Function {
  ElementwiseFn loop = nullptr;
  DType result = DType::Void;
  llvm::SmallVector<DType, 4> operands;
};

template <typename T> constexpr DType dtypeOf() {
  if constexpr (std::is_same_v<T, float>)
    return DType::Fp32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::Fp64;
  else
    return sizeof(T) == 4 ? DType::Int32 : sizeof(T) == 8 ? DType::Int64 : DType::Int16;
}

template <auto fn, typename R, typename... Args, size_t... I>
void callLoop(int64_t n, void *const *results, const void *const *operands, uint32_t scalarOperands,
              std::index_sequence<I...>) {
  R *out = static_cast<R *>(results[0]);
  for (int64_t i = 0; i < n; ++i)
    out[i] = fn(static_cast<const Args *>(operands[I])[scalarOperands >> I & 1 ? 0 : i]...);
}

template <auto fn, typename R, typename... Args> Function makeFunction(R (*)(Args...)) {
  return {[](int64_t n, int64_t, void *const *results, const void *const *operands,
             uint32_t scalarOperands, const void *) {
            callLoop<fn, R, Args...>(n, results, operands, scalarOperands,
                                     std::index_sequence_for<Args...>{});
          },
          dtypeOf<R>(),
          {dtypeOf<Args>()...}};
}

using Functions = llvm::StringMap<Function>;

template <auto fn> void add(Functions &table, llvm::StringRef symbol) {
  table["__nv_" + symbol.str()] = makeFunction<fn>(+fn);
}
/// The fp64 function under `name` and its rounding to fp32 under `name`f.
template <double (*fn)(double)> float single1(float x) { return static_cast<float>(fn(x)); }
template <double (*fn)(double, double)> float single2(float x, float y) {
  return static_cast<float>(fn(x, y));
}
template <double (*fn)(double)> void addBoth(Functions &table, llvm::StringRef name) {
  add<fn>(table, name);
  add<single1<fn>>(table, name.str() + "f");
}
template <double (*fn)(double, double)> void addBoth2(Functions &table, llvm::StringRef name) {
  add<fn>(table, name);
  add<single2<fn>>(table, name.str() + "f");
}

//===-- Integers
//-----------------------------------------------------------------------------------===//

void addIntegers(Functions &table) {
  add<[](uint32_t x) -> int32_t { return x ? __builtin_clz(x) : 32; }>(table, "clz");
  add<[](uint64_t x) -> int32_t { return x ? __builtin_clzll(x) : 64; }>(table, "clzll");
  add<[](uint32_t x) -> int32_t { return __builtin_popcount(x); }>(table, "popc");
  add<[](uint64_t x) -> int32_t { return __builtin_popcountll(x); }>(table, "popcll");
  add<[](int32_t x) -> int32_t { return __builtin_ffs(x); }>(table, "ffs");
  add<[](int64_t x) -> int32_t { return __builtin_ffsll(x); }>(table, "ffsll");
  add<[](uint32_t x) -> uint32_t { return __builtin_bitreverse32(x); }>(table, "brev");
  add<[](uint64_t x) -> uint64_t { return __builtin_bitreverse64(x); }>(table, "brevll");
  add<[](uint32_t x, uint32_t y, uint32_t selector) -> uint32_t {
    const uint64_t bytes = static_cast<uint64_t>(y) << 32 | x;
    uint32_t result = 0;
    for (int i = 0; i < 4; ++i)
      result |= static_cast<uint32_t>(bytes >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
    return result;
  }>(table, "byte_perm");
  add<[](int32_t x, int32_t y) -> int32_t { return int64_t(x) * y >> 32; }>(table, "mulhi");
  add<[](uint32_t x, uint32_t y) -> uint32_t { return numeric::multiplyHigh(x, y); }>(table,
                                                                                      "umulhi");
  add<[](int64_t x, int64_t y) -> int64_t {
    return static_cast<int64_t>(static_cast<__int128>(x) * y >> 64);
  }>(table, "mul64hi");
  add<[](uint64_t x, uint64_t y) -> uint64_t { return numeric::multiplyHigh(x, y); }>(table,
                                                                                      "umul64hi");
  add<[](int32_t x, int32_t y) -> int32_t {
    const auto low = [](int32_t v) { return static_cast<int32_t>(uint32_t(v) << 8) >> 8; };
    return static_cast<int32_t>(int64_t(low(x)) * low(y));
  }>(table, "mul24");
  add<[](uint32_t x, uint32_t y) -> uint32_t { return (x & 0xffffff) * (y & 0xffffff); }>(table,
                                                                                          "umul24");
  add<[](int32_t x, int32_t y, uint32_t z) -> uint32_t {
    const int64_t difference = int64_t(x) - y;
    return static_cast<uint32_t>(difference < 0 ? -difference : difference) + z;
  }>(table, "sad");
  add<[](uint32_t x, uint32_t y, uint32_t z) -> uint32_t { return (x > y ? x - y : y - x) + z; }>(
      table, "usad");
  add<[](int32_t x) -> int32_t { return x < 0 ? int32_t(0u - uint32_t(x)) : x; }>(table, "abs");
  add<[](int64_t x) -> int64_t { return x < 0 ? int64_t(0ull - uint64_t(x)) : x; }>(table, "llabs");
  add<[](int32_t x, int32_t y) -> int32_t { return x < y ? x : y; }>(table, "min");
  add<[](int32_t x, int32_t y) -> int32_t { return x > y ? x : y; }>(table, "max");
  add<[](uint32_t x, uint32_t y) -> uint32_t { return x < y ? x : y; }>(table, "umin");
  add<[](uint32_t x, uint32_t y) -> uint32_t { return x > y ? x : y; }>(table, "umax");
  add<[](int64_t x, int64_t y) -> int64_t { return x < y ? x : y; }>(table, "llmin");
  add<[](int64_t x, int64_t y) -> int64_t { return x > y ? x : y; }>(table, "llmax");
  add<[](uint64_t x, uint64_t y) -> uint64_t { return x < y ? x : y; }>(table, "ullmin");
  add<[](uint64_t x, uint64_t y) -> uint64_t { return x > y ? x : y; }>(table, "ullmax");
  // Averages without overflow, rounded down or up.
  add<[](int32_t x, int32_t y) -> int32_t { return (int64_t(x) + y) >> 1; }>(table, "hadd");
  add<[](int32_t x, int32_t y) -> int32_t { return (int64_t(x) + y + 1) >> 1; }>(table, "rhadd");
  add<[](uint32_t x, uint32_t y) -> uint32_t { return (uint64_t(x) + y) >> 1; }>(table, "uhadd");
  add<[](uint32_t x, uint32_t y) -> uint32_t { return (uint64_t(x) + y + 1) >> 1; }>(table,
                                                                                     "urhadd");
}

//===-- Directed rounding
//--------------------------------------------------------------------------===//

/// FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD with libdevice's suffixes.
template <typename Add> void forEachRounding(Add add) {
  add(std::integral_constant<int, FE_TONEAREST>{}, "_rn");
  add(std::integral_constant<int, FE_TOWARDZERO>{}, "_rz");
  add(std::integral_constant<int, FE_DOWNWARD>{}, "_rd");
  add(std::integral_constant<int, FE_UPWARD>{}, "_ru");
}

/// Runs one operation in another rounding mode; volatile keeps it between the two switches.
template <int kMode, typename T, typename Op> T rounded(T x, T y, T z, Op op) {
  volatile T a = x, b = y, c = z;
  std::fesetround(kMode);
  volatile T result = op(T(a), T(b), T(c));
  std::fesetround(FE_TONEAREST);
  return result;
}

template <typename T, int kMode>
void addArithmetic(Functions &table, const std::string &prefix, const char *fma,
                   const std::string &suffix) {
  add<[](T x, T y) -> T { return rounded<kMode>(x, y, y, [](T a, T b, T) { return a + b; }); }>(
      table, prefix + "add" + suffix);
  add<[](T x, T y) -> T { return rounded<kMode>(x, y, y, [](T a, T b, T) { return a - b; }); }>(
      table, prefix + "sub" + suffix);
  add<[](T x, T y) -> T { return rounded<kMode>(x, y, y, [](T a, T b, T) { return a * b; }); }>(
      table, prefix + "mul" + suffix);
  add<[](T x, T y) -> T { return rounded<kMode>(x, y, y, [](T a, T b, T) { return a / b; }); }>(
      table, prefix + "div" + suffix);
  add<[](T x) -> T { return rounded<kMode>(x, x, x, [](T a, T, T) { return T(1) / a; }); }>(
      table, prefix + "rcp" + suffix);
  add<[](T x) -> T { return rounded<kMode>(x, x, x, [](T a, T, T) { return std::sqrt(a); }); }>(
      table, prefix + "sqrt" + suffix);
  add<[](T x, T y, T z) -> T {
    return rounded<kMode>(x, y, z, [](T a, T b, T c) { return std::fma(a, b, c); });
  }>(table, fma + suffix);
}

/// Rounds a value that long double holds exactly: every int64, uint64 and double.
template <typename T, int kMode> T roundExact(long double exact) {
  const T nearest = static_cast<T>(exact);
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  if (kMode == FE_TONEAREST || static_cast<long double>(nearest) == exact || exact != exact)
    return nearest;
  const bool isAbove = static_cast<long double>(nearest) > exact;
  if (isAbove && (kMode == FE_DOWNWARD || (kMode == FE_TOWARDZERO && exact > 0)))
    return std::nextafter(nearest, -kInfinity);
  if (!isAbove && (kMode == FE_UPWARD || (kMode == FE_TOWARDZERO && exact < 0)))
    return std::nextafter(nearest, kInfinity);
  return nearest;
}

template <int kMode, typename T> T roundToWhole(T x) {
  if constexpr (kMode == FE_TOWARDZERO)
    return std::trunc(x);
  else if constexpr (kMode == FE_DOWNWARD)
    return std::floor(x);
  else if constexpr (kMode == FE_UPWARD)
    return std::ceil(x);
  else
    return std::nearbyint(x);
}
template <int kMode, typename Int, typename T> Int toInt(T x) {
  return numeric::floatToInt<Int>(roundToWhole<kMode>(x));
}

template <int kMode> void addConversions(Functions &table, const std::string &suffix) {
  add<toInt<kMode, int32_t, float>>(table, "float2int" + suffix);
  add<toInt<kMode, uint32_t, float>>(table, "float2uint" + suffix);
  add<toInt<kMode, int64_t, float>>(table, "float2ll" + suffix);
  add<toInt<kMode, uint64_t, float>>(table, "float2ull" + suffix);
  add<toInt<kMode, int32_t, double>>(table, "double2int" + suffix);
  add<toInt<kMode, uint32_t, double>>(table, "double2uint" + suffix);
  add<toInt<kMode, int64_t, double>>(table, "double2ll" + suffix);
  add<toInt<kMode, uint64_t, double>>(table, "double2ull" + suffix);
  add<[](double x) -> float { return roundExact<float, kMode>(x); }>(table,
                                                                     "double2float" + suffix);
  add<[](int32_t x) -> float { return roundExact<float, kMode>(x); }>(table, "int2float" + suffix);
  add<[](uint32_t x) -> float { return roundExact<float, kMode>(x); }>(table,
                                                                       "uint2float" + suffix);
  add<[](int64_t x) -> float { return roundExact<float, kMode>(x); }>(table, "ll2float" + suffix);
  add<[](uint64_t x) -> float { return roundExact<float, kMode>(x); }>(table, "ull2float" + suffix);
  add<[](int64_t x) -> double { return roundExact<double, kMode>(x); }>(table,
                                                                        "ll2double" + suffix);
  add<[](uint64_t x) -> double { return roundExact<double, kMode>(x); }>(table,
                                                                         "ull2double" + suffix);
}

void addRounded(Functions &table) {
  forEachRounding([&](auto mode, const char *suffix) {
    addArithmetic<float, mode()>(table, "f", "fmaf", suffix);
    addArithmetic<double, mode()>(table, "d", "fma", suffix);
    addConversions<mode()>(table, suffix);
  });
  add<[](int32_t x) -> double { return x; }>(table, "int2double_rn");
  add<[](uint32_t x) -> double { return x; }>(table, "uint2double_rn");
  add<[](float x) -> float { return static_cast<float>(1 / std::sqrt(double(x))); }>(table,
                                                                                     "frsqrt_rn");
  add<[](double x) -> double {
    // The upper half of the reciprocal.
    return std::bit_cast<double>(std::bit_cast<uint64_t>(1 / x) & 0xffffffff00000000ull);
  }>(table, "rcp64h");
  add<[](float x) -> int16_t {
    return static_cast<int16_t>(numeric::encode<numeric::kFp16, numeric::Rounding::NearestEven>(x));
  }>(table, "float2half_rn");
  add<[](int16_t x) -> float { return numeric::decode<numeric::kFp16>(uint16_t(x)); }>(
      table, "half2float");
}

//===-- Bits and classes
//---------------------------------------------------------------------------===//

void addBits(Functions &table) {
  add<[](int32_t high, int32_t low) -> double {
    return std::bit_cast<double>(uint64_t(uint32_t(high)) << 32 | uint32_t(low));
  }>(table, "hiloint2double");
  add<[](double x) -> int32_t { return static_cast<int32_t>(std::bit_cast<uint64_t>(x)); }>(
      table, "double2loint");
  add<[](double x) -> int32_t { return static_cast<int32_t>(std::bit_cast<uint64_t>(x) >> 32); }>(
      table, "double2hiint");
  add<[](int32_t x) -> float { return std::bit_cast<float>(x); }>(table, "int_as_float");
  add<[](float x) -> int32_t { return std::bit_cast<int32_t>(x); }>(table, "float_as_int");
  add<[](uint32_t x) -> float { return std::bit_cast<float>(x); }>(table, "uint_as_float");
  add<[](float x) -> uint32_t { return std::bit_cast<uint32_t>(x); }>(table, "float_as_uint");
  add<[](int64_t x) -> double { return std::bit_cast<double>(x); }>(table, "longlong_as_double");
  add<[](double x) -> int64_t { return std::bit_cast<int64_t>(x); }>(table, "double_as_longlong");

  add<[](float x) -> int32_t { return x != x; }>(table, "isnanf");
  add<[](double x) -> int32_t { return x != x; }>(table, "isnand");
  add<[](float x) -> int32_t { return std::fabs(x) == INFINITY; }>(table, "isinff");
  add<[](double x) -> int32_t { return std::fabs(x) == INFINITY; }>(table, "isinfd");
  add<[](float x) -> int32_t { return x - x == 0; }>(table, "finitef");
  add<[](double x) -> int32_t { return x - x == 0; }>(table, "isfinited");
  add<[](float x) -> int32_t { return std::bit_cast<uint32_t>(x) >> 31; }>(table, "signbitf");
  add<[](double x) -> int32_t { return std::bit_cast<uint64_t>(x) >> 63; }>(table, "signbitd");
  add<[](float x) -> float { // NaN gives 0
    return x > 0 ? (x < 1 ? x : 1) : 0;
  }>(table, "saturatef");
}

//===-- Elementary and special functions
//-----------------------------------------------------------===//

template <typename T> int32_t exponentOf(T x) {
  if (x == 0 || x != x)
    return std::numeric_limits<int32_t>::min();
  return std::isinf(x) ? std::numeric_limits<int32_t>::max() : std::ilogb(x);
}

template <typename T> T fmaxNumber(T x, T y) { return x != x ? y : (y != y ? x : std::fmax(x, y)); }
template <typename T> T fminNumber(T x, T y) { return x != x ? y : (y != y ? x : std::fmin(x, y)); }

double roundHalfAway(double x) { return std::round(x); }
double exp10Of(double x) { return ::exp10(x); }
double rcbrt(double x) { return 1 / std::cbrt(x); }
double rhypot(double x, double y) { return 1 / std::hypot(x, y); }

template <typename T> void addNorms(Functions &table, const std::string &suffix) {
  add<[](T x, T y, T z) -> T {
    return static_cast<T>(std::hypot(double(x), double(y), double(z)));
  }>(table, "norm3d" + suffix);
  add<[](T x, T y, T z) -> T {
    return static_cast<T>(1 / std::hypot(double(x), double(y), double(z)));
  }>(table, "rnorm3d" + suffix);
  add<[](T x, T y, T z, T w) -> T {
    return static_cast<T>(std::hypot(std::hypot(double(x), double(y), double(z)), double(w)));
  }>(table, "norm4d" + suffix);
  add<[](T x, T y, T z, T w) -> T {
    return static_cast<T>(1 / std::hypot(std::hypot(double(x), double(y), double(z)), double(w)));
  }>(table, "rnorm4d" + suffix);
}

template <typename T> void addWithIntegers(Functions &table, const std::string &suffix) {
  add<[](T x, int32_t n) -> T { return std::ldexp(x, n); }>(table, "ldexp" + suffix);
  add<[](T x, int32_t n) -> T { return std::scalbn(x, n); }>(table, "scalbn" + suffix);
  add<[](T x, int32_t n) -> T { return static_cast<T>(std::pow(double(x), n)); }>(table,
                                                                                  "powi" + suffix);
  add<[](int32_t n, T x) -> T { return static_cast<T>(::jn(n, x)); }>(table, "jn" + suffix);
  add<[](int32_t n, T x) -> T { return static_cast<T>(::yn(n, x)); }>(table, "yn" + suffix);
  add<exponentOf<T>>(table, "ilogb" + suffix);
  add<toInt<FE_TONEAREST, int64_t, T>>(table, "llrint" + suffix);
  add<[](T x) -> int64_t { return numeric::floatToInt<int64_t>(std::round(x)); }>(
      table, "llround" + suffix);
  add<[](T x, T y) -> T { return std::nextafter(x, y); }>(table, "nextafter" + suffix);
  add<[](T x, T y) -> T { return std::copysign(x, y); }>(table, "copysign" + suffix);
  add<[](T x) -> T { return std::nearbyint(x); }>(table, "nearbyint" + suffix);
  add<fmaxNumber<T>>(table, "fmax" + suffix);
  add<fminNumber<T>>(table, "fmin" + suffix);
}

void addElementary(Functions &table) {
  addBoth<::cosh>(table, "cosh");
  addBoth<::sinh>(table, "sinh");
  addBoth<::atan>(table, "atan");
  addBoth<::asin>(table, "asin");
  addBoth<::acos>(table, "acos");
  addBoth<::acosh>(table, "acosh");
  addBoth<::asinh>(table, "asinh");
  addBoth<::atanh>(table, "atanh");
  addBoth<::log10>(table, "log10");
  addBoth<::log1p>(table, "log1p");
  addBoth<::expm1>(table, "expm1");
  addBoth<::cbrt>(table, "cbrt");
  addBoth<::erfc>(table, "erfc");
  addBoth<::lgamma>(table, "lgamma");
  addBoth<::tgamma>(table, "tgamma");
  addBoth<::logb>(table, "logb");
  addBoth<::j0>(table, "j0");
  addBoth<::j1>(table, "j1");
  addBoth<::y0>(table, "y0");
  addBoth<::y1>(table, "y1");
  addBoth<exp10Of>(table, "exp10");
  addBoth<rcbrt>(table, "rcbrt");
  addBoth<roundHalfAway>(table, "round");
  addBoth<special::sinpi>(table, "sinpi");
  addBoth<special::cospi>(table, "cospi");
  addBoth<special::erfcx>(table, "erfcx");
  addBoth<special::erfinv>(table, "erfinv");
  addBoth<special::erfcinv>(table, "erfcinv");
  addBoth<special::normcdf>(table, "normcdf");
  addBoth<special::normcdfinv>(table, "normcdfinv");
  addBoth<special::besselI0>(table, "cyl_bessel_i0");
  addBoth<special::besselI1>(table, "cyl_bessel_i1");
  addBoth2<::atan2>(table, "atan2");
  addBoth2<::hypot>(table, "hypot");
  addBoth2<rhypot>(table, "rhypot");
  addBoth2<::pow>(table, "pow");
  addBoth2<::fmod>(table, "fmod");
  addBoth2<::remainder>(table, "remainder");
  addBoth2<::fdim>(table, "fdim");
  addNorms<float>(table, "f");
  addNorms<double>(table, "");
  addWithIntegers<float>(table, "f");
  addWithIntegers<double>(table, "");
  add<[](float x, float y) -> float { return x / y; }>(table, "fast_fdividef");
  add<single2<::pow>>(table, "fast_powf");
  add<single1<::log10>>(table, "fast_log10f");
  add<single1<exp10Of>>(table, "fast_exp10f");
}

const Functions &functions() {
  static const Functions table = [] {
    Functions filled;
    addIntegers(filled);
    addRounded(filled);
    addBits(filled);
    addElementary(filled);
    return filled;
  }();
  return table;
}

//===-- Symbols with a SIMD kernel
//-----------------------------------------------------------------===//

/// Under `name`f for fp32 and `name` for fp64; the fast_ ones in fp32 only.
constexpr struct {
  llvm::StringLiteral name;
  ElementOp op;
} kVectorised[] = {
    {"exp", ElementOp::Exp},      {"exp2", ElementOp::Exp2},      {"log", ElementOp::Log},
    {"log2", ElementOp::Log2},    {"sin", ElementOp::Sin},        {"cos", ElementOp::Cos},
    {"tan", ElementOp::Tan},      {"tanh", ElementOp::Tanh},      {"erf", ElementOp::Erf},
    {"sqrt", ElementOp::Sqrt},    {"rsqrt", ElementOp::Rsqrt},    {"floor", ElementOp::Floor},
    {"ceil", ElementOp::Ceil},    {"trunc", ElementOp::Trunc},    {"rint", ElementOp::RoundEven},
    {"fabs", ElementOp::AbsF},    {"fma", ElementOp::FmaF},       {"fast_sin", ElementOp::Sin},
    {"fast_cos", ElementOp::Cos}, {"fast_tan", ElementOp::Tan},   {"fast_exp", ElementOp::Exp},
    {"fast_log", ElementOp::Log}, {"fast_log2", ElementOp::Log2}, {"fast_tanh", ElementOp::Tanh},
};

std::optional<ElementOp> vectorised(llvm::StringRef symbol, bool isSingle) {
  if (!symbol.consume_front("__nv_") || (isSingle && !symbol.consume_back("f")))
    return std::nullopt;
  for (const auto &row : kVectorised)
    if (row.name == symbol)
      return row.op;
  return std::nullopt;
}

std::string typeList(llvm::ArrayRef<DType> types) {
  std::string text;
  for (DType type : types)
    text += (text.empty() ? "" : ", ") + dtypeName(type).str();
  return "(" + text + ")";
}

EvaluatorOrError chooseExtern(const OpSignature &signature) {
  if (signature.attributes.find("libraries"))
    return chooseLibraryFunction(signature);
  const llvm::StringRef symbol = signature.attributes.getString("symbol");
  llvm::SmallVector<DType, 4> types;
  for (const Type &type : signature.operands)
    types.push_back(storageDType(type.isPointer() ? DType::Int64 : type.dtype));
  if (signature.results.size() != 1)
    return {{}, unsupported(signature)};
  const DType result = storageDType(signature.results[0].dtype);

  const bool isSingle = !types.empty() && types[0] == DType::Fp32;
  if (const auto op = vectorised(symbol, isSingle);
      op && types.size() == (*op == ElementOp::FmaF ? 3 : 1) &&
      llvm::all_of(types, [&](DType type) { return type == result; }))
    return chooseElement(signature, *op);

  const auto found = functions().find(symbol);
  if (found == functions().end())
    return {{},
            "'" + symbol.str() + "' of " + typeList(types) +
                " cannot run: it is no function of libdevice" +
                (symbol.starts_with("__nv_") ? ""
                                             : "; name the bitcode that has it in the launch: "
                                               "extern_libs={'name': 'path.bc'}")};
  const Function &function = found->second;
  if (llvm::ArrayRef<DType>(function.operands) != llvm::ArrayRef<DType>(types) ||
      function.result != result)
    return {{},
            "'" + symbol.str() + "' takes " + typeList(function.operands) + " and gives " +
                dtypeName(function.result).str() + ", found " + typeList(types) + " and " +
                dtypeName(result).str()};
  return {Evaluator::makeElementwise(function.loop), {}};
}

} // namespace

void addExternEvaluators(EvaluatorTable &table) {
  table.add("tl.extern_elementwise", chooseExtern);
  table.add("tl.extern_elementwise_volatile", chooseExtern);
}

} // namespace blockscope::interpreter
