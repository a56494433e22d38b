// Inclusive scans along one axis, in log2(n) elementwise steps: y[i] = combine(y[i - d], y[i]) for
// d = 1, 2, 4, ... (in reverse y[i] = combine(y[i + d], y[i])): the order that warps use, and each
// step is one call over the whole block.
#include "interpreter/ops/element_type.h"
#include "interpreter/ops/reduce_order.h"

#include <cstring>

namespace blockscope::interpreter {
namespace {

/// Two buffers of one value; the scan goes from one to the other.
struct Pair {
  std::unique_ptr<char[]> from, to;
  int64_t rowBytes;
};

} // namespace

void scanBlocks(llvm::ArrayRef<Type> operandTypes, int axis, bool reverse, void *const *results,
                const void *const *operands, CombineLanes combine) {
  const size_t count = operandTypes.size();
  const AxisSplit split = splitAtAxis(operandTypes[0].shape, axis);
  const int64_t lanes = split.outer * split.inner, length = split.length;
  llvm::SmallVector<Pair, 2> pairs(count);
  for (size_t k = 0; k < count; ++k) {
    const int bytes = operandTypes[k].elementBytes();
    pairs[k].rowBytes = lanes * bytes;
    pairs[k].from.reset(new char[length * pairs[k].rowBytes]);
    pairs[k].to.reset(new char[length * pairs[k].rowBytes]);
    axisToFront(split, bytes, operands[k], pairs[k].from.get());
  }
  llvm::SmallVector<void *, 2> out(count);
  llvm::SmallVector<const void *, 2> lhs(count), rhs(count);
  for (int64_t d = 1; d < length; d *= 2) {
    for (size_t k = 0; k < count; ++k) {
      char *from = pairs[k].from.get(), *to = pairs[k].to.get();
      const int64_t row = pairs[k].rowBytes, kept = reverse ? length - d : 0;
      std::memcpy(to + kept * row, from + kept * row, d * row);
      out[k] = to + (reverse ? 0 : d * row);
      lhs[k] = from + (reverse ? d * row : 0); // what the scan met first
      rhs[k] = from + (reverse ? 0 : d * row);
    }
    combine((length - d) * lanes, out.data(), lhs.data(), rhs.data());
    for (Pair &pair : pairs)
      std::swap(pair.from, pair.to);
  }
  for (size_t k = 0; k < count; ++k)
    axisFromFront(split, operandTypes[k].elementBytes(), pairs[k].from.get(), results[k]);
}

namespace {

struct KnownScan {
  AxisSplit split;
  Type type;
  bool reverse = false;
  ScanKernel kernel = nullptr;
  ElementKernel element = nullptr;
};

void evalKnownScan(void *const *results, const void *const *operands, const void *payload) {
  const auto &known = *static_cast<const KnownScan *>(payload);
  const AxisSplit &split = known.split;
  if (known.kernel)
    return known.kernel(split.outer, split.length, split.inner, known.reverse, operands[0],
                        results[0]);
  scanBlocks(known.type, split.axis, known.reverse, results, operands,
             [&](int64_t n, void *const *out, const void *const *lhs, const void *const *rhs) {
               const void *both[2] = {lhs[0], rhs[0]};
               known.element(n, 0, out, both, 0, nullptr);
             });
}

} // namespace

Evaluator chooseKnownScan(llvm::StringRef combineOp, const Type &operandType, int axis,
                          bool reverse) {
  const auto op = combineOpByName(combineOp);
  const auto type = elementTypeOf(operandType);
  if (!op || !type || operandType.isPointer())
    return {};
  auto known = std::make_shared<KnownScan>();
  known->split = splitAtAxis(operandType.shape, axis);
  known->split.axis = axis;
  known->type = operandType;
  known->reverse = reverse;
  known->kernel = kernels().scan[static_cast<int>(*op)][static_cast<int>(*type)];
  known->element = kernels().element[static_cast<int>(*op)][static_cast<int>(*type)];
  if (!known->element)
    return {};
  return Evaluator::makeBlock(evalKnownScan, known);
}

} // namespace blockscope::interpreter
