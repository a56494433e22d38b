// Numbers lines and ops.
#include "sanitizer/precision/causes.h"

#include "sanitizer/describe.h"

#include <algorithm>
#include <cmath>

namespace blockscope::sanitizer {
namespace {

/// A line and the lines of its callers.
std::string lineKey(const SourceLocation &location) {
  std::string key;
  for (const SourceLocation *at = &location; at; at = at->caller.get())
    key += at->file + ":" + std::to_string(at->line) + "|";
  return key;
}

} // namespace

const Cause::Rounding &Cause::main() const {
  return *std::max_element(roundings.begin(), roundings.end(),
                           [](const auto &a, const auto &b) { return a.energy < b.energy; });
}

CauseId Causes::lineOf(const OpInfo &op) {
  const auto [known, isNew] = lines_.try_emplace(&op);
  if (!isNew)
    return known->second;
  const auto [place, isNewLine] =
      byPlace_.try_emplace(lineKey(op.location), static_cast<CauseId>(causes_.size()));
  if (isNewLine)
    causes_.emplace_back().location = withoutVariable(op.location);
  return known->second = place->second;
}

CauseId Causes::rounding(const OpInfo &op, const std::string &what, double energy,
                         bool isNarrowSum) {
  const CauseId id = lineOf(op);
  std::vector<Cause::Rounding> &roundings = causes_[id].roundings;
  auto known = std::find_if(roundings.begin(), roundings.end(),
                            [&](const auto &each) { return each.what == what; });
  if (known == roundings.end())
    known = roundings.insert(known, {what, withoutVariable(op.location)});
  known->energy += energy;
  known->isNarrowSum |= isNarrowSum;
  return id;
}

CauseId Causes::growth(const OpInfo &op, llvm::StringRef name, const GrowthExample &example) {
  const auto [known, isNew] = byPlace_.try_emplace(name.str() + " " + placeKey(op.location),
                                                   static_cast<CauseId>(causes_.size()) | kGrowth);
  if (isNew) {
    Cause &cause = causes_.emplace_back();
    cause.location = withoutVariable(op.location);
    cause.op = name.str();
  }
  Cause &cause = causes_[known->second & ~kGrowth];
  if (std::abs(example.error) > std::abs(cause.example.error))
    cause.example = example;
  return known->second;
}

} // namespace blockscope::sanitizer
