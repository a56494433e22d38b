// Guesses about sums, multiples and quotients.
#include "gpu_backend/passes/spacing.h"

#include <algorithm>
#include <cstdlib>

namespace blockscope::gpu {
namespace {

int64_t capped(int64_t apart) {
  constexpr int64_t kFarthest = int64_t{1} << 20;
  return std::clamp(apart, -kFarthest, kFarthest);
}

/// Into how many neighbours multiples of the divisor part those of x, as far as something is known.
std::optional<int64_t> rowOf(const Spacing &x, const Spacing &y, std::optional<int64_t> divisor) {
  if (!x.isKnown || y.apart != 0 || divisor == 0)
    return std::nullopt;
  const int64_t run = std::min(x.run, y.run);
  if (x.apart == 0 || (divisor && x.apart % *divisor == 0))
    return run;
  return std::min(run, divisor ? std::max<int64_t>(1, std::abs(*divisor / x.apart)) : kSupposedRun);
}

} // namespace

Spacing inRuns(Spacing spacing, int64_t run) {
  spacing.run = std::min(spacing.run, std::max<int64_t>(run, 1));
  return spacing;
}

Spacing spacingOfSum(const Spacing &x, const Spacing &y, bool minus) {
  const bool isKnown = x.isKnown && y.isKnown;
  const int64_t apart = isKnown && minus ? x.apart - y.apart : x.apart + y.apart;
  return {capped(apart), isKnown, std::min(x.run, y.run)};
}

Spacing spacingOfMultiple(const Spacing &x, int64_t divisor, std::optional<int64_t> factor) {
  constexpr int64_t kTimes = 4; // what is divided by a number is more than that
  if (x.apart == 0)
    return x;
  if (factor)
    return {capped(x.apart * capped(*factor)), x.isKnown, x.run};
  const int64_t least = divisor > 1 ? divisor * kTimes : 1;
  return {capped(std::abs(x.apart) * capped(least)), false, x.run};
}

Spacing spacingOfQuotient(const Spacing &x, const Spacing &y, std::optional<int64_t> divisor) {
  const std::optional<int64_t> row = rowOf(x, y, divisor);
  return row ? Spacing{divisor ? x.apart / *divisor : 0, true, *row} : Spacing();
}

Spacing spacingOfRemainder(const Spacing &x, const Spacing &y, std::optional<int64_t> divisor) {
  const std::optional<int64_t> row = rowOf(x, y, divisor);
  return row ? Spacing{divisor ? x.apart % *divisor : x.apart, true, *row} : Spacing();
}

Spacing spacingOfEither(const Spacing &x, const Spacing &y) {
  if (x == y)
    return x;
  if (x == kSame || y == kSame)
    return inRuns(x == kSame ? y : x, kSupposedRun);
  return meet(x, y);
}

Spacing meet(const Spacing &x, const Spacing &y) {
  if (x.isKnown && y.isKnown && x.apart == y.apart)
    return inRuns(x, y.run);
  return {std::max<int64_t>(1, std::min(std::abs(x.apart), std::abs(y.apart))), false};
}

Nearness nearness(const Spacing &spacing, int64_t elementBytes) {
  constexpr int64_t kSectorBytes = 32, kLongRun = 8;
  if (std::abs(spacing.apart) * elementBytes >= kSectorBytes)
    return Nearness::Far;
  if (spacing.run < kLongRun)
    return Nearness::ShortRuns;
  return spacing.isKnown && spacing.apart != 0 ? Nearness::Near : Nearness::MayBeNear;
}

} // namespace blockscope::gpu
