// What is known about every byte of memory that a launch touched: who wrote and who read it last.
//
// Memory is kept in blocks of 64 bytes. A block that was only ever accessed whole has one cell; a
// partial access splits it into cells of the access's element size. So contiguous kernels cost one
// cell a cache line and the check stays byte-exact (FastTrack, docs/references.md#fasttrack).
#pragma once

#include "llvm/ADT/DenseMap.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace blockscope {

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

  bool exists() const { return program != kNone; }
};

/// Last write, last two readers from different programs, last atomic of a group of bytes.
struct ShadowCell {
  AccessRecord write, read, otherRead, atomic;
};

struct ShadowBlock {
  static constexpr int kBytes = 64;

  int granule = kBytes;                       ///< bytes of one cell
  std::unique_ptr<ShadowCell[]> cells;        ///< kBytes / granule
  std::array<std::byte, kBytes> written = {}; ///< the bytes as programs last stored them

  /// Splits cells until none is larger than `bytes` (a power of two).
  void refine(int bytes);
  /// Makes one cell of the block again.
  void merge(ShadowCell cell); // by value: it may be one of the cells that go
};

/// Blocks by host address; pages of 4 KiB are made when first touched.
class ShadowMemory {
public:
  ShadowBlock &blockAt(uint64_t hostAddress);
  void clear() {
    pages_.clear();
    lastPage_ = nullptr;
  }

private:
  static constexpr uint64_t kPageBytes = 4096;
  using Page = std::array<ShadowBlock, kPageBytes / ShadowBlock::kBytes>;

  llvm::DenseMap<uint64_t, std::unique_ptr<Page>> pages_;
  uint64_t lastNumber_ = 0;
  Page *lastPage_ = nullptr;
};

} // namespace blockscope
