// Layout queries, each an elimination over the bases.
#include "gpu_backend/layout/layout_queries.h"
#include "gpu_backend/layout/f2_matrix.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>

namespace blockscope::gpu {
namespace {

/// The bits of `all` that are independent of earlier ones, as register numbers.
Bases independentNumbers(llvm::ArrayRef<ElementBits> bases) {
  const uint32_t dependent = f2::Span(bases).dependent();
  Bases numbers;
  for (size_t bit = 0; bit < bases.size(); ++bit)
    if (!((dependent >> bit) & 1))
      numbers.push_back(1u << bit);
  return numbers;
}

} // namespace

bool isSurjective(const LinearLayout &layout, int width) {
  f2::Span span;
  for (const Bases *bases : {&layout.registers, &layout.lanes, &layout.warps})
    for (const ElementBits basis : *bases)
      span.add(basis);
  return span.rank() == width && (width == 0 || span.basis().back() >> (width - 1) <= 1);
}

InputBits freeBits(const LinearLayout &layout) {
  f2::Span span;
  const auto mask = [&span](const Bases &bases) {
    uint32_t free = 0;
    for (size_t bit = 0; bit < bases.size(); ++bit)
      if (!span.add(bases[bit]))
        free |= 1u << bit;
    return free;
  };
  InputBits free;
  free.registers = mask(layout.registers);
  free.lanes = mask(layout.lanes);
  free.warps = mask(layout.warps);
  return free;
}

std::optional<InputBits> inputsAlong(const LinearLayout &layout, const ShapeBits &shape, int dim) {
  bool isSeparate = true;
  const auto mask = [&](const Bases &bases) {
    uint32_t along = 0;
    for (size_t bit = 0; bit < bases.size(); ++bit) {
      if ((bases[bit] & shape.mask(dim)) == 0)
        continue;
      isSeparate &= (bases[bit] & ~shape.mask(dim)) == 0;
      along |= 1u << bit;
    }
    return along;
  };
  const InputBits along{mask(layout.registers), mask(layout.lanes), mask(layout.warps)};
  return isSeparate ? std::optional(along) : std::nullopt;
}

LinearLayout withoutRegisterCopies(const LinearLayout &layout) {
  return {f2::independentSubset(layout.registers), layout.lanes, layout.warps};
}

LinearLayout canonical(const LinearLayout &layout) {
  return {f2::Span(layout.registers).basis(), layout.lanes, layout.warps};
}

bool equalUpToRegisters(const LinearLayout &first, const LinearLayout &second) {
  return canonical(first) == canonical(second);
}

std::optional<llvm::SmallVector<uint32_t>>
sourceRegisters(const LinearLayout &destination, const LinearLayout &source,
                std::optional<llvm::ArrayRef<ElementBits>> elementMap) {
  const auto mapped = [&](const Bases &bases) {
    return elementMap ? f2::multiply(*elementMap, bases) : bases;
  };
  if (mapped(destination.lanes) != source.lanes || mapped(destination.warps) != source.warps)
    return std::nullopt;
  const std::optional<Bases> numbers =
      f2::leftDivide(source.registers, mapped(destination.registers));
  if (!numbers)
    return std::nullopt;
  llvm::SmallVector<uint32_t> result;
  for (int reg = 0; reg < destination.registerCount(); ++reg)
    result.push_back(combine(*numbers, reg));
  return result;
}

RegisterRuns registerRuns(const LinearLayout &layout, llvm::ArrayRef<ElementBits> directions) {
  const f2::Span span(layout.registers);
  ElementBits touched = 0; // by lanes and warps
  for (const Bases *bases : {&layout.lanes, &layout.warps})
    for (const ElementBits basis : *bases)
      touched |= basis;

  // New numbers for the registers: those of the run first, then independent registers with the
  // run's share removed, then the relations, which make copies.
  Bases numbers;
  ElementBits runMask = 0;
  for (const ElementBits direction : directions) {
    const std::optional<uint32_t> number = span.solve(direction);
    if (!number || (touched & direction) || (runMask & direction))
      break;
    numbers.push_back(*number);
    runMask |= direction;
  }
  RegisterRuns runs;
  runs.length = 1 << numbers.size();
  const Bases runNumbers = numbers;
  f2::Span taken(numbers);
  for (uint32_t number : independentNumbers(layout.registers)) {
    for (size_t bit = 0; bit < runNumbers.size(); ++bit)
      if (combine(layout.registers, number) & directions[bit])
        number ^= runNumbers[bit];
    if (taken.contains(number))
      continue;
    taken.add(number);
    numbers.push_back(number);
  }
  runs.distinct = 1 << numbers.size();
  llvm::append_range(numbers, span.kernel());
  assert(numbers.size() == layout.registers.size());
  for (int reg = 0; reg < layout.registerCount(); ++reg)
    runs.order.push_back(combine(numbers, reg));
  return runs;
}

RegisterRuns contiguity(const LinearLayout &layout, const ShapeBits &shape, int dim,
                        int maxLength) {
  Bases directions;
  for (int bit = 0; bit < shape.width(dim) && (2 << bit) <= maxLength; ++bit)
    directions.push_back(ElementBits{1} << (shape.shift(dim) + bit));
  return registerRuns(layout, directions);
}

} // namespace blockscope::gpu
