// Who changed memory last.
#include "interpreter/last_changes.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace blockscope::interpreter {
namespace {

class LastChangesTest : public ::testing::Test {
protected:
  const std::byte *at(size_t i) const { return reinterpret_cast<const std::byte *>(&memory[i]); }
  /// A worker runs a program that changes an element; `when` as the worker counts it.
  void change(int worker, int64_t program, size_t i, uint32_t value, uint64_t when) {
    Change each;
    each.op = &op;
    each.elementBytes = 4;
    each.program = program;
    each.before = memory[i];
    each.after = memory[i] = value;
    each.when = when;
    changes.note(worker, at(i), each);
  }
  int64_t programAt(size_t i) const {
    const std::optional<Change> found = changes.find(at(i));
    return found ? found->program : -1;
  }

  std::array<uint32_t, 1 << 17> memory = {};
  OpInfo op;
  LastChanges changes;
};

TEST_F(LastChangesTest, NothingIsKnownWhereNobodyMayWait) {
  changes.begin(2, /*mayWait=*/false);
  EXPECT_FALSE(changes.isOn());
  EXPECT_EQ(changes.unnamed(0), nullptr);
}

TEST_F(LastChangesTest, TheLatestOfAllWorkersIsFound) {
  changes.begin(3, true);
  change(0, 10, 5, 1, 1);
  change(1, 11, 5, 0, 2);
  EXPECT_EQ(programAt(5), 11);
  change(2, 12, 5, 1, 3);
  EXPECT_EQ(programAt(5), 12);
  EXPECT_EQ(changes.find(at(5))->before, 0U);
  EXPECT_EQ(programAt(6), -1);
  changes.begin(3, true);
  EXPECT_EQ(programAt(5), -1);
}

TEST_F(LastChangesTest, TheValueDecidesWhereWorkersCountedInAnotherOrder) {
  changes.begin(2, true);
  change(0, 10, 5, 7, 2); // gave it back, and counts behind the one who took it then
  change(1, 11, 5, 8, 1);
  EXPECT_EQ(programAt(5), 11);
}

TEST_F(LastChangesTest, WhatABlockHasOverwrittenIsNobodys) {
  changes.begin(1, true);
  change(0, 10, 5, 1, 1);
  memory[5] = 3;
  EXPECT_EQ(programAt(5), -1);
}

TEST_F(LastChangesTest, UntouchedIsWhatNothingCanHaveChanged) {
  changes.begin(2, true);
  EXPECT_TRUE(changes.isUntouched(at(5), 4));
  change(1, 10, 5, 1, 1);
  EXPECT_FALSE(changes.isUntouched(at(5), 4));
  EXPECT_FALSE(changes.isUntouched(at(4) + 2, 4)); // its last two bytes
  EXPECT_TRUE(changes.isUntouched(at(4), 4));
  EXPECT_TRUE(changes.isUntouched(at(6), 4));
  changes.noteRange(0, at(8), at(10));
  EXPECT_FALSE(changes.isUntouched(at(9), 4));
  EXPECT_TRUE(changes.isUntouched(at(10), 4));
  for (size_t i = 100; i < 4000; i += 100) // too many: they grow together
    changes.noteRange(0, at(i), at(i + 1));
  for (size_t i = 100; i < 4000; i += 100)
    EXPECT_FALSE(changes.isUntouched(at(i), 4));
  EXPECT_TRUE(changes.isUntouched(at(50), 4));
  changes.noteUnknown(1);
  EXPECT_FALSE(changes.isUntouched(at(50), 4));
}

TEST_F(LastChangesTest, PastTheLimitNothingIsClaimed) {
  changes.begin(2, true);
  for (uint32_t i = 0; i < memory.size(); ++i)
    change(0, i, i, i + 1, i + 1);
  EXPECT_EQ(programAt(100), 100);
  change(0, 7, 100, 5, 1 << 20); // is kept still
  EXPECT_EQ(programAt(100), 7);
  change(1, 3, memory.size() - 1, 9, 9);
  EXPECT_EQ(programAt(memory.size() - 1), -1); // worker 0 may have changed it since
  EXPECT_FALSE(changes.isUntouched(at(memory.size() - 2), 4));
}

TEST_F(LastChangesTest, StepModeNamesTheOpAfterwards) {
  changes.begin(1, true);
  Change each;
  each.elementBytes = 4;
  each.after = memory[5] = 1;
  changes.note(0, at(5), each);
  ASSERT_NE(changes.unnamed(0), nullptr);
  changes.unnamed(0)->op = &op;
  EXPECT_EQ(changes.unnamed(0), nullptr);
  EXPECT_EQ(changes.find(at(5))->op, &op);
}

} // namespace
} // namespace blockscope::interpreter
