// What a kernel's own expression says of an address: a parameter plus a sum of index times stride,
// as it stands in the block IR. Plain data, read off once; a launch computes the numbers in it.
//
// An index is a scalar of the program (from its ids, arguments and loop counters) plus a multiple
// of the lane's place along each axis of the block. Where it depends on data, it is not known, and
// the other terms still are.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace blockscope::interpreter {

/// One step of a scalar computation; its operands are earlier steps of the same list.
struct ScalarStep {
  enum class Kind : uint8_t {
    Constant,    ///< `value`
    Argument,    ///< of parameter `value`
    ProgramId,   ///< along axis `value`
    NumPrograms, ///< along axis `value`
    LoopCounter, ///< iterations done of the loop around, `value` counts from the outermost
    Add,
    Sub,
    Mul,
    Div, ///< signed, towards zero
    Rem,
    Min,
    Max,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
    Less,
    LessEqual,
    Equal,
    NotEqual,
    Select,
  };
  Kind kind = Kind::Constant;
  bool isFixed = true;    ///< the same in the whole launch
  bool isLiteral = false; ///< made of constants of the source only
  /// A product by more than the size of a block is in it: it may well be an offset, no index.
  bool mayBeOffset = false;
  bool hasQuotient = false; ///< a quotient is in it
  uint8_t bits = 64;        ///< of an argument
  int64_t value = 0;
  std::array<uint32_t, 3> operands = {0, 0, 0};
};

/// Where a program is.
struct ScalarPlace {
  std::array<int32_t, 3> program = {0, 0, 0};
  std::array<int32_t, 3> grid = {1, 1, 1};
  llvm::ArrayRef<uint64_t> arguments; ///< bits, by parameter
  llvm::ArrayRef<int64_t> loopIterations;
};

struct AddressForm {
  struct Term {
    /// The step that gives its stride in elements; none: 1.
    std::optional<uint32_t> stride;
    bool names = false; ///< the stride is meant as one: not the size of a block, nor a fixed offset
    bool isKnown = true;   ///< else the index depends on data
    bool hasRange = false; ///< the index changes from lane to lane
    uint32_t start = 0;    ///< the step that gives the index where all lane places are 0
    llvm::SmallVector<int64_t, 4> perLane; ///< by axis of the block
  };
  uint32_t parameter = 0;
  int64_t pointeeBytes = 1;
  std::vector<Term> terms;
  std::vector<ScalarStep> steps; ///< all that the terms need
  /// Whether the op runs, and which of its lanes do, depends on no loaded data.
  bool isDataFree = false;

  /// Computes all steps. Errors: false where one divides by 0, or a loop is not known.
  bool compute(const ScalarPlace &place, llvm::SmallVectorImpl<int64_t> &values) const;
};

} // namespace blockscope::interpreter
