// Loops over the addresses of a block access. Compiled once per instruction set.
#include "interpreter/simd/lanes.h"

#define BLK_VECTORIZE_LANES _Pragma("clang loop vectorize(assume_safety) interleave(enable)")

namespace blockscope::BLK_ISA {

const LaneKernels &laneKernelTable();

namespace {

int64_t runLength(const uint64_t *addresses, int64_t n, uint64_t stride) {
  constexpr int64_t kStrip = 32;
  uint64_t expected = addresses[0];
  int64_t done = 0;
  for (; done + kStrip <= n; done += kStrip) {
    uint64_t differences = 0;
    BLK_VECTORIZE_LANES
    for (int64_t i = 0; i < kStrip; ++i)
      differences |= addresses[done + i] ^ (expected + static_cast<uint64_t>(i) * stride);
    if (differences != 0)
      break;
    expected += kStrip * stride;
  }
  for (; done < n && addresses[done] == expected; ++done)
    expected += stride;
  return done;
}

LaneBounds bounds(const uint64_t *addresses, const uint8_t *mask, int64_t n) {
  uint64_t low = ~0ULL, high = 0, bits = 0;
  if (!mask) {
    BLK_VECTORIZE_LANES
    for (int64_t i = 0; i < n; ++i) {
      low = addresses[i] < low ? addresses[i] : low;
      high = addresses[i] > high ? addresses[i] : high;
      bits |= addresses[i];
    }
    return {low, high, bits, n};
  }
  int64_t active = 0;
  BLK_VECTORIZE_LANES
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t keep = mask[i] ? ~0ULL : 0;
    const uint64_t asLow = addresses[i] | ~keep, asHigh = addresses[i] & keep;
    low = asLow < low ? asLow : low;
    high = asHigh > high ? asHigh : high;
    bits |= asHigh;
    active += mask[i] ? 1 : 0;
  }
  return {low, high, bits, active};
}

int64_t countActive(const uint8_t *mask, int64_t n) {
  int64_t active = 0;
  BLK_VECTORIZE_LANES
  for (int64_t i = 0; i < n; ++i)
    active += mask[i] ? 1 : 0;
  return active;
}

template <typename T>
void gather(const uint64_t *addresses, const uint8_t *mask, int64_t n, int64_t first,
            uint64_t delta, void *out) {
  auto *to = static_cast<T *>(out);
  if (!mask) {
    for (int64_t i = 0; i < n; ++i)
      to[i] = *reinterpret_cast<const T *>(addresses[i] + delta);
    return;
  }
  const uint64_t harmless = addresses[first];
  for (int64_t i = first; i < n; ++i) {
    const uint64_t from = mask[i] ? addresses[i] : harmless;
    const T value = *reinterpret_cast<const T *>(from + delta);
    to[i] = mask[i] ? value : to[i];
  }
}

template <typename T>
void scatter(const uint64_t *addresses, const uint8_t *mask, int64_t n, uint64_t delta,
             const void *values) {
  const auto *from = static_cast<const T *>(values);
  for (int64_t i = 0; i < n; ++i)
    if (!mask || mask[i])
      *reinterpret_cast<T *>(addresses[i] + delta) = from[i];
}

template <typename T>
void loadStrided(const void *from, int64_t stride, int64_t n, void *out) {
  const char *at = static_cast<const char *>(from);
  auto *to = static_cast<T *>(out);
  if (stride == 0) {
    const T value = *reinterpret_cast<const T *>(at);
    for (int64_t i = 0; i < n; ++i)
      to[i] = value;
    return;
  }
  for (int64_t i = 0; i < n; ++i)
    to[i] = *reinterpret_cast<const T *>(at + i * stride);
}

template <typename T>
void storeStrided(void *to, int64_t stride, int64_t n, const void *values) {
  char *at = static_cast<char *>(to);
  const auto *from = static_cast<const T *>(values);
  for (int64_t i = 0; i < n; ++i)
    *reinterpret_cast<T *>(at + i * stride) = from[i];
}

template <typename Offset>
void addPointer(int64_t n, int64_t, void *const *results, const void *const *operands,
                uint32_t scalarOperands, const void *payload) {
  const int64_t size = *static_cast<const int64_t *>(payload);
  auto *out = static_cast<uint64_t *>(results[0]);
  const auto *pointers = static_cast<const uint64_t *>(operands[0]);
  const auto *offsets = static_cast<const Offset *>(operands[1]);
  const auto bytes = [size](Offset offset) {
    return static_cast<uint64_t>(static_cast<int64_t>(offset)) * static_cast<uint64_t>(size);
  };
  if ((scalarOperands & 3) == 1) {
    const uint64_t pointer = *pointers;
    BLK_VECTORIZE_LANES
    for (int64_t i = 0; i < n; ++i)
      out[i] = pointer + bytes(offsets[i]);
  } else if ((scalarOperands & 3) == 2) {
    const uint64_t offset = bytes(*offsets);
    BLK_VECTORIZE_LANES
    for (int64_t i = 0; i < n; ++i)
      out[i] = pointers[i] + offset;
  } else if ((scalarOperands & 3) == 3) {
    const uint64_t pointer = *pointers + bytes(*offsets);
    for (int64_t i = 0; i < n; ++i)
      out[i] = pointer;
  } else {
    BLK_VECTORIZE_LANES
    for (int64_t i = 0; i < n; ++i)
      out[i] = pointers[i] + bytes(offsets[i]);
  }
}

constexpr LaneKernels kTable = {
    runLength,
    bounds,
    countActive,
    {gather<uint8_t>, gather<uint16_t>, gather<uint32_t>, gather<uint64_t>},
    {scatter<uint8_t>, scatter<uint16_t>, scatter<uint32_t>, scatter<uint64_t>},
    {loadStrided<uint8_t>, loadStrided<uint16_t>, loadStrided<uint32_t>, loadStrided<uint64_t>},
    {storeStrided<uint8_t>, storeStrided<uint16_t>, storeStrided<uint32_t>, storeStrided<uint64_t>},
    addPointer<int32_t>,
    addPointer<uint32_t>,
    addPointer<int64_t>};

} // namespace

const LaneKernels &laneKernelTable() { return kTable; }

} // namespace blockscope::BLK_ISA
