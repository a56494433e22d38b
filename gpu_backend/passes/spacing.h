// A guess how far most neighbours of a block lie apart, for choices that nothing but time depends
// on. Rows of `i % n` are runs, wherever they begin; `i // n` is the same for a row.
#pragma once

#include <cstdint>
#include <optional>

namespace blockscope::gpu {

/// How far most neighbours along a dimension are taken to lie apart, in elements.
struct Spacing {
  int64_t apart = 1;              ///< at least so far, where it is not known
  bool isKnown = false;           ///< but for where runs end
  int64_t run = int64_t{1} << 32; ///< so many neighbours in turn
  bool operator==(const Spacing &other) const = default;

  /// The distance of `count` neighbours in turn, where it is known.
  [[nodiscard]] std::optional<int64_t> of(int64_t count) const {
    return isKnown && run >= count ? std::optional(apart) : std::nullopt;
  }
};

constexpr int64_t kSupposedRun = 32;
constexpr Spacing kSame = {0, true};
constexpr Spacing kNeighbours = {1, true};

/// That of runs of at most `run` neighbours.
Spacing inRuns(Spacing spacing, int64_t run);
/// That of x + y or, where `minus`, x - y.
Spacing spacingOfSum(const Spacing &x, const Spacing &y, bool minus);
/// That of x times a number, which is not known but for what divides it, or is `factor`.
Spacing spacingOfMultiple(const Spacing &x, int64_t divisor, std::optional<int64_t> factor);
/// Those of x / y and x % y; runs are taken to be of kSupposedRun where the divisor is not known.
Spacing spacingOfQuotient(const Spacing &x, const Spacing &y, std::optional<int64_t> divisor);
Spacing spacingOfRemainder(const Spacing &x, const Spacing &y, std::optional<int64_t> divisor);
/// That of one of two values, whichever it is: where one of them is the same everywhere, as a bound
/// is, that of the other.
Spacing spacingOfEither(const Spacing &x, const Spacing &y);
/// What both are.
Spacing meet(const Spacing &x, const Spacing &y);

/// Whether lanes that lie along a dimension share sectors of memory: never, a few of them, perhaps,
/// or but for where runs end. From the worst. A number that nothing is known of is rarely 1: an
/// argument that is has been compiled as a constant.
enum class Nearness { Far, ShortRuns, MayBeNear, Near };
Nearness nearness(const Spacing &spacing, int64_t elementBytes);

} // namespace blockscope::gpu
