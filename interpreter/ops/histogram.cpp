// tl.histogram: counts of 0 .. bins - 1; other values are not counted, and fail where asserts are
// on.
#include "core/numeric/scalar.h"
#include "interpreter/ops/element_type.h"
#include "interpreter/ops/failed_lanes.h"

#include <algorithm>

namespace blockscope::interpreter {
namespace {

struct Histogram {
  int64_t elements;
  int64_t bins;
  bool hasMask;
  Type source;
  BlockFn evaluate;
};

template <typename T, typename Count>
void evalHistogram(void *const *results, const void *const *operands, const void *payload) {
  const auto &histogram = *static_cast<const Histogram *>(payload);
  const T *in = static_cast<const T *>(operands[0]);
  const auto *mask = histogram.hasMask ? static_cast<const uint8_t *>(operands[1]) : nullptr;
  Count *counts = static_cast<Count *>(results[0]);
  std::fill_n(counts, histogram.bins, Count(0));
  for (int64_t i = 0; i < histogram.elements; ++i)
    if ((!mask || mask[i]) && static_cast<uint64_t>(in[i]) < static_cast<uint64_t>(histogram.bins))
      ++counts[in[i]];
}

template <typename T> BlockFn histogramOf(int countBytes) {
  if (countBytes == 4)
    return evalHistogram<T, uint32_t>;
  return countBytes == 8 ? evalHistogram<T, uint64_t> : nullptr;
}

/// Reports the lanes whose value has no bin: Triton's code for NVIDIA GPUs looks at the low bits of
/// a value only, and counts such a one in a bin of another value.
void checkValues(ExecutionContext &context, const Histogram &histogram,
                 const void *const *operands) {
  const auto *bytes = static_cast<const std::byte *>(operands[0]);
  const auto *mask = histogram.hasMask ? static_cast<const uint8_t *>(operands[1]) : nullptr;
  const int width = histogram.source.elementBytes();
  const auto at = [&](int64_t lane) {
    return numeric::readAsInt(histogram.source.dtype, bytes + lane * width);
  };
  // As they are counted: narrow values are read unsigned.
  const uint64_t bits = width < 4 ? (uint64_t{1} << (8 * width)) - 1 : ~uint64_t{0};
  llvm::SmallVector<int64_t> outside;
  for (int64_t lane = 0; lane < histogram.elements; ++lane)
    if ((!mask || mask[lane]) &&
        (static_cast<uint64_t>(at(lane)) & bits) >= static_cast<uint64_t>(histogram.bins))
      outside.push_back(lane);
  if (outside.empty())
    return;
  const std::string message = "a value of tl.histogram is in none of its " +
                              std::to_string(histogram.bins) + " bins: leave it out by the mask";
  failLanes(context, outside, histogram.source.shape, message,
            {{"value", std::to_string(at(outside.front()))},
             {"failed lanes", std::to_string(outside.size())}});
}

void evalChecked(ExecutionContext &context, void *const *results, const void *const *operands,
                 const void *payload) {
  const auto &histogram = *static_cast<const Histogram *>(payload);
  if (context.launch->assertsAreEnabled())
    checkValues(context, histogram, operands);
  histogram.evaluate(results, operands, payload);
}

EvaluatorOrError chooseHistogram(const OpSignature &signature) {
  const Type &source = signature.operands[0], &result = signature.results[0];
  const int countBytes = result.elementBytes();
  BlockFn fn = nullptr;
  if (source.isInteger() && result.isInteger()) {
    // Narrow values are read unsigned: a negative one is past every possible bin or, with 256 bins
    // of int8, looks like an unsigned one.
    switch (source.elementBytes()) {
    case 1:
      fn = histogramOf<uint8_t>(countBytes);
      break;
    case 2:
      fn = histogramOf<uint16_t>(countBytes);
      break;
    case 4:
      fn = histogramOf<int32_t>(countBytes);
      break;
    case 8:
      fn = histogramOf<int64_t>(countBytes);
      break;
    }
  }
  if (!fn)
    return {{}, unsupported(signature)};
  auto histogram = std::make_shared<Histogram>(Histogram{
      source.numElements(), result.numElements(), signature.operands.size() > 1, source, fn});
  return {Evaluator::makeContext(evalChecked, std::move(histogram)), {}};
}

} // namespace

void addHistogramEvaluators(EvaluatorTable &table) { table.add("tl.histogram", chooseHistogram); }

} // namespace blockscope::interpreter
