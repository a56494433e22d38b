// Facts of the op, and the types of its operands, say how many.
#include "sanitizer/work.h"

#include "core/dot_precision.h"
#include "core/op_facts.h"
#include "interpreter/combine_region.h"

#include <algorithm>

namespace blockscope::sanitizer {
namespace {

constexpr const char *kVector = "vector";
constexpr const char *kTensor = "tensor";

/// Operations that one element of an elementwise op takes.
int64_t flopsOf(const OpFacts &facts) {
  const bool isArithmetic = facts.isElementwise && facts.error.rounds() &&
                            facts.family != OpFamily::Casts && facts.cost != OpCost::Free;
  return !isArithmetic ? 0 : facts.name == "math.fma" ? 2 : 1;
}

std::string nameOf(DType dtype) { return dtypeName(dtype).str(); }

std::optional<OpWork> workOfDot(const OpSignature &signature, bool isTf32) {
  if (signature.operands.size() < 2 || !signature.operands[0].isFloating() ||
      signature.results.empty())
    return std::nullopt;
  const Type &left = signature.operands[0];
  OpWork work{kTensor, isFp8(left.dtype) ? "fp8" : nameOf(left.dtype),
              2 * left.shape.back() * signature.results[0].numElements()};
  if (left.dtype == DType::Fp32) {
    const bool isIeee =
        !isTf32 &&
        precisionOfFloats(signature.attributes.getString("input_precision", "ieee")) == "ieee";
    work.unit = isIeee ? kVector : kTensor;
    work.dtype = isIeee ? "fp32" : "tf32";
  }
  return work;
}

/// A reduction or scan: each result but the first of a row takes one turn of the region.
std::optional<OpWork> workOfCombine(const OpValues &event) {
  const OpSignature &signature = *event.signature;
  if (event.region == nullptr || signature.operands.empty() || signature.results.empty())
    return std::nullopt;
  const int64_t elements = signature.operands[0].numElements();
  int64_t rows = signature.results[0].numElements();
  if (rows == elements) { // a scan
    const int64_t axis = signature.attributes.getInt("axis", 0);
    const auto &shape = signature.operands[0].shape;
    rows = elements / std::max<int64_t>(1, shape[static_cast<size_t>(axis)]);
  }
  OpWork work{kVector, "", 0};
  for (const CombineOp &op : event.region->ops) {
    const OpFacts *facts = findOpFacts(op.signature.name);
    if (facts == nullptr || op.signature.results.empty() || !op.signature.results[0].isFloating())
      continue;
    const int64_t flops = flopsOf(*facts);
    if (flops > 0)
      work.dtype = nameOf(op.signature.results[0].dtype);
    work.flops += flops * (elements - rows);
  }
  return work.flops > 0 ? std::optional(work) : std::nullopt;
}

} // namespace

std::optional<OpWork> workOf(const OpValues &event, bool dotsAreTf32) {
  const OpFacts *facts = event.signature ? findOpFacts(event.signature->name) : nullptr;
  if (facts == nullptr)
    return std::nullopt;
  if (facts->family == OpFamily::Dot)
    return workOfDot(*event.signature, dotsAreTf32);
  if (facts->family == OpFamily::Reduce || facts->family == OpFamily::Scan)
    return workOfCombine(event);
  const int64_t flops = flopsOf(*facts);
  if (flops == 0 || event.signature->results.empty() || !event.signature->results[0].isFloating())
    return std::nullopt;
  return OpWork{kVector, nameOf(event.signature->results[0].dtype), flops * event.count};
}

} // namespace blockscope::sanitizer
