// Which bytes a launch has written, one bit for each, and in words of 64 bytes by which program.
#pragma once

#include "sanitizer/observation.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <array>
#include <memory>
#include <mutex>
#include <vector>

namespace blockscope::sanitizer {

/// Bits of some memory.
struct WrittenPage {
  static constexpr uint64_t kWords = 512;
  static constexpr uint64_t kBytes = 64 * kWords;

  std::array<uint64_t, kWords> written = {};
  std::array<uint32_t, kWords> program = {}; ///< plus 1
};

/// Pages that are used again: new memory costs more than to write it. Thread safe.
class PagePool {
public:
  std::unique_ptr<WrittenPage> take();
  void give(std::unique_ptr<WrittenPage> page);

private:
  static constexpr size_t kMost = 1 << 13; // 48 MiB
  std::mutex mutex_;
  std::vector<std::unique_ptr<WrittenPage>> pages_;
};

/// Of one worker. Addresses are the host's.
class WriteMap {
public:
  explicit WriteMap(PagePool &pool) : pool_(pool) {}

  /// Marks bytes [begin, end) as written by `program`. Returns whether another program may have
  /// written one of them before.
  bool write(uint64_t begin, uint64_t end, int64_t program);
  /// Forgets everything.
  void clear();
  bool empty() const { return pages_.empty(); }

  /// Whether a byte is written in both.
  bool overlaps(const WriteMap &other) const;
  /// Takes what the other one has, which forgets it.
  void take(WriteMap &other);
  /// Calls `visit` for the maximal ranges of [begin, end) that are not written, in order; stops
  /// where it says true.
  void forEachGap(uint64_t begin, uint64_t end,
                  llvm::function_ref<bool(uint64_t, uint64_t)> visit) const;
  bool isWritten(uint64_t address) const;

private:
  using Page = WrittenPage;
  static constexpr uint64_t kWords = Page::kWords, kPageBytes = Page::kBytes;
  static constexpr uint32_t kNobody = 0, kSeveral = ~0U;

  Page &pageAt(uint64_t number);
  const Page *findPage(uint64_t number) const;

  PagePool &pool_;
  llvm::DenseMap<uint64_t, std::unique_ptr<Page>> pages_;
  uint64_t lastNumber_ = ~0ULL;
  Page *last_ = nullptr;
};

} // namespace blockscope::sanitizer
