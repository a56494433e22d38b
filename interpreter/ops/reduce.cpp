// Reductions by halves: x[i] with x[i + n/2], then n/4, ..., along one axis.
//
// With a custom combine the axis is first brought to the front, so that every halving is one call
// over whole halves of the block. Known combines run the same order inside SIMD kernels.
#include "interpreter/ops/element_type.h"
#include "interpreter/ops/reduce_order.h"
#include "interpreter/ops/transpose.h"

#include <cstring>

namespace blockscope::interpreter {

AxisSplit splitAtAxis(llvm::ArrayRef<int64_t> shape, int axis) {
  AxisSplit split;
  for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
    if (d < axis)
      split.outer *= shape[d];
    else if (d == axis)
      split.length = shape[d];
    else
      split.inner *= shape[d];
  }
  return split;
}

namespace {

/// [rows, columns, inner] -> [columns, rows, inner].
void swapAxes(int64_t rows, int64_t columns, int64_t inner, int elementBytes, const void *in,
              void *out) {
  const auto plane = [&]<typename T>(T) {
    copyPlane<T>(columns, rows, 1, columns, static_cast<const T *>(in), static_cast<T *>(out));
  };
  if (rows == 1 || columns == 1) {
    std::memcpy(out, in, rows * columns * inner * elementBytes);
  } else if (inner > 1) {
    const int64_t bytes = inner * elementBytes;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        std::memcpy(static_cast<char *>(out) + (j * rows + i) * bytes,
                    static_cast<const char *>(in) + (i * columns + j) * bytes, bytes);
  } else if (elementBytes == 1) {
    plane(uint8_t());
  } else if (elementBytes == 2) {
    plane(uint16_t());
  } else if (elementBytes == 4) {
    plane(uint32_t());
  } else {
    plane(uint64_t());
  }
}

} // namespace

void axisToFront(const AxisSplit &split, int elementBytes, const void *in, void *out) {
  swapAxes(split.outer, split.length, split.inner, elementBytes, in, out);
}

void axisFromFront(const AxisSplit &split, int elementBytes, const void *in, void *out) {
  swapAxes(split.length, split.outer, split.inner, elementBytes, in, out);
}

void reduceBlocks(llvm::ArrayRef<Type> operandTypes, int axis, void *const *results,
                  const void *const *operands, CombineLanes combine) {
  const size_t count = operandTypes.size();
  const AxisSplit split = splitAtAxis(operandTypes[0].shape, axis);
  llvm::SmallVector<std::unique_ptr<char[]>, 2> buffers;
  llvm::SmallVector<void *, 2> out(count);
  llvm::SmallVector<const void *, 2> rhs(count);
  for (size_t k = 0; k < count; ++k) {
    const int bytes = operandTypes[k].elementBytes();
    buffers.emplace_back(new char[operandTypes[k].numElements() * bytes]);
    axisToFront(split, bytes, operands[k], buffers[k].get());
    out[k] = buffers[k].get();
  }
  const int64_t lanes = split.outer * split.inner;
  for (int64_t half = split.length / 2; half >= 1; half /= 2) {
    for (size_t k = 0; k < count; ++k)
      rhs[k] = buffers[k].get() + half * lanes * operandTypes[k].elementBytes();
    combine(half * lanes, out.data(), out.data(), rhs.data());
  }
  for (size_t k = 0; k < count; ++k)
    std::memcpy(results[k], out[k], lanes * operandTypes[k].elementBytes());
}

std::optional<ElementOp> combineOpByName(llvm::StringRef name) {
  static constexpr struct {
    llvm::StringLiteral name;
    ElementOp op;
  } kRows[] = {
#define BLK_INTEGER_COMBINE(id, name, ...) {name, ElementOp::id},
#define BLK_FLOAT_COMBINE(id, name, ...) {name, ElementOp::id},
#include "core/op_facts.def"
  };
  for (const auto &row : kRows)
    if (row.name == name)
      return row.op;
  return std::nullopt;
}

namespace {

struct KnownReduce {
  AxisSplit split;
  Type type;
  ReduceKernel kernel = nullptr;
  ElementKernel element = nullptr;
};

void evalKnownReduce(void *const *results, const void *const *operands, const void *payload) {
  const auto &known = *static_cast<const KnownReduce *>(payload);
  const AxisSplit &split = known.split;
  if (known.kernel)
    return known.kernel(split.outer, split.length * split.inner, split.inner, operands[0],
                        results[0]);
  reduceBlocks(known.type, split.axis, results, operands,
               [&](int64_t n, void *const *out, const void *const *lhs, const void *const *rhs) {
                 const void *both[2] = {lhs[0], rhs[0]};
                 known.element(n, 0, out, both, 0, nullptr);
               });
}

} // namespace

Evaluator chooseKnownReduce(llvm::StringRef combineOp, const Type &operandType, int axis) {
  const auto op = combineOpByName(combineOp);
  const auto type = elementTypeOf(operandType);
  if (!op || !type || operandType.isPointer())
    return {};
  auto known = std::make_shared<KnownReduce>();
  known->split = splitAtAxis(operandType.shape, axis);
  known->split.axis = axis;
  known->type = operandType;
  known->kernel = kernels().reduce[static_cast<int>(*op)][static_cast<int>(*type)];
  known->element = kernels().element[static_cast<int>(*op)][static_cast<int>(*type)];
  if (!known->element)
    return {};
  return Evaluator::makeBlock(evalKnownReduce, known);
}

} // namespace blockscope::interpreter
