// Comparison and choice: setp, set, selp, slct, testp.
#include "interpreter/ptx/decoder.h"
#include "interpreter/ptx/float_arithmetic.h"

#include "llvm/ADT/StringSwitch.h"

#include <optional>

namespace blockscope::interpreter::ptx {
namespace {

enum class Relation : uint8_t { Less, Equal, Greater, Unordered };
/// The relations for which a comparison is true, a bit for each.
std::optional<unsigned> relationsOf(llvm::StringRef name) {
  constexpr unsigned kLess = 1, kEqual = 2, kGreater = 4, kNan = 8;
  return llvm::StringSwitch<std::optional<unsigned>>(name)
      .Case("eq", kEqual)
      .Case("ne", kLess | kGreater)
      .Cases({"lt", "lo"}, kLess)
      .Cases({"le", "ls"}, kLess | kEqual)
      .Cases({"gt", "hi"}, kGreater)
      .Cases({"ge", "hs"}, kGreater | kEqual)
      .Case("equ", kEqual | kNan)
      .Case("neu", kLess | kGreater | kNan)
      .Case("ltu", kLess | kNan)
      .Case("leu", kLess | kEqual | kNan)
      .Case("gtu", kGreater | kNan)
      .Case("geu", kGreater | kEqual | kNan)
      .Case("num", kLess | kEqual | kGreater)
      .Case("nan", kNan)
      .Default(std::nullopt);
}

template <typename V> unsigned relationOf(V a, V b) {
  const Relation relation = a < b    ? Relation::Less
                            : a == b ? Relation::Equal
                            : a > b  ? Relation::Greater
                                     : Relation::Unordered;
  return 1U << static_cast<unsigned>(relation);
}

/// Compares lanes; of each a bit for each part.
using Compare = std::function<void(int64_t count, const uint64_t *, const uint64_t *, uint64_t *)>;

template <typename T> Compare comparing(unsigned relations, int parts, bool flushes) {
  const FloatMode mode{.flushes = flushes};
  const auto one = [=](uint64_t a, uint64_t b) -> uint64_t {
    auto x = Element<T>::get(a), y = Element<T>::get(b);
    if constexpr (std::is_same_v<T, float>) {
      x = mode.flushed(x);
      y = mode.flushed(y);
    }
    return (relationOf(x, y) & relations) != 0;
  };
  if (parts == 1)
    return [=](int64_t count, const uint64_t *a, const uint64_t *b, uint64_t *out) {
      for (int64_t i = 0; i < count; ++i)
        out[i] = one(a[i], b[i]);
    };
  return [=](int64_t count, const uint64_t *a, const uint64_t *b, uint64_t *out) {
    for (int64_t i = 0; i < count; ++i)
      out[i] = one(a[i], b[i]) | one(a[i] >> 16, b[i] >> 16) << 1;
  };
}

Compare compareOf(llvm::StringRef type, unsigned relations, bool flushes) {
  Compare made;
  if (type == "f32")
    return comparing<float>(relations, 1, flushes);
  if (type == "f64")
    return comparing<double>(relations, 1, false);
  if (type == "f16" || type == "f16x2")
    return comparing<Half>(relations, type == "f16" ? 1 : 2, false);
  if (type == "bf16" || type == "bf16x2")
    return comparing<Brain>(relations, type == "bf16" ? 1 : 2, false);
  withInteger(type, [&]<typename T>(T) { made = comparing<T>(relations, 1, false); });
  return made;
}

bool combine(llvm::StringRef with, bool a, bool b) {
  return with == "and" ? a && b : with == "or" ? a || b : with == "xor" ? a != b : a;
}

/// A predicate that is read, maybe negated: its register or a constant.
bool takePredicate(Decoder &d, const Operand &operand, bool &isNegated) {
  if (operand.kind != Operand::Kind::Register) {
    d.fail("expected a predicate");
    return false;
  }
  Operand plain = operand;
  isNegated = operand.isNegated;
  plain.isNegated = false;
  d.in(plain, "pred");
  return true;
}

/// The operands of setp and set behind the results: two that are compared, and a predicate, maybe
/// negated, that their answer is combined with where the instruction says how.
struct Compared {
  std::string with; ///< "and", "or", "xor"; empty: there is no predicate
  bool isNegated = false;

