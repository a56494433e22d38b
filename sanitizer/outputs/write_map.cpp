// Bits of written bytes, page by page.
#include "sanitizer/outputs/write_map.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace blockscope::sanitizer {

std::unique_ptr<WrittenPage> PagePool::take() {
  std::unique_ptr<WrittenPage> page;
  {
    const std::lock_guard lock(mutex_);
    if (!pages_.empty()) {
      page = std::move(pages_.back());
      pages_.pop_back();
    }
  }
  if (!page)
    return std::make_unique<WrittenPage>();
  *page = WrittenPage();
  return page;
}

void PagePool::give(std::unique_ptr<WrittenPage> page) {
  const std::lock_guard lock(mutex_);
  if (pages_.size() < kMost)
    pages_.push_back(std::move(page));
}

WriteMap::Page &WriteMap::pageAt(uint64_t number) {
  if (number == lastNumber_)
    return *last_;
  std::unique_ptr<Page> &page = pages_[number];
  if (!page)
    page = pool_.take();
  lastNumber_ = number;
  last_ = page.get();
  return *last_;
}

const WriteMap::Page *WriteMap::findPage(uint64_t number) const {
  const auto found = pages_.find(number);
  return found != pages_.end() ? found->second.get() : nullptr;
}

void WriteMap::clear() {
  for (auto &each : pages_)
    pool_.give(std::move(each.second));
  pages_.clear();
  lastNumber_ = ~0ULL;
}

bool WriteMap::write(uint64_t begin, uint64_t end, int64_t program) {
  bool isAgain = false;
  const uint32_t writer = static_cast<uint32_t>(program) + 1;
  while (begin < end) {
    Page &page = pageAt(begin / kPageBytes);
    const uint64_t pageEnd = std::min(end, (begin / kPageBytes + 1) * kPageBytes);
    while (begin < pageEnd) {
      if (begin % 64 == 0) { // whole words, the first time
        uint64_t word = begin % kPageBytes / 64;
        const uint64_t last = pageEnd % kPageBytes == 0 ? kWords : pageEnd % kPageBytes / 64;
        for (; word < last && page.program[word] == kNobody; ++word, begin += 64) {
          page.program[word] = writer;
          page.written[word] = ~uint64_t{0};
        }
        if (begin == pageEnd)
          break;
      }
      const uint64_t word = begin % kPageBytes / 64, bit = begin % 64;
      const uint64_t count = std::min(64 - bit, pageEnd - begin);
      const uint64_t mask = llvm::maskTrailingOnes<uint64_t>(static_cast<unsigned>(count)) << bit;
      uint32_t &owner = page.program[word];
      if (owner != writer) {
        isAgain |= (page.written[word] & mask) != 0;
        owner = owner == kNobody ? writer : kSeveral;
      }
      page.written[word] |= mask;
      begin += count;
    }
  }
  return isAgain;
}

bool WriteMap::overlaps(const WriteMap &other) const {
  return std::any_of(pages_.begin(), pages_.end(), [&](const auto &each) {
    const Page *page = other.findPage(each.first);
    for (size_t word = 0; page && word < kWords; ++word)
      if (page->written[word] & each.second->written[word])
        return true;
    return false;
  });
}

void WriteMap::take(WriteMap &other) {
  for (auto &each : other.pages_) {
    std::unique_ptr<Page> &to = pages_[each.first];
    if (!to) {
      to = std::move(each.second);
      continue;
    }
    for (size_t word = 0; word < kWords; ++word)
      to->written[word] |= each.second->written[word];
    pool_.give(std::move(each.second));
  }
  other.pages_.clear();
  other.lastNumber_ = ~0ULL;
}

bool WriteMap::isWritten(uint64_t address) const {
  const Page *page = findPage(address / kPageBytes);
  return page && (page->written[address % kPageBytes / 64] >> address % 64 & 1) != 0;
}

void WriteMap::forEachGap(uint64_t begin, uint64_t end,
                          llvm::function_ref<bool(uint64_t, uint64_t)> visit) const {
  uint64_t gap = end; // where the open one began
  bool isOpen = false;
  const Page *page = nullptr;
  uint64_t number = ~0ULL;
  for (uint64_t at = begin; at < end;) {
    if (at / kPageBytes != number)
      page = findPage(number = at / kPageBytes);
    if (page && !isOpen && at % 64 == 0) { // most of an output is written
      const uint64_t stop = std::min(end, (number + 1) * kPageBytes);
      while (at + 64 <= stop && page->written[at % kPageBytes / 64] == ~uint64_t{0})
        at += 64;
      if (at == stop)
        continue;
    }
    const uint64_t bit = page ? at % 64 : 0;
    const uint64_t word = page ? page->written[at % kPageBytes / 64] >> bit : 0;
    const bool isWrittenHere = (word & 1) != 0;
    const auto same =
        static_cast<uint64_t>(isWrittenHere ? llvm::countr_one(word) : llvm::countr_zero(word));
    const uint64_t known = page ? 64 - bit : kPageBytes - at % kPageBytes;
    const uint64_t count = std::min({page ? same : known, known, end - at});
    if (isWrittenHere && isOpen) {
      isOpen = false;
      if (visit(gap, at))
        return;
    } else if (!isWrittenHere && !isOpen) {
      isOpen = true;
      gap = at;
    }
    at += count;
  }
  if (isOpen)
    visit(gap, end);
}

} // namespace blockscope::sanitizer
