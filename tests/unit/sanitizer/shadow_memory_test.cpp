// Laws of the shadow memory: against a table with one cell a byte, under random accesses.
#include "sanitizer/race/shadow_memory.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace blockscope::sanitizer {
namespace {

/// The record of bytes that begin `skipped` bytes into an access whose first lane is 0.
AccessRecord record(uint32_t program, uint32_t sequence, int skipped, int elementBytes) {
  AccessRecord result;
  result.program = program;
  result.sequence = sequence;
  result.lane = skipped / elementBytes;
  result.phase = static_cast<int16_t>(skipped % elementBytes);
  result.elementBytes = static_cast<int16_t>(elementBytes);
  result.laneStep = 1;
  return result;
}

TEST(ShadowPageTest, UntouchedBytesHaveEmptyCells) {
  ShadowPage page;
  int visits = 0;
  page.touch(16, 32, [&](ShadowCell &cell, int begin, int end) {
    ++visits;
    EXPECT_FALSE(cell.write.exists());
    EXPECT_EQ(begin, 16);
    EXPECT_EQ(end, 32);
  });
  EXPECT_EQ(visits, 1);
}

TEST(ShadowPageTest, AContiguousStoreIsOneSegmentWhateverWasThereBefore) {
  ShadowPage page;
  for (int at = 0; at < 64; at += 4) // sixteen programs
    page.touch(at, at + 4, [&](ShadowCell &cell, int begin, int) {
      cell.write = record(static_cast<uint32_t>(begin), 0, 0, 4);
    });
  EXPECT_EQ(page.segments().size(), 16U);
  page.touch(0, 64, [](ShadowCell &cell, int begin, int) { cell.write = record(99, 1, begin, 4); });
  ASSERT_EQ(page.segments().size(), 1U);
  EXPECT_EQ(page.segments()[0].end, 64);
}

TEST(ShadowPageTest, EveryByteKeepsItsHistoryUnderRandomAccesses) {
  struct Known {
    uint32_t program = AccessRecord::kNone;
    int lane = 0;
  };
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    ShadowPage page;
    std::array<Known, ShadowPage::kBytes> writes, reads;
    for (uint32_t step = 0; step < 200; ++step) {
      const int size = 1 << random() % 4;
      const int begin = static_cast<int>(random() % (ShadowPage::kBytes / size)) * size;
      const int count = 1 + static_cast<int>(random() % ((ShadowPage::kBytes - begin) / size));
      const int end = begin + std::min(count, 40) * size;
      const bool isWrite = random() % 2 == 0;
      int next = begin;
      page.touch(begin, end, [&](ShadowCell &cell, int from, int to) {
        EXPECT_EQ(from, next);
        next = to;
        for (int at = from; at < to; ++at)
          for (const auto &[known, found] :
               {std::pair{&writes, &cell.write}, {&reads, &cell.read}}) {
            ASSERT_EQ((*known)[at].program, found->program);
            if (found->exists()) {
              ASSERT_EQ((*known)[at].lane,
                        found->lane + (found->phase + at - from) / found->elementBytes);
            }
          }
        (isWrite ? cell.write : cell.read) = record(step, step, from - begin, size);
      });
      EXPECT_EQ(next, end);
      for (int at = begin; at < end; ++at)
        (isWrite ? writes : reads)[at] = {step, (at - begin) / size};
    }
  }
}

TEST(ShadowMemoryTest, AnAddressHasOnePage) {
  ShadowMemory memory;
  ShadowPage &page = memory.pageAt(5000);
  EXPECT_EQ(&page, &memory.pageAt(5000 / ShadowPage::kBytes * ShadowPage::kBytes));
  EXPECT_NE(&page, &memory.pageAt(5000 + ShadowPage::kBytes));
  EXPECT_EQ(&page, &memory.pageAt(5000));
}

} // namespace
} // namespace blockscope::sanitizer
