// The ranges that the integers of a kernel can have in a launch, by interval arithmetic over its
// block IR with the arguments and the grid of the launch.
//
// It costs microseconds and looks at no element, so it comes before any watching: an op whose
// operands cannot leave its type needs no watching at all. An interval bounds the exact values of
// all elements, programs and iterations; where an op may wrap, its result is all of its type.
#pragma once

#include "interpreter/events.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>

namespace blockscope::interpreter {

/// Both ends are in it. Wide enough for products of 64-bit integers.
struct Interval {
  __int128 low = 0, high = 0;

  bool contains(__int128 value) const { return low <= value && value <= high; }
  bool contains(const Interval &other) const { return low <= other.low && other.high <= high; }
};

/// One op of integers, or a loop or branch around some. Values are numbered; of blocks one interval
/// bounds all elements.
struct RangeOp {
  enum class Kind : uint8_t {
    Known, ///< `known`
    Argument,
    ProgramId,
    NumPrograms,
    Load, ///< of argument `number`
    Unknown,
    Union, ///< one of its operands
    Add,
    Sub,
    Mul,
    Shl,
    ShrS,
    ShrU,
    And,
    Bits, ///< or, xor
    DivS,
    DivU,
    RemS,
    RemU,
    MinS,
    MaxS,
    MinU,
    MaxU,
    Abs,
    ExtendU,
    Truncate,
    FloatToInt,
    Sum,     ///< of `number` elements
    Running, ///< sums of 1 to `number` elements
    For,     ///< operands: begin, end, step
    If,
    While,
  };
  struct Carried {
    uint32_t argument = 0, initial = 0, yielded = 0, result = 0;
    /// What an iteration adds, as values with a sign, where it does no more than that.
    llvm::SmallVector<std::pair<uint32_t, bool>, 2> added;
    bool isSum = false;
  };

  Kind kind = Kind::Unknown;
  uint8_t width = 32;       ///< bits of the result
  bool isUnsigned = false;  ///< the result in the language
  bool isAddressed = false; ///< an address is made of it by sums and products
  int64_t number = 0;       ///< of an argument, an axis, elements
  Interval known;
  uint32_t result = 0;
  llvm::SmallVector<uint32_t, 3> operands;
  int place = -1;                   ///< in IntegerRanges::places
  std::vector<Carried> carried;     ///< For, While; If: then, else and result
  std::vector<RangeOp> body, other; ///< of a loop; then and else
};

/// What may go wrong in a launch.
struct RangeVerdict {
  bool mayWrap = false;  ///< an integer op, with a result that matters
  bool mayFail = false;  ///< a division by 0, a shift by too much
  bool hasCasts = false; ///< floats become integers, which may be out of range
};

class IntegerRanges {
public:
  std::vector<RangeOp> ops;
  std::vector<uint8_t> widths;      ///< by value
  std::vector<OpInfo> places;       ///< of products below 64 bits, for addresses
  std::vector<bool> areByConstants; ///< by place: one operand is a constant
  uint32_t numValues = 0;

  /// What can go wrong in this launch. Data that is loaded is looked at only where all else does
  /// not suffice, and only where the launch cannot change it.
  RangeVerdict decide(const LaunchInfo &launch) const;

  /// A product that grows with the grid by one of its operands, and the number of programs along
  /// an axis from which on it leaves its type.
  struct Limit {
    int place = 0, axis = 0;
    int64_t programs = 0;
    __int128 factor = 0;     ///< the other operand, the same everywhere
    bool isConstant = false; ///< the kernel's text, or a constexpr, has the factor
  };
  /// Those that stay in their type in this launch, and would leave it in a larger grid with the
  /// same arguments; of which the factor is at least `leastFactor`.
  std::vector<Limit> limits(const LaunchInfo &launch, int64_t leastFactor) const;
};

} // namespace blockscope::interpreter
