// Which bytes belong to a view, and which element an offset is in.
#include "interpreter/memory.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

using namespace blockscope;
using namespace blockscope::interpreter;

namespace {

std::array<std::byte, 4096> storage;

Allocation view(std::vector<int64_t> shape, std::vector<int64_t> strides, int64_t elementBytes = 4,
                int64_t offset = 0) {
  Allocation allocation;
  allocation.info.shape = std::move(shape);
  allocation.info.strides = std::move(strides);
  allocation.info.elementBytes = elementBytes;
  allocation.storage = storage.data();
  allocation.storageBytes = storage.size();
  allocation.view = storage.data() + offset;
  allocation.describeView();
  return allocation;
}

using Index = std::vector<int64_t>;

TEST(AllocationTest, DenseViewIsDense) {
  const Allocation a = view({4, 8}, {8, 1});
  EXPECT_TRUE(a.viewIsDense);
  EXPECT_EQ(a.viewBegin, 0);
  EXPECT_EQ(a.viewEnd, 4 * 8 * 4);
  EXPECT_TRUE(a.inView(0, 4));
  EXPECT_TRUE(a.inView(124, 4));
  EXPECT_FALSE(a.inView(126, 4));
  EXPECT_FALSE(a.inView(-1, 4));
  EXPECT_EQ(a.elementIndex(4 * 11), (Index{1, 3}));
}

TEST(AllocationTest, ColumnsOfABiggerBufferHaveGaps) {
  const Allocation a = view({4, 8}, {16, 1});
  EXPECT_FALSE(a.viewIsDense);
  EXPECT_EQ(a.viewEnd, (3 * 16 + 8) * 4);
  EXPECT_TRUE(a.inView(16 * 4, 4));
  EXPECT_FALSE(a.inView(8 * 4, 4)); // the column after the last
  EXPECT_FALSE(a.inView(7 * 4, 8)); // half in, half out
  EXPECT_EQ(a.elementIndex(10 * 4), (Index{0, 10}));
  EXPECT_EQ(a.elementIndex((4 * 16 + 3) * 4), (Index{4, 3}));
}

TEST(AllocationTest, TransposedViewIsDense) {
  const Allocation a = view({4, 8}, {1, 4});
  EXPECT_TRUE(a.viewIsDense);
  EXPECT_EQ(a.elementIndex(4 * 9), (Index{1, 2}));
}

TEST(AllocationTest, BroadcastDimensionsHaveIndexZero) {
  const Allocation a = view({5, 8}, {0, 1});
  EXPECT_TRUE(a.viewIsDense);
  EXPECT_EQ(a.viewEnd, 32);
  EXPECT_TRUE(a.inView(28, 4));
  EXPECT_FALSE(a.inView(32, 4));
  EXPECT_EQ(a.elementIndex(12), (Index{0, 3}));
}

TEST(AllocationTest, NegativeStridesReachBack) {
  const Allocation a = view({4}, {-1}, 4, 64);
  EXPECT_EQ(a.viewBegin, -12);
  EXPECT_EQ(a.viewEnd, 4);
  EXPECT_TRUE(a.inView(-12, 4));
  EXPECT_FALSE(a.inView(4, 4));
  EXPECT_EQ(a.elementIndex(-8), (Index{2}));
  EXPECT_EQ(a.elementIndex(4), (Index{-1}));
  const Allocation rows = view({3, 4}, {-16, 1}, 4, 512);
  EXPECT_EQ(rows.elementIndex((-16 + 2) * 4), (Index{1, 2}));
  EXPECT_FALSE(rows.viewIsDense);
  EXPECT_FALSE(rows.inView((-16 + 4) * 4, 4));
}

TEST(AllocationTest, OverlappingWindowsAreFound) {
  const Allocation a = view({3, 4}, {3, 2}); // 0 2 4 6, 3 5 7 9, 6 8 10 12
  EXPECT_TRUE(a.inView(9 * 4, 4));
  EXPECT_TRUE(a.inView(8 * 4, 4));
  EXPECT_FALSE(a.inView(1 * 4, 4));
  EXPECT_FALSE(a.inView(11 * 4, 4));
}

TEST(AllocationTest, EmptyAndScalarViews) {
  const Allocation empty = view({0, 4}, {4, 1});
  EXPECT_EQ(empty.viewEnd, 0);
  EXPECT_FALSE(empty.inView(0, 4));
  const Allocation scalar = view({}, {});
  EXPECT_TRUE(scalar.inView(0, 4));
  EXPECT_FALSE(scalar.inView(4, 4));
  EXPECT_TRUE(scalar.elementIndex(0).empty());
  EXPECT_EQ(view({1}, {1}).elementIndex(20), (Index{5}));
}

TEST(MemoryMapTest, AddressesKeepTheirArgumentBothWays) {
  MemoryMap memory;
  const Allocation &first = memory.add(view({8}, {1}));
  const Allocation &second = memory.add(view({8}, {1}));
  EXPECT_EQ(memory.find(first.base), &first);
  EXPECT_EQ(memory.find(second.base - 1000000), &second);
  EXPECT_EQ(memory.find(second.base + (1ULL << 40)), &second);
  EXPECT_EQ(memory.find(0), nullptr);
  EXPECT_EQ(memory.find(~0ULL), nullptr);
  EXPECT_EQ(MemoryMap::offsetIn(second, second.base - 12), -12);
}

uint64_t hostAddress(const std::byte *place) { return reinterpret_cast<uint64_t>(place); }

TEST(MemoryMapTest, PointersAreHostAddressesAsIntegersAndBackAgain) {
  MemoryMap memory;
  const Allocation &first = memory.add(view({8}, {1}));
  const Allocation &same = memory.add(view({8}, {1}));
  EXPECT_NE(first.base, same.base);
  for (const int64_t offset : {int64_t{0}, int64_t{12}, int64_t{-64}, int64_t{1} << 46}) {
    const uint64_t address = hostAddress(first.view) + static_cast<uint64_t>(offset);
    EXPECT_EQ(memory.toInteger(first.base + static_cast<uint64_t>(offset)), address);
    EXPECT_EQ(memory.toInteger(same.base + static_cast<uint64_t>(offset)), address);
    EXPECT_EQ(memory.toInteger(memory.toPointer(address)), address);
  }
  EXPECT_EQ(memory.toPointer(hostAddress(first.view) + 12), first.base + 12);
  for (const uint64_t integer : {uint64_t{0}, uint64_t{4095}, ~uint64_t{0}, uint64_t{1} << 63})
    EXPECT_EQ(memory.toInteger(memory.toPointer(integer)), integer);
}

TEST(MemoryMapTest, NoIntegerHasTheNumberOfAnArgument) {
  MemoryMap memory;
  const Allocation &first = memory.add(view({8}, {1}));
  EXPECT_EQ(memory.find(memory.toPointer(first.base)), nullptr);
}

TEST(MemoryMapTest, AnIntegerBelongsToTheLargestViewThatHasIt) {
  MemoryMap memory;
  const auto part = [&](int64_t begin, int64_t count) -> const Allocation & {
    return memory.add(view({count}, {1}, 4, begin));
  };
  const Allocation &low = part(0, 4), &high = part(20, 3), &both = part(8, 5);
  const auto pointerAt = [&](size_t byte) { return memory.toPointer(hostAddress(&storage[byte])); };
  EXPECT_EQ(pointerAt(4), low.base + 4);
  EXPECT_EQ(pointerAt(12), both.base + 4);
  EXPECT_EQ(pointerAt(28), high.base + 8);
  // In the storage and in no view: looked up when it is accessed.
  EXPECT_EQ(pointerAt(32), hostAddress(&storage[32]));
  EXPECT_EQ(memory.find(hostAddress(&storage[32])), &low);
  EXPECT_EQ(memory.find(hostAddress(&storage[28])), &high);
}

TEST(MemoryMapTest, ACopyHasTheAddressOfWhatItCopies) {
  MemoryMap memory;
  constexpr uint64_t kThere = 0x7f00'0000'0000;
  Allocation copy = view({8}, {1}, 4, 16);
  copy.address = kThere + 16;
  const Allocation &argument = memory.add(std::move(copy));
  EXPECT_EQ(memory.toInteger(argument.base + 4), kThere + 20);
  EXPECT_EQ(memory.toPointer(kThere + 20), argument.base + 4);
  EXPECT_EQ(memory.find(kThere), &argument); // in the storage, before the view
  EXPECT_EQ(MemoryMap::offsetIn(argument, kThere), -16);
  EXPECT_EQ(memory.find(hostAddress(argument.view)), nullptr);
}

TEST(MemoryMapTest, MoreArgumentsThanNumbersStayApart) {
  MemoryMap memory;
  for (int i = 0; i < (1 << 14) - 1; ++i)
    memory.add(view({0}, {1}));
  const Allocation &last = memory.add(view({0}, {1})), &more = memory.add(view({8}, {1}));
  EXPECT_EQ(memory.find(last.base), &last);
  EXPECT_EQ(more.base, hostAddress(more.view));
  EXPECT_EQ(memory.find(more.base), &more);
}

TEST(MemoryMapTest, HostAddressesAreResolvedOnce) {
  MemoryMap memory;
  int asked = 0;
  memory.setHostResolver([&](uint64_t address) -> std::optional<Allocation> {
    ++asked;
    const auto begin = reinterpret_cast<uint64_t>(storage.data());
    if (address < begin || address >= begin + storage.size())
      return std::nullopt;
    return view({8}, {1});
  });
  const auto address = reinterpret_cast<uint64_t>(storage.data());
  const Allocation *found = memory.find(address + 8);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(MemoryMap::offsetIn(*found, address + 8), 8);
  EXPECT_EQ(memory.find(address + 16), found);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(memory.find(0x10), nullptr);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(memory.find(address - 4096), nullptr);
}

// A resolver that calls Python waits for threads that may be looking for addresses themselves.
TEST(MemoryMapTest, NoLockIsHeldWhileAnAddressIsResolved) {
  MemoryMap memory;
  const auto address = reinterpret_cast<uint64_t>(storage.data());
  std::atomic<int> asked = 0;
  memory.setHostResolver([&](uint64_t) -> std::optional<Allocation> {
    if (++asked == 1) {
      std::thread other([&] { EXPECT_NE(memory.find(address), nullptr); });
      other.join();
    }
    return view({8}, {1});
  });
  const Allocation *found = memory.find(address);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(memory.find(address + 4), found); // one of the two answers was kept
}

} // namespace
