// Bits: and, or, xor, not, shifts, lop3, prmt, bfe, bfi, bfind, popc, clz, brev, szext, bmsk, fns.
#include "core/numeric/integer.h"
#include "interpreter/ptx/decoder.h"

#include <algorithm>
#include <cstdlib>

namespace blockscope::interpreter::ptx {
namespace {

/// Bitwise: predicates and all widths alike, since registers have zeros above.
void decodeLogic(Decoder &d) {
  const llvm::StringRef name = d.name();
  const std::string type = d.takeType();
  if (type != "pred" && type != "b16" && type != "b32" && type != "b64")
    return d.failType(type);
  if (name == "not" || name == "cnot") {
    if (!d.plain(type, {type}))
      return;
    d.set(name == "not" ? each<uint64_t, uint64_t>([](uint64_t a) { return ~a; })
                        : each<uint64_t, uint64_t>([](uint64_t a) { return uint64_t(a == 0); }));
    return;
  }
  if (!d.plain(type, {type, type}))
    return;
  const auto make = [&](auto f) { d.set(each<uint64_t, uint64_t, uint64_t>(f)); };
  if (name == "and")
    make([](uint64_t a, uint64_t b) { return a & b; });
  else if (name == "or")
    make([](uint64_t a, uint64_t b) { return a | b; });
  else
    make([](uint64_t a, uint64_t b) { return a ^ b; });
}

uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t result = 0;
  for (int row = 0; row < 8; ++row)
    if (table >> row & 1)
      result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
  return result;
}

/// prmt without a mode: each nibble picks a byte, or with its top bit the sign of one.
uint32_t permute(uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t bytes = uint64_t(b) << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t pick = selector >> 4 * i & 15;
    const auto byte = static_cast<uint32_t>(bytes >> 8 * (pick & 7) & 0xff);
    result |= (pick & 8 ? (byte & 0x80 ? 0xffU : 0U) : byte) << 8 * i;
  }
  return result;
}

/// The selector that a mode of prmt stands for, by the two low bits of its own.
uint32_t selectorOf(llvm::StringRef mode, uint32_t selector) {
  static constexpr struct {
    llvm::StringLiteral mode;
    uint16_t selectors[4];
  } kModes[] = {
      {"f4e", {0x3210, 0x4321, 0x5432, 0x6543}}, {"b4e", {0x5670, 0x6701, 0x7012, 0x0123}},
      {"rc8", {0x0000, 0x1111, 0x2222, 0x3333}}, {"ecl", {0x3210, 0x3211, 0x3222, 0x3333}},
      {"ecr", {0x0000, 0x1110, 0x2210, 0x3210}}, {"rc16", {0x1010, 0x3232, 0x1010, 0x3232}},
  };
  for (const auto &row : kModes)
    if (row.mode == mode)
      return row.selectors[selector & 3];
  return selector;
}

