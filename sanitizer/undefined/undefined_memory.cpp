// Bits of undefined bytes, and spans that say where they come from.
#include "sanitizer/undefined/undefined_memory.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <atomic>

namespace blockscope::sanitizer {
namespace {

constexpr size_t kMostSpans = 1 << 13; // beyond it, undefined bytes have the origin of others

/// Calls `visit(word, mask)` for the words that hold bits [first, last); stops where it says true.
template <typename Visit> void forEachWord(uint64_t first, uint64_t last, Visit visit) {
  while (first < last) {
    const uint64_t word = first / 64, begin = first % 64;
    const uint64_t count = std::min<uint64_t>(64 - begin, last - first);
    const uint64_t mask = llvm::maskTrailingOnes<uint64_t>(static_cast<unsigned>(count)) << begin;
    if (visit(word, mask))
      return;
    first += count;
  }
}

} // namespace

void UndefinedStorage::undefine(uint64_t begin, uint64_t end, std::shared_ptr<const Trail> trail,
                                const Before &before) {
  forEachWord(begin - begin_, end - begin_, [&](uint64_t word, uint64_t mask) {
    bits_[word] |= mask;
    return false;
  });
  const auto goesOn = [&](const Span &last) {
    if (last.end != begin || last.trail != trail || !last.before.address != !before.address)
      return false;
    const Before next = last.beforeAt(begin);
    return before.address == 0 || (last.step == end - begin && next.address == before.address &&
                                   next.bytes == before.bytes);
  };
  last_ = {};
  if (!spans_.empty() && goesOn(spans_.back()))
    spans_.back().end = end;
  else if (!isFull())
    spans_.push_back({begin, end, std::move(trail), before, end - begin});
}

void UndefinedStorage::define(uint64_t begin, uint64_t end) {
  forEachWord(begin - begin_, end - begin_, [&](uint64_t word, uint64_t mask) {
    // Neighbours in a word may be another program's.
    const std::atomic_ref<uint64_t> bits(bits_[word]);
    if (mask == ~uint64_t{0})
      bits.store(0, std::memory_order_relaxed);
    else if (bits.load(std::memory_order_relaxed) & mask)
      bits.fetch_and(~mask, std::memory_order_relaxed);
    return false;
  });
}

std::optional<uint64_t> UndefinedStorage::firstUndefined(uint64_t begin, uint64_t end) const {
  std::optional<uint64_t> found;
  forEachWord(begin - begin_, end - begin_, [&](uint64_t word, uint64_t mask) {
    const uint64_t bits =
        std::atomic_ref(const_cast<uint64_t &>(bits_[word])).load(std::memory_order_relaxed) & mask;
    if (bits)
      found = begin_ + word * 64 + static_cast<uint64_t>(llvm::countr_zero(bits));
    return bits != 0;
  });
  return found;
}

bool UndefinedStorage::isFull() const { return spans_.size() >= kMostSpans; }

const UndefinedStorage::Span *UndefinedStorage::spanAt(uint64_t address) const {
  if (address >= last_.begin && address < last_.end)
    return &spans_[last_.span];
  uint64_t begin = 0, end = ~uint64_t{0};
  for (size_t i = spans_.size(); i-- > 0;) {
    const Span &span = spans_[i];
    if (address >= span.begin && address < span.end) {
      last_ = {std::max(begin, span.begin), std::min(end, span.end), i};
      return &span;
    }
    if (span.end <= address)
      begin = std::max(begin, span.end);
    else
      end = std::min(end, span.begin);
  }
  return nullptr;
}

const std::shared_ptr<const Trail> &UndefinedStorage::trailAt(uint64_t address) const {
  const Span *span = spanAt(address);
  return span ? span->trail : spans_.back().trail;
}

Before UndefinedStorage::before(const Before &element) const {
  const Span *span = spanAt(element.address);
  return span && span->before.address ? span->beforeAt(element.address) : element;
}

UndefinedStorage *UndefinedMemory::find(uint64_t address) {
  const auto found = storages_.upper_bound(address);
  return found != storages_.end() && found->second.begin() <= address ? &found->second : nullptr;
}

UndefinedStorage &UndefinedMemory::storage(uint64_t begin, uint64_t bytes) {
  dropStale(begin, bytes);
  return storages_.try_emplace(begin + bytes, begin, bytes).first->second;
}

void UndefinedMemory::dropStale(uint64_t begin, uint64_t bytes) {
  for (auto at = storages_.upper_bound(begin);
       at != storages_.end() && at->second.begin() < begin + bytes;)
    at = at->second.begin() == begin && at->second.end() == begin + bytes ? std::next(at)
                                                                          : storages_.erase(at);
}

void UndefinedMemory::forget(uint64_t begin, uint64_t bytes) {
  const auto found = storages_.find(begin + bytes);
  if (found != storages_.end() && found->second.begin() == begin)
    storages_.erase(found);
}

void UndefinedMemory::define(uint64_t begin, uint64_t end) {
  if (UndefinedStorage *storage = find(begin))
    storage->define(begin, std::min(end, storage->end()));
}

} // namespace blockscope::sanitizer
