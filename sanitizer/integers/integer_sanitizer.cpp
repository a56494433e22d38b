// Follows wrong integers through a run, and finds where they are used.
#include "sanitizer/integers/integer_sanitizer.h"

#include "core/op_facts.h"
#include "interpreter/evaluator.h"
#include "interpreter/flat/flat_program.h"

namespace blockscope::sanitizer {
namespace {

constexpr FindingCode kOverflowCodes[] = {FindingCode::IndexWrap, FindingCode::IntegerWrap,
                                          FindingCode::GridLimit};
constexpr FindingCode kArithCodes[] = {FindingCode::DivisionByZero, FindingCode::DivisionOverflow,
                                       FindingCode::ShiftTooFar, FindingCode::FloatToInt};

constexpr RunNeeds::Accesses kAccesses = RunNeeds::Accesses::Outside;
constexpr RunNeeds kNeeds = {
    .accesses = kAccesses, .values = true, .programOrder = true, .program = true};
constexpr ObserverPlan kOverflowPlan = {.needs = kNeeds,
                                        .repeat = ObserverPlan::Repeat::Asks,
                                        .trialNeeds = {.accesses = kAccesses, .program = true}};
constexpr ObserverPlan kArithPlan = {
    .needs = kNeeds,
    .repeat = ObserverPlan::Repeat::Asks,
    .trialNeeds = {.accesses = kAccesses, .claims = true, .program = true}};

// Nearly every kernel has an index that wraps in some grid. Where an argument is the factor, and
// fewer than 65536 rows are enough, that is likely to be met.
constexpr llvm::StringLiteral kLimitChoices[] = {"near", "all", "off"};
constexpr SanitizerOption kLimits = {"grid_limits", kLimitChoices,
                                     "tell from which grid on an index will wrap"};
int64_t leastFactorOf(llvm::StringRef choice) {
  return choice == "near" ? kNearFactor : choice == "all" ? 2 : INT64_MAX;
}

/// So many deviations are kept before those of values that are gone are looked for.
constexpr size_t kMostDeviations = size_t{1} << 20;

bool isPlus(const OpValues &values) {
  const llvm::StringRef combine = values.signature->attributes.getString("combine");
  return values.operands.size() == 1 && values.operands[0].type->isInteger() &&
         (combine == "arith.addi" || combine == "arith.muli");
}

bool isElementwise(llvm::StringRef name) {
  const OpFacts *facts = findOpFacts(name);
  return facts ? facts->isElementwise : name == "tl.splat";
}

} // namespace

ObserverPlan IntegerSanitizer::plan() const {
  return wanted_.arithmetic ? kArithPlan : kOverflowPlan;
}

const IntegerRanges *IntegerSanitizer::ranges() const {
  return launch_->program ? launch_->program->ranges.get() : nullptr;
}

//===-- Launches ------------------------------------------------------------------------------===//

void IntegerSanitizer::onLaunchBegin(const LaunchInfo &launch) {
  launch_ = &launch;
  shadows_.clear();
  deviations_.clear();
  mostDeviations_ = kMostDeviations;
  moves_.clear();
  types_.clear();
  names_.clear();
  mayGoWrong_ = true;
  isCastWrong_ = false;
  const IntegerRanges *known = ranges();
  if (!known)
    return;
  const RangeVerdict verdict = known->decide(launch);
  const bool mayFail = verdict.mayFail || (verdict.hasCasts && !launch.isTrial);
  mayGoWrong_ = (wanted_.wraps && verdict.mayWrap) || (wanted_.arithmetic && mayFail);
}

void IntegerSanitizer::onProgramBegin(int64_t /*program*/, int /*worker*/) {
  // A trial has none, and all threads come here; of programs that wait, the values stay while
  // others run.
  if (launch_->isTrial || launch_->mayWait)
    return;
  shadows_.clear();
  deviations_.clear();
}

void IntegerSanitizer::onLaunchEnd() {
  if (wanted_.wraps)
    tellLimits();
  shadows_.clear();
  deviations_.clear();
}

/// Values that are gone may have left many deviations behind.
void IntegerSanitizer::forgetOld() {
  deviations_.keepOnly([&](llvm::function_ref<void(OriginId &)> keep) {
    shadows_.forEach([&](Shadow &shadow) {
      for (OriginId &id : shadow.origins)
        keep(id);
    });
  });
  mostDeviations_ = std::max(kMostDeviations, 2 * deviations_.size());
}

//===-- Values --------------------------------------------------------------------------------===//

void IntegerSanitizer::onValues(const OpValues &values) {
  if (launch_->isTrial)
    return suspectCast(values);
  if (!mayGoWrong_)
    return;
  if (deviations_.size() > mostDeviations_)
    forgetOld();
  llvm::StringRef name = values.signature->name;
  if (!name.consume_front("tl."))
    return follow(values);
  if (name == "load" || name == "atomic_load")
    return access(values, 1);
  if (name == "store" || name == "atomic_store" || name == "atomic_rmw")
    return access(values, 2);
  if (name == "atomic_cas")
    return access(values, 3);
  follow(values);
}

/// In the trial: claims are shown, floats that become integers among them.
void IntegerSanitizer::suspectCast(const OpValues &values) {
  if (wanted_.arithmetic && values.signature->name == "tl.float_to_int" &&
      !isCastWrong_.load(std::memory_order_relaxed) && isOutOfRange(values))
    isCastWrong_.store(true, std::memory_order_relaxed);
}

void IntegerSanitizer::follow(const OpValues &values) {
  if (values.results.empty())
    return;
  const llvm::StringRef name = values.signature->name;
  const bool isSum = (name == "tl.reduce" || name == "tl.scan") && isPlus(values);
  const bool isFollowed = !shadows_.empty();
  const bool mayBeBorn = isSum ? wanted_.wraps : mayDeviate(values, wanted_);
  if (!isFollowed && !mayBeBorn)
    return;
  if (!isSum && !isElementwise(name))
    return followRest(values);
  llvm::SmallVector<Integers, 3> operands;
  bool isExact = true;
  for (const ValueView &operand : values.operands) {
    operands.emplace_back(operand, shadows_);
    isExact &= operands.back().isExact();
  }
  const void *result = values.results.front().data;
  if (isExact && !mayBeBorn)
    return shadows_.define(result);
  if (mayBeBorn)
    types_.try_emplace(values.op, *values.results.front().type);
  shadows_.set(result, isSum ? followSum(values, operands.front(), deviations_)
                             : followExactly(values, operands, deviations_, wanted_, mayBeBorn));
}

/// Ops that move elements or work on whole blocks.
void IntegerSanitizer::followRest(const OpValues &values) {
  llvm::SmallVector<ShadowedView, 4> operands;
  OriginId any = kDefined;
  bool isExact = true;
  for (const ValueView &operand : values.operands) {
    operands.emplace_back(operand, shadows_);
    const ShadowedView &view = operands.back();
    isExact &= view.isDefined();
    const auto [first, last] = view.range(operand.elements(operand.type->numElements()));
    for (int64_t i = first; i < last && any == kDefined; ++i)
      any = deviations_.unknown(view.origin(i));
  }
  Shadows made;
  if (!isExact && values.signature->name != "scf.for")
    made = followBlocks({values, operands, deviations_, moves_});
  for (size_t i = 0; i < values.results.size(); ++i) {
    const ValueView &result = values.results[i];
    Shadow shadow;
    if (i < made.size())
      shadow = std::move(made[i]);
    else if (any != kDefined && values.signature->name != "scf.for")
      shadow = {0, std::vector<OriginId>(
                       static_cast<size_t>(result.elements(result.type->numElements())), any)};
    shadow.bits.clear();
    shadows_.set(result.data, std::move(shadow));
  }
}

void IntegerSanitizer::onMove(const ValueMove &move) {
  if (!shadows_.empty())
    shadows_.move(move.from, move.to);
}

//===-- Uses ----------------------------------------------------------------------------------===//

bool IntegerSanitizer::count(Found &found, OriginId id, int64_t lane) const {
  const Deviation *deviation = deviations_.find(id);
  if (!deviation || deviation->birth.mistake == Mistake::Bits ||
      (deviation->isModular && found.use != IntegerUse::Address))
    return false;
  if (found.count++ == 0) {
    found.lane = lane;
    found.id = id;
  }
  return true;
}

void IntegerSanitizer::onDecision(const ValueDecision &decision) {
  if (shadows_.empty())
    return;
  const auto around = decision.op->name == "scf.for" ? decision.loopIterations.drop_back()
                                                     : decision.loopIterations;
  Found found{IntegerUse::Way, decision.op, decision.program, around};
  for (const ValueView &value : decision.values)
    count(found, ShadowedView(value, shadows_).origin(0), 0);
  if (found.count) {
    found.count = 1;
    report(found);
  }
}

void IntegerSanitizer::access(const OpValues &values, size_t numOperands) {
  if (shadows_.empty())
    return;
  const AccessKind kind = accessKindOf(values.signature->name);
  const int mask = maskOperand(*values.signature);
  const ValueView &pointers = values.operands[0];
  const int64_t lanes = pointers.type->numElements();
  const ShadowedView addresses(pointers, shadows_);
  std::optional<ShadowedView> masks;
  if (mask >= 0)
    masks.emplace(values.operands[static_cast<size_t>(mask)], shadows_);
  const auto isActive = [&](int64_t lane) { return !masks || masks->value(lane) != 0; };
  const auto addElement = [&](Found &found, int64_t lane) {
    const DeviceAddress at = addresses.value(lane);
    if (const Allocation *allocation = launch_->memory->find(at))
      found.elements.add(allocation->info, MemoryMap::offsetIn(*allocation, at),
                         pointers.type->pointee().elementBytes());
  };
  Found address{IntegerUse::Address,   values.op,     values.program,
                values.loopIterations, pointers.type, kind};
  if (!addresses.isDefined())
    for (int64_t lane = 0; lane < lanes; ++lane)
      if (isActive(lane) && count(address, addresses.origin(lane), lane))
        addElement(address, lane);
  Found use = address;
  if (address.count) {
    const DeviceAddress at = addresses.value(address.lane);
    address.allocation = launch_->memory->find(at);
    if (address.allocation)
      address.offset = MemoryMap::offsetIn(*address.allocation, at);
    report(address);
  } else if (masks && !masks->isDefined()) {
    use.use = IntegerUse::Mask;
    for (int64_t lane = 0; lane < lanes; ++lane)
      count(use, masks->origin(lane), lane);
    if (use.count)
      report(use);
  }
  for (size_t k = 1; k < numOperands; ++k) {
    const ShadowedView stored(values.operands[k], shadows_);
    if (stored.isDefined())
      continue;
    use.use = isAtomic(kind) ? IntegerUse::AtomicOperand : IntegerUse::Store;
    use.count = 0;
    use.elements.clear();
    for (int64_t lane = 0; lane < lanes; ++lane)
      if (isActive(lane) && count(use, stored.origin(lane), lane))
        addElement(use, lane);
    if (use.count)
      report(use);
  }
  if (!values.results.empty()) {
    shadows_.define(values.results[0].data);
    if (kind == AccessKind::Load && values.signature->attributes.getBool("has_other"))
      keepOther(values, mask);
  }
}

/// Lanes that a load leaves out have the value of `other`.
void IntegerSanitizer::keepOther(const OpValues &load, int mask) {
  const ShadowedView other(load.operands[2], shadows_);
  if (other.isDefined() || mask < 0)
    return;
  const ShadowedView masks(load.operands[static_cast<size_t>(mask)], shadows_);
  Shadow shadow = Shadow::of(0, load.results[0].type->numElements());
  for (int64_t lane = 0; lane < shadow.last(); ++lane)
    if (masks.value(lane) == 0)
      shadow.origin(lane) = other.origin(lane);
  shadows_.set(load.results[0].data, std::move(shadow));
}

namespace {

const Registration kOverflow({
    .name = "overflow",
    .help = "integers that wrap or are cut off, where they reach an address or are used",
    .codes = kOverflowCodes,
    .plan = kOverflowPlan,
    .options = kLimits,
    .make = [](const SanitizerContext &context) -> std::unique_ptr<Observer> {
      return std::make_unique<IntegerSanitizer>(context.collector, Wanted{.wraps = true},
                                                leastFactorOf(context.choice(kLimits)));
    },
});

const Registration kArith({
    .name = "arith",
    .help = "divisions by 0, shifts by too much and floats out of range, where they are used",
    .codes = kArithCodes,
    .plan = kArithPlan,
    .make = [](const SanitizerContext &context) -> std::unique_ptr<Observer> {
      return std::make_unique<IntegerSanitizer>(context.collector, Wanted{.arithmetic = true}, 0);
    },
});

} // namespace

} // namespace blockscope::sanitizer
