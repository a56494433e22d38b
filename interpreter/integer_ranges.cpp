// Interval arithmetic over the ops of a kernel.
#include "interpreter/integer_ranges.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace blockscope::interpreter {
namespace {

using Kind = RangeOp::Kind;
using Wide = __int128;

/// Beyond it intervals are cut off, so that products of two ends fit.
constexpr Wide kEnd = Wide(1) << 80;

Interval signedOf(int width) {
  if (width == 1)
    return {0, 1};
  return {-(Wide(1) << (width - 1)), (Wide(1) << (width - 1)) - 1};
}
Interval unsignedOf(int width) { return {0, (Wide(1) << width) - 1}; }

Interval hull(const Interval &a, const Interval &b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}
Interval cut(const Interval &a) {
  return {std::clamp(a.low, -kEnd, kEnd), std::clamp(a.high, -kEnd, kEnd)};
}
template <typename Combine>
Interval corners(const Interval &a, const Interval &b, Combine combine) {
  const Wide all[] = {combine(a.low, b.low), combine(a.low, b.high), combine(a.high, b.low),
                      combine(a.high, b.high)};
  return {*std::min_element(std::begin(all), std::end(all)),
          *std::max_element(std::begin(all), std::end(all))};
}

Wide onesUpTo(Wide value) {
  Wide ones = 0;
  while (ones < value)
    ones = ones * 2 + 1;
  return ones;
}

template <typename T> Interval spanOf(const std::byte *from, int64_t count) {
  T low = 0, high = 0; // a load that leaves lanes out gives 0
  for (int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    low = std::min(low, value);
    high = std::max(high, value);
  }
  return {low, high};
}

/// All values in the storage of an argument that the launch cannot change.
std::optional<Interval> spanOf(const Allocation &allocation, int width) {
  if (allocation.mayBeStored || width < 8)
    return std::nullopt;
  const int64_t bytes = width / 8;
  const int64_t before = (allocation.view - allocation.storage) % bytes;
  const std::byte *from = allocation.storage + before;
  const int64_t count = (allocation.storageBytes - before) / bytes;
  switch (width) {
  case 8:
    return spanOf<int8_t>(from, count);
  case 16:
    return spanOf<int16_t>(from, count);
  case 32:
    return spanOf<int32_t>(from, count);
  default:
    return spanOf<int64_t>(from, count);
  }
}

class Evaluation {
public:
  Evaluation(const IntegerRanges &ranges, const LaunchInfo &launch, bool looksAtData)
      : ranges_(ranges), launch_(launch), looksAtData_(looksAtData), values_(ranges.numValues),
        grid_(launch.grid) {}

  void run() {
    verdict_ = {};
    products_.assign(ranges_.places.size(), {});
    runAll(ranges_.ops);
  }
  /// The same in a larger grid.
  void run(int axis, int64_t programs) {
    grid_ = launch_.grid;
    grid_[axis] = static_cast<int32_t>(programs);
    run();
  }
  const RangeVerdict &verdict() const { return verdict_; }

  /// What is known of a product that has a place.
  struct Product {
    Interval left, right;
    bool leaves = false; ///< its type
  };
  const Product &product(int place) const { return products_[place]; }

private:
  void runAll(const std::vector<RangeOp> &ops) {
    for (const RangeOp &op : ops)
      runOp(op);
  }

  /// The operand as a signed, or unsigned, integer of its width.
  Interval operand(const RangeOp &op, size_t k, bool isUnsigned = false) const {
    const Interval &value = values_[op.operands[k]];
    const int width = ranges_.widths[op.operands[k]];
    const Interval all = isUnsigned ? unsignedOf(width) : signedOf(width);
    return all.contains(value) ? value : all;
  }

  void set(const RangeOp &op, const Interval &value) {
    const bool fits = signedOf(op.width).contains(value) ||
                      (op.isUnsigned && unsignedOf(op.width).contains(value));
    values_[op.result] = fits ? value : op.isUnsigned ? unsignedOf(op.width) : signedOf(op.width);
  }

  void mayWrap() { verdict_.mayWrap |= records_; }
  void mayFail() { verdict_.mayFail |= records_; }

