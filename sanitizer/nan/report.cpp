// The findings of `nan`: the place of birth, and where the value arrives.
#include "sanitizer/nan/nan_sanitizer.h"

#include "sanitizer/describe.h"

#include "llvm/ADT/Twine.h"

namespace blockscope::sanitizer {
namespace {

std::string messageOf(const FloatBirth &birth, const BirthEvent &event, Arrival arrival) {
  const bool isSaturated = birth.kind == BirthKind::Saturated;
  const std::string made = isSaturated                      ? "the largest " + event.name
                           : birth.made == FloatClass::NaN  ? "NaN"
                           : birth.made == FloatClass::Plus ? "inf"
                                                            : "-inf";
  const auto where = [&]() -> llvm::StringRef {
    switch (arrival) {
    case Arrival::Store:
      return "a store writes";
    case Arrival::AtomicOperand:
      return "an atomic takes";
    case Arrival::Address:
      return "an address is made of";
    case Arrival::Way:
      return "decides where the program goes";
    case Arrival::Assert:
      return "an assert looks at";
    }
    return "";
  };
  return (llvm::Twine(expressionOf(birth, event)) + " gives " + made + ", which " + where()).str();
}

std::string hintOf(const FloatBirth &birth, const BirthEvent &event) {
  switch (birth.kind) {
  case BirthKind::OfInfinities:
    return event.name == "arith.subf" ? "where all of a row may be masked, its maximum is -inf: "
                                        "subtract tl.where(maximum == float('-inf'), 0, maximum)"
                                      : "keep infinities out with tl.where before this";
  case BirthKind::Domain:
    return event.name == "arith.divf"
               ? "test the divisor with tl.where, or keep it above 0 with an epsilon"
               : "keep the operand in the function's domain with tl.maximum or tl.where";
  case BirthKind::Overflow:
    return event.name == "math.exp" || event.name == "math.exp2"
               ? "subtract the maximum before the exponential"
               : "compute in a wider type, or scale before";
  case BirthKind::Cast:
  case BirthKind::Saturated:
    return "scale or clamp before the cast";
  case BirthKind::Pole:
    return "test the operand with tl.where, or keep it away from 0 with an epsilon";
  }
  return "";
}

void fill(Execution &ran, const LaunchInfo &launch, int64_t program, const Type *block,
          int64_t lane, llvm::ArrayRef<int64_t> loopIterations) {
  ran.program = programIndex(program, launch.grid);
  ran.loopIterations.assign(loopIterations.begin(), loopIterations.end());
  if (!block)
    return;
  ran.lane = lane;
  ran.blockShape.assign(block->shape.begin(), block->shape.end());
  ran.laneIndex = laneIndex(lane, block->shape);
}

} // namespace

void NanSanitizer::arrive(llvm::SmallVectorImpl<Arrived> &arrived, const Arrived &lane,
                          int bytes) const {
  const auto addElement = [&](Arrived &to) {
    if (lane.allocation)
      to.elements.add(lane.allocation->info, lane.offset, bytes);
  };
  const FloatBirth &birth = births_.birth(lane.origin);
  for (Arrived &each : arrived) {
    const FloatBirth &known = births_.birth(each.origin);
    if (births_.event(each.origin).op == births_.event(lane.origin).op &&
        known.kind == birth.kind && known.made == birth.made) {
      ++each.count;
      addElement(each);
      return;
    }
  }
  arrived.push_back(lane);
  arrived.back().count = 1;
  addElement(arrived.back());
}

void NanSanitizer::report(const Place &place, llvm::ArrayRef<Arrived> arrived) {
  for (const Arrived &each : arrived) {
    const FloatBirth &birth = births_.birth(each.origin);
    const std::string cause = "nan " + std::to_string(static_cast<int>(birth.kind)) +
                              std::to_string(static_cast<int>(birth.made)) +
                              std::to_string(static_cast<int>(place.arrival)) + " " +
                              placeKey(births_.event(each.origin).op->location) + " " +
                              placeKey(place.op->location);
    // Source text may come from Python, which is not asked under the collector's lock.
    const int32_t column =
        place.arrival == Arrival::Way ? columnOfStatement(place.op->location) : 0;
    collector_.add(
        cause, {launch_->launchIndex, place.program, sequence_++, each.lane}, each.count,
        [&] {
          Finding finding = describe(place, each);
          if (column)
            finding.related.front().location.column = column;
          return finding;
        },
        each.elements);
  }
}

Site NanSanitizer::siteOfBirth(OriginId origin) const {
  const BirthEvent &event = births_.event(origin);
  Site site;
  site.role = SiteRole::BornAt;
  site.location = withoutVariable(event.op->location);
  fill(site.execution.emplace(), *launch_, event.program, &event.type, births_.birth(origin).lane,
       event.loopIterations);
  return site;
}

Finding NanSanitizer::describe(const Place &place, const Arrived &arrived) const {
  const FloatBirth &birth = births_.birth(arrived.origin);
  const BirthEvent &event = births_.event(arrived.origin);
  const bool isNaN = birth.made == FloatClass::NaN;
  Finding finding =
      beginFinding(isNaN ? FindingCode::NanBorn : FindingCode::InfinityBorn, *launch_);
  if (birth.kind == BirthKind::Pole || birth.kind == BirthKind::Saturated)
    finding.severity = Severity::Warning;
  finding.message = messageOf(birth, event, place.arrival);
  // An infinity that was born here too is what is to be mended.
  finding.hint = birth.kind == BirthKind::OfInfinities && birth.parent != kDefined
                     ? "where the infinity is born: " +
                           hintOf(births_.birth(birth.parent), births_.event(birth.parent))
                     : hintOf(birth, event);
  finding.site = siteOfBirth(arrived.origin);
  finding.site.role = SiteRole::Here;
  Site &there = finding.related.emplace_back();
  there.role = SiteRole::ArrivesAt;
  there.location = withoutVariable(place.op->location);
  Execution &ran = there.execution.emplace();
  ran.access = place.access;
  fill(ran, *launch_, place.program, place.block, arrived.lane, place.loopIterations);
  if (birth.parent) {
    finding.related.push_back(siteOfBirth(birth.parent));
    finding.values = {
        {"the infinity", expressionOf(births_.birth(birth.parent), births_.event(birth.parent))}};
  }
  if (arrived.allocation)
    finding.element = describeElement(*arrived.allocation, arrived.offset);
  return finding;
}

} // namespace blockscope::sanitizer
