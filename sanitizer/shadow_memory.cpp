// Splitting, merging and finding shadow blocks.
#include "sanitizer/shadow_memory.h"

namespace blockscope {

namespace {

/// The record as a cell sees it that begins `bytes` later.
AccessRecord shifted(AccessRecord record, int bytes) {
  record.lane += record.laneStep * (bytes / record.elementBytes);
  return record;
}

ShadowCell shifted(const ShadowCell &cell, int bytes) {
  return {shifted(cell.write, bytes), shifted(cell.read, bytes), shifted(cell.otherRead, bytes),
          shifted(cell.atomic, bytes)};
}

} // namespace

void ShadowBlock::refine(int bytes) {
  if (bytes >= granule)
    return;
  const int count = kBytes / bytes, factor = granule / bytes;
  auto finer = std::make_unique<ShadowCell[]>(count);
  for (int i = 0; i < count; ++i)
    finer[i] = shifted(cells[i / factor], i % factor * bytes);
  cells = std::move(finer);
  granule = bytes;
}

void ShadowBlock::merge(ShadowCell cell) {
  if (granule != kBytes) {
    cells = std::make_unique<ShadowCell[]>(1);
    granule = kBytes;
  }
  cells[0] = cell;
}

ShadowBlock &ShadowMemory::blockAt(uint64_t hostAddress) {
  const uint64_t number = hostAddress / kPageBytes;
  if (!lastPage_ || number != lastNumber_) {
    std::unique_ptr<Page> &page = pages_[number];
    if (!page)
      page = std::make_unique<Page>();
    lastNumber_ = number;
    lastPage_ = page.get();
  }
  ShadowBlock &block = (*lastPage_)[hostAddress % kPageBytes / ShadowBlock::kBytes];
  if (!block.cells)
    block.cells = std::make_unique<ShadowCell[]>(1);
  return block;
}

} // namespace blockscope
