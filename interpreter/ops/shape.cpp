// Programs, creation and shape: tl.program_id, num_programs, range, splat, unsplat, expand_dims,
// broadcast, reshape, trans, join, split, cat. Blocks are row-major, so what keeps the order of
// elements is a copy.
#include "interpreter/execution_context.h"
#include "interpreter/ops/element_type.h"
#include "interpreter/ops/transpose.h"

#include <algorithm>
#include <cstring>

namespace blockscope::interpreter {
namespace {

EvaluatorOrError chooseRange(const OpSignature &signature) {
  const int64_t start = signature.attributes.getInt("start");
  return {Evaluator::makeElementwise(kernels().range, std::make_shared<const int64_t>(start)), {}};
}

EvaluatorOrError chooseCopy(const OpSignature &signature) {
  return chooseElement(signature, ElementOp::Copy);
}

/// Elements of the result in row-major order, each at its place in the source: strides in elements
/// per result dimension, 0 where the source repeats. Dimensions of size 1 are dropped and
/// dimensions that follow each other in the source are merged.
struct StridedCopy {
  llvm::SmallVector<int64_t, 4> sizes;
  llvm::SmallVector<int64_t, 4> strides;

  void add(int64_t size, int64_t stride) {
    if (size == 1)
      return;
    if (!sizes.empty() && strides.back() == stride * size) {
      sizes.back() *= size;
      strides.back() = stride;
      return;
    }
    sizes.push_back(size);
    strides.push_back(stride);
  }
  void finish() {
    if (sizes.empty()) {
      sizes.push_back(1);
      strides.push_back(1);
    }
  }
};

template <typename T>
T *copyStrided(const StridedCopy &copy, size_t dimension, const T *in, T *out) {
  const int64_t size = copy.sizes[dimension], stride = copy.strides[dimension];
  if (dimension + 1 == copy.sizes.size()) {
    if (stride == 1)
      return std::copy_n(in, size, out);
    if (stride == 0)
      return std::fill_n(out, size, *in);
    for (int64_t i = 0; i < size; ++i)
      out[i] = in[i * stride];
    return out + size;
  }
  if (dimension + 2 == copy.sizes.size() && copy.strides[dimension + 1] > 1) {
    const int64_t columns = copy.sizes[dimension + 1];
    copyPlane(size, columns, stride, copy.strides[dimension + 1], in, out);
    return out + size * columns;
  }
  for (int64_t i = 0; i < size; ++i)
    out = copyStrided(copy, dimension + 1, in + i * stride, out);
  return out;
}

template <typename T>
void evalStridedCopy(void *const *results, const void *const *operands, const void *payload) {
  copyStrided(*static_cast<const StridedCopy *>(payload), 0, static_cast<const T *>(operands[0]),
              static_cast<T *>(results[0]));
}

/// Chooses an instantiation by the size of an element.
template <template <typename> typename Wrapped> BlockFn bySize(int elementBytes) {
  switch (elementBytes) {
  case 1:
    return Wrapped<uint8_t>::fn;
  case 2:
    return Wrapped<uint16_t>::fn;
  case 4:
    return Wrapped<uint32_t>::fn;
  }
  return Wrapped<uint64_t>::fn;
}
template <typename T> struct StridedCopyOf {
  static constexpr BlockFn fn = evalStridedCopy<T>;
};

EvaluatorOrError makeStridedCopy(const OpSignature &signature, StridedCopy copy) {
  copy.finish();
  return {Evaluator::makeBlock(bySize<StridedCopyOf>(signature.operands[0].elementBytes()),
                               std::make_shared<const StridedCopy>(std::move(copy))),
          {}};
}

llvm::SmallVector<int64_t, 4> denseStrides(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t, 4> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * shape[d];
  return strides;
}

EvaluatorOrError chooseBroadcast(const OpSignature &signature) {
  const auto &source = signature.operands[0].shape, &result = signature.results[0].shape;
  if (source.size() != result.size())
    return {{}, unsupported(signature)};
  const auto strides = denseStrides(source);
  StridedCopy copy;
  for (size_t d = 0; d < result.size(); ++d)
    copy.add(result[d], source[d] == 1 ? 0 : strides[d]);
  return makeStridedCopy(signature, std::move(copy));
}

EvaluatorOrError chooseTrans(const OpSignature &signature) {
  const auto &source = signature.operands[0].shape;
  const llvm::ArrayRef<int64_t> order = signature.attributes.getInts("order");
  if (order.size() != source.size())
    return {{},
            "tl.trans has " + std::to_string(order.size()) + " dimensions in its order, " +
                std::to_string(source.size()) + " in its block"};
  const auto strides = denseStrides(source);
  StridedCopy copy;
  for (int64_t d : order)
    copy.add(source[d], strides[d]);
  return makeStridedCopy(signature, std::move(copy));
}

template <typename T>
void evalJoin(void *const *results, const void *const *operands, const void *payload) {
  const int64_t n = *static_cast<const int64_t *>(payload);
  const T *lhs = static_cast<const T *>(operands[0]), *rhs = static_cast<const T *>(operands[1]);
  T *out = static_cast<T *>(results[0]);
  for (int64_t i = 0; i < n; ++i) {
    out[2 * i] = lhs[i];
    out[2 * i + 1] = rhs[i];
  }
}
template <typename T> struct JoinOf {
  static constexpr BlockFn fn = evalJoin<T>;
};

template <typename T>
void evalSplit(void *const *results, const void *const *operands, const void *payload) {
  const int64_t n = *static_cast<const int64_t *>(payload);
  const T *in = static_cast<const T *>(operands[0]);
  T *first = static_cast<T *>(results[0]), *second = static_cast<T *>(results[1]);
  for (int64_t i = 0; i < n; ++i) {
    first[i] = in[2 * i];
    second[i] = in[2 * i + 1];
  }
}
template <typename T> struct SplitOf {
  static constexpr BlockFn fn = evalSplit<T>;
};

EvaluatorOrError chooseJoin(const OpSignature &signature) {
  const auto n = std::make_shared<const int64_t>(signature.operands[0].numElements());
  return {Evaluator::makeBlock(bySize<JoinOf>(signature.operands[0].elementBytes()), n), {}};
}

EvaluatorOrError chooseSplit(const OpSignature &signature) {
  const auto n = std::make_shared<const int64_t>(signature.operands[0].numElements() / 2);
  return {Evaluator::makeBlock(bySize<SplitOf>(signature.operands[0].elementBytes()), n), {}};
}

struct CatBytes {
  int64_t count;
  int64_t lhs, rhs; ///< of one piece
};
void evalCat(void *const *results, const void *const *operands, const void *payload) {
  const auto &bytes = *static_cast<const CatBytes *>(payload);
  auto *out = static_cast<char *>(results[0]);
  const auto *lhs = static_cast<const char *>(operands[0]);
  const auto *rhs = static_cast<const char *>(operands[1]);
  for (int64_t i = 0; i < bytes.count; ++i) {
    std::memcpy(out, lhs + i * bytes.lhs, bytes.lhs);
    std::memcpy(out + bytes.lhs, rhs + i * bytes.rhs, bytes.rhs);
    out += bytes.lhs + bytes.rhs;
  }
}

EvaluatorOrError chooseCat(const OpSignature &signature) {
  const int64_t dim = signature.attributes.getInt("dim");
  const auto bytes = std::make_shared<CatBytes>(
      CatBytes{1, signature.operands[0].elementBytes(), signature.operands[1].elementBytes()});
  const auto &lhs = signature.operands[0].shape, &rhs = signature.operands[1].shape;
  for (int64_t d = 0; d < static_cast<int64_t>(lhs.size()); ++d) {
    if (d < dim) {
      bytes->count *= lhs[d];
    } else {
      bytes->lhs *= lhs[d];
      bytes->rhs *= rhs[d];
    }
  }
  return {Evaluator::makeBlock(evalCat, bytes), {}};
}

void evalProgramId(ExecutionContext &context, void *const *results, const void *const *,
                   const void *payload) {
  *static_cast<int32_t *>(results[0]) = context.program[*static_cast<const int64_t *>(payload)];
}

void evalNumPrograms(ExecutionContext &context, void *const *results, const void *const *,
                     const void *payload) {
  *static_cast<int32_t *>(results[0]) =
      context.launch->info.grid[*static_cast<const int64_t *>(payload)];
}

EvaluatorFactory chooseByAxis(ContextFn function) {
  return [function](const OpSignature &signature) -> EvaluatorOrError {
    const int64_t axis = signature.attributes.getInt("axis", -1);
    if (axis < 0 || axis > 2)
      return {{},
              signature.name.str() + " has axis " + std::to_string(axis) + ", expected 0, 1 or 2"};
    return {Evaluator::makeContext(function, std::make_shared<const int64_t>(axis)), ""};
  };
}

} // namespace

void addShapeEvaluators(EvaluatorTable &table) {
  table.add("tl.program_id", chooseByAxis(evalProgramId));
  table.add("tl.num_programs", chooseByAxis(evalNumPrograms));
  table.add("tl.range", chooseRange);
  for (const char *name : {"tl.splat", "tl.unsplat", "tl.expand_dims", "tl.reshape"})
    table.add(name, chooseCopy);
  table.add("tl.broadcast", chooseBroadcast);
  table.add("tl.trans", chooseTrans);
  table.add("tl.join", chooseJoin);
  table.add("tl.split", chooseSplit);
  table.add("tl.cat", chooseCat);
}

} // namespace blockscope::interpreter
