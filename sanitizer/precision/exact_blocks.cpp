// Keeps exact blocks by the address of their value.
//
// Where ops are fused, a value comes strip by strip. One that only its group needs has one buffer
// for all strips, at one address; any other one grows from strip to strip, and is found by its
// first element.
#include "sanitizer/precision/exact_blocks.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace blockscope::sanitizer {
namespace {

constexpr size_t kMostParts = 24;  // of one value; the smallest are put together
constexpr size_t kMostGrowths = 6; // the smallest are forgotten

uintptr_t addressOf(const void *data) { return reinterpret_cast<uintptr_t>(data); }

double energyOf(const std::vector<double> &error) {
  double energy = 0;
  for (const double each : error)
    energy += each * each;
  return energy;
}

} // namespace

const std::vector<double> *ExactBlock::find(CauseId cause) const {
  const auto found = llvm::lower_bound(
      parts, cause, [](const ErrorPart &part, CauseId id) { return part.cause < id; });
  return found != parts.end() && found->cause == cause ? &found->error : nullptr;
}

std::vector<double> &ExactBlock::part(CauseId cause) {
  auto found = llvm::lower_bound(parts, cause,
                                 [](const ErrorPart &part, CauseId id) { return part.cause < id; });
  if (found == parts.end() || found->cause != cause)
    found = parts.insert(found, {cause, std::vector<double>(exact.size())});
  return found->error;
}

void ExactBlock::tidy() {
  llvm::erase_if(parts, [](const ErrorPart &part) {
    return llvm::all_of(part.error, [](double error) { return error == 0; });
  });
  const auto smaller = [](const ErrorPart &a, const ErrorPart &b) {
    return energyOf(a.error) < energyOf(b.error);
  };
  const auto lines = [&] {
    return static_cast<size_t>(
        llvm::count_if(parts, [](const ErrorPart &part) { return !isGrowth(part.cause); }));
  };
  while (lines() > kMostParts) {
    std::vector<double> &others = part(kOtherLines);
    const auto smallest = std::min_element(
        parts.begin() + 1, parts.begin() + static_cast<ptrdiff_t>(lines()), smaller);
    for (size_t i = 0; i < others.size(); ++i)
      others[i] += smallest->error[i];
    parts.erase(smallest);
  }
  while (parts.size() - lines() > kMostGrowths)
    parts.erase(
        std::min_element(parts.begin() + static_cast<ptrdiff_t>(lines()), parts.end(), smaller));
}

ExactElements ExactBlocks::find(const ValueView &view, int64_t begin) const {
  if (entries_.empty())
    return {};
  if (const auto found = entries_.find(addressOf(view.data)); found != entries_.end())
    return {&found->second.block, 0};
  if (view.extent != ValueView::Extent::Strip || begin == 0)
    return {};
  const auto whole = entries_.find(addressOf(view.data) -
                                   static_cast<uintptr_t>(begin * view.type->elementBytes()));
  const bool isThere = whole != entries_.end() && whole->second.end > addressOf(view.data);
  return isThere ? ExactElements{&whole->second.block, begin} : ExactElements();
}

void ExactBlocks::set(const OpValues &values, const ValueView &result, ExactBlock block) {
  const int64_t elementBytes = result.type->elementBytes();
  const uintptr_t begin = addressOf(result.data);
  const uintptr_t end = begin + block.exact.size() * static_cast<size_t>(elementBytes);
  const bool isStrip =
      result.extent == ValueView::Extent::Strip && values.count < result.type->numElements();
  block.op = values.op;
  erase(begin, end);
  if (isStrip && values.begin != 0) {
    const auto whole = entries_.find(begin - static_cast<uintptr_t>(values.begin * elementBytes));
    if (whole != entries_.end() && whole->second.end == begin &&
        whole->second.block.op == values.op) {
      ExactBlock &all = whole->second.block;
      all.exact.insert(all.exact.end(), block.exact.begin(), block.exact.end());
      for (ErrorPart &part : all.parts)
        part.error.resize(all.exact.size());
      for (const ErrorPart &part : block.parts)
        llvm::copy(part.error, all.part(part.cause).begin() + values.begin);
      whole->second.end = end;
      return;
    }
  }
  if (isStrip || !block.parts.empty())
    entries_.try_emplace(begin, Entry{end, std::move(block)});
}

void ExactBlocks::drop(const OpValues &values, const ValueView &result) {
  const int64_t count = result.elements(values.count);
  erase(addressOf(result.data),
        addressOf(result.data) + static_cast<uintptr_t>(count * result.type->elementBytes()));
}

void ExactBlocks::move(const void *from, const void *to, int64_t bytes) {
  const auto found = entries_.find(addressOf(from));
  if (found == entries_.end()) {
    erase(addressOf(to), addressOf(to) + static_cast<uintptr_t>(bytes));
    return;
  }
  Entry copy = found->second;
  erase(addressOf(to), addressOf(to) + static_cast<uintptr_t>(bytes));
  copy.end = addressOf(to) + static_cast<uintptr_t>(bytes);
  entries_.insert_or_assign(addressOf(to), std::move(copy));
}

void ExactBlocks::erase(uintptr_t begin, uintptr_t end) {
  auto at = entries_.upper_bound(begin);
  if (at != entries_.begin() && std::prev(at)->second.end > begin)
    --at;
  while (at != entries_.end() && at->first < end)
    at = entries_.erase(at);
}

} // namespace blockscope::sanitizer
