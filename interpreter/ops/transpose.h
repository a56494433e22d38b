// Transposition of dense planes, by squares of one vector.
#pragma once

#include <cstdint>

namespace blockscope::interpreter {

/// Transposes a square of 16 bytes a side. Interleaving row i with row i + N/2, log2(N) times,
/// moves every element from (i, j) to (j, i).
template <typename T>
void transposeSquare(const T *in, int64_t inStride, T *out, int64_t outStride) {
  constexpr int kSide = 16 / sizeof(T);
  typedef T Vector __attribute__((vector_size(16), aligned(sizeof(T))));
  typedef T Whole __attribute__((vector_size(16)));
  Whole rows[kSide], next[kSide];
  for (int i = 0; i < kSide; ++i)
    rows[i] = *reinterpret_cast<const Vector *>(in + i * inStride);
  for (int step = 1; step < kSide; step *= 2) {
    for (int i = 0; i < kSide / 2; ++i) {
      const Whole x = rows[i], y = rows[i + kSide / 2];
      for (int lane = 0; lane < kSide / 2; ++lane) {
        next[2 * i][2 * lane] = x[lane];
        next[2 * i][2 * lane + 1] = y[lane];
        next[2 * i + 1][2 * lane] = x[lane + kSide / 2];
        next[2 * i + 1][2 * lane + 1] = y[lane + kSide / 2];
      }
    }
    for (int i = 0; i < kSide; ++i)
      rows[i] = next[i];
  }
  for (int i = 0; i < kSide; ++i)
    *reinterpret_cast<Vector *>(out + i * outStride) = rows[i];
}

/// out[i][j] = in[i * rowStride + j * columnStride]; a transposition when rowStride is 1.
template <typename T>
void copyPlane(int64_t rows, int64_t columns, int64_t rowStride, int64_t columnStride, const T *in,
               T *out) {
  constexpr int64_t kSide = 16 / sizeof(T);
  if (rowStride == 1 && rows % kSide == 0 && columns % kSide == 0) {
    for (int64_t i = 0; i < rows; i += kSide)
      for (int64_t j = 0; j < columns; j += kSide)
        transposeSquare(in + i + j * columnStride, columnStride, out + i * columns + j, columns);
    return;
  }
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      out[i * columns + j] = in[i * rowStride + j * columnStride];
}

} // namespace blockscope::interpreter
