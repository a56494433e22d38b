// What is guessed of neighbours behind sums, multiples and quotients.
#include "gpu_backend/passes/spacing.h"

#include "gtest/gtest.h"

namespace blockscope::gpu {
namespace {

constexpr std::optional<int64_t> kAny; // a number that is not known
constexpr int64_t kMany = 1 << 20;

Spacing sum(const Spacing &x, const Spacing &y) { return spacingOfSum(x, y, false); }

TEST(SpacingTest, RowsOfAnyLengthAreRuns) {
  const Spacing across = spacingOfRemainder(kNeighbours, kSame, kAny);
  const Spacing down = spacingOfQuotient(kNeighbours, kSame, kAny);
  EXPECT_EQ(across.of(kSupposedRun), 1);
  EXPECT_EQ(across.of(kMany), std::nullopt);
  EXPECT_EQ(down.of(kSupposedRun), 0);
  const Spacing pixels = sum(across, spacingOfMultiple(down, 16, kAny));
  EXPECT_EQ(pixels.of(kSupposedRun), 1);
  EXPECT_EQ(nearness(pixels, 4), Nearness::Near);
  EXPECT_EQ(nearness(down, 4), Nearness::MayBeNear); // one sector, but nothing of it is shared
  EXPECT_EQ(spacingOfSum(kNeighbours, spacingOfMultiple(down, 1, kAny), true), across);
}

TEST(SpacingTest, RowsOfAFewAreShortRuns) {
  const Spacing taps = spacingOfRemainder(kNeighbours, kSame, 3);
  EXPECT_EQ(taps.of(3), 1);
  EXPECT_EQ(taps.of(4), std::nullopt);
  EXPECT_EQ(nearness(taps, 4), Nearness::ShortRuns);
  EXPECT_EQ(spacingOfRemainder(spacingOfMultiple(kNeighbours, 1, 2), kSame, 8).of(4), 2);
}

TEST(SpacingTest, ExactQuotientsHaveNoEnd) {
  const Spacing eights = spacingOfMultiple(kNeighbours, 1, 8);
  EXPECT_EQ(spacingOfQuotient(eights, kSame, 4).of(kMany), 2);
  EXPECT_EQ(spacingOfRemainder(eights, kSame, 4).of(kMany), 0);
  EXPECT_EQ(spacingOfQuotient(eights, kSame, -8).of(kMany), -1);
}

TEST(SpacingTest, MultiplesOfManyAreFar) {
  EXPECT_EQ(nearness(spacingOfMultiple(kNeighbours, 16, kAny), 1), Nearness::Far);
  EXPECT_EQ(nearness(spacingOfMultiple(kNeighbours, 1, kAny), 8), Nearness::MayBeNear);
  EXPECT_EQ(nearness(spacingOfMultiple(kNeighbours, 1, -8), 4), Nearness::Far);
  EXPECT_EQ(nearness(spacingOfMultiple(kNeighbours, 1, int64_t{1} << 40), 4), Nearness::Far);
  EXPECT_EQ(nearness(spacingOfMultiple(kSame, 16, kAny), 4), Nearness::MayBeNear);
}

TEST(SpacingTest, BoundsCutRuns) {
  EXPECT_EQ(spacingOfEither(kNeighbours, kSame).of(kSupposedRun), 1);
  EXPECT_EQ(spacingOfEither(kNeighbours, kSame).of(kMany), std::nullopt);
  EXPECT_EQ(spacingOfEither(kNeighbours, spacingOfMultiple(kNeighbours, 1, 2)).of(2), std::nullopt);
  EXPECT_EQ(meet(kNeighbours, kNeighbours), kNeighbours);
  EXPECT_EQ(spacingOfQuotient(kNeighbours, kNeighbours, kAny), Spacing());
}

} // namespace
} // namespace blockscope::gpu
