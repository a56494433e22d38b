// rows: accesses that stay in their tensor but leave the row that their own address names.
//
// What an address says stands in the kernel (interpreter/address_form.h); the scalars in it are
// computed for each access, and the index along each dimension is held against its size. Lanes that
// a mask leaves out do not count, and lanes outside the tensor are asan's.
#include "sanitizer/rows/dimensions.h"
#include "sanitizer/sanitizer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <memory>

namespace blockscope::sanitizer {
namespace {

constexpr FindingCode kCodes[] = {FindingCode::CrossesDimension};

constexpr ObserverPlan kPlan = {.needs = {.program = true},
                                .repeat = ObserverPlan::Repeat::Accepts};

/// Where a lane of an access to one tensor is, in bytes from its first element.
int64_t offsetOf(const Access &access, int64_t lane) {
  if (access.addresses)
    return MemoryMap::offsetIn(*access.allocation, access.addresses[lane]);
  if (!access.box)
    return -1;
  int64_t rest = lane - access.box->firstLane;
  uint64_t address = access.box->address;
  for (int d = 0; d < access.box->rank; ++d) {
    const AccessBox::Dimension &dimension = access.box->dimensions[d];
    const int64_t steps = std::min(rest / dimension.laneStride, dimension.size - 1);
    rest -= steps * dimension.laneStride;
    address += static_cast<uint64_t>(steps * dimension.strideBytes);
  }
  return MemoryMap::offsetIn(*access.allocation, address);
}

/// The index of an access along one dimension: `start` plus `perLane` for each place of a lane.
struct LaneIndex {
  int64_t start = 0;
  llvm::SmallVector<int64_t, 4> perLane;
};

/// Lanes [first, last] of each axis of a block.
using Extents = llvm::SmallVector<std::pair<int64_t, int64_t>, 4>;

Extents extentsOf(const Access &access) {
  Extents extents;
  if (!access.box) {
    for (const int64_t size : access.blockShape)
      extents.emplace_back(0, size - 1);
    return extents;
  }
  int64_t lastLane = access.box->firstLane;
  for (int d = 0; d < access.box->rank; ++d)
    lastLane += (access.box->dimensions[d].size - 1) * access.box->dimensions[d].laneStride;
  const auto first = laneIndex(access.box->firstLane, access.blockShape);
  const auto last = laneIndex(lastLane, access.blockShape);
  for (size_t d = 0; d < first.size(); ++d)
    extents.emplace_back(first[d], last[d]);
  return extents;
}

/// Lowest and highest index in the extents.
std::pair<int64_t, int64_t> boundsIn(const LaneIndex &index, const Extents &extents) {
  int64_t low = index.start, high = index.start;
  for (size_t d = 0; d < extents.size(); ++d) {
    const int64_t a = index.perLane[d] * extents[d].first;
    const int64_t b = index.perLane[d] * extents[d].second;
    low += std::min(a, b);
    high += std::max(a, b);
  }
  return {low, high};
}

/// The same over the lanes that are active.
std::pair<int64_t, int64_t> activeBounds(const LaneIndex &index, const Access &access) {
  if (!access.mask)
    return boundsIn(index, extentsOf(access));
  std::optional<std::pair<int64_t, int64_t>> bounds;
  for (int64_t lane = 0; lane < access.lanes; ++lane) {
    if (!access.mask[lane])
      continue;
    int64_t here = index.start;
    for (const auto &[count, place] : llvm::zip(index.perLane, laneIndex(lane, access.blockShape)))
      here += count * place;
    bounds = bounds ? std::pair(std::min(bounds->first, here), std::max(bounds->second, here))
                    : std::pair(here, here);
  }
  return bounds.value_or(std::pair(index.start, index.start));
}

bool hasRange(const LaneIndex &index) {
  return llvm::any_of(index.perLane, [](int64_t count) { return count != 0; });
}

/// An index below 0 that all lanes have is meant: the end of the row before, as in
/// `x + (row + 1) * n - 1`. Takes it from the index of the row. So does an index that lies inside
/// with what a fixed number has added to the row's, and one that has no lane inside without what a
/// fixed number has taken from the row's: `x + row * n + lane - n`, with lanes from n on.
void carry(llvm::ArrayRef<NamedIndex> named, llvm::MutableArrayRef<LaneIndex> indices,
           const Access &access) {
  for (size_t i = named.size(); i-- > 1;) {
    const bool runsOn = named[i - 1].stride == named[i].size * named[i].stride;
    const int64_t added = named[i - 1].added;
    if (!runsOn)
      continue;
    int64_t rows = 0;
    if (!hasRange(indices[i])) {
      rows = std::min<int64_t>(0, llvm::divideFloorSigned(indices[i].start, named[i].size));
    } else if (added != 0) {
      const auto [low, high] = activeBounds(indices[i], access);
      rows = llvm::divideFloorSigned(low, named[i].size);
      const bool isInside = high - rows * named[i].size < named[i].size;
      if (added > 0 ? rows > 0 || -rows > added || !isInside : rows < 0 || rows > -added)
        continue;
    }
    indices[i - 1].start += rows;
    indices[i].start -= rows * named[i].size;
  }
}

/// Whether the lanes are several whole rows one behind the other, no more than belong to a program:
/// rows are counted in steps of as many.
bool areWholeRows(const NamedIndex &row, const NamedIndex &named, const LaneIndex &index,
                  const Access &access) {
  if (row.multiple < 2 || row.stride != named.size * named.stride || !hasRange(index) ||
      boundsIn(index, extentsOf(access)).second < named.size)
    return false;
  const auto [low, high] = activeBounds(index, access);
  return low == 0 && (high + 1) % named.size == 0 && (high + 1) / named.size <= row.multiple;
}

class RowsSanitizer : public Observer {
public:
  explicit RowsSanitizer(FindingCollector &collector) : collector_(collector) {}

