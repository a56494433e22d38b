// A box is as much of the block as lies in one piece, 256 elements a dimension at most.
#include "gpu_backend/layout/tma_box.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace blockscope::gpu {
namespace {

constexpr int64_t kLongestSide = 256;
constexpr int kMostDims = 5;
constexpr size_t kMostBoxes = 32;
constexpr uint32_t kAlignment = 128, kSmallestRowBytes = 16;
constexpr int64_t kSwizzleRows = 8;

/// The width of the block's swizzle, 0 for row-major, nothing for what TMA does not know.
std::optional<int> swizzleOf(llvm::ArrayRef<int64_t> shape, int contiguousDim,
                             const SharedLayout &layout) {
  const int rank = static_cast<int>(shape.size());
  if (contiguousDim == rank - 1 &&
      layout == plainShared(ShapeBits(shape).width(), layout.elementBytes))
    return 0;
  if (rank < 2 || contiguousDim < rank - 2)
    return std::nullopt;
  const int64_t rows = shape[2 * rank - 3 - contiguousDim];
  for (const int width : {128, 64, 32})
    if (shape[contiguousDim] * layout.elementBytes >= width && rows >= kSwizzleRows &&
        swizzledShared(shape, contiguousDim, layout.elementBytes, width) == layout)
      return width;
  return std::nullopt;
}

} // namespace

llvm::SmallVector<int, 4> boxOrder(int rank, int contiguousDim) {
  llvm::SmallVector<int, 4> order{contiguousDim};
  for (int dim = rank - 1; dim >= 0; --dim)
    if (dim != contiguousDim)
      order.push_back(dim);
  return order;
}

std::optional<TmaBoxes> tmaBoxes(llvm::ArrayRef<int64_t> shape, int contiguousDim,
                                 const SharedLayout &layout, int leastBoxes) {
  const int rank = static_cast<int>(shape.size());
  const std::optional<int> swizzle = swizzleOf(shape, contiguousDim, layout);
  if (rank > kMostDims || !swizzle)
    return std::nullopt;
  TmaBoxes result;
  result.swizzleBytes = *swizzle;
  result.shape.assign(rank, 1);
  const llvm::SmallVector<int, 4> order = boxOrder(rank, contiguousDim);
  int64_t rowLength = std::min(shape[contiguousDim], kLongestSide);
  if (*swizzle != 0)
    rowLength = *swizzle / layout.elementBytes;
  result.shape[contiguousDim] = rowLength;
  // A chunk of a swizzled block holds all rows, and outer dimensions come after all chunks.
  bool isWhole = *swizzle != 0 || rowLength == shape[contiguousDim];
  for (int i = 1; i < rank && isWhole; ++i) {
    result.shape[order[i]] = std::min(shape[order[i]], kLongestSide);
    isWhole = result.shape[order[i]] == shape[order[i]] &&
              (*swizzle == 0 || rowLength == shape[contiguousDim]);
  }
  int64_t boxElements = 1;
  for (const int64_t side : result.shape)
    boxElements *= side;
  // Smaller ones have fewer rows, in a swizzled block by eights.
  const int64_t elements = int64_t{1} << layout.offsets.size();
  for (int i = rank - 1; i > 0; --i)
    while (boxElements * leastBoxes > elements &&
           result.shape[order[i]] > (*swizzle != 0 && i == 1 ? kSwizzleRows : 1)) {
      result.shape[order[i]] /= 2;
      boxElements /= 2;
    }
  const int64_t count = elements / boxElements;
  if (count < leastBoxes || rowLength * layout.elementBytes < kSmallestRowBytes ||
      static_cast<size_t>(count) > kMostBoxes || layout.sizeBytes() % kAlignment != 0)
    return std::nullopt;

  const ShapeBits bits(shape);
  llvm::SmallVector<int64_t, 4> at(rank, 0);
  for (int64_t i = 0; i < count; ++i) {
    ElementBits element = 0;
    for (int dim = 0; dim < rank; ++dim)
      element |= static_cast<ElementBits>(at[dim]) << bits.shift(dim);
    result.boxes.push_back({layout.offsetBytes(element), at});
    if (result.boxes.back().offsetBytes % kAlignment != 0)
      return std::nullopt;
    for (const int dim : order) { // the next box
      at[dim] += result.shape[dim];
      if (at[dim] < shape[dim])
        break;
      at[dim] = 0;
    }
  }
  return result;
}

} // namespace blockscope::gpu
