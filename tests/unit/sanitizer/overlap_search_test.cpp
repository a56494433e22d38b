// The screen of tsan against tables with one entry a byte, under random tiles.
#include "sanitizer/race/overlap_search.h"
#include "sanitizer/race/warp_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace blockscope::sanitizer {
namespace {

constexpr uint64_t kBase = 1 << 20;

AccessBox boxOf(uint64_t address, std::vector<AccessBox::Dimension> dimensions,
                int64_t firstLane = 0) {
  AccessBox box;
  box.address = kBase + address;
  box.firstLane = firstLane;
  box.rank = static_cast<int>(dimensions.size());
  std::copy(dimensions.begin(), dimensions.end(), box.dimensions);
  return box;
}

/// Calls `visit` with lane and address of every element.
template <typename Visit> void forEachLane(const AccessBox &box, Visit visit) {
  std::vector<int64_t> index(static_cast<size_t>(box.rank), 0);
  for (;;) {
    int64_t lane = box.firstLane;
    uint64_t address = box.address;
    for (int d = 0; d < box.rank; ++d) {
      lane += index[d] * box.dimensions[d].laneStride;
      address += static_cast<uint64_t>(index[d] * box.dimensions[d].strideBytes);
    }
    visit(lane, address);
    int d = box.rank - 1;
    for (; d >= 0 && ++index[d] == box.dimensions[d].size; --d)
      index[d] = 0;
    if (d < 0)
      return;
  }
}

TEST(FootprintTest, RowsHaveTheBytesOfTheBox) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const int size = 1 << random() % 4;
    std::vector<AccessBox::Dimension> dimensions;
    int64_t extent = size;
    for (unsigned d = 0; d < 1 + random() % 3; ++d) { // by rising stride, then in any order
      const int64_t stride = extent + static_cast<int64_t>(random() % 2) * size * (random() % 3);
      const int64_t count = 1 + random() % 4;
      dimensions.push_back({count, random() % 2 ? stride : -stride, 1});
      extent += stride * (count - 1);
    }
    std::shuffle(dimensions.begin(), dimensions.end(), random);
    const AccessBox box = boxOf(4096, dimensions);
    std::vector<uint64_t> expected, found;
    forEachLane(box, [&](int64_t, uint64_t address) {
      for (int i = 0; i < size; ++i)
        expected.push_back(address + static_cast<uint64_t>(i));
    });
    const PlacedRows rows = rowsOf(box, size);
    rows.pattern.forEachRow([&](uint64_t offset) {
      for (uint64_t i = 0; i < rows.pattern.rowBytes; ++i)
        found.push_back(rows.begin + offset + i);
    });
    std::sort(expected.begin(), expected.end());
    EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
    ASSERT_EQ(found, expected);
    ASSERT_EQ(rows.begin + rows.pattern.extent(), expected.back() + 1);
    for (int probe = 0; probe < 20; ++probe) {
      const uint64_t begin = rows.begin - 8 + random() % (rows.pattern.extent() + 16);
      const uint64_t end = begin + 1 + random() % 8;
      const auto next = std::lower_bound(expected.begin(), expected.end(), begin);
      const bool shares = next != expected.end() && *next < end;
      const auto offset = static_cast<int64_t>(begin - rows.begin);
      ASSERT_EQ(rows.pattern.touches(offset, offset + static_cast<int64_t>(end - begin)), shares);
    }
  }
}

struct Logged {
  uint32_t program;
  Touch touch;
  AccessBox box;
};

bool excludes(Touch a, Touch b) {
  return a != Touch::Write && a == b; // reads with reads, atomics with those of their width
}

bool conflictsByByte(const std::vector<Logged> &all, int size) {
  std::map<uint64_t, std::vector<const Logged *>> byByte;
  for (const Logged &each : all)
    forEachLane(each.box, [&](int64_t, uint64_t address) {
      for (int i = 0; i < size; ++i)
        byByte[address + static_cast<uint64_t>(i)].push_back(&each);
    });
  for (const auto &[address, here] : byByte)
    for (const Logged *a : here)
      for (const Logged *b : here)
        if (a->program != b->program && !excludes(a->touch, b->touch))
          return true;
  return false;
}

