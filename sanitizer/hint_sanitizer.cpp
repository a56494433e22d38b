// hints: what a kernel claims of its values, held against the values that come.
//
// A GPU compiler believes tl.multiple_of, tl.max_contiguous, tl.max_constancy and tl.assume: it
// makes wide accesses of them, and drops what they rule out. Along each dimension max_contiguous(c)
// says that elements k*c, k*c + 1, ... are consecutive, max_constancy(c) that they are equal, and
// multiple_of(d) that the first element of each consecutive run is a multiple of d (of pointers: in
// bytes). Triton's own definition asks for the runs of one dimension alone; its tutorials claim
// multiples along rows whose columns are consecutive, and no access is made of that.
#include "sanitizer/access_lanes.h"
#include "sanitizer/describe.h"
#include "sanitizer/rows.h"
#include "sanitizer/sanitizer.h"

#include "core/numeric/scalar.h"
#include "interpreter/evaluator.h"

#include "llvm/Support/FormatVariadic.h"

#include <cstring>

namespace blockscope::sanitizer {
namespace {

constexpr FindingCode kCodes[] = {FindingCode::FalseHint};
constexpr ObserverPlan kPlan = {.needs = {.accesses = RunNeeds::Accesses::Outside, .claims = true},
                                .repeat = ObserverPlan::Repeat::Accepts};

/// No access is wider than 16 bytes, so no claim about more than 16 elements or bytes can make one
/// wrong that keeps to 16.
constexpr int64_t kWidest = 16;

/// What a false claim does on a GPU, from least to most.
enum class Harm : uint8_t {
  None,   ///< no access is wide enough
  Behind, ///< elements behind the place where values fall back, as of `i % n`: often nobody's
  Wrong,
};

/// The first lane where a claim is false.
struct FalseLane {
  int64_t lane = 0, value = 0;
  int64_t expected = 0; ///< the value that it should have; of a multiple the remainder
  Harm harm = Harm::Wrong;
};

class HintedValue {
public:
  HintedValue(const ValueView &view, const MemoryMap &memory) : view_(view), memory_(memory) {}

  const Type &type() const { return *view_.type; }
  /// What lies between consecutive elements.
  int64_t step() const { return type().isPointer() ? type().pointee().elementBytes() : 1; }
  int64_t operator[](int64_t i) const {
    const int64_t at = view_.extent == ValueView::Extent::One ? 0 : i;
    const auto *element = static_cast<const std::byte *>(view_.data) + at * type().elementBytes();
    return type().isPointer() ? fromStorage(element) : numeric::readAsInt(type().dtype, element);
  }

private:
  /// Storages begin at multiples of 256 bytes on a GPU, here only of 64.
  int64_t fromStorage(const std::byte *element) const {
    DeviceAddress address;
    std::memcpy(&address, element, sizeof address);
    const Allocation *allocation = hasProvenance(address) ? memory_.find(address) : nullptr;
    if (!allocation)
      return static_cast<int64_t>(address);
    return MemoryMap::offsetIn(*allocation, address) + (allocation->view - allocation->storage);
  }

  const ValueView &view_;
  const MemoryMap &memory_;
};

using LaneTest = std::optional<FalseLane> (*)(const HintedValue &value, const Rows &row,
                                              int64_t number, int64_t claimed);

/// Whether no dimension goes on here from the element before.
bool beginsRun(const HintedValue &value, int64_t lane) {
  const llvm::ArrayRef<int64_t> shape = value.type().shape;
  int64_t inner = 1;
  for (size_t d = shape.size(); d-- > 0; inner *= shape[d])
    if (lane / inner % shape[d] != 0 && value[lane] == value[lane - inner] + value.step())
      return false;
  return true;
}

std::optional<FalseLane> testMultiple(const HintedValue &value, const Rows &rows, int64_t row,
                                      int64_t claimed) {
  for (int64_t k = 0; k < rows.length; ++k) {
    const int64_t lane = rows.at(row, k), found = value[lane];
    if (found % claimed != 0 && beginsRun(value, lane))
      return FalseLane{lane, found, found % claimed,
                       claimed % kWidest == 0 && found % kWidest == 0 ? Harm::None : Harm::Wrong};
  }
  return std::nullopt;
}

/// Elements of each group: the first one, then in steps of `step`.
std::optional<FalseLane> testGroups(const HintedValue &value, const Rows &rows, int64_t row,
                                    int64_t claimed, int64_t step) {
  std::optional<FalseLane> found;
  for (int64_t k = 0; k < rows.length; ++k) {
    if (k % claimed == 0)
      continue;
    const int64_t lane = rows.at(row, k), expected = value[rows.at(row, k - 1)] + step;
    if (value[lane] == expected)
      continue;
    const Harm harm = k % kWidest == 0                      ? Harm::None
                      : step != 0 && value[lane] < expected ? Harm::Behind
                                                            : Harm::Wrong;
    if (!found || found->harm < harm)
      found = FalseLane{lane, value[lane], expected, harm};
  }
  return found;
}

std::optional<FalseLane> testContiguous(const HintedValue &value, const Rows &rows, int64_t row,
                                        int64_t claimed) {
  return testGroups(value, rows, row, claimed, value.step());
}

std::optional<FalseLane> testConstant(const HintedValue &value, const Rows &rows, int64_t row,
                                      int64_t claimed) {
  return testGroups(value, rows, row, claimed, 0);
}

struct FalseClaim {
  std::string claim; ///< "multiple_of(16)"
  FalseLane where;
  bool isMultiple = false;
};

/// The first lane of a block for which the claim does not hold, of those that do most harm.
std::optional<FalseClaim> falseClaim(const OpValues &values, const HintedValue &value) {
  const Attributes &attributes = values.signature->attributes;
  const llvm::StringRef kind = attributes.getString("kind");
  const llvm::ArrayRef<int64_t> claims = attributes.getInts("values");
  const LaneTest test = kind == "multiple_of"      ? testMultiple
                        : kind == "max_contiguous" ? testContiguous
                                                   : testConstant;
  std::optional<FalseClaim> found;
  Type block = value.type();
  if (block.shape.empty())
    block.shape = {1};
  for (size_t d = 0; d < block.shape.size(); ++d) {
    if (claims[d] <= 1)
      continue;
    const Rows rows(block, d);
    for (int64_t row = 0; row < rows.count; ++row) {
      const std::optional<FalseLane> lane = test(value, rows, row, claims[d]);
      if (!lane || (found && found->where.harm >= lane->harm))
        continue;
      const std::string dimension =
          block.shape.size() > 1 ? (" along dimension " + llvm::Twine(d)).str() : "";
      found = {llvm::formatv("{0}({1}){2}", kind, claims[d], dimension), *lane,
               kind == "multiple_of"};
      if (lane->harm == Harm::Wrong)
        return found;
    }
  }
  return found;
}

class HintSanitizer : public Observer {
public:
  explicit HintSanitizer(FindingCollector &collector) : collector_(collector) {}