  /// A sum or product: exact values, which the type may not have.
  void setExact(const RangeOp &op, Interval asSigned, Interval asUnsigned) {
    asSigned = cut(asSigned);
    asUnsigned = cut(asUnsigned);
    if (!op.isUnsigned) {
      if (!signedOf(op.width).contains(asSigned)) {
        mayWrap();
        if (op.place >= 0)
          products_[op.place].leaves = true;
      }
      return set(op, asSigned);
    }
    const bool fits =
        signedOf(op.width).contains(asSigned) || unsignedOf(op.width).contains(asUnsigned);
    if (!fits && op.isAddressed && op.width < 64)
      mayWrap();
    set(op, signedOf(op.width).contains(asSigned) ? asSigned : asUnsigned);
  }

  void runOp(const RangeOp &op) {
    switch (op.kind) {
    case Kind::Known:
      values_[op.result] = op.known;
      return;
    case Kind::Argument:
      values_[op.result] = argument(op);
      return;
    case Kind::ProgramId:
      values_[op.result] = {0, grid_[op.number] - 1};
      return;
    case Kind::NumPrograms:
      values_[op.result] = {grid_[op.number], grid_[op.number]};
      return;
    case Kind::Load:
      values_[op.result] = loaded(op);
      return;
    case Kind::Unknown:
      values_[op.result] = op.isUnsigned ? unsignedOf(op.width) : signedOf(op.width);
      return;
    case Kind::Union: {
      Interval all = values_[op.operands[0]];
      for (const uint32_t other : llvm::ArrayRef(op.operands).drop_front())
        all = hull(all, values_[other]);
      values_[op.result] = all;
      return;
    }
    case Kind::Add:
    case Kind::Sub:
    case Kind::Mul:
      if (op.place >= 0)
        products_[op.place] = {operand(op, 0), operand(op, 1), false};
      return setExact(op, combined(op, false), combined(op, true));
    case Kind::Sum:
    case Kind::Running: {
      const auto total = [&](Interval each) {
        const Wide most = op.number, least = op.kind == Kind::Sum ? most : 1;
        return corners(each, {least, most}, [](Wide a, Wide b) { return a * b; });
      };
      return setExact(op, total(operand(op, 0)), total(operand(op, 0, true)));
    }
    case Kind::Shl:
      return shiftLeft(op);
    case Kind::ShrS:
    case Kind::ShrU:
      return shiftRight(op);
    case Kind::And: {
      const Interval a = operand(op, 0), b = operand(op, 1);
      if (a.low < 0 && b.low < 0)
        return set(op, signedOf(op.width));
      return set(op, {0, a.low < 0 ? b.high : b.low < 0 ? a.high : std::min(a.high, b.high)});
    }
    case Kind::Bits: {
      const Interval a = operand(op, 0), b = operand(op, 1);
      return set(op, a.low < 0 || b.low < 0 ? signedOf(op.width)
                                            : Interval{0, onesUpTo(std::max(a.high, b.high))});
    }
    case Kind::DivS:
    case Kind::DivU:
    case Kind::RemS:
    case Kind::RemU:
      return divide(op);
    case Kind::MinS:
    case Kind::MinU:
    case Kind::MaxS:
    case Kind::MaxU: {
      const bool isUnsigned = op.kind == Kind::MinU || op.kind == Kind::MaxU;
      const Interval a = operand(op, 0, isUnsigned), b = operand(op, 1, isUnsigned);
      const bool isLeast = op.kind == Kind::MinS || op.kind == Kind::MinU;
      return set(op, isLeast ? Interval{std::min(a.low, b.low), std::min(a.high, b.high)}
                             : Interval{std::max(a.low, b.low), std::max(a.high, b.high)});
    }
    case Kind::Abs: {
      const Interval a = operand(op, 0);
      const Wide least = a.low > 0 ? a.low : a.high < 0 ? -a.high : 0;
      return setExact(op, {least, std::max(-a.low, a.high)}, {least, std::max(-a.low, a.high)});
    }
    case Kind::ExtendU:
      values_[op.result] = operand(op, 0, true);
      return;
    case Kind::Truncate:
      return truncate(op);
    case Kind::FloatToInt:
      verdict_.hasCasts = true;
      values_[op.result] = op.isUnsigned ? unsignedOf(op.width) : signedOf(op.width);
      return;
    case Kind::For:
      return runFor(op);
    case Kind::If:
      runAll(op.body);
      runAll(op.other);
      for (const RangeOp::Carried &each : op.carried)
        values_[each.result] = hull(values_[each.initial], values_[each.yielded]);
      return;
    case Kind::While:
      return runWhile(op);
    }
  }

