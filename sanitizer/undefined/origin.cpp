// Links origins, and walks them back.
#include "sanitizer/undefined/origin.h"

#include "sanitizer/describe.h"

#include "llvm/Support/FormatVariadic.h"

namespace blockscope::sanitizer {
namespace {

constexpr uint32_t kLongestChain = 32;
constexpr size_t kMostHops = 3; // that a report shows

bool isSameLine(const SourceLocation &a, const SourceLocation &b) {
  return a.line == b.line && a.file == b.file;
}

} // namespace

std::string Trail::key() const {
  std::string key = isMixed ? "mixed " : "";
  for (const Site &site : sites)
    key += placeKey(site.location);
  return key;
}

OriginId OriginTable::link(const OpInfo &op, OriginId parent, bool isMixed) {
  const std::pair<const OpInfo *, uint64_t> asked = {&op,
                                                     uint64_t{parent} << 1 | uint64_t{isMixed}};
  if (asked == last_)
    return lastLink_;
  last_ = asked;
  const Link &from = links_[parent];
  isMixed |= from.isMixed;
  const bool isSame = from.op && isSameLine(from.op->location, op.location);
  if (isMixed == from.isMixed && (isSame || from.length >= kLongestChain))
    return lastLink_ = parent;
  const auto [known, isNew] = known_.try_emplace({&op, uint64_t{parent} << 1 | uint64_t{isMixed}},
                                                 static_cast<OriginId>(links_.size()));
  if (isNew)
    links_.push_back({&op, parent, from.length + 1, isMixed, nullptr});
  return lastLink_ = known->second;
}

OriginId OriginTable::bornInLoad(const OpValues &load, int64_t first, int64_t last, int64_t count) {
  auto &[id, born] = births_[load.op];
  if (id == kDefined) {
    id = static_cast<OriginId>(links_.size());
    links_.push_back({load.op, kDefined, 1, false, nullptr});
  }
  born.type = load.results.front().type;
  born.program = load.program;
  born.first = first;
  born.last = last;
  born.count = count;
  born.loopIterations.assign(load.loopIterations.begin(), load.loopIterations.end());
  return id;
}

void OriginTable::tellBirth(Trail &trail, const OpInfo &op, const Born &born) const {
  Site site;
  site.role = SiteRole::BornAt;
  site.location = withoutVariable(op.location);
  Execution &ran = site.execution.emplace();
  ran.access = AccessKind::Load;
  ran.program = programIndex(born.program, launch_.grid);
  ran.lane = born.first;
  ran.blockShape.assign(born.type->shape.begin(), born.type->shape.end());
  ran.laneIndex = laneIndex(born.first, ran.blockShape);
  ran.loopIterations.assign(born.loopIterations.begin(), born.loopIterations.end());
  ran.accessBytes = born.type->elementBytes();
  trail.sites.push_back(std::move(site));
  trail.birth = Birth::MaskedLanes;
  std::string lanes = llvm::formatv("{0} to {1}", born.first, born.last);
  if (born.count == 1)
    lanes = std::to_string(born.first);
  else if (born.count != born.last - born.first + 1)
    lanes = llvm::formatv("{0} of {1} to {2}", born.count, born.first, born.last);
  trail.values = {{"lanes without a value", std::move(lanes)}};
}

OriginId OriginTable::fromMemory(const OpInfo &load, const std::shared_ptr<const Trail> &trail) {
  const auto [known, isNew] =
      loaded_.try_emplace({&load, trail.get()}, static_cast<OriginId>(links_.size()));
  if (isNew)
    links_.push_back({&load, kDefined, 1, trail->isMixed, trail});
  return known->second;
}

Trail OriginTable::trail(OriginId origin, const SourceLocation &here) const {
  Trail result;
  result.isMixed = links_[origin].isMixed;
  const auto addHop = [&](const SourceLocation &location) {
    const bool isKnown = llvm::any_of(
        result.sites, [&](const Site &site) { return isSameLine(site.location, location); });
    if (!isKnown && !isSameLine(location, here) && result.sites.size() < kMostHops)
      result.sites.push_back({SiteRole::Through, withoutVariable(location), std::nullopt});
  };
  for (OriginId at = origin; at != kDefined; at = links_[at].parent) {
    const Link &link = links_[at];
    const auto born =
        link.parent == kDefined && !link.before ? births_.find(link.op) : births_.end();
    if (born != births_.end()) {
      tellBirth(result, *link.op, born->second.second);
      continue;
    }
    addHop(link.op->location);
    if (!link.before)
      continue;
    for (const Site &site : link.before->sites)
      if (site.role == SiteRole::Through)
        addHop(site.location);
      else
        result.sites.push_back(site);
    result.birth = link.before->birth;
    result.values = link.before->values;
  }
  return result;
}

} // namespace blockscope::sanitizer
