// Follows loads, stores and atomics, and measures outputs.
#include "sanitizer/precision/precision_sanitizer.h"

#include "core/numeric/scalar.h"
#include "interpreter/evaluator.h"
#include "sanitizer/ulp.h"

#include <cmath>
#include <set>

namespace blockscope::sanitizer {
namespace {

constexpr FindingCode kCodes[] = {FindingCode::ErrorShares, FindingCode::Cancellation,
                                  FindingCode::ErrorGrowth, FindingCode::NarrowSum};

constexpr llvm::StringLiteral kSharesChoices[] = {"large", "all"};
constexpr SanitizerOption kShares = {"error_shares", kSharesChoices,
                                     "outputs whose error is told of: those with several times the "
                                     "error of one rounding, or all"};

constexpr ObserverPlan kPlan = {.needs = {.values = true, .programOrder = true}};

uint64_t realAddress(const Allocation &allocation, int64_t offset) {
  return allocation.address + static_cast<uint64_t>(offset);
}

/// Puts the parts of a block's element into memory.
void storeParts(const ExactMemory::Element &to, const ExactElements &from, int64_t i) {
  if (!to || !from.block)
    return;
  for (const ErrorPart &part : from.block->parts) {
    std::vector<float> &errors = to.page->parts[part.cause];
    errors.resize(to.page->stored.size());
    errors[to.index] = static_cast<float>(part.error[static_cast<size_t>(from.first + i)]);
  }
}

} // namespace

ObserverPlan PrecisionSanitizer::plan() const { return kPlan; }

void PrecisionSanitizer::onLaunchBegin(const LaunchInfo &launch) {
  launch_ = &launch;
  ++number_;
  blocks_.clear();
  causes_.forgetOps();
  follower_.forgetOps();
  stores_.clear();
}

void PrecisionSanitizer::onProgramBegin(int64_t /*program*/, int /*worker*/) {
  // Of programs that wait, the values stay while others run.
  if (!launch_->mayWait)
    blocks_.clear();
}

void PrecisionSanitizer::onMove(const ValueMove &move) {
  blocks_.move(move.from, move.to, move.bytes);
}

void PrecisionSanitizer::onValues(const OpValues &values) {
  llvm::StringRef name = values.signature->name;
  if (!name.consume_front("tl."))
    return follower_.follow(values);
  if (name == "load" || name == "atomic_load")
    return load(values);
  if (name == "store" || name == "atomic_store")
    return store(values);
  if (name == "atomic_rmw" || name == "atomic_cas")
    return combine(values);
  follower_.follow(values);
}

void PrecisionSanitizer::load(const OpValues &values) {
  const ValueView &result = values.results[0];
  const bool hasOther = values.signature->attributes.getBool("has_other");
  const ExactElements other = hasOther ? blocks_.find(values.operands[2], 0) : ExactElements();
  if (!result.type->isFloating() || (memory_.empty() && !other.block))
    return blocks_.drop(values, result);
  AccessLanes lanes(values, *launch_->memory);
  ExactBlock made;
  made.exact = readFloats(result, lanes.count);
  made.line = causes_.lineOf(*values.op);
  for (int64_t lane = 0; lane < lanes.count; ++lane) {
    const auto i = static_cast<size_t>(lane);
    if (!lanes.isActive(lane)) {
      if (!other.block)
        continue;
      const size_t at = values.operands[2].extent == ValueView::Extent::One ? 0 : i;
      made.exact[i] = other.block->exact[at];
      for (const ErrorPart &part : other.block->parts)
        made.part(part.cause)[i] = part.error[at];
      continue;
    }
    int64_t offset = 0;
    const Allocation *allocation = lanes.at(lane, offset);
    const auto element = allocation ? memory_.find(realAddress(*allocation, offset),
                                                   result.type->dtype, made.exact[i])
                                    : ExactMemory::Element();
    if (!element || element.exact() == element.kernel())
      continue;
    made.exact[i] = element.exact();
    for (const auto &[cause, errors] : element.page->parts)
      if (errors[element.index] != 0)
        made.part(cause)[i] = errors[element.index];
  }
  made.tidy();
  if (made.parts.empty())
    blocks_.drop(values, result);
  else
    blocks_.set(values, result, std::move(made));
}

void PrecisionSanitizer::store(const OpValues &values) {
  const ValueView &stored = values.operands[1];
  if (!stored.type->isFloating())
    return;
  AccessLanes lanes(values, *launch_->memory);
  const std::vector<double> kernel = readFloats(stored, lanes.count);
  const ExactElements errors = blocks_.find(stored, 0);
  for (int64_t lane = 0; lane < lanes.count; ++lane) {
    int64_t offset = 0;
    const Allocation *allocation = lanes.isActive(lane) ? lanes.at(lane, offset) : nullptr;
    if (!allocation || !allocation->inStorage(offset, lanes.elementBytes))
      continue;
    const int64_t i = stored.extent == ValueView::Extent::One ? 0 : lane;
    const double value = kernel[static_cast<size_t>(i)];
    const double exact = errors.block ? errors.block->exact[static_cast<size_t>(i)] : value;
    storeParts(
        memory_.store(realAddress(*allocation, offset), stored.type->dtype, value, exact, number_),
        errors, i);
    ++stores_[allocation->storage][values.op];
  }
}

/// Sums and exchanges are followed; what other atomics leave is taken as exact.
void PrecisionSanitizer::combine(const OpValues &values) {
  const ValueView &operand = values.operands[1];
  if (!values.results.empty())
    blocks_.drop(values, values.results[0]);
  if (!operand.type->isFloating() || values.signature->name != "tl.atomic_rmw")
    return;
  AccessLanes lanes(values, *launch_->memory);
  const llvm::StringRef kind = values.signature->attributes.getString("kind");
  const std::vector<double> added = readFloats(operand, lanes.count);
  const std::vector<double> found =
      values.results.empty() ? std::vector<double>() : readFloats(values.results[0], lanes.count);
  const ExactElements errors = blocks_.find(operand, 0);
  std::map<uint64_t, std::pair<ExactMemory::Element, const std::byte *>> touched;
  for (int64_t lane = 0; lane < lanes.count; ++lane) {
    int64_t offset = 0;
    const Allocation *allocation = lanes.isActive(lane) ? lanes.at(lane, offset) : nullptr;
    if (!allocation || !allocation->inStorage(offset, lanes.elementBytes))
      continue;
    const uint64_t address = realAddress(*allocation, offset);
    const int64_t i = operand.extent == ValueView::Extent::One ? 0 : lane;
    const double value = added[static_cast<size_t>(i)];
    const double exact = errors.block ? errors.block->exact[static_cast<size_t>(i)] : value;
    const DType dtype = operand.type->dtype;
    ++stores_[allocation->storage][values.op];
    if (kind != "fadd") {
      const double now = numeric::readAsDouble(dtype, allocation->hostAt(offset));
      const bool isMine = now == value;
      storeParts(memory_.store(address, dtype, now, isMine ? exact : now, number_),
                 isMine ? errors : ExactElements(), i);
      continue;
    }
    const double before = found.empty() ? 0 : found[static_cast<size_t>(lane)];
    const auto known = touched.find(address);
    ExactMemory::Element element =
        known != touched.end() ? known->second.first : memory_.find(address, dtype, before);
    const bool isKnown = static_cast<bool>(element);
    if (!isKnown)
      element = memory_.store(address, dtype, before, before, number_);
    if (!element)
      continue;
    touched[address] = {element, allocation->hostAt(offset)};
    element.page->stored[element.index] = number_;
    element.page->exact[element.index] += exact;
    if (errors.block)
      for (const ErrorPart &part : errors.block->parts) {
        std::vector<float> &sums = element.page->parts[part.cause];
        sums.resize(element.page->stored.size());
        sums[element.index] += static_cast<float>(part.error[static_cast<size_t>(i)]);
      }
  }
  // What the additions have rounded is what the parts do not say.
  double energy = 0;
  std::vector<std::pair<ExactMemory::Element, double>> roundedBy;
  for (const auto &[address, at] : touched) {
    const auto &[element, bytes] = at;
    const double now = numeric::readAsDouble(operand.type->dtype, bytes);
    element.page->kernel[element.index] = now;
    double rounded = now - element.exact();
    for (const auto &[cause, errorsOf] : element.page->parts)
      rounded -= isGrowth(cause) ? 0 : errorsOf[element.index];
    if (!std::isfinite(rounded)) {
      element.page->exact[element.index] = now;
      continue;
    }
    energy += rounded * rounded;
    roundedBy.emplace_back(element, rounded);
  }
  if (energy == 0)
    return;
  const CauseId line =
      causes_.rounding(*values.op, "atomic additions in " + dtypeName(operand.type->dtype).str(),
                       energy, operand.type->elementBytes() <= 2);
  for (const auto &[element, rounded] : roundedBy) {
    std::vector<float> &part = element.page->parts[line];
    part.resize(element.page->stored.size());
    part[element.index] += static_cast<float>(rounded);
  }
}

double OutputErrors::relative() const { return exact > 0 ? std::sqrt(error / exact) : 0; }
double OutputErrors::times() const { return rounding > 0 ? std::sqrt(error / rounding) : 0; }

OutputErrors PrecisionSanitizer::measure(const Allocation &output) {
  OutputErrors errors;
  const uint64_t begin = output.address - static_cast<uint64_t>(output.view - output.storage);
  memory_.forEach(begin, begin + static_cast<uint64_t>(output.storageBytes), number_,
                  [&](uint64_t address, const ExactMemory::Element &element) {
                    const double off = element.kernel() - element.exact();
                    if (!std::isfinite(off))
                      return;
                    ++errors.count;
                    errors.error += off * off;
                    errors.exact += element.exact() * element.exact();
                    const double ulp = ulpOf(element.exact(), element.page->dtype);
                    errors.rounding += ulp * ulp / 12;
                    for (const auto &[cause, parts] : element.page->parts)
                      if (const double part = parts[element.index]; part != 0)
                        errors.parts[cause] += part * part;
                    if (std::abs(off) > errors.worst) {
                      errors.worst = std::abs(off);
                      errors.kernel = element.kernel();
                      errors.wanted = element.exact();
                      errors.address = address;
                    }
                  });
  return errors;
}

void PrecisionSanitizer::onLaunchEnd() {
  blocks_.clear();
  std::set<const std::byte *> seen;
  for (const auto &argument : launch_->memory->arguments()) {
    if (!stores_.count(argument->storage) || !seen.insert(argument->storage).second)
      continue;
    const OutputErrors errors = measure(*argument);
    if (errors.error > 0)
      report(*argument, errors);
  }
  stores_.clear();
}

namespace {

const Registration kRegistration({
    .name = "precision",
    .help = "how exact outputs are beside a run in float64, and which lines bring their errors",
    .codes = kCodes,
    .plan = kPlan,
    .isReport = true,
    .options = kShares,
    .make = [](const SanitizerContext &context) -> std::unique_ptr<Observer> {
      return std::make_unique<PrecisionSanitizer>(context.collector,
                                                  context.choice(kShares) == "all");
    },
});

} // namespace

} // namespace blockscope::sanitizer
