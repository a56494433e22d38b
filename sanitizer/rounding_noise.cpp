// An observer that changes each result of an inexact op by about as much as two executors may
// differ in it.
#include "sanitizer/rounding_noise.h"

#include "core/numeric/scalar.h"
#include "interpreter/evaluator.h"
#include "sanitizer/ulp.h"

#include <cmath>

namespace blockscope::sanitizer {
namespace {

/// How near, as a part of its size, the operand of a conversion is to where the result changes.
constexpr double kNear = 0x1p-18;

double readAt(const ValueView &view, int64_t i) {
  const auto *bytes = static_cast<const std::byte *>(view.data);
  const int64_t element = view.extent == ValueView::Extent::One ? 0 : i;
  return numeric::readAsDouble(view.type->dtype, bytes + element * view.type->elementBytes());
}

} // namespace

/// Changes the elements of one result. The program goes on with what is written here: results lie
/// in the registers of the running program, which events show without a copy.
class RoundingNoise::Change {
public:
  Change(const Options &options, const OpValues &values, size_t result)
      : seed_(options.seed), amplification_(options.amplification),
        type_(*values.results[result].type), data_(const_cast<void *>(values.results[result].data)),
        first_(values.begin) { // NOLINT
    for (const uint64_t word : {options.seed, uint64_t{values.op->id}, uint64_t{result},
                                static_cast<uint64_t>(values.program)})
      key_ = mixed(key_ ^ word);
    for (const int64_t iteration : values.loopIterations)
      key_ = mixed(key_ ^ static_cast<uint64_t>(iteration));
  }

  /// A number in [-1, -0.5] or [0.5, 1] of the element.
  double part(int64_t i) const {
    const uint64_t bits = bitsOf(i);
    const double size = 0.5 + static_cast<double>(bits >> 12) * 0x1p-53;
    return bits & 1 ? size : -size;
  }
  bool isChosen(int64_t i) const { return seed_ == 0 || (bitsOf(i) & 2) != 0; }

