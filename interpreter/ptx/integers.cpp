// Arithmetic on integers: add, sub, mul, mad, div, rem, min, max, abs, neg, sad, dot products.
#include "core/numeric/integer.h"
#include "interpreter/ptx/decoder.h"

#include <algorithm>

namespace blockscope::interpreter::ptx {
namespace {

__extension__ typedef __int128 Wide;

template <typename T> T clampTo(Wide value) {
  return static_cast<T>(
      std::clamp<Wide>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

std::string widened(llvm::StringRef type) {
  return type.take_front(1).str() + (type.ends_with("16") ? "32" : "64");
}

/// mul and mad: the low or high half of the product, or all of it.
void decodeProduct(Decoder &d, bool adds) {
  const std::string part = d.take("hi") ? "hi" : d.take("wide") ? "wide" : "lo";
  d.take("lo");
  const bool is24 = d.name().ends_with("24");
  const bool saturates = adds && part == "hi" && d.take("sat");
  const std::string type = d.takeType();
  const std::string result = part == "wide" ? widened(type) : type;
  llvm::SmallVector<llvm::StringRef> types = {type, type};
  if (adds)
    types.push_back(result);
  if (!d.plain(result, types))
    return;
  const bool isKnown = withInteger(type, [&]<typename T>(T) {
    if constexpr (sizeof(T) >= 2) {
      const auto product = [=](T a, T b) -> Wide {
        if (is24) {
          const auto low = [](T x) {
            return std::is_signed_v<T> ? static_cast<T>(int32_t(uint32_t(x) << 8) >> 8)
                                       : static_cast<T>(x & 0xffffff);
          };
          return Wide(low(a)) * low(b) >> (part == "hi" ? 16 : 0);
        }
        if constexpr (sizeof(T) == 8 && !std::is_signed_v<T>)
          if (part == "hi")
            return numeric::multiplyHigh(a, b);
        const Wide whole = static_cast<Wide>(static_cast<unsigned __int128>(Wide(a)) *
                                             static_cast<unsigned __int128>(Wide(b)));
        return part == "hi" ? whole >> sizeof(T) * 8 : whole;
      };
      using Narrower = T;
      using Result = std::conditional_t<std::is_signed_v<T>,
                                        std::conditional_t<sizeof(T) == 2, int32_t, int64_t>,
                                        std::conditional_t<sizeof(T) == 2, uint32_t, uint64_t>>;
      if (part == "wide" && adds)
        d.set(each<Result, T, T, Result>(
            [=](T a, T b, Result c) { return static_cast<Result>(product(a, b) + Wide(c)); }));
      else if (part == "wide")
        d.set(each<Result, T, T>([=](T a, T b) { return static_cast<Result>(product(a, b)); }));
      else if (adds)
        d.set(each<Narrower, T, T, T>([=](T a, T b, T c) {
          const Wide sum = static_cast<Wide>(static_cast<unsigned __int128>(product(a, b)) +
                                             static_cast<unsigned __int128>(Wide(c)));
          return saturates ? clampTo<T>(sum) : static_cast<T>(sum);
        }));
      else
        d.set(each<Narrower, T, T>([=](T a, T b) { return static_cast<T>(product(a, b)); }));
    }
  });
  if (!isKnown || !d.isDone())
    d.failType(type);
}

template <typename T, typename Body> Kernel binary(Body body) { return each<T, T, T>(body); }

/// Two results of 16 bits side by side.
void decodePacked(Decoder &d, llvm::StringRef type) {
  const bool isSigned = type == "s16x2";
  const bool relu = d.take("relu");
  if (!d.plain(type, {type, type}))
    return;
  const llvm::StringRef name = d.name();
  const auto make = [&]<typename T>(T) {
    const auto clipped = [relu](T value) { return relu ? std::max<T>(value, T(0)) : value; };
    if (name == "add")
      d.set(eachPart<T, 2, 2>([](T a, T b) { return static_cast<T>(a + b); }));
    else if (name == "min")
      d.set(eachPart<T, 2, 2>([=](T a, T b) { return clipped(std::min(a, b)); }));
    else if (name == "max")
      d.set(eachPart<T, 2, 2>([=](T a, T b) { return clipped(std::max(a, b)); }));
  };
  if (isSigned)
    make(int16_t{});
  else
    make(uint16_t{});
}

void decodeBinary(Decoder &d) {
  const llvm::StringRef name = d.name();
  const bool saturates = d.take("sat");
  const bool relu = d.take("relu");
  const std::string type = d.takeType();
  if (type == "u16x2" || type == "s16x2")
    return decodePacked(d, type);
  if (saturates && type != "s32")
    return d.fail("'.sat' needs type '.s32'");
  if (!d.plain(type, {type, type}))
    return;
  const bool isKnown = withInteger(type, [&]<typename T>(T) {
    using U = std::make_unsigned_t<T>;
    if (saturates)
      d.set(name == "add" ? binary<T>([](T a, T b) { return clampTo<T>(Wide(a) + b); })
                          : binary<T>([](T a, T b) { return clampTo<T>(Wide(a) - b); }));
    else if (name == "add")
      d.set(binary<T>([](T a, T b) { return static_cast<T>(U(a) + U(b)); }));
    else if (name == "sub")
      d.set(binary<T>([](T a, T b) { return static_cast<T>(U(a) - U(b)); }));
    else if (name == "div")
      d.set(binary<T>([](T a, T b) { return numeric::divide(a, b); }));
    else if (name == "rem")
      d.set(binary<T>([](T a, T b) { return numeric::remainder(a, b); }));
    else if (name == "min")
      d.set(binary<T>(
          [=](T a, T b) { return relu ? std::max<T>(0, std::min(a, b)) : std::min(a, b); }));
    else if (name == "max")
      d.set(binary<T>(
          [=](T a, T b) { return relu ? std::max<T>(0, std::max(a, b)) : std::max(a, b); }));
  });
  if (!isKnown)
    d.failType(type);
}

void decodeUnary(Decoder &d) {
  const std::string type = d.takeType();
  if (!d.plain(type, {type}))
    return;
  const bool isAbs = d.name() == "abs";
  if (!withInteger(type, [&]<typename T>(T) {
        using U = std::make_unsigned_t<T>;
        d.set(each<T, T>(
            [=](T a) { return static_cast<T>(isAbs && !(a < T(0)) ? U(a) : U(0) - U(a)); }));
      }))
    d.failType(type);
}

void decodeSad(Decoder &d) {
  const std::string type = d.takeType();
  if (!d.plain(type, {type, type, type}))
    return;
  if (!withInteger(type, [&]<typename T>(T) {
        d.set(each<T, T, T, T>([](T a, T b, T c) {
          const Wide difference = Wide(a) - Wide(b);
          return static_cast<T>(Wide(c) + (difference < 0 ? -difference : difference));
        }));
      }))
    d.failType(type);
}

/// dp4a, dp2a: the dot product of bytes.
void decodeDot(Decoder &d) {
  const bool isFour = d.name() == "dp4a";
  const bool high = !isFour && d.take("hi");
  if (!isFour && !high && !d.take("lo"))
    return d.fail("expected '.lo' or '.hi'");
  const std::string a = d.takeType(), b = d.takeType();
  if ((a != "u32" && a != "s32") || (b != "u32" && b != "s32"))
    return d.failType(a);
  const bool aSigned = a == "s32", bSigned = b == "s32";
  if (!d.plain("b32", {"b32", "b32", "b32"}))
    return;
  const auto part = [](uint32_t word, int bits, int index, bool isSigned) -> int64_t {
    const uint32_t value = word >> index * bits & ((1U << bits) - 1);
    return isSigned ? int64_t(int32_t(value << (32 - bits)) >> (32 - bits)) : int64_t(value);
  };
  d.set(each<uint32_t, uint32_t, uint32_t, uint32_t>([=](uint32_t x, uint32_t y, uint32_t c) {
    int64_t sum = 0;
    for (int i = 0; i < (isFour ? 4 : 2); ++i)
      sum += part(x, isFour ? 8 : 16, i, aSigned) * part(y, 8, i + (high ? 2 : 0), bSigned);
    return static_cast<uint32_t>(c + static_cast<uint32_t>(sum));
  }));
}

bool isIntegerType(llvm::StringRef type) {
  return type.starts_with("u") || type.starts_with("s") || type == "b16" || type == "b32" ||
         type == "b64";
}

} // namespace

void decodeInteger(Decoder &d) {
  const llvm::StringRef name = d.name();
  if (name == "dp4a" || name == "dp2a")
    return decodeDot(d);
  if (name == "mul24" || name == "mad24")
    return decodeProduct(d, name == "mad24");
  const llvm::StringRef type = d.instruction().modifiers.empty()
                                   ? llvm::StringRef()
                                   : llvm::StringRef(d.instruction().modifiers.back());
  if (!isIntegerType(type))
    return;
  if (d.instruction().has("cc"))
    return d.fail("the carry flag ('.cc') is not supported on the CPU");
  if (name == "mul" || name == "mad")
    decodeProduct(d, name == "mad");
  else if (name == "add" || name == "sub" || name == "div" || name == "rem" || name == "min" ||
           name == "max")
    decodeBinary(d);
  else if (name == "abs" || name == "neg")
    decodeUnary(d);
  else if (name == "sad")
    decodeSad(d);
}

} // namespace blockscope::interpreter::ptx
