// Splitting, joining and finding shadow segments.
#include "sanitizer/race/shadow_memory.h"

#include <algorithm>

namespace blockscope::sanitizer {

namespace {

/// The record as a segment sees it that begins `bytes` later.
AccessRecord shifted(AccessRecord record, int bytes) {
  const int from = record.phase + bytes;
  record.lane += record.laneStep * (from / record.elementBytes);
  record.phase = static_cast<int16_t>(from % record.elementBytes);
  return record;
}

ShadowCell shifted(const ShadowCell &cell, int bytes) {
  return {shifted(cell.write, bytes), shifted(cell.read, bytes), shifted(cell.otherRead, bytes),
          shifted(cell.atomic, bytes), shifted(cell.otherAtomic, bytes)};
}

/// Whether `next` is what `record` says of the bytes that begin `bytes` later.
bool continues(const AccessRecord &record, const AccessRecord &next, int bytes) {
  if (!record.exists() || !next.exists())
    return record.exists() == next.exists();
  return shifted(record, bytes) == next;
}

bool continues(const ShadowCell &cell, const ShadowCell &next, int bytes) {
  return continues(cell.write, next.write, bytes) && continues(cell.read, next.read, bytes) &&
         continues(cell.otherRead, next.otherRead, bytes) &&
         continues(cell.atomic, next.atomic, bytes) &&
         continues(cell.otherAtomic, next.otherAtomic, bytes);
}

} // namespace

void ShadowPage::splitAt(size_t index, int at) {
  ShadowSegment rest = segments_[index];
  rest.cell = shifted(rest.cell, at - rest.begin);
  rest.begin = static_cast<uint16_t>(at);
  segments_[index].end = rest.begin;
  segments_.insert(segments_.begin() + static_cast<ptrdiff_t>(index) + 1, rest);
}

void ShadowPage::touch(int begin, int end, Visitor visit) {
  auto index = static_cast<size_t>(
      std::upper_bound(segments_.begin(), segments_.end(), begin,
                       [](int at, const ShadowSegment &segment) { return at < segment.end; }) -
      segments_.begin());
  if (index < segments_.size() && segments_[index].begin < begin)
    splitAt(index++, begin);
  const size_t first = index;
  for (int at = begin; at < end; ++index) {
    const int next = index < segments_.size() ? segments_[index].begin : kBytes;
    if (next > at) // nothing is known of what lies before the next segment
      segments_.insert(segments_.begin() + static_cast<ptrdiff_t>(index),
                       {static_cast<uint16_t>(at), static_cast<uint16_t>(std::min(next, end)), {}});
    else if (segments_[index].end > end)
      splitAt(index, end);
    visit(segments_[index].cell, at, segments_[index].end);
    at = segments_[index].end;
  }
  join(first, index);
}

void ShadowPage::join(size_t first, size_t last) {
  if (last - first < 2)
    return;
  size_t kept = first;
  for (size_t i = first + 1; i < last; ++i) {
    ShadowSegment &segment = segments_[kept];
    if (continues(segment.cell, segments_[i].cell, segments_[i].begin - segment.begin))
      segment.end = segments_[i].end;
    else
      segments_[++kept] = segments_[i];
  }
  segments_.erase(segments_.begin() + static_cast<ptrdiff_t>(kept) + 1,
                  segments_.begin() + static_cast<ptrdiff_t>(last));
}

std::byte *ShadowPage::writtenForStore(llvm::BumpPtrAllocator &bytes) {
  if (!written_) {
    written_ = bytes.Allocate<std::byte>(kBytes);
    std::fill_n(written_, kBytes, std::byte{0});
  }
  return written_;
}

ShadowPage &ShadowMemory::pageAt(uint64_t hostAddress) {
  const uint64_t number = hostAddress / ShadowPage::kBytes;
  if (!lastPage_ || number != lastNumber_) {
    ShadowPage *&page = pages_[number];
    if (!page)
      page = new (pool_.Allocate()) ShadowPage();
    lastNumber_ = number;
    lastPage_ = page;
  }
  return *lastPage_;
}

void ShadowMemory::clear() {
  pages_.clear();
  pool_.DestroyAll();
  bytes_.Reset();
  lastPage_ = nullptr;
}

} // namespace blockscope::sanitizer
