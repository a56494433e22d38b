// The two runs of `nan`: the screen of a trial, and the one that follows values.
#include "sanitizer/nan/nan_sanitizer.h"

#include "core/numeric/scalar.h"
#include "interpreter/evaluator.h"

#include <cmath>

namespace blockscope::sanitizer {
namespace {

constexpr FindingCode kCodes[] = {FindingCode::NanBorn, FindingCode::InfinityBorn};

constexpr ObserverPlan kPlan = {.needs = {.values = true, .claims = true, .programOrder = true},
                                .repeat = ObserverPlan::Repeat::Asks,
                                .trialNeeds = {.claims = true}};

/// Calls `visit(first, count)` for active lanes that are neighbours, until it says true.
bool anyActive(const Access &access, llvm::function_ref<bool(int64_t, int64_t)> visit) {
  if (const AccessBox *box = access.box) {
    int64_t rows = 1;
    for (int d = 0; d + 1 < box->rank; ++d)
      rows *= box->dimensions[d].size;
    for (int64_t row = 0; row < rows; ++row) {
      int64_t lane = box->firstLane, rest = row;
      for (int d = box->rank - 2; d >= 0; --d) {
        lane += rest % box->dimensions[d].size * box->dimensions[d].laneStride;
        rest /= box->dimensions[d].size;
      }
      if (visit(lane, box->dimensions[box->rank - 1].size))
        return true;
    }
    return false;
  }
  if (!access.mask)
    return visit(0, access.lanes);
  for (int64_t lane = 0; lane < access.lanes; ++lane)
    if (access.mask[lane] && visit(lane, 1))
      return true;
  return false;
}

/// Whether an access writes a NaN or an infinity, or combines memory with one.
bool writesNonFinite(const Access &access) {
  const void *written = access.operandValues ? access.operandValues : access.values;
  if (!writesMemory(access.kind) || !isFloating(access.dtype) || !written ||
      access.activeLanes == 0)
    return false;
  const int64_t count = access.valuesAreScalar ? 1 : access.lanes;
  if (!hasNonFinite(access.dtype, written, count))
    return false;
  return access.valuesAreScalar || anyActive(access, [&](int64_t first, int64_t lanes) {
           return hasNonFinite(
               access.dtype, static_cast<const std::byte *>(written) + first * access.elementBytes,
               lanes);
         });
}

/// Whether a cast to fp8 makes an element too small.
bool saturates(const OpValues &cast) {
  const ValueView &operand = cast.operands[0];
  const std::optional<double> limit = saturatesFrom(cast.signature->results[0].dtype);
  const auto *elements = static_cast<const std::byte *>(operand.data);
  const int64_t count = limit ? operand.elements(cast.count) : 0;
  for (int64_t i = 0; i < count; ++i)
    if (std::abs(numeric::readAsDouble(operand.type->dtype,
                                       elements + i * operand.type->elementBytes())) >= *limit)
      return true;
  return false;
}

} // namespace

ObserverPlan NanSanitizer::plan() const { return kPlan; }

void NanSanitizer::onLaunchBegin(const LaunchInfo &launch) {
  launch_ = &launch;
  isTrial_ = launch.isTrial;
  isSuspect_ = false;
  shadows_.clear();
  births_.clear();
  moves_.clear();
}

void NanSanitizer::onProgramBegin(int64_t /*program*/, int /*worker*/) {
  // Of programs that wait, the values stay while others run.
  if (isTrial_ || launch_->mayWait)
    return;
  shadows_.clear();
  births_.clear();
}

void NanSanitizer::onLaunchEnd() {
  shadows_.clear();
  births_.clear();
}

//===-- The trial -----------------------------------------------------------------------------===//

void NanSanitizer::onAccess(const Access &access) {
  if (isTrial_ && !isSuspect_.load(std::memory_order_relaxed) && writesNonFinite(access))
    isSuspect_.store(true, std::memory_order_relaxed);
}

/// A NaN that is compared where it decides something, an integer made of one or of an infinity, an
/// fp8 number of one that it cannot hold.
void NanSanitizer::suspectClaim(const OpValues &values) {
  const llvm::StringRef name = values.signature->name;
  const bool isNew = !isSuspect_.load(std::memory_order_relaxed);
  if (name == "tl.fp_cast" && isNew && saturates(values))
    isSuspect_.store(true, std::memory_order_relaxed);
  const bool isComparison = name == "arith.cmpf";
  if (!isNew || !(isComparison || name == "tl.float_to_int"))
    return;
  for (const ValueView &operand : values.operands)
    if ((isComparison ? hasNaN : hasNonFinite)(operand.type->dtype, operand.data,
                                               operand.elements(values.count)))
      isSuspect_.store(true, std::memory_order_relaxed);
}

//===-- The run that follows values -----------------------------------------------------------===//

void NanSanitizer::onValues(const OpValues &values) {
  if (isTrial_)
    return suspectClaim(values);
  llvm::StringRef name = values.signature->name;
  if (!name.consume_front("tl."))
    return followFloats(values, shadows_, births_, moves_);
  if (name == "load" || name == "atomic_load")
    return load(values);
  if (name == "store" || name.starts_with("atomic_")) {
    if (!shadows_.empty()) {
      AccessLanes lanes(values, *launch_->memory);
      checkAddresses(values, lanes);
      for (size_t operand = 1; operand < (name == "atomic_cas" ? 3 : 2); ++operand)
        checkOperand(values, lanes, operand);
    }
    return values.results.empty() ? void() : load(values);
  }
  if (name == "assert")
    return checkAssert(values);
  followFloats(values, shadows_, births_, moves_);
}

void NanSanitizer::onMove(const ValueMove &move) {
  if (!shadows_.empty())
    shadows_.move(move.from, move.to);
}

/// What memory held was not born here; -inf is how kernels mask.
void NanSanitizer::load(const OpValues &values) {
  const ValueView &result = values.results[0];
  const int64_t count = result.type->numElements();
  const bool isFinite =
      !result.type->isFloating() || !hasNonFinite(result.type->dtype, result.data, count);
  if (isFinite && shadows_.empty())
    return;
  const AccessLanes lanes(values, *launch_->memory);
  if (values.signature->name == "tl.load" || values.signature->name == "tl.atomic_load")
    checkAddresses(values, lanes);
  if (isFinite)
    return shadows_.define(result.data);
  const bool hasOther = values.signature->attributes.getBool("has_other");
  Shadow shadow = Shadow::of(0, count);
  const auto *elements = static_cast<const std::byte *>(result.data);
  for (int64_t i = 0; i < count; ++i) {
    const FloatClass each = classOf(result.type->dtype, elements + i * result.type->elementBytes());
    if (each == FloatClass::NaN || each == FloatClass::Plus)
      shadow.origin(i) = kGiven;
    if (hasOther && each != FloatClass::Finite && !lanes.isActive(i))
      shadow.origin(i) = ShadowedView(values.operands[2], shadows_).origin(i);
  }
  shadows_.set(result.data, std::move(shadow));
}

void NanSanitizer::checkAddresses(const OpValues &values, const AccessLanes &lanes) {
  const ShadowedView shadowed(lanes.pointers(), shadows_);
  if (shadowed.isDefined())
    return;
  llvm::SmallVector<Arrived, 2> arrived;
  for (int64_t lane = 0; lane < lanes.count; ++lane)
    if (isBorn(shadowed.origin(lane)) && lanes.isActive(lane))
      arrive(arrived, {shadowed.origin(lane), lane});
  report({Arrival::Address, values.op, values.program, values.loopIterations, lanes.pointers().type,
          accessKindOf(values.signature->name)},
         arrived);
}

void NanSanitizer::checkOperand(const OpValues &values, AccessLanes &lanes, size_t operand) {
  const ShadowedView shadowed(values.operands[operand], shadows_);
  if (shadowed.isDefined())
    return;
  llvm::SmallVector<Arrived, 2> arrived;
  for (int64_t lane = 0; lane < lanes.count; ++lane) {
    const OriginId origin = shadowed.origin(lane);
    int64_t offset = 0;
    const Allocation *allocation =
        isBorn(origin) && lanes.isActive(lane) ? lanes.at(lane, offset) : nullptr;
    if (allocation)
      arrive(arrived, {origin, lane, 0, allocation, offset}, lanes.elementBytes);
  }
  const AccessKind kind = accessKindOf(values.signature->name);
  report({kind == AccessKind::Store ? Arrival::Store : Arrival::AtomicOperand, values.op,
          values.program, values.loopIterations, lanes.pointers().type, kind},
         arrived);
}

void NanSanitizer::checkAssert(const OpValues &values) {
  if (shadows_.empty())
    return;
  const ValueView &condition = values.operands[0];
  const ShadowedView shadowed(condition, shadows_);
  const bool hasMask = values.signature->attributes.getBool("has_mask");
  llvm::SmallVector<Arrived, 2> arrived;
  for (int64_t lane = 0; !shadowed.isDefined() && lane < condition.type->numElements(); ++lane)
    if (isBorn(shadowed.origin(lane)) &&
        !(hasMask && ShadowedView(values.operands[1], shadows_).value(lane) == 0))
      arrive(arrived, {shadowed.origin(lane), lane});
  report({Arrival::Assert, values.op, values.program, values.loopIterations, condition.type,
          std::nullopt},
         arrived);
}

void NanSanitizer::onDecision(const ValueDecision &decision) {
  if (isTrial_ || shadows_.empty())
    return;
  // A loop that begins has no iteration yet.
  const auto around = decision.op->name == "scf.for" ? decision.loopIterations.drop_back()
                                                     : decision.loopIterations;
  llvm::SmallVector<Arrived, 2> arrived;
  for (const ValueView &value : decision.values)
    if (const OriginId origin = ShadowedView(value, shadows_).origin(0); isBorn(origin))
      arrive(arrived, {origin});
  report({Arrival::Way, decision.op, decision.program, around, nullptr, std::nullopt}, arrived);
}

namespace {

const Registration kRegistration({
    .name = "nan",
    .help = "NaN and infinity that are born in a kernel and reach memory, an address, a branch or "
            "an assert",
    .codes = kCodes,
    .plan = kPlan,
    .make = [](const SanitizerContext &context) -> std::unique_ptr<Observer> {
      return std::make_unique<NanSanitizer>(context.collector);
    },
});

} // namespace

} // namespace blockscope::sanitizer