  double get(int64_t i) const { return numeric::readAsDouble(type_.dtype, at(i)); }
  void set(int64_t i, double value) const {
    if (type_.isFloating())
      numeric::writeDouble(type_.dtype, value, at(i));
    else
      numeric::writeInt(type_.dtype, static_cast<int64_t>(value), at(i));
  }
  /// Adds a change of at most `bound`.
  void add(int64_t i, double bound) const {
    const double value = get(i);
    if (std::isfinite(value) && bound > 0)
      set(i, value + part(i) * bound * amplification_);
  }

private:
  std::byte *at(int64_t i) const {
    return static_cast<std::byte *>(data_) + i * type_.elementBytes();
  }
  uint64_t bitsOf(int64_t i) const { return mixed(key_ ^ static_cast<uint64_t>(first_ + i)); }
  /// A step of splitmix64.
  static uint64_t mixed(uint64_t state) {
    uint64_t z = state + 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  uint64_t seed_, key_ = 0;
  double amplification_;
  const Type &type_;
  void *data_;
  int64_t first_;
};

void RoundingNoise::onValues(const OpValues &values) {
  const llvm::StringRef name = values.signature->name;
  if (name == "tl.atomic_rmw")
    return changeMemory(values);
  if (values.results.empty())
    return;
  if (name == "tl.float_to_int")
    return changeWholeNumber(values);
  if (!values.results[0].type->isFloating() && name != "tl.reduce" && name != "tl.scan")
    return;
  if (name == "tl.dot")
    return changeDot(values);
  if (name == "tl.reduce" || name == "tl.scan")
    return changeAlongAxis(values);
  if (name == "tl.int_to_float" ||
      (name == "tl.fp_cast" &&
       values.results[0].type->elementBytes() >= values.operands[0].type->elementBytes()))
    return; // of the same number both executors make the same one
  if (const OpFacts *facts = findOpFacts(name))
    changeElements(values, *facts);
}

/// The errors of both executors; narrower floats are rounded once from fp32.
void RoundingNoise::changeElements(const OpValues &values, const OpFacts &facts) const {
  const Type &type = *values.results[0].type;
  const OpError &error = facts.error;
  double ulps = type.elementBytes() == 8   ? error.cpu64 + error.gpu64
                : type.elementBytes() == 4 ? error.cpu32 + error.gpu32
                                           : 1;
  if (!error.rounds() || ulps == 0)
    return;
  const double least = leastNormal(type.dtype);
  const Change change(options_, values, 0);
  const int64_t count = values.results[0].elements(values.count);
  for (int64_t i = 0; i < count; ++i) {
    const double value = change.get(i);
    if (value == 0 || !std::isfinite(value))
      continue;
    double bound = ulps * ulpOf(value, type.dtype);
    if (type.elementBytes() == 4 && error.gpuArgument32 > 0)
      bound += error.gpuArgument32 * 0x1p-23 * std::abs(readAt(values.operands[0], i) * value);
    if (std::abs(value) < least && ulps > 1) // functions of a GPU may give 0
      bound = std::max(bound, least);
    change.add(i, bound);
  }
}

/// Where the operand is near a whole number, at which the result changes, the other one.
void RoundingNoise::changeWholeNumber(const OpValues &values) const {
  const Change change(options_, values, 0);
  const int64_t count = values.results[0].elements(values.count);
  for (int64_t i = 0; i < count; ++i) {
    const double exact = readAt(values.operands[0], i), rounded = change.get(i);
    const double whole = std::nearbyint(exact);
    if (!std::isfinite(exact) || whole == 0 || !change.isChosen(i) ||
        std::abs(exact - whole) > kNear * std::abs(exact))
      continue;
    change.set(i,
               std::abs(rounded) >= std::abs(whole) ? rounded - std::copysign(1.0, whole) : whole);
  }
}

/// By Cauchy and Schwarz a sum of products is at most the product of the lengths of row and column.
void RoundingNoise::changeDot(const OpValues &values) const {
  const ValueView &a = values.operands[0], &b = values.operands[1], &acc = values.operands[2];
  const llvm::ArrayRef<int64_t> left = a.type->shape, right = b.type->shape;
  const int64_t m = left[left.size() - 2], k = left.back(), n = right.back();
  const int64_t batches = a.type->numElements() / (m * k);
  double unit = ulpOf(1, values.results[0].type->dtype) * (2 + static_cast<double>(k) / 8);
  if (values.signature->attributes.getString("input_precision").starts_with("tf32"))
    unit = std::max(unit, 0x1p-10); // operands are rounded, or cut off
  if (isFp8(a.type->dtype))
    unit = std::max(unit, 0x1p-13); // tensor cores add products of fp8 with so many bits
  const Change change(options_, values, 0);
  for (int64_t batch = 0; batch < batches; ++batch) {
    std::vector<double> rows(m, 0), columns(n, 0);
    for (int64_t i = 0; i < m * k; ++i) {
      const double x = readAt(a, batch * m * k + i);
      rows[i / k] += x * x;
    }
    for (int64_t i = 0; i < k * n; ++i) {
      const double x = readAt(b, batch * k * n + i);
      columns[i % n] += x * x;
    }
    for (int64_t i = 0; i < m * n; ++i) {
      const int64_t element = batch * m * n + i;
      change.add(element, unit * (std::sqrt(rows[i / n]) * std::sqrt(columns[i % n]) +
                                  std::abs(readAt(acc, element))));
    }
  }
}

/// Sums change by a part of the sum of magnitudes: half a unit for each of the log2(n) additions
/// that an element goes through, which add up as random errors do. Products change by a part of
/// themselves.
void RoundingNoise::changeAlongAxis(const OpValues &values) const {
  const llvm::StringRef rounding = values.signature->attributes.getString("rounding");
  if (rounding.empty())
    return;
  const bool isScan = values.signature->name == "tl.scan";
  const bool isReversed = values.signature->attributes.getBool("reverse");
  const auto axis = static_cast<size_t>(values.signature->attributes.getInt("axis"));
  for (size_t result = 0; result < values.results.size(); ++result) {
    const ValueView &from = values.operands[result], &to = values.results[result];
    if (!to.type->isFloating())
      continue;
    const llvm::ArrayRef<int64_t> shape = from.type->shape;
    const int64_t length = shape[axis];
    int64_t inner = 1;
    for (const int64_t size : shape.drop_front(axis + 1))
      inner *= size;
    const double unit = ulpOf(1, to.type->dtype);
    const double steps = std::sqrt(std::log2(2.0 * static_cast<double>(length))) / 2;
    const Change change(options_, values, result);
    for (int64_t row = 0; row < from.type->numElements() / length; ++row) {
      const int64_t start = row / inner * length * inner + row % inner;
      double sum = 0;
      for (int64_t step = 0; step < length; ++step) {
        const int64_t i = start + (isReversed ? length - 1 - step : step) * inner;
        sum += std::abs(readAt(from, i));
        const int64_t place = isScan ? i : row;
        if (isScan || step + 1 == length)
          change.add(place, rounding == "arith.mulf"
                                ? unit * static_cast<double>(length) * std::abs(change.get(place))
                                : unit * steps * sum);
      }
    }
  }
}

/// Sums of floats in memory: programs may come in another order.
void RoundingNoise::changeMemory(const OpValues &values) const {
  const ValueView &pointers = values.operands[0], &added = values.operands[1];
  const Type &type = *added.type;
  if (!type.isFloating() || values.signature->attributes.getString("kind") != "fadd")
    return;
  const double unit = ulpOf(1, type.dtype);
  const Change change(options_, values, 0);
  for (int64_t i = 0; i < pointers.elements(values.count); ++i) {
    if (values.operands.size() > 2 && readAt(values.operands[2], i) == 0)
      continue; // masked off
    const int64_t at = pointers.extent == ValueView::Extent::One ? 0 : i;
    const DeviceAddress address = static_cast<const DeviceAddress *>(pointers.data)[at];
    const Allocation *allocation = memory_->find(address);
    const int64_t offset = allocation ? MemoryMap::offsetIn(*allocation, address) : 0;
    if (!allocation || !allocation->inStorage(offset, type.elementBytes()))
      continue;
    std::byte *place = allocation->hostAt(offset);
    const double sum = numeric::readAsDouble(type.dtype, place);
    if (std::isfinite(sum))
      numeric::writeDouble(
          type.dtype, sum + change.part(i) * unit * (std::abs(sum) + std::abs(readAt(added, i))),
          place);
  }
}

} // namespace blockscope::sanitizer
