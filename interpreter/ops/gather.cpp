// tl.gather along one axis; an index outside the axis gives 0, and fails where asserts are on.
#include "core/numeric/scalar.h"
#include "interpreter/ops/element_type.h"
#include "interpreter/ops/failed_lanes.h"
#include "interpreter/ops/reduce_order.h"

namespace blockscope::interpreter {
namespace {

/// The source and the result differ only in the length of the axis.
struct Gather {
  AxisSplit source;
  int64_t length; ///< of the axis in the result
  BlockFn evaluate = nullptr;
  Type index;
  int axis = 0;
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

/// Reports the lanes whose index is outside of the axis, as a device_assert would.
void checkIndices(ExecutionContext &context, const Gather &gather, const void *indices) {
  const auto *bytes = static_cast<const std::byte *>(indices);
  const auto at = [&](int64_t lane) {
    return numeric::readAsInt(gather.index.dtype, bytes + lane * gather.index.elementBytes());
  };
  llvm::SmallVector<int64_t> outside;
  for (int64_t lane = 0; lane < gather.index.numElements(); ++lane)
    if (at(lane) < 0 || at(lane) >= gather.source.length)
      outside.push_back(lane);
  if (outside.empty())
    return;
  const std::string message = "an index of tl.gather is outside of axis " +
                              std::to_string(gather.axis) + ", which has " +
                              std::to_string(gather.source.length) + " elements";
  failLanes(context, outside, gather.index.shape, message,
            {{"index", std::to_string(at(outside.front()))},
             {"failed lanes", std::to_string(outside.size())}});
}

void evalChecked(ExecutionContext &context, void *const *results, const void *const *operands,
                 const void *payload) {
  const auto &gather = *static_cast<const Gather *>(payload);
  if (context.launch->assertsAreEnabled())
    checkIndices(context, gather, operands[1]);
  gather.evaluate(results, operands, payload);
}

EvaluatorOrError chooseGather(const OpSignature &signature) {
  if (signature.operands.size() != 2 || !signature.operands[1].isInteger())
    return {{}, unsupported(signature)};
  const Type &source = signature.operands[0], &index = signature.operands[1];
  const int axis = static_cast<int>(signature.attributes.getInt("axis"));
  auto gather = std::make_shared<Gather>();
  gather->source = splitAtAxis(source.shape, axis);
  gather->length = index.shape[axis];
  gather->index = index;
  gather->axis = axis;
  BlockFn &fn = gather->evaluate;
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
  return {Evaluator::makeContext(evalChecked, gather), {}};
}

} // namespace

void addGatherEvaluators(EvaluatorTable &table) { table.add("tl.gather", chooseGather); }

} // namespace blockscope::interpreter
