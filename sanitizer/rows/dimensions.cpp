// Matches strides with strides.
#include "sanitizer/rows/dimensions.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace blockscope::sanitizer {

std::optional<Dimensions> Dimensions::of(const TensorInfo &tensor) {
  Dimensions result;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    if (tensor.shape[d] == 0)
      return std::nullopt;
    if (tensor.shape[d] == 1 || tensor.strides[d] == 0)
      continue; // an expanded dimension is named by no address
    if (tensor.strides[d] < 0)
      return std::nullopt;
    result.dimensions.push_back({tensor.shape[d], tensor.strides[d] * tensor.elementBytes, d});
  }
  llvm::sort(result.dimensions, [](const auto &a, const auto &b) { return a.stride > b.stride; });
  for (size_t i = 1; i < result.dimensions.size(); ++i)
    if (result.dimensions[i - 1].stride < result.dimensions[i].size * result.dimensions[i].stride)
      return std::nullopt;
  return result;
}

namespace {

/// By step: what all its values in the launch are multiples of; 0 where it is always 0.
llvm::SmallVector<int64_t> multiplesOf(const AddressForm &form, llvm::ArrayRef<int64_t> values) {
  using Kind = ScalarStep::Kind;
  llvm::SmallVector<int64_t> multiples;
  for (const auto &[step, value] : llvm::zip(form.steps, values)) {
    const auto of = [&](int number) { return multiples[step.operands[number]]; };
    int64_t multiple = 1;
    if (step.isFixed)
      multiple = value == INT64_MIN ? 1 : std::abs(value);
    else if (step.kind == Kind::Add || step.kind == Kind::Sub)
      multiple = std::gcd(of(0), of(1));
    else if (step.kind == Kind::Mul && __builtin_mul_overflow(of(0), of(1), &multiple))
      multiple = 1;
    multiples.push_back(multiple);
  }
  return multiples;
}

/// A term with a stride in bytes.
struct Strided {
  size_t term;
  int64_t stride;
  int64_t named;  ///< that of the dimension which it names, if it does
  uint32_t start; ///< the step that counts the strides
  int64_t within; ///< its dimension is no coarser than this
};

int64_t strideOf(const AddressForm &form, const AddressForm::Term &term,
                 llvm::ArrayRef<int64_t> values) {
  return (term.stride ? values[*term.stride] : 1) * form.pointeeBytes;
}

/// Of `i * (N * T)`, N is the size of a block where lanes count in steps of T: the stride of those.
std::optional<int64_t> strideOfLanes(const AddressForm &form, const AddressForm::Term &term,
                                     llvm::ArrayRef<int64_t> values) {
  if (!term.stride || term.hasRange || form.steps[*term.stride].kind != ScalarStep::Kind::Mul)
    return std::nullopt;
  const ScalarStep &product = form.steps[*term.stride];
  for (const unsigned side : {0U, 1U})
    for (const AddressForm::Term &lanes : form.terms)
      if (lanes.hasRange && lanes.stride == product.operands[side] &&
          form.steps[product.operands[1 - side]].kind == ScalarStep::Kind::Constant)
        return strideOf(form, lanes, values);
  return std::nullopt;
}

/// `i * 4` or `i << 2`: the step of `i`, and 4. Nothing for a loop's own steps: `for n in range(0,
/// rows, 16)` counts rows, whatever is multiplied onto it.
std::optional<std::pair<uint32_t, int64_t>> constantProduct(const AddressForm &form,
                                                            uint32_t step) {
  using Kind = ScalarStep::Kind;
  const ScalarStep &product = form.steps[step];
  if (product.isFixed || (product.kind != Kind::Mul && product.kind != Kind::ShiftLeft))
    return std::nullopt;
  for (const unsigned side : {0U, 1U}) {
    const uint32_t index = product.operands[side];
    const ScalarStep &by = form.steps[product.operands[1 - side]];
    if (by.kind != Kind::Constant || form.steps[index].kind == Kind::LoopCounter)
      continue;
    if (product.kind == Kind::Mul && by.value > 0)
      return std::pair{index, by.value};
    if (product.kind == Kind::ShiftLeft && side == 0 && by.value >= 0 && by.value < 32)
      return std::pair{index, int64_t{1} << by.value};
  }
  return std::nullopt;
}

/// Of `i * 2 * 4 * T`, constants that look like sizes of blocks are in the index. They are of the
/// stride where they make it a multiple of a coarser dimension's: a size of a block that comes to
/// that is as good as one.
Strided withAllFactors(const AddressForm &form, const Dimensions &dimensions, const Strided &term) {
  const AddressForm::Term &part = form.terms[term.term];
  if (!part.names || !part.isKnown || part.hasRange || term.stride < 0)
    return term;
  Strided whole = term;
  while (const auto product = constantProduct(form, whole.start)) {
    if (__builtin_mul_overflow(whole.stride, product->second, &whole.stride))
      return term;
    whole.start = product->first;
  }
  for (const Dimensions::Dimension &each : dimensions.dimensions)
    if (each.stride > term.stride && each.stride % term.stride == 0 &&
        whole.stride % each.stride == 0) {
      whole.named = each.stride;
      whole.within = whole.stride;
      return whole;
    }
  return term;
}

} // namespace

