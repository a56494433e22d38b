// Bytes that are written, against a map that keeps the writer of each byte.
#include "sanitizer/outputs/write_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace blockscope::sanitizer {
namespace {

constexpr uint64_t kBase = 1 << 20, kBytes = 6 * WrittenPage::kBytes;

constexpr int64_t kNobody = -1;

/// The same, byte for byte.
struct Bytes {
  std::vector<int64_t> writers = std::vector<int64_t>(kBytes, kNobody);
  bool isAgain = false;

  void write(uint64_t begin, uint64_t end, int64_t program) {
    for (uint64_t at = begin; at < end; ++at) {
      int64_t &writer = writers[at - kBase];
      isAgain |= writer != kNobody && writer != program;
      writer = program;
    }
  }
  bool isWritten(uint64_t at) const { return writers[at - kBase] != kNobody; }
  std::vector<std::pair<uint64_t, uint64_t>> gaps(uint64_t begin, uint64_t end) const {
    std::vector<std::pair<uint64_t, uint64_t>> result;
    for (uint64_t at = begin; at < end; ++at) {
      if (isWritten(at))
        continue;
      if (!result.empty() && result.back().second == at)
        ++result.back().second;
      else
        result.emplace_back(at, at + 1);
    }
    return result;
  }
};

void expectSame(const WriteMap &map, const Bytes &bytes) {
  std::vector<std::pair<uint64_t, uint64_t>> gaps;
  map.forEachGap(kBase, kBase + kBytes, [&](uint64_t begin, uint64_t end) {
    gaps.emplace_back(begin, end);
    return false;
  });
  EXPECT_EQ(gaps, bytes.gaps(kBase, kBase + kBytes));
  for (uint64_t at = kBase; at < kBase + kBytes; at += 97)
    EXPECT_EQ(map.isWritten(at), bytes.isWritten(at)) << at - kBase;
}

/// Two outputs, each written by programs one behind the other, twice where `times` is 2.
void writeInTurn(WriteMap &map, Bytes &bytes, uint64_t blockBytes, int times) {
  for (uint64_t program = 0; (program + 1) * blockBytes <= kBytes / 2; ++program)
    for (int i = 0; i < 2 * times; ++i) {
      const uint64_t begin = kBase + (i % 2) * kBytes / 2 + program * blockBytes;
      map.write(begin, begin + blockBytes, static_cast<int64_t>(program));
      bytes.write(begin, begin + blockBytes, static_cast<int64_t>(program));
    }
}

TEST(WriteMap, PutsWritesOfManyProgramsTogether) {
  for (const uint64_t blockBytes : {128, 512, 4000, 4096, 40000})
    for (const int times : {1, 2}) {
      PagePool pool;
      WriteMap map(pool);
      Bytes bytes;
      writeInTurn(map, bytes, blockBytes, times);
      EXPECT_FALSE(map.finish()) << blockBytes << " bytes, " << times << " times";
      expectSame(map, bytes);
    }
}

TEST(WriteMap, SeesEachByteThatTwoProgramsWrite) {
  for (const uint64_t at : {0, 1000, 40000, 70001, 98304})
    for (const uint64_t count : {1, 64, 600}) {
      PagePool pool;
      WriteMap map(pool);
      Bytes bytes;
      writeInTurn(map, bytes, 4096, 1);
      map.write(kBase + at, kBase + at + count, 1000);
      EXPECT_TRUE(map.finish()) << count << " at " << at;
    }
}

TEST(WriteMap, IsRightForRandomWrites) {
  std::mt19937 random(0); // NOLINT: the same in each run
  for (int round = 0; round < 50; ++round) {
    PagePool pool;
    WriteMap first(pool), second(pool), all(pool);
    Bytes firstBytes, secondBytes, allBytes;
    for (int i = 0; i < 30; ++i) {
      const bool isFirst = random() % 2 == 0;
      const uint64_t begin = kBase + random() % kBytes;
      const uint64_t end =
          std::min(kBase + kBytes, begin + 1 + random() % (random() % 4 == 0 ? 100000 : 2000));
      const auto program = static_cast<int64_t>(random() % 3);
      (isFirst ? first : second).write(begin, end, program);
      (isFirst ? firstBytes : secondBytes).write(begin, end, program);
      allBytes.write(begin, end, program);
    }
    EXPECT_TRUE(first.finish() || !firstBytes.isAgain);
    EXPECT_TRUE(second.finish() || !secondBytes.isAgain);
    bool overlaps = false;
    for (uint64_t at = kBase; at < kBase + kBytes; ++at)
      overlaps |= firstBytes.isWritten(at) && secondBytes.isWritten(at);
    EXPECT_EQ(first.overlaps(second), overlaps);
    all.take(first);
    all.take(second);
    expectSame(all, allBytes);
  }
}

} // namespace
} // namespace blockscope::sanitizer
