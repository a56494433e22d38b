// Which bytes a launch has written, one bit for each, and in words of 64 bytes by which program.
// Writes that lie behind one another, as those of programs with consecutive numbers often do, are
// first put together: pages that are written whole cost next to nothing.
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

  /// Marks bytes [begin, end) as written by `program`.
  void write(uint64_t begin, uint64_t end, int64_t program);
  /// To be called when all is written, before what follows. Returns whether two programs may have
  /// written one byte.
  bool finish();
  /// Forgets everything.
  void clear();

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
  static constexpr uint64_t kLeastJoined = 512; ///< bytes of writes that are put together

  /// Bytes that one program has written.
  struct Range {
    uint64_t begin = 0, end = 0;
    uint32_t program = kNobody; ///< plus 1
  };
  /// A page without bits is written whole.
  struct Entry {
    std::unique_ptr<Page> page;
    uint32_t program = kNobody; ///< of a page without bits
  };

  /// Writes that lie behind one another.
  struct Open {
    Range all;                ///< of kSeveral, where they are of several programs
    std::vector<Range> parts; ///< then: the writes
  };

  void close(Open &open);
  void markPart(const Open &open, const Range &part);
  void markBits(const Range &range);
  bool isOfProgram(const Range &range) const;
  Page &pageAt(uint64_t number);
  const Page *findPage(uint64_t number) const;
  static const Page &wholePage();

  PagePool &pool_;
  llvm::DenseMap<uint64_t, Entry> pages_;
  uint64_t lastNumber_ = ~0ULL;
  Page *last_ = nullptr;
  std::array<Open, 4> open_; ///< not marked yet; a program may write several outputs in turn
  size_t nextOpen_ = 0;
  std::vector<Range> joined_; ///< the writes of several programs that were marked together
  bool isAgain_ = false;      ///< two programs may have written one byte
};

} // namespace blockscope::sanitizer
