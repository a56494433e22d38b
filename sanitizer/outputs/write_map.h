// Which bytes a launch has written, one bit for each, and in words of 64 bytes by which program.
#pragma once

#include "sanitizer/observation.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <array>
#include <memory>

namespace blockscope::sanitizer {

/// Of one worker. Addresses are the host's.
class WriteMap {
public:
  /// Marks bytes [begin, end) as written by `program`. Returns whether another program may have
  /// written one of them before.
  bool write(uint64_t begin, uint64_t end, int64_t program);
  void clear();
  bool empty() const { return pages_.empty(); }

  /// Whether a byte is written in both.
  bool overlaps(const WriteMap &other) const;
  /// Adds what the other one has.
  void merge(const WriteMap &other);
  /// Calls `visit` for the maximal ranges of [begin, end) that are not written, in order; stops
  /// where it says true.
  void forEachGap(uint64_t begin, uint64_t end,
                  llvm::function_ref<bool(uint64_t, uint64_t)> visit) const;
  bool isWritten(uint64_t address) const;

private:
  static constexpr uint64_t kWords = 512;
  static constexpr uint64_t kPageBytes = 64 * kWords;
  static constexpr uint32_t kNobody = 0, kSeveral = ~0U;

  struct Page {
    std::array<uint64_t, kWords> written = {};
    std::array<uint32_t, kWords> program = {}; ///< plus 1
  };

  Page &pageAt(uint64_t number);
  const Page *findPage(uint64_t number) const;

  llvm::DenseMap<uint64_t, std::unique_ptr<Page>> pages_;
  uint64_t lastNumber_ = ~0ULL;
  Page *last_ = nullptr;
};

} // namespace blockscope::sanitizer
