// Keeps shadows by the address of their value.
#include "sanitizer/undefined/shadow_values.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

namespace blockscope::sanitizer {

void ShadowValues::set(const void *value, Shadow shadow) {
  const auto isUndefined = [](OriginId origin) { return origin != kDefined; };
  const auto first = llvm::find_if(shadow.origins, isUndefined);
  if (first == shadow.origins.end()) {
    shadows_.erase(value);
    return;
  }
  const auto last = std::find_if(shadow.origins.rbegin(), shadow.origins.rend(), isUndefined);
  const auto begin = first - shadow.origins.begin(), end = last.base() - shadow.origins.begin();
  const auto trim = [&](auto &elements) {
    elements.erase(elements.begin() + end, elements.end());
    elements.erase(elements.begin(), elements.begin() + begin);
  };
  if (!shadow.bits.empty())
    trim(shadow.bits);
  trim(shadow.origins);
  shadow.first += begin;
  shadows_[value] = std::move(shadow);
}

void ShadowValues::move(const void *from, const void *to) {
  if (const Shadow *shadow = find(from))
    shadows_[to] = Shadow(*shadow); // a copy: the map may grow
  else
    shadows_.erase(to);
}

uint64_t ShadowedView::value(int64_t i) const {
  const int bytes = view_.type->elementBytes();
  uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const std::byte *>(view_.data) + at(i) * bytes,
              static_cast<size_t>(bytes));
  return bits;
}

} // namespace blockscope::sanitizer
