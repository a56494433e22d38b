// Dot: out = c + a * b with one fma chain in order of k for every element.
//
// The tile size, the instruction set and the vector width change only which chains run side by
// side, never the order inside one, so all variants give the same bits. Rows of b are read in place
// (they are dense), elements of a are broadcast.
#include "interpreter/simd/elements.h"

namespace blockscope::interpreter::BLK_ISA {
namespace {

#if BLK_ISA_AVX512
constexpr int kVectorBytes = 64;
constexpr int kTileRows = 8;
constexpr int kTileVectors = 2;
#elif BLK_ISA_AVX2
constexpr int kVectorBytes = 32;
constexpr int kTileRows = 4;
constexpr int kTileVectors = 2;
#else
constexpr int kVectorBytes = 16;
constexpr int kTileRows = 4;
constexpr int kTileVectors = 2;
#endif

template <typename T> struct VectorOf {
  typedef T Type __attribute__((vector_size(kVectorBytes), aligned(sizeof(T)), may_alias));
  static constexpr int64_t kLanes = kVectorBytes / sizeof(T);
};

BLK_FORCE_INLINE float multiplyAdd(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
BLK_FORCE_INLINE double multiplyAdd(double a, double b, double c) { return __builtin_fma(a, b, c); }
BLK_FORCE_INLINE uint32_t multiplyAdd(uint32_t a, uint32_t b, uint32_t c) { return a * b + c; }

template <typename T, typename V> BLK_FORCE_INLINE V multiplyAddVector(T a, V b, V c) {
  const V spread = V{} + a;
  if constexpr (T(0.5) == T(0)) {
    return spread * b + c;
  } else {
    return __builtin_elementwise_fma(spread, b, c);
  }
}

/// A tile of kRows x kVectors vectors, all of k.
template <typename T, int kRows, int kVectors>
void tile(int64_t n, int64_t k, const T *a, const T *b, const T *c, T *out) {
  using V = typename VectorOf<T>::Type;
  constexpr int64_t kLanes = VectorOf<T>::kLanes;
  V sum[kRows][kVectors];
#pragma clang loop unroll(full)
  for (int row = 0; row < kRows; ++row)
#pragma clang loop unroll(full)
    for (int v = 0; v < kVectors; ++v)
      sum[row][v] = *reinterpret_cast<const V *>(c + row * n + v * kLanes);
  for (int64_t i = 0; i < k; ++i) {
    V right[kVectors];
#pragma clang loop unroll(full)
    for (int v = 0; v < kVectors; ++v)
      right[v] = *reinterpret_cast<const V *>(b + i * n + v * kLanes);
#pragma clang loop unroll(full)
    for (int row = 0; row < kRows; ++row)
#pragma clang loop unroll(full)
      for (int v = 0; v < kVectors; ++v)
        sum[row][v] = multiplyAddVector<T, V>(a[row * k + i], right[v], sum[row][v]);
  }
#pragma clang loop unroll(full)
  for (int row = 0; row < kRows; ++row)
#pragma clang loop unroll(full)
    for (int v = 0; v < kVectors; ++v)
      *reinterpret_cast<V *>(out + row * n + v * kLanes) = sum[row][v];
}

/// All rows of the columns [0, kVectors * lanes).
template <typename T, int kVectors>
void columns(int64_t m, int64_t n, int64_t k, const T *a, const T *b, const T *c, T *out) {
  int64_t row = 0;
  for (; row + kTileRows <= m; row += kTileRows)
    tile<T, kTileRows, kVectors>(n, k, a + row * k, b, c + row * n, out + row * n);
  for (; row + 2 <= m; row += 2)
    tile<T, 2, kVectors>(n, k, a + row * k, b, c + row * n, out + row * n);
  for (; row < m; ++row)
    tile<T, 1, kVectors>(n, k, a + row * k, b, c + row * n, out + row * n);
}

template <typename T>
void gemm(int64_t m, int64_t n, int64_t k, const T *a, const T *b, const T *c, T *out) {
  constexpr int64_t kLanes = VectorOf<T>::kLanes;
  int64_t column = 0;
  for (; column + kTileVectors * kLanes <= n; column += kTileVectors * kLanes)
    columns<T, kTileVectors>(m, n, k, a, b + column, c + column, out + column);
  for (; column + kLanes <= n; column += kLanes)
    columns<T, 1>(m, n, k, a, b + column, c + column, out + column);
  for (int64_t row = 0; row < m; ++row)
    for (int64_t j = column; j < n; ++j) {
      T sum = c[row * n + j];
      for (int64_t i = 0; i < k; ++i)
        sum = multiplyAdd(a[row * k + i], b[i * n + j], sum);
      out[row * n + j] = sum;
    }
}

void gemmI32(int64_t m, int64_t n, int64_t k, const int32_t *a, const int32_t *b, const int32_t *c,
             int32_t *out) {
  gemm<uint32_t>(m, n, k, reinterpret_cast<const uint32_t *>(a),
                 reinterpret_cast<const uint32_t *>(b), reinterpret_cast<const uint32_t *>(c),
                 reinterpret_cast<uint32_t *>(out));
}

} // namespace

void fillGemm(Kernels &table) {
  table.gemmF32 = gemm<float>;
  table.gemmF64 = gemm<double>;
  table.gemmI32 = gemmI32;
}

} // namespace blockscope::interpreter::BLK_ISA