  Interval combined(const RangeOp &op, bool isUnsigned) const {
    const Interval a = operand(op, 0, isUnsigned), b = operand(op, 1, isUnsigned);
    if (op.kind == Kind::Add)
      return {a.low + b.low, a.high + b.high};
    if (op.kind == Kind::Sub)
      return {a.low - b.high, a.high - b.low};
    return corners(a, b, [](Wide x, Wide y) {
      Wide product = 0;
      return __builtin_mul_overflow(x, y, &product) ? ((x < 0) == (y < 0) ? kEnd : -kEnd) : product;
    });
  }

  Interval argument(const RangeOp &op) const {
    const uint64_t bits = launch_.arguments[op.number];
    const Wide value = op.width == 64   ? static_cast<int64_t>(bits)
                       : op.width == 32 ? static_cast<int32_t>(bits)
                       : op.width == 16 ? static_cast<int16_t>(bits)
                       : op.width == 8  ? static_cast<int8_t>(bits)
                                        : static_cast<Wide>(bits & 1);
    return {value, value};
  }

  Interval loaded(const RangeOp &op) {
    const Interval all = signedOf(op.width);
    if (!looksAtData_)
      return all;
    const Allocation *allocation = launch_.memory->find(launch_.arguments[op.number]);
    const std::optional<Interval> span = allocation ? spanOf(*allocation, op.width) : std::nullopt;
    return span.value_or(all);
  }

  bool checkShift(const RangeOp &op) {
    const Interval by = operand(op, 1);
    const bool fits = by.low >= 0 && by.high < op.width;
    if (!fits)
      mayFail();
    return fits;
  }

  void shiftLeft(const RangeOp &op) {
    if (!checkShift(op))
      return set(op, op.isUnsigned ? unsignedOf(op.width) : signedOf(op.width));
    const Interval by = operand(op, 1);
    const Interval made = cut(corners(operand(op, 0, op.isUnsigned), by, [](Wide x, Wide shift) {
      return x * (Wide(1) << static_cast<int>(std::min<Wide>(shift, 40)));
    }));
    const Interval all = op.isUnsigned ? unsignedOf(op.width) : signedOf(op.width);
    const bool isSure = by.high <= 40 && all.contains(made);
    if (!isSure && !op.isUnsigned && op.isAddressed)
      mayWrap();
    set(op, isSure ? made : all);
  }

  void shiftRight(const RangeOp &op) {
    const bool isUnsigned = op.kind == Kind::ShrU;
    const Interval a = operand(op, 0, isUnsigned);
    if (!checkShift(op))
      return set(op, hull(a, {std::min<Wide>(a.low, 0), 0}));
    const Interval by = operand(op, 1);
    set(op, corners(a, by, [](Wide x, Wide shift) { return x >> static_cast<int>(shift); }));
  }

  void divide(const RangeOp &op) {
    const bool isUnsigned = op.kind == Kind::DivU || op.kind == Kind::RemU;
    const bool isQuotient = op.kind == Kind::DivS || op.kind == Kind::DivU;
    const Interval a = operand(op, 0, isUnsigned), b = operand(op, 1, isUnsigned);
    if (b.contains(0) ||
        (op.kind == Kind::DivS && b.contains(-1) && a.contains(signedOf(op.width).low)))
      mayFail();
    const Wide most = std::max({a.high, -a.low, Wide(0)});
    if (isQuotient && b.low > 0)
      return set(op, corners(a, b, [](Wide x, Wide y) { return x / y; }));
    if (isQuotient)
      return set(op, {-most, most});
    const Wide divisor = std::max({b.high, -b.low, Wide(1)}) - 1;
    const Wide rest = std::min(most, divisor);
    set(op, {a.low < 0 ? -rest : 0, a.high > 0 ? rest : 0});
  }

  void truncate(const RangeOp &op) {
    const Interval &value = values_[op.operands[0]];
    const bool isKept = signedOf(op.width).contains(value) ||
                        (op.isUnsigned && unsignedOf(op.width).contains(value));
    if (!isKept && op.isAddressed && !(op.isUnsigned && op.width < 32))
      mayWrap();
    set(op, isKept ? value : op.isUnsigned ? unsignedOf(op.width) : signedOf(op.width));
  }

  Interval allOf(uint32_t value) const { return signedOf(ranges_.widths[value]); }

