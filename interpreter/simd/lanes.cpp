// Loops over the addresses of a block access. Compiled once per instruction set.
#include "interpreter/simd/lanes.h"

#include <stddef.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#define BLK_VECTORIZE_LANES _Pragma("clang loop vectorize(assume_safety) interleave(enable)")

namespace blockscope::interpreter::BLK_ISA {

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

/// Bits for the 8 neighbours that end at from[0] .. from[7].
inline __attribute__((always_inline)) uint64_t breaksOf8(const uint64_t *from, uint64_t stride) {
#if BLK_ISA_AVX512
  const __m512i expected = _mm512_add_epi64(_mm512_loadu_si512(from - 1),
                                            _mm512_set1_epi64(static_cast<long long>(stride)));
  return _mm512_cmpneq_epi64_mask(_mm512_loadu_si512(from), expected);
#elif BLK_ISA_AVX2
  uint64_t equal = 0;
  for (int half = 0; half < 2; ++half) {
    const uint64_t *at = from + 4 * half;
    const __m256i before = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(at - 1));
    const __m256i expected =
        _mm256_add_epi64(before, _mm256_set1_epi64x(static_cast<long long>(stride)));
    const __m256i same =
        _mm256_cmpeq_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(at)), expected);
    equal |= static_cast<uint64_t>(_mm256_movemask_pd(_mm256_castsi256_pd(same))) << (4 * half);
  }
  return ~equal & 0xff;
#else
  uint64_t breaks = 0;
  for (int i = 0; i < 8; ++i)
    breaks |= static_cast<uint64_t>(from[i] != from[i - 1] + stride) << i;
  return breaks;
#endif
}

void breakBits(const uint64_t *addresses, int64_t n, uint64_t stride, uint64_t *bits) {
  for (int64_t word = 0; word * 64 < n; ++word) {
    const int64_t begin = word * 64;
    const int64_t end = begin + 64 < n ? begin + 64 : n;
    uint64_t breaks = 0;
    int64_t i = begin;
    if (begin == 0) { // the first lane has no neighbour to compare with
      breaks = 1;
      for (i = 1; i < 8 && i < end; ++i)
        breaks |= static_cast<uint64_t>(addresses[i] != addresses[i - 1] + stride) << i;
    }
    for (; i + 8 <= end; i += 8)
      breaks |= breaksOf8(addresses + i, stride) << (i - begin);
    for (; i < end; ++i)
      breaks |= static_cast<uint64_t>(addresses[i] != addresses[i - 1] + stride) << (i - begin);
    bits[word] = breaks;
  }
}

/// Bits for 8 mask bytes, each 0 or 1: their lowest bits, gathered by a multiplication.
inline __attribute__((always_inline)) uint64_t activeOf8(const uint8_t *mask) {
  uint64_t bytes;
  __builtin_memcpy(&bytes, mask, 8);
  return ((bytes & 0x0101010101010101ULL) * 0x0102040810204080ULL) >> 56;
}