  ObserverPlan plan() const override { return kPlan; }
  void onLaunchBegin(const LaunchInfo &launch) override;
  void onAccess(const Access &access) override;
  void onLaunchEnd() override { workers_.clear(); }

private:
  /// What an op's address names of one tensor.
  struct Plan {
    bool isMade = false;
    const Allocation *allocation = nullptr;
    llvm::SmallVector<NamedIndex, 4> indices;
  };
  struct alignas(64) Worker {
    std::vector<Plan> plans; ///< by op
    llvm::SmallVector<int64_t> values;
  };
  struct Found {
    int64_t lane = -1, count = 0, index = 0, offset = 0;
    int64_t largest = 0; ///< of the indices
    FoundElements elements = {};
  };

  Plan &planOf(const Access &access, Worker &worker);
  void check(const Access &access, const NamedIndex &named, const LaneIndex &index);
  Found find(const Access &access, const NamedIndex &named, const LaneIndex &index,
             const Extents &extents) const;
  Finding describe(const Access &access, const NamedIndex &named, const Found &found) const;

  FindingCollector &collector_;
  const LaunchInfo *launch_ = nullptr;
  std::vector<std::optional<Dimensions>> dimensions_; ///< by argument
  std::vector<std::unique_ptr<Worker>> workers_;
};

void RowsSanitizer::onLaunchBegin(const LaunchInfo &launch) {
  launch_ = &launch;
  dimensions_.clear();
  for (const auto &allocation : launch.memory->arguments())
    dimensions_.push_back(Dimensions::of(allocation->info));
  workers_.clear();
  for (int i = 0; i < std::max(1, launch.workers); ++i)
    workers_.push_back(std::make_unique<Worker>());
}

/// Fills the plan of an op at its first access; the values of its form's steps are there.
RowsSanitizer::Plan &RowsSanitizer::planOf(const Access &access, Worker &worker) {
  if (worker.plans.size() <= access.op->id)
    worker.plans.resize(access.op->id + 1);
  Plan &plan = worker.plans[access.op->id];
  if (plan.isMade)
    return plan;
  plan.isMade = true;
  const AddressForm &form = *access.op->address;
  const auto &arguments = launch_->memory->arguments();
  if (!access.allocation || form.parameter >= launch_->arguments.size() ||
      access.allocation->number >= arguments.size() ||
      arguments[access.allocation->number].get() != access.allocation ||
      launch_->arguments[form.parameter] != access.allocation->base)
    return plan;
  plan.allocation = access.allocation;
  if (const auto &dimensions = dimensions_[access.allocation->number])
    plan.indices = namedIndices(form, *dimensions, worker.values);
  return plan;
}

void RowsSanitizer::onAccess(const Access &access) {
  if (access.activeLanes == 0 || !access.op->address || !access.allocation)
    return;
  const AddressForm &form = *access.op->address;
  Worker &worker = *workers_[static_cast<size_t>(access.worker)];
  if (access.op->id < worker.plans.size() && worker.plans[access.op->id].isMade &&
      worker.plans[access.op->id].indices.empty())
    return;
  const ScalarPlace place{programIndex(access.program, launch_->grid), launch_->grid,
                          launch_->arguments, access.loopIterations};
  if (!form.compute(place, worker.values))
    return;
  const Plan &plan = planOf(access, worker);
  if (plan.allocation != access.allocation)
    return;
  llvm::SmallVector<LaneIndex, 4> indices(plan.indices.size());
  for (auto [named, index] : llvm::zip(plan.indices, indices)) {
    index.perLane.assign(access.blockShape.size(), 0);
    for (const NamedIndex::Part &part : named.parts) {
      const AddressForm::Term &term = form.terms[part.term];
      index.start += part.factor * worker.values[part.start];
      for (size_t d = 0; d < std::min(index.perLane.size(), term.perLane.size()); ++d)
        index.perLane[d] += part.factor * term.perLane[d];
    }
  }
  carry(plan.indices, indices, access);
  for (size_t i = 0; i < indices.size(); ++i)
    if (plan.indices[i].isChecked &&
        !(i != 0 && areWholeRows(plan.indices[i - 1], plan.indices[i], indices[i], access)))
      check(access, plan.indices[i], indices[i]);
}

void RowsSanitizer::check(const Access &access, const NamedIndex &named, const LaneIndex &index) {
  const Extents extents = extentsOf(access);
  const auto [low, high] = boundsIn(index, extents);
  if (low >= 0 && high < named.size)
    return;
  const Found found = find(access, named, index, extents);
  if (found.count == 0)
    return;
  const std::string cause = "crosses-dimension " + placeKey(access.op->location) + " " +
                            access.allocation->info.name + " " + std::to_string(named.last);
  collector_.add(
      cause, {launch_->launchIndex, access.program, access.sequence, found.lane}, found.count,
      [&] { return describe(access, named, found); }, found.elements);
}

/// Goes through the rows of lanes along the last axis: each has an interval of lanes outside.
RowsSanitizer::Found RowsSanitizer::find(const Access &access, const NamedIndex &named,
                                         const LaneIndex &index, const Extents &extents) const {
  Found found;
  const size_t rank = extents.size();
  const bool isPerLane = hasRange(index);
  llvm::SmallVector<int64_t, 4> at;
  for (const auto &[first, last] : extents)
    at.push_back(first);
  for (bool goesOn = true; goesOn;) {
    int64_t lane = 0, here = index.start;
    for (size_t d = 0; d < rank; ++d) {
      lane = lane * access.blockShape[d] + at[d];
      here += index.perLane[d] * at[d];
    }
    const int64_t count = rank == 0 ? 1 : extents[rank - 1].second - extents[rank - 1].first + 1;
    const int64_t each = rank == 0 ? 0 : index.perLane[rank - 1];
    for (int64_t i = 0; i < count; ++i, ++lane, here += each) {
      // An index below 0 that all lanes have may be meant: the end of the row before.
      if (here < named.size && (here >= 0 || !isPerLane))
        continue;
      if (access.mask && !access.mask[lane])
        continue;
      const int64_t offset = offsetOf(access, lane);
      if (access.addresses && !access.allocation->inView(offset, access.elementBytes))
        continue;
      if (access.addresses || access.box)
        found.elements.add(access.allocation->info, offset, access.elementBytes);
      found.largest = std::max(found.largest, here);
      if (found.count++ == 0) {
        found.lane = lane;
        found.index = here;
        found.offset = offset;
      }
    }
    goesOn = false;
    for (size_t d = rank; d-- > 1 && !goesOn;) {
      if (at[d - 1]++ < extents[d - 1].second)
        goesOn = true;
      else
        at[d - 1] = extents[d - 1].first;
    }
  }
  return found;
}

Finding RowsSanitizer::describe(const Access &access, const NamedIndex &named,
                                const Found &found) const {
  Finding finding = beginFinding(FindingCode::CrossesDimension, *launch_);
  const bool writes = writesMemory(access.kind);
  finding.severity = writes ? Severity::Error : Severity::Warning;
  finding.site = describeSite(access, *launch_, found.lane);
  finding.element = describeElement(*access.allocation, found.offset);
  const std::string where =
      named.first == named.last
          ? llvm::formatv("dimension {0} of '{1}', which has {2} elements", named.last,
                          access.allocation->info.name, named.size)
                .str()
          : llvm::formatv("dimensions {0} to {1} of '{2}', which have {3} elements together",
                          named.first, named.last, access.allocation->info.name, named.size)
                .str();
  std::string touched;
  for (const int64_t index : finding.element->index)
    touched += (touched.empty() ? "" : ", ") + std::to_string(index);
  finding.message =
      llvm::formatv("{0} at index {1} of {2}: it {3} element [{4}]", accessKindName(access.kind),
                    found.index, where, writes ? "changes" : "is", touched)
          .str();
  const std::vector<int64_t> &shape = access.allocation->info.shape;
  const auto other = llvm::find(shape, found.largest + 1);
  if (found.index < 0)
    finding.hint = "leave out the lanes whose index is below 0 by the mask";
  else if (named.first == named.last && other != shape.end())
    finding.hint =
        llvm::formatv("index {0} is the last one of dimension {1}: are the strides of "
                      "'{2}' passed in another order than the kernel takes them?",
                      found.largest, other - shape.begin(), access.allocation->info.name);
  else
    finding.hint =
        llvm::formatv("leave out the lanes from index {0} on by the mask", named.size).str();
  return finding;
}

const Registration kRegistration({
    .name = "rows",
    .help = "accesses that stay in their tensor but leave the row or slice that they name",
    .codes = kCodes,
    .plan = kPlan,
    .make = [](const SanitizerContext &context) -> std::unique_ptr<Observer> {
      return std::make_unique<RowsSanitizer>(context.collector);
    },
});

} // namespace
} // namespace blockscope::sanitizer
