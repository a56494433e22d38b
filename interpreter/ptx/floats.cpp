// Arithmetic on floats: fp16, bf16, fp32, fp64 and packed ones.
//
// What PTX only promises approximately (.approx, .full) is the exact result rounded once.
#include "interpreter/ptx/decoder.h"
#include "interpreter/ptx/float_arithmetic.h"

#include "llvm/ADT/StringSwitch.h"

namespace blockscope::interpreter::ptx {
namespace {

/// How a type of PTX is computed: one `T` or several side by side.
template <typename Body> bool withFloat(llvm::StringRef type, Body body) {
  if (type == "f32")
    body.template operator()<float, 1>();
  else if (type == "f64")
    body.template operator()<double, 1>();
  else if (type == "f16")
    body.template operator()<Half, 1>();
  else if (type == "bf16")
    body.template operator()<Brain, 1>();
  else if (type == "f16x2")
    body.template operator()<Half, 2>();
  else if (type == "bf16x2")
    body.template operator()<Brain, 2>();
  else if (type == "f32x2")
    body.template operator()<float, 2>();
  else
    return false;
  return true;
}

template <typename T> using ValueOf = typename Element<T>::Value;

/// Flushes a narrow float, as .ftz says, by the smallest normal number of its format.
template <typename T> ValueOf<T> taken(const FloatMode &mode, ValueOf<T> x) {
  if constexpr (std::is_same_v<T, Half>)
    return mode.flushes && std::fabs(x) < 0x1p-14 ? std::copysign(0.0, x) : x;
  else if constexpr (std::is_same_v<T, Brain>)
    return mode.flushes && std::fabs(x) < 0x1p-126 ? std::copysign(0.0, x) : x;
  else
    return mode.taken(x);
}

template <typename T> ValueOf<T> finished(const FloatMode &mode, ValueOf<T> x) {
  return mode.finished(taken<T>(mode, x));
}

template <typename T, int parts, int inputs, typename F> Kernel makeKernel(F f) {
  if constexpr (parts > 1)
    return eachPart<T, parts, inputs>(f);
  else if constexpr (inputs == 1)
    return each<T, T>(f);
  else if constexpr (inputs == 2)
    return each<T, T, T>(f);
  else
    return each<T, T, T, T>(f);
}

/// `f` on inputs, with what the mode says before and after; without flags a loop of its own.
template <typename T, int parts, int inputs, typename F> Kernel kernelOf(FloatMode mode, F f) {
  if (!mode.hasFlags())
    return rounded(mode.rounding, makeKernel<T, parts, inputs>(
                                      [=](auto... x) { return FloatMode().finished(f(x...)); }));
  return rounded(mode.rounding, makeKernel<T, parts, inputs>([=](auto... x) {
                   return finished<T>(mode, f(taken<T>(mode, x)...));
                 }));
}

template <typename T> ValueOf<T> sum(ValueOf<T> a, ValueOf<T> b) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Brain>)
    return addToOdd(a, b);
  else
    return a + b;
}
template <typename T> ValueOf<T> multiplyAdd(ValueOf<T> a, ValueOf<T> b, ValueOf<T> c) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Brain>)
    return addToOdd(a * b, c); // the product of two narrow floats is exact
  else
    return std::fma(a, b, c);
}

/// The number where one is a NaN, unless NaN is to be kept; -0 is less than +0.
template <bool isMax, typename V> V extreme(V a, V b, bool keepsNan) {
  if (a != a || b != b) {
    if (keepsNan || (a != a && b != b))
      return std::numeric_limits<V>::quiet_NaN();
    return a != a ? b : a;
  }
  if (a == b)
    return std::signbit(a) == isMax ? b : a;
  return (a < b) == isMax ? b : a;
}

FloatMode takeMode(Decoder &d) {
  FloatMode mode;
  const std::string rounding = d.takeOneOf({"rn", "rz", "rm", "rp"});
  mode.rounding = rounding == "rz"   ? FE_TOWARDZERO
                  : rounding == "rm" ? FE_DOWNWARD
                  : rounding == "rp" ? FE_UPWARD
                                     : FE_TONEAREST;
  mode.flushes = d.take("ftz");
  mode.saturates = d.take("sat");
  mode.clips = d.take("relu");
  return mode;
}

