// The table of deviations.
#include "sanitizer/integers/deviation.h"

#include <algorithm>

namespace blockscope::sanitizer {

namespace {
/// Beyond it sums and products of what comes may leave the type.
constexpr Wide kMostExact = Wide(1) << 100;
} // namespace

void Deviations::clear() {
  all_.assign(1, {});
  unknown_.clear();
  bits_ = kDefined;
}

OriginId Deviations::add(const Deviation &deviation) {
  all_.push_back(deviation);
  Deviation &added = all_.back();
  if (added.exact > kMostExact || added.exact < -kMostExact)
    added.isExact = false;
  return static_cast<OriginId>(all_.size() - 1);
}

OriginId Deviations::withExact(OriginId id, Wide exact, bool isModular) {
  Deviation next = all_[id];
  next.exact = exact;
  next.isModular |= isModular;
  return add(next);
}

OriginId Deviations::unknown(OriginId id) {
  const Deviation *deviation = find(id);
  if (!deviation || deviation->isModular)
    return kDefined;
  if (!deviation->isExact)
    return id;
  const auto [known, isNew] = unknown_.try_emplace(id);
  if (isNew) {
    Deviation next = *deviation;
    next.isExact = false;
    const OriginId added = add(next);
    unknown_[id] = added; // `known` may be stale
    return added;
  }
  return known->second;
}

OriginId Deviations::bits() {
  if (bits_ == kDefined) {
    Deviation bits;
    bits.isModular = true;
    bits.isExact = false;
    bits_ = add(bits);
  }
  return bits_;
}

void Deviations::keepOnly(llvm::function_ref<void(llvm::function_ref<void(OriginId &)>)> forEach) {
  const std::vector<Deviation> old = std::move(all_);
  clear();
  llvm::DenseMap<OriginId, OriginId> numbers;
  forEach([&](OriginId &id) {
    if (id == kDefined)
      return;
    const auto [known, isNew] = numbers.try_emplace(id);
    if (isNew)
      known->second = add(old[id]);
    id = known->second;
  });
}

std::string wideText(Wide value) {
  const bool isNegative = value < 0;
  auto rest = static_cast<unsigned __int128>(value);
  if (isNegative)
    rest = -rest;
  std::string text;
  do
    text += static_cast<char>('0' + static_cast<int>(rest % 10));
  while (rest /= 10);
  if (isNegative)
    text += '-';
  std::reverse(text.begin(), text.end());
  return text;
}

} // namespace blockscope::sanitizer
