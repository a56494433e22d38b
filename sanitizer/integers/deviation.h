// Elements whose value is not what exact arithmetic gives, and how each came to be.
//
// Such an element is an origin (undefined/origin.h), so that shadows of values and the rules of ops
// that move elements serve here too. It has its exact value as long as that is known.
#pragma once

#include "sanitizer/undefined/origin.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace blockscope::sanitizer {

/// Wide enough for sums and products of 64-bit integers.
using Wide = __int128;

/// What made an element wrong.
enum class Mistake : uint8_t {
  SignedWrap,
  UnsignedWrap,
  LostBits,  ///< a left shift
  Narrowing, ///< a cast to fewer bits
  Bits,      ///< not a number but a pattern of bits, as of a hash: it may wrap as it likes
  DivisionByZero,
  DivisionOverflow,
  ShiftTooFar,
  FloatToInt,
};

/// Whether the check `arith` finds it, not `overflow`.
constexpr bool isArithmetic(Mistake mistake) { return mistake >= Mistake::DivisionByZero; }

/// One element of an op's result, where it went wrong.
struct Fault {
  Mistake mistake = Mistake::Bits;
  const OpInfo *op = nullptr;
  int64_t lane = 0;
  Wide left = 0, right = 0; ///< operands
  double number = 0;        ///< the operand of FloatToInt
  Wide exact = 0, kept = 0; ///< what it would be, and what it is
};

struct Deviation {
  Fault birth;
  /// It is, or comes of, arithmetic modulo 2^w that is likely meant: unsigned, or a hash. It counts
  /// only where it reaches an address by sums and products.
  bool isModular = false;
  bool isExact = true; ///< `exact` is known
  Wide exact = 0;      ///< of a pointer: the address
};

/// The deviations of the program that runs.
class Deviations final : public OriginRules {
public:
  Deviations() { clear(); }

  const Deviation &operator[](OriginId id) const { return all_[id]; }
  /// Null for kDefined.
  const Deviation *find(OriginId id) const { return id == kDefined ? nullptr : &all_[id]; }
  OriginId add(const Deviation &deviation);
  /// The same element, of which only this is known now.
  OriginId withExact(OriginId id, Wide exact, bool isModular);
  OriginId unknown(OriginId id);
  /// A pattern of bits.
  OriginId bits();

  // An op puts elements together: nobody knows what the result would be. Bits are dropped.
  OriginId after(const OpInfo & /*op*/, OriginId origin) override { return unknown(origin); }
  OriginId mixed(const OpInfo & /*op*/, OriginId origin) override { return unknown(origin); }

  size_t size() const { return all_.size(); }
  void clear();
  /// Forgets all but those that `forEach` shows, which get other numbers.
  void keepOnly(llvm::function_ref<void(llvm::function_ref<void(OriginId &)>)> forEach);

private:
  std::vector<Deviation> all_; ///< the first one is kDefined
  llvm::DenseMap<OriginId, OriginId> unknown_;
  OriginId bits_ = kDefined;
};

/// "-1018167296".
std::string wideText(Wide value);

} // namespace blockscope::sanitizer