bool found(const std::vector<Logged> &all, int size, int workers) {
  OverlapSearch search(workers);
  for (const Logged &each : all)
    search.add(static_cast<int>(each.program) % workers, each.program, each.touch,
               rowsOf(each.box, size));
  return search.finish();
}

TEST(OverlapSearchTest, RandomTilesOfAMatrix) {
  std::mt19937 random(11);
  int conflicts = 0;
  for (int round = 0; round < 3000; ++round) {
    const int size = 1 << random() % 3;
    const int64_t pitch = size * (12 + static_cast<int64_t>(random() % 3));
    const bool isGrid = random() % 2 == 0; // tiles of 2x3 elements, else anywhere
    std::vector<Logged> all;
    const unsigned count = 2 + random() % 6;
    for (unsigned i = 0; i < count; ++i) {
      const int64_t rows = isGrid ? 2 : 1 + random() % 4, columns = isGrid ? 3 : 1 + random() % 5;
      const int64_t top = isGrid ? random() % 6 * 2 : random() % 8;
      const int64_t left = isGrid ? random() % 4 * 3 : random() % 8;
      const int64_t step = isGrid || random() % 3 ? 1 : 2;
      std::vector<AccessBox::Dimension> dimensions = {{rows, pitch, columns},
                                                      {columns, step * size, 1}};
      if (random() % 2)
        std::swap(dimensions[0], dimensions[1]); // transposed: the same bytes
      const auto touch = static_cast<Touch>(random() % 8 < 5 ? 1 : random() % kTouches);
      all.push_back({static_cast<uint32_t>(random() % 4), touch,
                     boxOf(static_cast<uint64_t>(top * pitch + left * size), dimensions)});
    }
    const bool expected = conflictsByByte(all, size);
    conflicts += expected;
    for (const int workers : {1, 3})
      ASSERT_EQ(found(all, size, workers), expected) << "round " << round;
  }
  EXPECT_GT(conflicts, 300);
  EXPECT_LT(conflicts, 2700);
}

TEST(OverlapSearchTest, LogsThatAreSettledOnTheWayFindTheSame) {
  // 300,000 blocks, every eighth read by all; one byte of overlap far apart, or none.
  for (const uint64_t overlap : {0, 1}) {
    OverlapSearch search(2);
    for (uint32_t i = 0; i < 300000; ++i) {
      const uint32_t program = i * 7919 % 300000;
      const uint64_t begin = kBase + program * 64ULL;
      search.add(static_cast<int>(i % 2), program, Touch::Write, begin, begin + 32);
      search.add(static_cast<int>(i % 2), program, Touch::Read, kBase - 64, kBase - 32);
      if (program == 123456)
        search.add(static_cast<int>(i % 2), program, Touch::Read, begin + 32, begin + 64 + overlap);
    }
    EXPECT_EQ(search.finish(), overlap == 1);
  }
}

TEST(WarpOrderTest, OnlyOtherLanesOfAStoreSinceTheBarrierMatter) {
  const AccessBox block = boxOf(0, {{64, 4, 1}});
  const AccessBox part = boxOf(32, {{8, 4, 1}}, 8);
  const AccessBox reversed = boxOf(63 * 4, {{64, -4, 1}});
  const AccessBox elsewhere = boxOf(256, {{64, 4, 1}});
  WarpOrder order;
  const auto check = [&](std::vector<std::pair<AccessBox, bool>> accesses) {
    for (const auto &[box, isStore] : accesses)
      order.onAccess(box, 4, {.writes = isStore});
    return order.mayBeBroken();
  };
  EXPECT_FALSE(check({{block, true}, {block, false}, {part, false}, {part, true}}));
  EXPECT_TRUE(check({{block, true}, {reversed, false}}));
  EXPECT_FALSE(check({{reversed, false}, {block, true}}));
  EXPECT_TRUE(check({{reversed, true}, {block, true}}));
  EXPECT_FALSE(check({{block, true}, {elsewhere, false}}));
  EXPECT_FALSE(check({{block, true}}) || check({{reversed, false}}));
}

