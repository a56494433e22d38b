// The laws of the algebra over F2, on random matrices.
#include "gpu_backend/layout/f2_matrix.h"
#include "tests/unit/gpu/layout_random.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "gtest/gtest.h"

#include <set>

namespace blockscope::gpu {
namespace {

std::set<ElementBits> allSums(const Bases &bases) {
  std::set<ElementBits> sums;
  for (uint32_t index = 0; index < (1u << bases.size()); ++index)
    sums.insert(combine(bases, index));
  return sums;
}

TEST(LayoutF2Test, SpanKnowsRankKernelAndSolutions) {
  Random random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    const int width = uniform(random, 1, 8), count = uniform(random, 0, 8);
    const Bases columns = randomBases(random, count, width);
    const f2::Span span(columns);
    const std::set<ElementBits> sums = allSums(columns);
    ASSERT_EQ(1u << span.rank(), sums.size());
    ASSERT_EQ(span.rank() + span.kernel().size(), columns.size());
    ASSERT_EQ(allSums(span.basis()), sums);
    ASSERT_EQ(f2::rank(span.kernel()), static_cast<int>(span.kernel().size()));
    for (const uint32_t relation : span.kernel()) {
      ASSERT_EQ(combine(columns, relation), 0u);
      ASSERT_EQ(llvm::popcount(relation & span.dependent()), 1);
    }
    for (ElementBits vector = 0; vector < (1u << width); ++vector) {
      const std::optional<uint32_t> solution = span.solve(vector);
      ASSERT_EQ(solution.has_value(), sums.contains(vector));
      ASSERT_EQ(span.contains(vector), sums.contains(vector));
      if (solution) {
        ASSERT_EQ(combine(columns, *solution), vector);
        ASSERT_EQ(*solution & span.dependent(), 0u);
      }
      for (const ElementBits sum : sums)
        ASSERT_EQ(span.reduce(vector ^ sum), span.reduce(vector));
    }
  }
}

TEST(LayoutF2Test, BasisIsCanonical) {
  Random random(2);
  for (int trial = 0; trial < 2000; ++trial) {
    const Bases first = randomBases(random, 4, 6), second = randomBases(random, 4, 6);
    ASSERT_EQ(f2::Span(first).basis() == f2::Span(second).basis(),
              allSums(first) == allSums(second));
    Bases mixed = first;
    std::shuffle(mixed.begin(), mixed.end(), random);
    mixed.push_back(combine(first, random() & 15));
    ASSERT_EQ(f2::Span(mixed).basis(), f2::Span(first).basis());
  }
}

TEST(LayoutF2Test, ComplementAndIntersectionAreWhatTheirNamesSay) {
  Random random(3);
  for (int trial = 0; trial < 2000; ++trial) {
    const int width = uniform(random, 1, 8);
    const Bases first = randomBases(random, uniform(random, 0, 6), width);
    const Bases second = randomBases(random, uniform(random, 0, 6), width);
    Bases whole = f2::independentSubset(first);
    llvm::append_range(whole, f2::complement(first, width, second));
    ASSERT_EQ(static_cast<int>(whole.size()), width);
    ASSERT_EQ(f2::rank(whole), width);
    std::set<ElementBits> common;
    const std::set<ElementBits> inSecond = allSums(second);
    for (const ElementBits vector : allSums(first))
      if (inSecond.contains(vector))
        common.insert(vector);
    ASSERT_EQ(allSums(f2::intersection(first, second)), common);
  }
}

TEST(LayoutF2Test, InverseDivisionAndTransposition) {
  Random random(4);
  for (int trial = 0; trial < 2000; ++trial) {
    const int width = uniform(random, 1, 10);
    const Bases square = randomBases(random, width, width);
    const std::optional<Bases> inverse = f2::inverse(square);
    ASSERT_EQ(inverse.has_value(), f2::rank(square) == width);
    if (inverse) {
      ASSERT_EQ(f2::multiply(square, *inverse), f2::identity(width));
      ASSERT_EQ(f2::multiply(*inverse, square), f2::identity(width));
    }
    const Bases left = randomBases(random, 6, width), right = randomBases(random, 5, 6);
    const std::optional<Bases> quotient = f2::leftDivide(left, f2::multiply(left, right));
    ASSERT_TRUE(quotient);
    ASSERT_EQ(f2::multiply(left, *quotient), f2::multiply(left, right));
    ASSERT_EQ(f2::transpose(f2::transpose(left, width), 6), left);
    ASSERT_EQ(f2::rank(f2::transpose(left, width)), f2::rank(left));
  }
}

} // namespace
} // namespace blockscope::gpu
