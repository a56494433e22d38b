// Combine functions that find the largest or smallest value and its place, as argmax and argmin do.
#pragma once

#include "mlir/IR/Block.h"

#include <optional>

namespace blockscope::gpu {

/// What such a function, on (value, place, value, place), chooses. Of equal values it takes the
/// lowest or the highest place. Values and places are integers or floats, places integers.
struct Extreme {
  bool isLargest = true;
  bool isLowestPlace = true;
  /// Whether a NaN is taken before all numbers; else it is taken only where all are NaN.
  bool nanWins = false;
  /// Whether integers are compared as signed ones.
  bool hasSignedValues = true;
  bool hasSignedPlaces = true;
};

/// What the block of a combine region chooses; nothing where it is no such function. Functions that
/// do not look for NaN may take any of them: they give what the order of elements makes of it.
std::optional<Extreme> extremeOf(mlir::Block &block);

} // namespace blockscope::gpu
