// tl.histogram: counts of 0 .. bins - 1; other values are not counted.
#include "interpreter/ops/element_type.h"

#include <algorithm>

namespace blockscope::interpreter {
namespace {

struct Histogram {
  int64_t elements;
  int64_t bins;
  bool hasMask;
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
  auto histogram = std::make_shared<Histogram>(
      Histogram{source.numElements(), result.numElements(), signature.operands.size() > 1});
  return {Evaluator::makeBlock(fn, histogram), {}};
}

} // namespace

void addHistogramEvaluators(EvaluatorTable &table) { table.add("tl.histogram", chooseHistogram); }

} // namespace blockscope::interpreter
