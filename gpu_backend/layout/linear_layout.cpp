// The element of an input, and the text of a layout.
#include "gpu_backend/layout/linear_layout.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

namespace blockscope::gpu {

ShapeBits::ShapeBits(llvm::ArrayRef<int64_t> shape) : widths_(shape.size()), shifts_(shape.size()) {
  for (int dim = static_cast<int>(shape.size()) - 1; dim >= 0; --dim) {
    widths_[dim] = static_cast<int>(llvm::Log2_64(shape[dim]));
    shifts_[dim] = total_;
    total_ += widths_[dim];
  }
}

ElementBits combine(llvm::ArrayRef<ElementBits> bases, uint32_t index) {
  ElementBits element = 0;
  for (size_t bit = 0; bit < bases.size(); ++bit)
    if ((index >> bit) & 1)
      element ^= bases[bit];
  return element;
}

ElementBits LinearLayout::registerElement(uint32_t reg) const { return combine(registers, reg); }
ElementBits LinearLayout::laneElement(uint32_t lane) const { return combine(lanes, lane); }
ElementBits LinearLayout::warpElement(uint32_t warp) const { return combine(warps, warp); }

std::string LinearLayout::text() const {
  const auto list = [](const Bases &bases) {
    return "[" +
           llvm::join(llvm::map_range(bases, [](ElementBits b) { return std::to_string(b); }),
                      ", ") +
           "]";
  };
  return "registers " + list(registers) + " lanes " + list(lanes) + " warps " + list(warps);
}

} // namespace blockscope::gpu