void decodePermute(Decoder &d) {
  d.take("b32");
  const std::string mode = d.takeOneOf({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  if (d.plain("b32", {"b32", "b32", "b32"}))
    d.set(each<uint32_t, uint32_t, uint32_t, uint32_t>(
        [mode](uint32_t a, uint32_t b, uint32_t c) { return permute(a, b, selectorOf(mode, c)); }));
}

void decodeShift(Decoder &d) {
  const bool isLeft = d.name() == "shl";
  const std::string type = d.takeType();
  if (!d.plain(type, {type, "b32"}))
    return;
  const bool isKnown = withInteger(type, [&]<typename T>(T) {
    constexpr uint32_t kBits = sizeof(T) * 8;
    const auto amount = [=](uint32_t by) { return static_cast<T>(std::min(by, kBits)); };
    d.set(isLeft ? each<T, T, uint32_t>(
                       [=](T a, uint32_t by) { return numeric::shiftLeft(a, amount(by)); })
                 : each<T, T, uint32_t>(
                       [=](T a, uint32_t by) { return numeric::shiftRight(a, amount(by)); }));
  });
  if (!isKnown)
    d.failType(type);
}

void decodeFunnel(Decoder &d) {
  const bool isLeft = d.take("l");
  if (!isLeft && !d.take("r"))
    return d.fail("expected '.l' or '.r'");
  const bool wraps = d.take("wrap");
  if (!wraps && !d.take("clamp"))
    return d.fail("expected '.wrap' or '.clamp'");
  d.take("b32");
  if (!d.plain("b32", {"b32", "b32", "b32"}))
    return;
  d.set(each<uint32_t, uint32_t, uint32_t, uint32_t>([=](uint32_t a, uint32_t b, uint32_t c) {
    const uint32_t by = wraps ? c & 31 : std::min(c, 32U);
    const uint64_t both = uint64_t(b) << 32 | a;
    return static_cast<uint32_t>(isLeft ? both << by >> 32 : both >> by);
  }));
}

/// A place or a number of bits, as bfe and bfi take it: the low eight bits of the operand where the
/// word has 32 bits. PTX says so of 64 as well; an H200 takes all of the operand there.
uint32_t countOf(uint32_t operand, uint32_t bits) {
  return bits == 64 ? std::min(operand, 64U) : operand & 255;
}

/// Bits `at` and on, `length` of them; the sign beyond the top of a signed one.
template <typename T> T extractBits(T value, uint32_t position, uint32_t size) {
  constexpr uint32_t kBits = sizeof(T) * 8;
  using U = std::make_unsigned_t<T>;
  const uint32_t at = countOf(position, kBits), length = countOf(size, kBits);
  if (length == 0)
    return 0;
  const uint32_t top = std::min(at + length - 1, kBits - 1);
  const bool sign = std::is_signed_v<T> && (U(value) >> top & 1);
  const U kept = at >= kBits ? U(0) : static_cast<U>(U(value) >> at);
  const uint32_t there = at >= kBits ? 0 : std::min(length, kBits - at);
  const U mask = there >= kBits ? U(~U(0)) : static_cast<U>((U(1) << there) - 1);
  return static_cast<T>((kept & mask) | (sign ? static_cast<U>(~mask) : U(0)));
}

void decodeExtract(Decoder &d) {
  const std::string type = d.takeType();
  if (!d.plain(type, {type, "b32", "b32"}))
    return;
  if (!withInteger(type,
                   [&]<typename T>(T) { d.set(each<T, T, uint32_t, uint32_t>(extractBits<T>)); }))
    d.failType(type);
}

void decodeInsert(Decoder &d) {
  const std::string type = d.takeType();
  if (!d.plain(type, {type, type, "b32", "b32"}))
    return;
  const uint32_t bits = type == "b64" ? 64 : 32;
  if (type != "b64" && type != "b32")
    return d.failType(type);
  d.set(each<uint64_t, uint64_t, uint64_t, uint32_t, uint32_t>(
      [bits](uint64_t from, uint64_t into, uint32_t position, uint32_t size) {
        const uint32_t at = countOf(position, bits), length = std::min(countOf(size, bits), bits);
        if (at >= bits || length == 0)
          return into;
        const uint64_t mask = (length >= 64 ? ~uint64_t{0} : (uint64_t{1} << length) - 1) << at;
        return (into & ~mask) | (from << at & mask);
      }));
}

/// bfind: the highest bit that differs from the sign.
void decodeFind(Decoder &d) {
  const bool asShift = d.take("shiftamt");
  const std::string type = d.takeType();
  if (!d.plain("b32", {type}))
    return;
  const bool isKnown = withInteger(type, [&]<typename T>(T) {
    d.set(each<uint32_t, T>([asShift](T a) -> uint32_t {
      using U = std::make_unsigned_t<T>;
      const U bits = std::is_signed_v<T> && a < T(0) ? static_cast<U>(~U(a)) : U(a);
      if (bits == 0)
        return 0xffffffff;
      const auto at = static_cast<uint32_t>(std::bit_width(bits) - 1);
      return asShift ? static_cast<uint32_t>(sizeof(T) * 8) - 1 - at : at;
    }));
  });
  if (!isKnown)
    d.failType(type);
}

void decodeCount(Decoder &d) {
  const std::string type = d.takeType();
  const bool isWide = type == "b64";
  if (!isWide && type != "b32")
    return d.failType(type);
  const llvm::StringRef name = d.name();
  if (!d.plain(name == "brev" ? llvm::StringRef(type) : "b32", {type}))
    return;
  if (name == "popc")
    d.set(each<uint32_t, uint64_t>([](uint64_t a) { return uint32_t(std::popcount(a)); }));
  else if (name == "clz")
    d.set(each<uint32_t, uint64_t>(
        [isWide](uint64_t a) { return uint32_t(std::countl_zero(a) - (isWide ? 0 : 32)); }));
  else
    d.set(each<uint64_t, uint64_t>([isWide](uint64_t a) {
      return isWide ? __builtin_bitreverse64(a)
                    : uint64_t(__builtin_bitreverse32(static_cast<uint32_t>(a)));
    }));
}

/// szext and bmsk, whose amounts wrap at 32 or stop there.
void decodeMask(Decoder &d) {
  const bool wraps = d.take("wrap");
  if (!wraps && !d.take("clamp"))
    return d.fail("expected '.wrap' or '.clamp'");
  const bool isMask = d.name() == "bmsk";
  const std::string type = d.takeType();
  if (!d.plain(type, {type, "b32"}))
    return;
  const bool isSigned = type == "s32";
  const auto amount = [wraps](uint32_t by) { return wraps ? by & 31 : std::min(by, 32U); };
  const auto low = [](uint32_t count) { return count >= 32 ? ~0U : (1U << count) - 1; };
  d.set(each<uint32_t, uint32_t, uint32_t>([=](uint32_t a, uint32_t b) -> uint32_t {
    if (isMask) {
      const uint32_t at = amount(a);
      return at >= 32 ? 0 : low(amount(b)) << at;
    }
    const uint32_t count = amount(b);
    const bool sign = isSigned && count > 0 && (a >> (count - 1) & 1);
    return (a & low(count)) | (sign ? ~low(count) : 0);
  }));
}

/// fns: the place of the n-th set bit, counted from ``base`` upwards where n > 0, downwards where
/// n < 0; n = 0 asks whether the bit at ``base`` is set. 0xffffffff where there is none.
uint32_t findNth(uint32_t mask, uint32_t base, int32_t n) {
  if (base > 31)
    return 0xffffffff;
  const int step = n < 0 ? -1 : 1;
  int64_t left = n == 0 ? 1 : std::abs(static_cast<int64_t>(n));
  for (int at = static_cast<int>(base); at >= 0 && at < 32; at += step) {
    if ((mask >> at & 1) != 0 && --left == 0)
      return static_cast<uint32_t>(at);
    if (n == 0)
      break;
  }
  return 0xffffffff;
}

} // namespace

void decodeBits(Decoder &d) {
  const llvm::StringRef name = d.name();
  if (name == "and" || name == "or" || name == "xor" || name == "not" || name == "cnot") {
    decodeLogic(d);
  } else if (name == "lop3") {
    d.take("b32");
    if (d.plain("b32", {"b32", "b32", "b32", "b32"}))
      d.set(each<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>(lop3));
  } else if (name == "prmt") {
    decodePermute(d);
  } else if (name == "shl" || name == "shr") {
    decodeShift(d);
  } else if (name == "shf") {
    decodeFunnel(d);
  } else if (name == "bfe") {
    decodeExtract(d);
  } else if (name == "bfi") {
    decodeInsert(d);
  } else if (name == "bfind") {
    decodeFind(d);
  } else if (name == "popc" || name == "clz" || name == "brev") {
    decodeCount(d);
  } else if (name == "szext" || name == "bmsk") {
    decodeMask(d);
  } else if (name == "fns") {
    d.take("b32");
    if (d.plain("b32", {"b32", "b32", "b32"}))
      d.set(each<uint32_t, uint32_t, uint32_t, int32_t>(findNth));
  }
}

} // namespace blockscope::interpreter::ptx
