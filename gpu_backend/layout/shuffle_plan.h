// Conversions inside warps by shuffles.
//
// A shuffle moves one value per lane, and a lane can send only one at a time. So the lanes first
// exchange registers among themselves such that what step k sends is in the same register of all
// lanes; after the shuffles they exchange what they received. Which register a lane sends or keeps
// is a linear function of its number, hence each exchange is a list of conditional swaps.
#pragma once

#include "gpu_backend/layout/linear_layout.h"

#include <optional>

namespace blockscope::gpu {

/// In threads where `lane & lanes` and `warp & warps` together have an odd number of bits set, the
/// values i and `i ^ flip` of an array change places, for all i.
struct RegisterExchange {
  uint32_t flip, lanes, warps;
  bool appliesTo(uint32_t lane, uint32_t warp) const;
};

/// One shuffle: a lane receives from lane `sourceLane(lane, warp) ^ laneFlip`. Value j is sent from
/// entry `sent[j]` of the first array and received into entry `received[j]` of the second; several
/// narrow values fit one 32-bit shuffle, a value of 8 bytes takes two.
struct ShuffleStep {
  uint32_t laneFlip;
  llvm::SmallVector<uint32_t, 4> sent, received;
};

/// Three things one after the other: `before` applied to the array of source registers, the steps
/// from it to a second array of `receivedCount` entries, `after` applied to that. Then destination
/// register r is entry `results[r]` of the second array. Entries that nothing uses need no code.
struct ShufflePlan {
  llvm::SmallVector<RegisterExchange, 4> before, after;
  llvm::SmallVector<ShuffleStep, 8> steps;
  int receivedCount = 0;
  llvm::SmallVector<uint32_t> results;
  /// The source lane before `laneFlip`: the XOR of those of the set bits of lane and warp.
  Bases sourceLanes, sourceWarps;

  uint32_t sourceLane(uint32_t lane, uint32_t warp) const {
    return combine(sourceLanes, lane) ^ combine(sourceWarps, warp);
  }
  /// Whether `sourceLane(lane, warp)` is `lane`: a step is then an exchange with `lane ^ laneFlip`,
  /// and no shuffle at all where `laneFlip` is 0.
  bool keepsLanes() const;
  /// Shuffle instructions of 32 bits per warp, and conditional swaps of one value.
  int shuffleCount = 0, selectCount = 0;
};

/// The plan that gives `destination` from `source`, or nothing when a warp would need elements that
/// it does not hold.
///
/// Shapes: equal numbers of lanes and warps.
std::optional<ShufflePlan> planShuffles(const LinearLayout &source, const LinearLayout &destination,
                                        int elementBytes);

/// Whether every element that a warp needs for `destination` is in the same warp of `source`.
bool staysInWarps(const LinearLayout &source, const LinearLayout &destination);

} // namespace blockscope::gpu