  void runFor(const RangeOp &op) {
    const Interval begin = operand(op, 0), end = operand(op, 1), step = operand(op, 2);
    const Wide distance = end.high - begin.low;
    const Wide trips = distance <= 0 ? 0 : (distance - 1) / std::max<Wide>(step.low, 1) + 1;
    values_[op.result] = {begin.low, std::max(begin.low, end.high - 1)};
    for (const RangeOp::Carried &each : op.carried)
      values_[each.argument] = values_[each.result] = values_[each.initial];
    if (trips == 0)
      return;
    const bool records = std::exchange(records_, false);
    const auto grown = [&](const RangeOp::Carried &each, Wide times) {
      const Interval &initial = values_[each.initial];
      Interval added;
      for (const auto &[value, isNegative] : each.added) {
        const Interval &term = values_[value];
        added.low += isNegative ? -term.high : term.low;
        added.high += isNegative ? -term.low : term.high;
      }
      return cut({initial.low + std::min<Wide>(0, cut(added).low * times),
                  initial.high + std::max<Wide>(0, cut(added).high * times)});
    };
    constexpr int kMostPasses = 6, kWidens = 4;
    for (int pass = 0; pass < kMostPasses; ++pass) {
      runAll(op.body);
      bool isStable = true;
      for (const RangeOp::Carried &each : op.carried) {
        const Interval now = values_[each.argument];
        const Interval next = hull(now, each.isSum ? grown(each, std::min(trips - 1, kEnd >> 40))
                                                   : values_[each.yielded]);
        if (now.contains(next))
          continue;
        isStable = false;
        const Interval all = hull(allOf(each.argument), values_[each.initial]);
        values_[each.argument] = pass >= kWidens || !all.contains(next) ? all : next;
      }
      if (isStable)
        break;
    }
    records_ = records;
    runAll(op.body);
    for (const RangeOp::Carried &each : op.carried)
      values_[each.result] = hull(values_[each.argument], values_[each.yielded]);
  }

  void runWhile(const RangeOp &op) {
    for (const RangeOp::Carried &each : op.carried)
      values_[each.argument] = values_[each.result] = allOf(each.argument);
    runAll(op.body);
  }

  const IntegerRanges &ranges_;
  const LaunchInfo &launch_;
  bool looksAtData_;
  std::vector<Interval> values_;
  std::array<int32_t, 3> grid_;
  bool records_ = true;
  RangeVerdict verdict_;
  std::vector<Product> products_; ///< by place
};

} // namespace

RangeVerdict IntegerRanges::decide(const LaunchInfo &launch) const {
  RangeVerdict verdict;
  for (const bool looksAtData : {false, true}) {
    Evaluation evaluation(*this, launch, looksAtData);
    evaluation.run();
    verdict = evaluation.verdict();
    if (!verdict.mayWrap && !verdict.mayFail)
      break; // data says nothing of floats
  }
  return verdict;
}

std::vector<IntegerRanges::Limit> IntegerRanges::limits(const LaunchInfo &launch,
                                                        int64_t leastFactor) const {
  std::vector<Limit> found;
  constexpr int64_t kMostPrograms[] = {INT32_MAX, 65535, 65535};
  Evaluation here(*this, launch, false), larger(*this, launch, false);
  here.run();
  const auto count = static_cast<int>(places.size());
  for (int axis = 0; axis < 3 && count != 0; ++axis) {
    larger.run(axis, kMostPrograms[axis]);
    const Evaluation largest = larger;
    for (int place = 0; place < count; ++place) {
      const Evaluation::Product &now = here.product(place), &then = largest.product(place);
      const bool leftGrows = !now.left.contains(then.left);
      const bool rightGrows = !now.right.contains(then.right);
      const Interval &factor = leftGrows ? now.right : now.left;
      if (now.leaves || !then.leaves || leftGrows == rightGrows || factor.low != factor.high ||
          std::max(factor.low, -factor.low) < leastFactor)
        continue;
      int64_t fits = launch.grid[axis], leaves = kMostPrograms[axis];
      while (leaves - fits > 1) {
        const int64_t middle = fits + (leaves - fits) / 2;
        larger.run(axis, middle);
        (larger.product(place).leaves ? leaves : fits) = middle;
      }
      found.push_back(
          {place, axis, leaves, factor.low, areByConstants[static_cast<size_t>(place)]});
    }
  }
  return found;
}

} // namespace blockscope::interpreter