bool isNarrow(llvm::StringRef type) { return type.contains("f16"); }

void decodeArithmetic(Decoder &d) {
  const llvm::StringRef name = d.name();
  const FloatMode mode = takeMode(d);
  const std::string type = d.takeType();
  if (isNarrow(type) && mode.rounding != FE_TONEAREST)
    return d.fail("'." + type + "' is rounded to nearest only");
  const bool isThree = name == "fma" || name == "mad";
  if (!d.plain(type, llvm::SmallVector<llvm::StringRef>(isThree ? 3 : 2, type)))
    return;
  const bool isKnown = withFloat(type, [&]<typename T, int parts>() {
    using V = ValueOf<T>;
    if (isThree)
      d.set(kernelOf<T, parts, 3>(mode, multiplyAdd<T>));
    else if (name == "add")
      d.set(kernelOf<T, parts, 2>(mode, sum<T>));
    else if (name == "sub")
      d.set(kernelOf<T, parts, 2>(mode, [](V a, V b) { return sum<T>(a, -b); }));
    else
      d.set(kernelOf<T, parts, 2>(mode, [](V a, V b) { return a * b; }));
  });
  if (!isKnown)
    d.failType(type);
}

void decodeExtreme(Decoder &d) {
  const bool isMax = d.name() == "max";
  FloatMode mode;
  mode.flushes = d.take("ftz");
  mode.clips = d.take("relu");
  const bool keepsNan = d.take("NaN");
  const bool ofMagnitudes = d.take("xorsign");
  if (ofMagnitudes && !d.take("abs"))
    return d.fail("expected '.xorsign.abs'");
  const std::string type = d.takeType();
  if (!d.plain(type, llvm::SmallVector<llvm::StringRef>(d.operandCount() == 4 ? 3 : 2, type)))
    return;
  const bool isThree = d.operandCount() == 4;
  const bool isKnown = withFloat(type, [&]<typename T, int parts>() {
    using V = ValueOf<T>;
    const auto two = [=](V a, V b) {
      const bool sign = std::signbit(a) != std::signbit(b);
      const V x = ofMagnitudes ? std::fabs(a) : a, y = ofMagnitudes ? std::fabs(b) : b;
      const V found = isMax ? extreme<true>(x, y, keepsNan) : extreme<false>(x, y, keepsNan);
      return ofMagnitudes && found == found && sign ? -found : found;
    };
    if (isThree)
      d.set(kernelOf<T, parts, 3>(mode, [=](V a, V b, V c) { return two(two(a, b), c); }));
    else
      d.set(kernelOf<T, parts, 2>(mode, two));
  });
  if (!isKnown)
    d.failType(type);
}

/// abs and neg change the sign bit; GPUs do it by arithmetic, which has one NaN only for types of
/// 16 bits.
void decodeSign(Decoder &d) {
  FloatMode mode;
  mode.flushes = d.take("ftz");
  const std::string type = d.takeType();
  if (!d.plain(type, {type}))
    return;
  const bool isAbs = d.name() == "abs";
  const uint64_t sign = type == "f64"                         ? 1ULL << 63
                        : type == "f32"                       ? 1ULL << 31
                        : type == "f16x2" || type == "bf16x2" ? 0x80008000
                                                              : 0x8000;
  const int halves = !isNarrow(type) ? 0 : type.ends_with("x2") ? 2 : 1;
  const uint64_t infinity = type.starts_with("bf") ? 0x7f80 : 0x7c00;
  if (mode.flushes && type == "f32")
    d.set(each<float, float>(
        [=](float a) { return isAbs ? std::fabs(mode.taken(a)) : -mode.taken(a); }));
  else if (withFloat(type, []<typename T, int parts>() {}) && type != "f32x2" && !mode.flushes)
    d.set(each<uint64_t, uint64_t>([=](uint64_t a) {
      uint64_t found = isAbs ? a & ~sign : a ^ sign;
      for (int i = 0; i < halves; ++i)
        if ((found >> 16 * i & 0x7fff) > infinity)
          found = (found & ~(uint64_t{0xffff} << 16 * i)) | uint64_t{0x7fff} << 16 * i;
      return found;
    }));
  else
    d.failType(type);
}

