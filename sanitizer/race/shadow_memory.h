// What is known about every byte of memory that a launch touched: who wrote and who read it last.
//
// A page of 2 KiB is a sorted list of segments; all bytes of a segment have the same history, apart
// from lanes that count up along it. An access splits segments at its ends and joins again what it
// made equal, so contiguous kernels cost a segment or two a page and the check stays byte-exact.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Allocator.h"

#include <cstddef>
#include <cstdint>

namespace blockscope::sanitizer {

/// One access as a cell remembers it. Its lane is that of the cell's first byte.
struct AccessRecord {
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t program = kNone;
  uint32_t epoch = 0;    ///< of the program's clock
  uint32_t op = 0;       ///< number in the sanitizer's table of ops
  uint32_t sequence = 0; ///< event of the program, for barriers
  int32_t lane = 0;
  int16_t elementBytes = 1;
  int16_t laneStep = 0; ///< lanes per element inside the cell: 0 or 1
  int16_t phase = 0;    ///< bytes of the element that lie before the cell, where it was cut

  bool exists() const { return program != kNone; }
  bool operator==(const AccessRecord &) const = default;
};

/// Last write, last two readers from different programs, last two atomics from different programs
/// of a group of bytes.
struct ShadowCell {
  AccessRecord write, read, otherRead, atomic, otherAtomic;
};

/// Bytes [begin, end) of a page with one history.
struct ShadowSegment {
  uint16_t begin, end;
  ShadowCell cell;
};

class ShadowPage {
public:
  static constexpr int kBytes = 2048;
  /// Called with the cell of bytes [begin, end); may change the cell.
  using Visitor = llvm::function_ref<void(ShadowCell &cell, int begin, int end)>;

  /// Visits bytes [begin, end) in rising order, each byte once; untouched bytes get an empty cell.
  void touch(int begin, int end, Visitor visit);
  /// Returns what programs last stored to the page's bytes; null when they have not.
  std::byte *written() { return written_; }
  /// The same, made in `bytes` when there is none.
  std::byte *writtenForStore(llvm::BumpPtrAllocator &bytes);
  llvm::ArrayRef<ShadowSegment> segments() const { return segments_; }

private:
  void splitAt(size_t index, int at);
  void join(size_t first, size_t last);

  llvm::SmallVector<ShadowSegment, 2> segments_;
  std::byte *written_ = nullptr;
};

/// Pages by host address, made when first touched.
class ShadowMemory {
public:
  ShadowPage &pageAt(uint64_t hostAddress);
  /// Returns where the page that was found last keeps what was stored to it.
  std::byte *writtenForStore() { return lastPage_->writtenForStore(bytes_); }
  void clear();

private:
  llvm::DenseMap<uint64_t, ShadowPage *> pages_;
  llvm::SpecificBumpPtrAllocator<ShadowPage> pool_;
  llvm::BumpPtrAllocator bytes_;
  uint64_t lastNumber_ = 0;
  ShadowPage *lastPage_ = nullptr;
};

} // namespace blockscope::sanitizer
