// The undefined elements of the values of a program, as they come and go.
//
// Values are named by their address (ValueView::data). Only values with an undefined element are
// kept, so a program that has none pays one test for each op.
#pragma once

#include "sanitizer/access_lanes.h"
#include "sanitizer/undefined/origin.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <vector>

namespace blockscope::sanitizer {

/// Which elements of one value are undefined, and which bits of these. Those from `first` on are
/// told of; all others are defined.
struct Shadow {
  int64_t first = 0;
  std::vector<OriginId> origins; ///< kDefined where all bits are defined
  /// By element: its undefined bits. Empty: all bits of each element that has an origin.
  std::vector<uint64_t> bits = {};

  /// Of elements [first, last), all defined yet.
  static Shadow of(int64_t first, int64_t last) {
    return {first, std::vector<OriginId>(static_cast<size_t>(last - first))};
  }
  int64_t last() const { return first + static_cast<int64_t>(origins.size()); }
  OriginId &origin(int64_t i) { return origins[static_cast<size_t>(i - first)]; }
  uint64_t &undefinedBits(int64_t i) { return bits[static_cast<size_t>(i - first)]; }
};

class ShadowValues {
public:
  bool empty() const { return shadows_.empty(); }
  /// Null when the value is all defined.
  const Shadow *find(const void *value) const {
    const auto found = shadows_.find(value);
    return found == shadows_.end() ? nullptr : &found->second;
  }
  /// The value has just been made.
  void set(const void *value, Shadow shadow);
  void define(const void *value) { shadows_.erase(value); }
  void move(const void *from, const void *to);
  void clear() { shadows_.clear(); }
  void forEach(llvm::function_ref<void(Shadow &)> visit) {
    for (auto &[value, shadow] : shadows_)
      visit(shadow);
  }

private:
  llvm::DenseMap<const void *, Shadow> shadows_;
};

/// One operand or result of an op with its shadow, element by element.
class ShadowedView {
public:
  ShadowedView(const ValueView &view, const ShadowValues &shadows)
      : view_(view), shadow_(shadows.find(view.data)),
        isOne_(view.extent == ValueView::Extent::One) {}

  bool isDefined() const { return !shadow_; }
  const Type &type() const { return *view_.type; }
  /// Elements [first, last) of `count` may be undefined.
  std::pair<int64_t, int64_t> range(int64_t count) const {
    return !shadow_ ? std::pair<int64_t, int64_t>(count, 0)
           : isOne_ ? std::pair<int64_t, int64_t>(0, count)
                    : std::pair(shadow_->first, shadow_->last());
  }
  OriginId origin(int64_t i) const {
    return shadow_ && isIn(i) ? shadow_->origins[inShadow(i)] : kDefined;
  }
  /// Undefined bits of an element, among the low `width()` ones.
  uint64_t undefinedBits(int64_t i) const {
    if (origin(i) == kDefined)
      return 0;
    return shadow_->bits.empty() ? mask() : shadow_->bits[inShadow(i)];
  }
  /// The element's bits as they are, zero-extended.
  uint64_t value(int64_t i) const;
  /// Bits of an element; int1 has one.
  int width() const { return view_.type->isBool() ? 1 : view_.type->elementBytes() * 8; }
  uint64_t mask() const { return width() == 64 ? ~uint64_t{0} : (uint64_t{1} << width()) - 1; }

private:
  int64_t at(int64_t i) const { return isOne_ ? 0 : i; }
  bool isIn(int64_t i) const { return at(i) >= shadow_->first && at(i) < shadow_->last(); }
  size_t inShadow(int64_t i) const { return static_cast<size_t>(at(i) - shadow_->first); }

  const ValueView &view_;
  const Shadow *shadow_;
  bool isOne_;
};

} // namespace blockscope::sanitizer