using Function = double (*)(double);
double reciprocal(double x) { return 1 / x; }
double inverseRoot(double x) { return 1 / std::sqrt(x); }

Function functionOf(llvm::StringRef name) {
  return llvm::StringSwitch<Function>(name)
      .Case("rcp", reciprocal)
      .Case("sqrt", static_cast<Function>(std::sqrt))
      .Case("rsqrt", inverseRoot)
      .Case("sin", static_cast<Function>(std::sin))
      .Case("cos", static_cast<Function>(std::cos))
      .Case("lg2", static_cast<Function>(std::log2))
      .Case("ex2", static_cast<Function>(std::exp2))
      .Case("tanh", static_cast<Function>(std::tanh))
      .Default(nullptr);
}

/// rcp, sqrt and functions that are approximate.
void decodeFunction(Decoder &d, Function function) {
  const llvm::StringRef name = d.name();
  const bool isApproximate = d.take("approx");
  FloatMode mode = takeMode(d);
  mode.flushes |= d.take("ftz");
  const std::string type = d.takeType();
  const bool ofHalves = name == "ex2" || name == "tanh";
  if (!(type == "f32" || type == "f64" || (ofHalves && isNarrow(type))))
    return d.failType(type);
  if (!d.plain(type, {type}))
    return;
  const bool isExact = !isApproximate && (name == "rcp" || name == "sqrt");
  withFloat(type, [&]<typename T, int parts>() {
    using V = ValueOf<T>;
    if (isExact && name == "rcp")
      d.set(kernelOf<T, parts, 1>(mode, [](V x) { return V(1) / x; }));
    else if (isExact)
      d.set(kernelOf<T, parts, 1>(mode, [](V x) { return std::sqrt(x); }));
    else
      d.set(kernelOf<T, parts, 1>(mode, [=](V x) { return static_cast<V>(function(x)); }));
  });
}

void decodeDivide(Decoder &d) {
  d.take("approx") || d.take("full");
  const FloatMode mode = takeMode(d);
  const std::string type = d.takeType();
  if (!d.plain(type, {type, type}))
    return;
  if (type == "f32")
    d.set(kernelOf<float, 1, 2>(mode, [](float a, float b) { return a / b; }));
  else if (type == "f64")
    d.set(kernelOf<double, 1, 2>(mode, [](double a, double b) { return a / b; }));
  else
    d.failType(type);
}

void decodeCopySign(Decoder &d) {
  const std::string type = d.takeType();
  if (!d.plain(type, {type, type}))
    return;
  if (type == "f32")
    d.set(each<float, float, float>([](float a, float b) { return std::copysign(b, a); }));
  else if (type == "f64")
    d.set(each<double, double, double>([](double a, double b) { return std::copysign(b, a); }));
  else
    d.failType(type);
}

} // namespace

void decodeFloat(Decoder &d) {
  const llvm::StringRef name = d.name();
  if (const Function function = functionOf(name))
    return decodeFunction(d, function);
  if (name == "copysign")
    return decodeCopySign(d);
  const llvm::StringRef type = d.instruction().modifiers.empty()
                                   ? llvm::StringRef()
                                   : llvm::StringRef(d.instruction().modifiers.back());
  if (!withFloat(type, []<typename T, int parts>() {}))
    return;
  if (name == "add" || name == "sub" || name == "mul" || name == "fma" || name == "mad")
    decodeArithmetic(d);
  else if (name == "min" || name == "max")
    decodeExtreme(d);
  else if (name == "abs" || name == "neg")
    decodeSign(d);
  else if (name == "div")
    decodeDivide(d);
}

} // namespace blockscope::interpreter::ptx