  ObserverPlan plan() const override { return kPlan; }
  void onLaunchBegin(const LaunchInfo &launch) override { launch_ = &launch; }

  void onValues(const OpValues &values) override {
    const llvm::StringRef name = values.signature->name;
    if (name == "tl.assume")
      return checkAssumption(values);
    if (name != "tl.hint")
      return;
    const ValueView &hinted = values.operands[0];
    if (!hinted.type->isPointer() && !hinted.type->isInteger())
      return;
    const HintedValue value(hinted, *launch_->memory);
    if (const std::optional<FalseClaim> claim = falseClaim(values, value))
      report(values, claim->claim, claim->where.lane,
             [&](Finding &finding) { describe(*claim, hinted.type->isPointer(), finding); });
  }

private:
  void checkAssumption(const OpValues &values) {
    const ValueView &condition = values.operands[0];
    const int64_t count = condition.elements(values.count);
    const void *zero = std::memchr(condition.data, 0, static_cast<size_t>(count));
    if (!zero)
      return;
    const int64_t lane =
        static_cast<const std::byte *>(zero) - static_cast<const std::byte *>(condition.data);
    report(values, "assume", lane, [](Finding &finding) {
      finding.message = "this assumption does not hold";
      finding.hint = "the GPU's compiler believes it: assert it, or take it out";
    });
  }

  static void describe(const FalseClaim &claim, bool isPointer, Finding &finding) {
    const FalseLane &where = claim.where;
    finding.message = claim.claim + " does not hold";
    const std::string what = isPointer ? "bytes from the storage's start" : "value";
    finding.values = {
        {what, std::to_string(where.value)},
        {claim.isMultiple ? "remainder" : "expected", std::to_string(where.expected)}};
    switch (where.harm) {
    case Harm::None:
      finding.severity = Severity::Note;
      finding.hint = "no access is wide enough today to go wrong by it; claim 16";
      break;
    case Harm::Behind:
      finding.severity = Severity::Note;
      finding.hint = "wide accesses read on where the values fall back: right only if nobody uses "
                     "these lanes";
      break;
    case Harm::Wrong:
      finding.hint = "the GPU's compiler makes wide accesses of it, which then go wrong";
      break;
    }
  }

  void report(const OpValues &values, const std::string &claim, int64_t lane,
              llvm::function_ref<void(Finding &)> describe) {
    const OpInfo &op = *values.op;
    collector_.add("false-hint " + claim + " " + placeKey(op.location),
                   {launch_->launchIndex, values.program, 0, lane}, 1, [&] {
                     Finding finding = beginFinding(FindingCode::FalseHint, *launch_);
                     finding.site.location = withoutVariable(op.location);
                     const Type &block = *values.operands[0].type;
                     Execution &ran = finding.site.execution.emplace();
                     ran.program = programIndex(values.program, launch_->grid);
                     ran.lane = lane;
                     ran.blockShape.assign(block.shape.begin(), block.shape.end());
                     ran.laneIndex = laneIndex(lane, block.shape);
                     ran.loopIterations.assign(values.loopIterations.begin(),
                                               values.loopIterations.end());
                     describe(finding);
                     return finding;
                   });
  }

  FindingCollector &collector_;
  const LaunchInfo *launch_ = nullptr;
};

const Registration kRegistration({
    .name = "hints",
    .help = "hints and assumptions that do not hold for the values that come",
    .codes = kCodes,
    .plan = kPlan,
    .make = [](const SanitizerContext &context) -> std::unique_ptr<Observer> {
      return std::make_unique<HintSanitizer>(context.collector);
    },
});

} // namespace

} // namespace blockscope::sanitizer
