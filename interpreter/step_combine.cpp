// Copies lanes into blocks for a combine function, and what it gives back out of them.
#include "interpreter/step_combine.h"

#include "interpreter/step_values.h"

#include "llvm/Support/MathExtras.h"

#include <cstring>

namespace blockscope::interpreter {
namespace {

int64_t blockSize(int64_t lanes) {
  return static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(lanes)));
}

} // namespace

/// Returns n lanes of each operand from `lane` on as blocks, or one lane as scalars.
///
/// Blocks of the language have a power of two of elements: the last lane fills a block up, and what
/// it gives there is dropped.
ValueList StepCombine::copyIn(int64_t n, const void *const *side, int64_t lane) const {
  ValueList wrapped;
  for (size_t i = 0; i < operands_.size(); ++i) {
    const int64_t size = takesScalars_ ? 1 : blockSize(n);
    const Type scalar = operands_[i].type.withShape({});
    const Type type = takesScalars_ ? scalar : scalar.withShape({size});
    const int64_t bytes = type.elementBytes();
    const auto *elements = static_cast<const std::byte *>(side[i]) + lane * bytes;
    std::shared_ptr<Block> block = allocateBlock(type);
    std::memcpy(block->data, elements, n * bytes);
    for (int64_t extra = n; extra < size; ++extra)
      std::memcpy(block->as<std::byte>() + extra * bytes, elements + (n - 1) * bytes, bytes);
    wrapped.push_back(wrapBlock(std::move(block), type));
  }
  return wrapped;
}

void StepCombine::combineOnce(const ValueList &combined, int64_t n, void *const *out,
                              int64_t lane) {
  isValid_ = combined.size() == operands_.size() && allKnown(combined);
  for (size_t i = 0; isValid_ && i < operands_.size(); ++i) {
    const Type element = operands_[i].type.withShape({});
    const Type expected = takesScalars_ ? element : element.withShape({blockSize(n)});
    const int64_t bytes = element.elementBytes();
    auto *to = static_cast<std::byte *>(out[i]) + lane * bytes;
    if (sameStorage(combined[i].type, expected)) {
      std::memcpy(to, blockOf(combined[i]).data, n * bytes);
    } else if (sameStorage(combined[i].type, element)) { // one value for every lane
      for (int64_t k = 0; k < n; ++k)
        std::memcpy(to + k * bytes, blockOf(combined[i]).data, bytes);
    } else {
      isValid_ = false;
      error_ =
          "the combine function gives " + combined[i].type.str() + ", expected " + expected.str();
    }
  }
}

void StepCombine::operator()(int64_t n, void *const *out, const void *const *lhs,
                             const void *const *rhs) {
  if (!isValid_)
    return;
  if (!takesScalars_) {
    const ValueList combined = combine_(copyIn(n, lhs, 0), copyIn(n, rhs, 0));
    takesScalars_ = combined.empty();
    if (!takesScalars_) {
      combineOnce(combined, n, out, 0);
      return;
    }
  }
  for (int64_t lane = 0; lane < n && isValid_; ++lane)
    combineOnce(combine_(copyIn(1, lhs, lane), copyIn(1, rhs, lane)), 1, out, lane);
}

} // namespace blockscope::interpreter
