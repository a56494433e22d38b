// Where NaN and infinity were born in a launch.
#pragma once

#include "sanitizer/nan/float_class.h"
#include "sanitizer/undefined/origin.h"

#include <array>
#include <string>
#include <vector>

namespace blockscope::sanitizer {

/// Not born in this launch: memory held it. 0 (kDefined) is an ordinary number, or an infinity that
/// the kernel names itself: a constant, or -inf in memory, with which kernels mask.
constexpr OriginId kGiven = 1;

inline bool isBorn(OriginId origin) { return origin > kGiven; }

enum class BirthKind : uint8_t {
  OfInfinities, ///< inf - inf, 0 * inf
  Domain,       ///< a NaN of finite operands: sqrt(-1), 0 / 0
  Overflow,     ///< more than the type holds
  Cast,         ///< the same of a cast to a narrower type
  Saturated,    ///< a cast to fp8 that ends at the largest number; the result is finite
  Pole,         ///< x / 0, log(0)
};

/// One element of one execution of an op.
struct FloatBirth {
  uint32_t event = 0;
  BirthKind kind = BirthKind::Domain;
  FloatClass made = FloatClass::NaN;
  uint8_t numOperands = 0;
  OriginId parent = kDefined; ///< of an infinity that it was made of, when that was born here too
  int64_t lane = 0;
  /// The operands at this element; of ops over whole blocks the first infinities.
  std::array<double, 3> operands = {};
};

/// One execution of an op.
struct BirthEvent {
  const OpInfo *op = nullptr;
  int64_t program = 0;
  llvm::SmallVector<int64_t, 4> loopIterations;
  Type type;            ///< of the result
  std::string name;     ///< of the op; of a function of a library its own
  int64_t combined = 0; ///< of ops over whole blocks: how many elements went into one
};

class BirthTable {
public:
  BirthTable() { clear(); }

  /// An execution that births follow of.
  void begin(BirthEvent event) { events_.push_back(std::move(event)); }
  /// Adds a birth of the event that began last.
  OriginId add(FloatBirth birth);
  const FloatBirth &birth(OriginId origin) const { return births_[origin]; }
  const BirthEvent &event(OriginId origin) const { return events_[births_[origin].event]; }
  void clear();

private:
  std::vector<FloatBirth> births_; ///< by origin
  std::vector<BirthEvent> events_;
};

/// "0 / 0", "exp(100)": how it came to be, as text.
std::string expressionOf(const FloatBirth &birth, const BirthEvent &event);

} // namespace blockscope::sanitizer