void activeBits(const uint8_t *mask, int64_t n, uint64_t *bits) {
  for (int64_t word = 0; word * 64 < n; ++word) {
    const int64_t begin = word * 64;
    const int64_t end = begin + 64 < n ? begin + 64 : n;
    uint64_t active = 0;
    int64_t i = begin;
    for (; i + 8 <= end; i += 8)
      active |= activeOf8(mask + i) << (i - begin);
    for (; i < end; ++i)
      active |= static_cast<uint64_t>(mask[i] & 1) << (i - begin);
    bits[word] = active;
  }
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

/// Copies bytes that do not overlap; short ones, the rows of a tile, without a call. A last piece
/// that is not whole is copied together with bytes before it.
inline __attribute__((always_inline)) void copyBytes(char *to, const char *from, int64_t bytes) {
  if (bytes > 512 || bytes < 16) {
    __builtin_memcpy(to, from, static_cast<size_t>(bytes));
    return;
  }
  int64_t done = 0;
  for (; done + 64 <= bytes; done += 64)
    __builtin_memcpy(to + done, from + done, 64);
  for (; done + 16 <= bytes; done += 16)
    __builtin_memcpy(to + done, from + done, 16);
  if (done < bytes)
    __builtin_memcpy(to + bytes - 16, from + bytes - 16, 16);
}

/// Returns how many runs, from runs[0] on, are neighbouring columns of one tile in memory.
inline __attribute__((always_inline)) int64_t columnsOf(const AccessRun *runs, int64_t limit,
                                                        int64_t elementBytes) {
  int64_t columns = 1;
  while (columns < limit && runs[columns].count == runs[0].count &&
         runs[columns].strideBytes == runs[0].strideBytes &&
         runs[columns].firstLane == runs[0].firstLane + columns * runs[0].count &&
         runs[columns].address == runs[0].address + static_cast<uint64_t>(columns * elementBytes))
    ++columns;
  return columns;
}

/// Reads up to 16 neighbouring columns row by row: a row is one or two cache lines.
template <typename T, int64_t kColumns>
void loadColumns(const char *from, int64_t stride, int64_t rows, T *to) {
  for (int64_t row = 0; row < rows; ++row) {
    T values[kColumns];
    __builtin_memcpy(values, from + row * stride, sizeof(values));
    for (int64_t column = 0; column < kColumns; ++column)
      to[column * rows + row] = values[column];
  }
}

template <typename T>
void loadRuns(const AccessRun *runs, int64_t count, uint64_t delta, void *out) {
  for (int64_t i = 0; i < count; ++i) {
    const AccessRun run = runs[i];
    T *to = static_cast<T *>(out) + run.firstLane;
    const char *from = reinterpret_cast<const char *>(run.address + delta);
    if (run.strideBytes == sizeof(T)) {
      copyBytes(reinterpret_cast<char *>(to), from, run.count * static_cast<int64_t>(sizeof(T)));
    } else if (run.strideBytes == 0) {
      const T value = *reinterpret_cast<const T *>(from);
      for (int64_t lane = 0; lane < run.count; ++lane)
        to[lane] = value;
    } else if (columnsOf(runs + i, count - i < 16 ? count - i : 16, sizeof(T)) == 16) {
      loadColumns<T, 16>(from, run.strideBytes, run.count, to);
      i += 15;
    } else {
      for (int64_t lane = 0; lane < run.count; ++lane)
        to[lane] = *reinterpret_cast<const T *>(from + lane * run.strideBytes);
    }
  }
}

template <typename T>
void storeRuns(const AccessRun *runs, int64_t count, uint64_t delta, const void *values) {
  for (int64_t i = 0; i < count; ++i) {
    const AccessRun run = runs[i];
    const T *from = static_cast<const T *>(values) + run.firstLane;
    char *to = reinterpret_cast<char *>(run.address + delta);
    if (run.strideBytes == sizeof(T))
      copyBytes(to, reinterpret_cast<const char *>(from),
                run.count * static_cast<int64_t>(sizeof(T)));
    else
      for (int64_t lane = 0; lane < run.count; ++lane)
        *reinterpret_cast<T *>(to + lane * run.strideBytes) = from[lane];
  }
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
    breakBits,
    activeBits,
    bounds,
    {gather<uint8_t>, gather<uint16_t>, gather<uint32_t>, gather<uint64_t>},
    {scatter<uint8_t>, scatter<uint16_t>, scatter<uint32_t>, scatter<uint64_t>},
    {loadRuns<uint8_t>, loadRuns<uint16_t>, loadRuns<uint32_t>, loadRuns<uint64_t>},
    {storeRuns<uint8_t>, storeRuns<uint16_t>, storeRuns<uint32_t>, storeRuns<uint64_t>},
    addPointer<int32_t>,
    addPointer<uint32_t>,
    addPointer<int64_t>};

} // namespace

const LaneKernels &laneKernelTable() { return kTable; }

} // namespace blockscope::interpreter::BLK_ISA
