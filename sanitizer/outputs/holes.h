// Elements of a tensor that a launch has left out, and how they are told.
#pragma once

#include "sanitizer/outputs/write_map.h"

#include <optional>
#include <string>
#include <vector>

namespace blockscope::sanitizer {

/// Elements [begin, end) of a view that lie behind one another; addresses of the host.
struct Gap {
  uint64_t begin, end;
};

/// Of one argument.
struct LeftOut {
  std::vector<Gap> gaps; ///< in row-major order
  int64_t elements = 0;

  bool empty() const { return gaps.empty(); }
  void add(uint64_t begin, uint64_t end, int64_t elementBytes);
};

/// Returns the elements of a view that are not written. Nothing where none is written at all, or
/// where they are too many to be a mistake in one place.
std::optional<LeftOut> leftOut(const Allocation &allocation, const WriteMap &written);

/// Returns "out[256:300]" or, of several dimensions, "out[0:4, 256:300]"; "some of ..." where the
/// elements do not fill that box.
std::string elementsText(const Allocation &allocation, const LeftOut &elements);

/// Keeps the gaps between blocks of elements that are written: those within a row, and whole rows.
/// Nothing where they are no fewer than what is written, as in every second element.
LeftOut enclosed(const Allocation &allocation, const LeftOut &elements, const WriteMap &written);

} // namespace blockscope::sanitizer