TEST(WarpOrderTest, AtomicsClashWithOtherAccessesAlone) {
  const AccessBox block = boxOf(0, {{64, 4, 1}}), reversed = boxOf(63 * 4, {{64, -4, 1}});
  const AccessBox element = boxOf(32, {}), elsewhere = boxOf(1 << 20, {{64, 4, 1}});
  const WarpOrder::Kind load{}, store{.writes = true}, atomic{.writes = true, .isAtomic = true};
  const WarpOrder::Kind loadOfOne{.isBlock = false};
  const WarpOrder::Kind storeOfOne{.writes = true, .isBlock = false};
  const WarpOrder::Kind atomicOfOne{.writes = true, .isAtomic = true, .isBlock = false};
  WarpOrder order;
  const auto check = [&](std::vector<std::pair<AccessBox, WarpOrder::Kind>> accesses) {
    for (const auto &[box, kind] : accesses)
      order.onAccess(box, 4, kind);
    return order.mayBeBroken();
  };
  EXPECT_TRUE(check({{block, atomic}, {reversed, load}}));
  EXPECT_TRUE(check({{block, store}, {reversed, atomic}}));
  EXPECT_TRUE(check({{block, store}, {element, loadOfOne}}));
  EXPECT_TRUE(check({{element, storeOfOne}, {block, load}}));
  EXPECT_TRUE(check({{element, atomicOfOne}, {block, load}}));
  EXPECT_FALSE(check({{reversed, load}, {block, atomic}}));
  EXPECT_FALSE(check({{block, atomic}, {elsewhere, load}}));
  EXPECT_FALSE(check({{element, storeOfOne}, {element, loadOfOne}}));
  EXPECT_FALSE(check({{element, atomicOfOne}, {element, loadOfOne}}));
  EXPECT_FALSE(check({{block, atomic}}) || check({{reversed, load}}));
  std::vector<std::pair<AccessBox, WarpOrder::Kind>> many(1 << 15, {block, atomic});
  EXPECT_FALSE(check(many));
}

TEST(WarpOrderTest, RandomTilesAreNeverTakenForGoodWhenTheyAreNot) {
  std::mt19937 random(5);
  int quiet = 0;
  for (int round = 0; round < 3000; ++round) {
    WarpOrder order;
    std::map<uint64_t, std::vector<int64_t>> writers; // lanes by address
    bool expected = false;
    for (unsigned i = 0; i < 2 + random() % 3; ++i) {
      // Parts of one tile, sometimes transposed or moved.
      const int64_t top = random() % 3, left = random() % 3;
      const bool isTransposed = random() % 6 == 0;
      const int64_t rows = 1 + random() % 3, columns = 1 + random() % 3;
      const int64_t base = random() % 6 == 0 ? 4 : 0;
      const int64_t rowStride = isTransposed ? 4 : 32, columnStride = isTransposed ? 32 : 4;
      const AccessBox box =
          boxOf(static_cast<uint64_t>(base + top * rowStride + left * columnStride),
                {{rows, rowStride, 8}, {columns, columnStride, 1}}, top * 8 + left);
      const bool isStore = random() % 2 == 0;
      order.onAccess(box, 4, {.writes = isStore});
      forEachLane(box, [&](int64_t lane, uint64_t address) {
        for (const int64_t writer : writers[address])
          expected |= writer != lane;
      });
      if (isStore)
        forEachLane(box, [&](int64_t lane, uint64_t address) { writers[address].push_back(lane); });
    }
    const bool broken = order.mayBeBroken();
    ASSERT_TRUE(broken || !expected) << "round " << round;
    quiet += !broken;
  }
  EXPECT_GT(quiet, 1000);
}

} // namespace
} // namespace blockscope::sanitizer
