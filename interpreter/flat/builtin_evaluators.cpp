// Fill and broadcast over a strip of a block.
#include "interpreter/flat/builtin_evaluators.h"

#include <algorithm>
#include <cstring>

namespace blockscope::interpreter::flat {
namespace {

template <typename T>
void fill(int64_t n, int64_t /*begin*/, void *const *results, const void *const *operands,
          uint32_t /*scalarOperands*/, const void * /*payload*/) {
  T value;
  std::memcpy(&value, operands[0], sizeof(T));
  std::fill_n(static_cast<T *>(results[0]), n, value);
}

/// Dimensions are merged where all of them repeat or none does, so that rows are long.
struct BroadcastShape {
  struct Dimension {
    int64_t size;
    int64_t sourceStride; // 0 when repeated
  };
  llvm::SmallVector<Dimension, 4> dimensions; // outermost first, at least one
};

template <typename T>
void broadcast(int64_t n, int64_t begin, void *const *results, const void *const *operands,
               uint32_t /*scalarOperands*/, const void *payload) {
  const auto &shape = *static_cast<const BroadcastShape *>(payload);
  const auto *source = static_cast<const T *>(operands[0]);
  auto *result = static_cast<T *>(results[0]);
  const int rank = static_cast<int>(shape.dimensions.size());
  const BroadcastShape::Dimension row = shape.dimensions.back();
  int64_t index[8];
  int64_t rest = begin / row.size;
  int64_t column = begin % row.size;
  int64_t offset = 0;
  for (int d = rank - 2; d >= 0; --d) {
    index[d] = rest % shape.dimensions[d].size;
    rest /= shape.dimensions[d].size;
    offset += index[d] * shape.dimensions[d].sourceStride;
  }
  while (n > 0) {
    const int64_t count = std::min(n, row.size - column);
    if (row.sourceStride == 0)
      std::fill_n(result, count, source[offset]);
    else
      std::copy_n(source + offset + column, count, result);
    result += count;
    n -= count;
    column = 0;
    for (int d = rank - 2; d >= 0; --d) { // the next row
      offset += shape.dimensions[d].sourceStride;
      if (++index[d] < shape.dimensions[d].size)
        break;
      offset -= shape.dimensions[d].size * shape.dimensions[d].sourceStride;
      index[d] = 0;
    }
  }
}

template <template <typename> typename Function> ElementwiseFn bySize(int elementBytes) {
  switch (elementBytes) {
  case 1:
    return Function<uint8_t>::function;
  case 2:
    return Function<uint16_t>::function;
  case 4:
    return Function<uint32_t>::function;
  default:
    return Function<uint64_t>::function;
  }
}
template <typename T> struct FillOf {
  static constexpr ElementwiseFn function = fill<T>;
};
template <typename T> struct BroadcastOf {
  static constexpr ElementwiseFn function = broadcast<T>;
};

Evaluator elementwise(ElementwiseFn function, std::shared_ptr<const void> payload = {}) {
  Evaluator evaluator;
  evaluator.form = Evaluator::Form::Elementwise;
  evaluator.elementwise = function;
  evaluator.payload = std::move(payload);
  return evaluator;
}

} // namespace

Evaluator makeFill(int elementBytes) { return elementwise(bySize<FillOf>(elementBytes)); }

Evaluator makeBroadcast(llvm::ArrayRef<int64_t> sourceShape, llvm::ArrayRef<int64_t> resultShape,
                        int elementBytes) {
  auto shape = std::make_shared<BroadcastShape>();
  int64_t stride = 1;
  for (size_t d = resultShape.size(); d-- > 0;) {
    if (resultShape[d] == 1)
      continue;
    const bool repeats = sourceShape[d] == 1;
    auto &dimensions = shape->dimensions;
    if (!dimensions.empty() && (dimensions.front().sourceStride == 0) == repeats)
      dimensions.front().size *= resultShape[d];
    else
      dimensions.insert(dimensions.begin(), {resultShape[d], repeats ? 0 : stride});
    stride *= sourceShape[d];
  }
  if (shape->dimensions.empty())
    shape->dimensions.push_back({1, 1});
  return elementwise(bySize<BroadcastOf>(elementBytes), std::move(shape));
}

} // namespace blockscope::interpreter::flat