llvm::SmallVector<NamedIndex, 4> namedIndices(const AddressForm &form, const Dimensions &dimensions,
                                              llvm::ArrayRef<int64_t> values) {
  const auto &all = dimensions.dimensions;
  llvm::SmallVector<Strided, 4> terms;
  std::vector<bool> isNamed(all.size());
  for (size_t t = 0; t < form.terms.size(); ++t) {
    const AddressForm::Term &term = form.terms[t];
    const int64_t stride = strideOf(form, term, values);
    const bool isNothing =
        stride == 0 || (term.isKnown && !term.hasRange && !term.stride &&
                        form.steps[term.start].kind == ScalarStep::Kind::Constant &&
                        form.steps[term.start].value == 0);
    if (isNothing)
      continue;
    const std::optional<int64_t> ofLanes = strideOfLanes(form, term, values);
    const Strided strided{t, stride, stride, term.start, std::abs(ofLanes.value_or(stride))};
    terms.push_back(ofLanes ? strided : withAllFactors(form, dimensions, strided));
    for (size_t d = 0; d < all.size() && !ofLanes; ++d)
      if (term.names && all[d].stride == terms.back().named)
        isNamed[d] = true;
  }
  // A kernel that names the finest dimension alone goes through the tensor as one row.
  if (all.size() < 2 || std::find(isNamed.begin(), isNamed.end() - 1, true) == isNamed.end() - 1)
    return {};
  llvm::SmallVector<NamedIndex, 4> result;
  std::vector<size_t> place(all.size());
  for (size_t d = 0, first = 0; d < all.size(); ++d) {
    if (!isNamed[d])
      continue;
    NamedIndex index;
    index.first = all[first].number;
    index.last = all[d].number;
    index.stride = all[d].stride;
    index.size = all[d].size;
    for (size_t i = d; i-- > first;) {
      if (all[i].stride != all[i + 1].size * all[i + 1].stride)
        index.size = 0; // they do not run on: not known
      index.size *= all[i].size;
    }
    place[d] = result.size();
    result.push_back(std::move(index));
    first = d + 1;
  }
  const llvm::SmallVector<int64_t> multiples = multiplesOf(form, values);
  for (const Strided &term : terms) {
    // The coarsest named dimension that is no coarser than the term.
    std::optional<size_t> target;
    for (size_t d = 0; d < all.size() && !target; ++d)
      if (isNamed[d] && all[d].stride <= term.within)
        target = d;
    if (!target || term.stride % all[*target].stride != 0)
      return {};
    NamedIndex &index = result[place[*target]];
    const int64_t factor = term.stride / all[*target].stride;
    index.parts.push_back({term.term, term.start, factor});
    const AddressForm::Term &part = form.terms[term.term];
    const bool isFirst = index.parts.size() == 1;
    index.multiple = std::gcd(isFirst ? 0 : index.multiple,
                              part.hasRange || !part.isKnown ? 1 : factor * multiples[term.start]);
    if (!part.names && part.isKnown && !part.hasRange && form.steps[term.start].isFixed)
      index.added += factor * values[term.start];
  }
  llvm::erase_if(result, [&](NamedIndex &index) {
    bool hasMoving = false;
    for (const NamedIndex::Part &part : index.parts) {
      const AddressForm::Term &term = form.terms[part.term];
      if (!term.isKnown)
        return true;
      hasMoving |= term.hasRange || !form.steps[part.start].isFixed;
    }
    index.isChecked = hasMoving;
    return index.size == 0;
  });
  if (llvm::none_of(result, [](const NamedIndex &index) { return index.isChecked; }))
    return {};
  return result;
}

} // namespace blockscope::sanitizer
