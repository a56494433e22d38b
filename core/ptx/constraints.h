// The constraints of inline assembly: which register holds which elements.
//
// Shapes: one run of the assembly takes `pack` elements of each argument and gives `pack` elements
// of each result. An element of less than 32 bits shares a register with those that follow it, up
// to 32 bits, the first one in the low bits.
#pragma once

#include "core/type.h"

#include <optional>
#include <string>
#include <vector>

namespace blockscope::ptx {

/// One operand of the assembly: $0, $1, ...
struct Slot {
  bool isResult = false;
  bool isImmediate = false; ///< "n": a constant
  char letter = 'r';
  int bits = 32;    ///< of the register
  int tiedTo = -1;  ///< "0": the register of this result
  int value = 0;    ///< which argument or which result
  int element = 0;  ///< the first of its elements
  int elements = 1; ///< how many share the register
  int elementBits = 32;
  /// The type of the register in PTX, "b32"; "constant" for an immediate.
  std::string type() const;
};

struct Constraints {
  std::vector<Slot> slots; ///< results, then arguments
  std::string llvmText;    ///< without spaces
  std::string error;       ///< empty when they fit the values
};

/// More elements than this do not fit the 255 registers of a thread.
constexpr int64_t mostPack = 256;

/// Reads the constraints of assembly on `pack` elements of each of `arguments` that gives `results`
/// (their shapes do not matter).
/// Errors: a pack that is no power of two up to mostPack, a value that is neither a number nor a
/// pointer, a constraint that is unknown, and constraints that do not fit the values.
Constraints readConstraints(llvm::StringRef text, llvm::ArrayRef<Type> arguments,
                            llvm::ArrayRef<Type> results, int64_t pack);

} // namespace blockscope::ptx
