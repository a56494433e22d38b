// tl.gather along one axis; an index outside the axis gives 0.
#include "interpreter/ops/element_type.h"
#include "interpreter/ops/reduce_order.h"

namespace blockscope::interpreter {
namespace {

/// The source and the result differ only in the length of the axis.
struct Gather {
  AxisSplit source;
  int64_t length; ///< of the axis in the result
};

template <typename T, typename Index>
void evalGather(void *const *results, const void *const *operands, const void *payload) {
  const auto &gather = *static_cast<const Gather *>(payload);
  const AxisSplit &source = gather.source;
  const T *in = static_cast<const T *>(operands[0]);
  const auto *index = static_cast<const Index *>(operands[1]);
  T *out = static_cast<T *>(results[0]);
  for (int64_t o = 0; o < source.outer; ++o, in += source.length * source.inner)
    for (int64_t i = 0; i < gather.length; ++i)
      for (int64_t j = 0; j < source.inner; ++j, ++index, ++out) {
        const bool inside = static_cast<uint64_t>(static_cast<int64_t>(*index)) <
                            static_cast<uint64_t>(source.length);
        *out = inside ? in[static_cast<int64_t>(*index) * source.inner + j] : T(0);
      }
}

template <typename T> BlockFn gatherOf(int indexBytes) {
  switch (indexBytes) {
  case 1:
    return evalGather<T, int8_t>;
  case 2:
    return evalGather<T, int16_t>;
  case 4:
    return evalGather<T, int32_t>;
  }
  return evalGather<T, int64_t>;
}

EvaluatorOrError chooseGather(const OpSignature &signature) {
  if (signature.operands.size() != 2 || !signature.operands[1].isInteger())
    return {{}, unsupported(signature)};
  const Type &source = signature.operands[0], &index = signature.operands[1];
  const int axis = static_cast<int>(signature.attributes.getInt("axis"));
  auto gather = std::make_shared<Gather>();
  gather->source = splitAtAxis(source.shape, axis);
  gather->length = index.shape[axis];
  BlockFn fn = nullptr;
  switch (source.elementBytes()) {
  case 1:
    fn = gatherOf<uint8_t>(index.elementBytes());
    break;
  case 2:
    fn = gatherOf<uint16_t>(index.elementBytes());
    break;
  case 4:
    fn = gatherOf<uint32_t>(index.elementBytes());
    break;
  case 8:
    fn = gatherOf<uint64_t>(index.elementBytes());
    break;
  }
  return {Evaluator::makeBlock(fn, gather), {}};
}

} // namespace

void addGatherEvaluators(EvaluatorTable &table) { table.add("tl.gather", chooseGather); }

} // namespace blockscope::interpreter