  bool read(Decoder &d, llvm::StringRef type) {
    if (!d.expectOperands(with.empty() ? 3 : 4))
      return false;
    d.in(d.operand(1), type);
    d.in(d.operand(2), type);
    return with.empty() || takePredicate(d, d.operand(3), isNegated);
  }
  bool answer(bool found, const Lanes &lanes, int64_t i) const {
    return combine(with, found, !with.empty() && ((lanes.in[2][i] & 1) != 0) != isNegated);
  }
};

/// setp: one predicate, or with p|q also its opposite (of packed floats that of the upper half).
void decodeSetp(Decoder &d, Compare compare, llvm::StringRef type, const std::string &with) {
  const bool isPair = d.operand(0).kind == Operand::Kind::Pair;
  const bool isPacked = type.ends_with("x2");
  if (isPair) {
    d.out(d.operand(0).parts[0], "pred");
    d.out(d.operand(0).parts[1], "pred");
  } else {
    d.out(d.operand(0), "pred");
  }
  Compared compared{.with = with};
  if (!compared.read(d, type))
    return;
  d.set([=](const Lanes &lanes) {
    compare(lanes.count, lanes.in[0], lanes.in[1], lanes.out[0]);
    if (!isPair && with.empty())
      return;
    for (int64_t i = 0; i < lanes.count; ++i) {
      const uint64_t found = lanes.out[0][i];
      lanes.out[0][i] = compared.answer(found & 1, lanes, i);
      if (isPair)
        lanes.out[1][i] = compared.answer(isPacked ? (found & 2) != 0 : !(found & 1), lanes, i);
    }
  });
}

/// set: all ones, or 1.0, where it is true.
void decodeSet(Decoder &d, Compare compare, llvm::StringRef result, llvm::StringRef type,
               const std::string &with) {
  uint64_t yes = 0;
  const bool isPacked = type.ends_with("x2");
  if (result == "f32")
    yes = 0x3f800000;
  else if (result == "u32" || result == "s32")
    yes = 0xffffffff;
  else if (result == "f16" || result == "f16x2")
    yes = 0x3c00;
  else if (result == "bf16" || result == "bf16x2")
    yes = 0x3f80;
  else if (result == "u16" || result == "s16")
    yes = 0xffff;
  else
    return d.failType(result);
  if (isPacked && (result == "u32" || result == "s32"))
    yes = 0xffff;
  d.out(d.operand(0), result);
  Compared compared{.with = with};
  if (!compared.read(d, type))
    return;
  d.set([=](const Lanes &lanes) {
    compare(lanes.count, lanes.in[0], lanes.in[1], lanes.out[0]);
    for (int64_t i = 0; i < lanes.count; ++i) {
      const uint64_t found = lanes.out[0][i];
      uint64_t word = compared.answer(found & 1, lanes, i) ? yes : 0;
      if (isPacked && compared.answer((found & 2) != 0, lanes, i))
        word |= yes << 16;
      lanes.out[0][i] = word;
    }
  });
}

void decodeComparison(Decoder &d) {
  const std::string name = d.hasModifiers() ? d.takeType() : "";
  if (d.operandCount() < 3)
    return d.fail("it has " + std::to_string(d.operandCount()) + " operands, expected 3");
  const auto relations = relationsOf(name);
  if (!relations)
    return d.fail("'." + name + "' is not a comparison");
  const std::string with = d.takeOneOf({"and", "or", "xor"});
  const bool flushes = d.take("ftz");
  const bool isSet = d.name() == "set";
  const std::string result = isSet ? d.takeType() : "";
  const std::string type = d.takeType();
  Compare compare = compareOf(type, *relations, flushes);
  if (!compare)
    return d.failType(type);
  if (isSet)
    decodeSet(d, std::move(compare), result, type, with);
  else
    decodeSetp(d, std::move(compare), type, with);
}

void decodeSelect(Decoder &d) {
  const std::string type = d.takeType();
  if (!d.expectOperands(4))
    return;
  d.out(d.operand(0), type);
  d.in(d.operand(1), type);
  d.in(d.operand(2), type);
  bool isNegated = false;
  if (takePredicate(d, d.operand(3), isNegated))
    d.set(each<uint64_t, uint64_t, uint64_t, bool>(
        [isNegated](uint64_t a, uint64_t b, bool p) { return p != isNegated ? a : b; }));
}

/// slct: by the sign of the third operand.
void decodeSlct(Decoder &d) {
  const bool flushes = d.take("ftz");
  const std::string type = d.takeType(), by = d.takeType();
  if (!d.plain(type, {type, type, by}))
    return;
  if (by == "s32")
    d.set(each<uint64_t, uint64_t, uint64_t, int32_t>(
        [](uint64_t a, uint64_t b, int32_t c) { return c >= 0 ? a : b; }));
  else if (by == "f32")
    d.set(each<uint64_t, uint64_t, uint64_t, float>([=](uint64_t a, uint64_t b, float c) {
      return FloatMode{.flushes = flushes}.flushed(c) >= 0 ? a : b;
    }));
  else
    d.failType(by);
}

template <typename T> Kernel testing(llvm::StringRef what) {
  const auto make = [](auto test) { return each<bool, T>([=](T x) -> bool { return test(x); }); };
  if (what == "finite")
    return make([](T x) { return std::isfinite(x); });
  if (what == "infinite")
    return make([](T x) { return std::isinf(x); });
  if (what == "number")
    return make([](T x) { return !std::isnan(x); });
  if (what == "notanumber")
    return make([](T x) { return std::isnan(x); });
  if (what == "normal")
    return make([](T x) { return std::isnormal(x); });
  return make([](T x) { return std::fpclassify(x) == FP_SUBNORMAL; });
}

void decodeTest(Decoder &d) {
  const std::string what =
      d.takeOneOf({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  const std::string type = d.takeType();
  if (what.empty() || (type != "f32" && type != "f64"))
    return d.failType(type);
  if (d.plain("pred", {type}))
    d.set(type == "f32" ? testing<float>(what) : testing<double>(what));
}

} // namespace

void decodeCompare(Decoder &d) {
  if (d.name() == "setp" || d.name() == "set")
    decodeComparison(d);
  else if (d.name() == "selp")
    decodeSelect(d);
  else if (d.name() == "slct")
    decodeSlct(d);
  else if (d.name() == "testp")
    decodeTest(d);
}

} // namespace blockscope::interpreter::ptx
