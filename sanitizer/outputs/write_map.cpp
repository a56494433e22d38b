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

const WrittenPage &WriteMap::wholePage() {
  static const WrittenPage page = [] {
    WrittenPage whole;
    whole.written.fill(~uint64_t{0});
    return whole;
  }();
  return page;
}

WriteMap::Page &WriteMap::pageAt(uint64_t number) {
  if (number == lastNumber_)
    return *last_;
  Entry &entry = pages_[number];
  if (!entry.page) {
    entry.page = pool_.take();
    if (entry.program != kNobody) { // it was written whole
      entry.page->written.fill(~uint64_t{0});
      entry.page->program.fill(entry.program);
    }
  }
  lastNumber_ = number;
  last_ = entry.page.get();
  return *last_;
}

const WriteMap::Page *WriteMap::findPage(uint64_t number) const {
  const auto found = pages_.find(number);
  if (found == pages_.end())
    return nullptr;
  return found->second.page ? found->second.page.get() : &wholePage();
}

void WriteMap::clear() {
  for (auto &each : pages_)
    if (each.second.page)
      pool_.give(std::move(each.second.page));
  pages_.clear();
  lastNumber_ = ~0ULL;
  for (Open &open : open_) {
    open.all = {};
    open.parts.clear();
  }
  joined_.clear();
  isAgain_ = false;
}

void WriteMap::write(uint64_t begin, uint64_t end, int64_t program) {
  const Range range{begin, end, static_cast<uint32_t>(program) + 1};
  if (end - begin < kLeastJoined)
    return markBits(range);
  for (Open &open : open_) {
    if (open.all.end != begin)
      continue;
    if (open.all.program != range.program && open.parts.empty()) {
      open.parts.push_back(open.all);
      open.all.program = kSeveral;
    }
    if (!open.parts.empty())
      open.parts.push_back(range);
    open.all.end = end;
    return;
  }
  Open &open = open_[nextOpen_++ % open_.size()];
  close(open);
  open.all = range;
}

bool WriteMap::finish() {
  for (Open &open : open_)
    close(open);
  return isAgain_;
}

/// Pages that are written whole, for the first time, need no bits.
void WriteMap::close(Open &open) {
  for (uint64_t begin = open.all.begin; begin < open.all.end;) {
    const uint64_t number = begin / kPageBytes;
    const uint64_t end = std::min(open.all.end, (number + 1) * kPageBytes);
    const bool isWhole = end - begin == kPageBytes;
    if (!isWhole || !pages_.try_emplace(number, Entry{nullptr, open.all.program}).second)
      markPart(open, {begin, end, open.all.program});
    begin = end;
  }
  joined_.insert(joined_.end(), open.parts.begin(), open.parts.end());
  open.all = {};
  open.parts.clear();
}

void WriteMap::markPart(const Open &open, const Range &part) {
  if (open.parts.empty())
    return markBits(part);
  auto each = std::partition_point(open.parts.begin(), open.parts.end(),
                                   [&](const Range &range) { return range.end <= part.begin; });
  for (; each != open.parts.end() && each->begin < part.end; ++each)
    markBits({std::max(each->begin, part.begin), std::min(each->end, part.end), each->program});
}

/// Of bytes that several programs have written together: whether it was this one that wrote them.
bool WriteMap::isOfProgram(const Range &range) const {
  for (size_t i = joined_.size(); i-- > 0;)
    if (joined_[i].begin <= range.begin && range.begin < joined_[i].end)
      return joined_[i].program == range.program && range.end <= joined_[i].end;
  return false;
}

void WriteMap::markBits(const Range &range) {
  const uint32_t writer = range.program;
  for (uint64_t begin = range.begin; begin < range.end;) {
    Page &page = pageAt(begin / kPageBytes);
    const uint64_t pageEnd = std::min(range.end, (begin / kPageBytes + 1) * kPageBytes);
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
        isAgain_ =
            isAgain_ || ((page.written[word] & mask) != 0 &&
                         !(owner == kSeveral && isOfProgram({begin, begin + count, writer})));
        owner = owner == kNobody ? writer : kSeveral;
      }
      page.written[word] |= mask;
      begin += count;
    }
  }
}

bool WriteMap::overlaps(const WriteMap &other) const {
  return std::any_of(pages_.begin(), pages_.end(), [&](const auto &each) {
    const Page *page = findPage(each.first), *others = other.findPage(each.first);
    for (size_t word = 0; others && word < kWords; ++word)
      if (page->written[word] & others->written[word])
        return true;
    return false;
  });
}

void WriteMap::take(WriteMap &other) {
  for (auto &each : other.pages_) {
    const auto [to, isNew] = pages_.try_emplace(each.first, std::move(each.second));
    if (isNew || !to->second.page) // or written whole already
      continue;
    const std::unique_ptr<Page> &from = each.second.page;
    for (size_t word = 0; word < kWords; ++word)
      to->second.page->written[word] |= from ? from->written[word] : ~uint64_t{0};
  }
  other.clear();
  lastNumber_ = ~0ULL;
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
      if (page == &wholePage()) {
        at = stop;
        continue;
      }
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
