// Layouts of shape changes: each op is a linear map of element bits applied to the bases.
#include "gpu_backend/layout/shape_layouts.h"
#include "gpu_backend/layout/f2_matrix.h"
#include "gpu_backend/layout/layout_queries.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>

namespace blockscope::gpu {
namespace {

LinearLayout mapElements(const LinearLayout &layout, llvm::ArrayRef<ElementBits> map) {
  return {f2::multiply(map, layout.registers), f2::multiply(map, layout.lanes),
          f2::multiply(map, layout.warps)};
}

} // namespace

Bases slicedElements(const ShapeBits &shape, int dim) {
  Bases map;
  for (int bit = 0; bit < shape.width(); ++bit) {
    const ElementBits element = ElementBits{1} << bit;
    if (bit < shape.shift(dim))
      map.push_back(element);
    else if (element & shape.mask(dim))
      map.push_back(0);
    else
      map.push_back(element >> shape.width(dim));
  }
  return map;
}

LinearLayout sliced(const LinearLayout &layout, const ShapeBits &shape, int dim) {
  return withoutRegisterCopies(mapElements(layout, slicedElements(shape, dim)));
}

llvm::SmallVector<uint32_t> slicedRegisters(const LinearLayout &layout, const ShapeBits &shape,
                                            int dim) {
  return *sourceRegisters(layout, sliced(layout, shape, dim), slicedElements(shape, dim));
}

Bases broadcastElements(const ShapeBits &operandShape, const ShapeBits &resultShape) {
  assert(operandShape.rank() == resultShape.rank());
  Bases map(resultShape.width(), 0);
  for (int dim = 0; dim < resultShape.rank(); ++dim) {
    assert(operandShape.width(dim) == 0 || operandShape.width(dim) == resultShape.width(dim));
    for (int bit = 0; bit < operandShape.width(dim); ++bit)
      map[resultShape.shift(dim) + bit] = ElementBits{1} << (operandShape.shift(dim) + bit);
  }
  return map;
}

LinearLayout broadcasted(const LinearLayout &operand, const ShapeBits &operandShape,
                         const ShapeBits &resultShape) {
  Bases spread(operandShape.width(), 0), fresh;
  for (int dim = resultShape.rank() - 1; dim >= 0; --dim) {
    for (int bit = 0; bit < resultShape.width(dim); ++bit) {
      const ElementBits element = ElementBits{1} << (resultShape.shift(dim) + bit);
      if (operandShape.width(dim) == 0)
        fresh.push_back(element);
      else
        spread[operandShape.shift(dim) + bit] = element;
    }
  }
  LinearLayout result = mapElements(operand, spread);
  result.registers.append(fresh);
  return result;
}

LinearLayout broadcastOperand(const LinearLayout &result, const ShapeBits &operandShape,
                              const ShapeBits &resultShape) {
  return withoutRegisterCopies(mapElements(result, broadcastElements(operandShape, resultShape)));
}

Bases transposedElements(const ShapeBits &shape, llvm::ArrayRef<int> permutation) {
  assert(static_cast<int>(permutation.size()) == shape.rank());
  Bases map(shape.width(), 0);
  int shift = 0;
  for (int dim = shape.rank() - 1; dim >= 0; --dim) {
    const int from = permutation[dim];
    for (int bit = 0; bit < shape.width(from); ++bit)
      map[shape.shift(from) + bit] = ElementBits{1} << shift++;
  }
  return map;
}

LinearLayout transposed(const LinearLayout &operand, const ShapeBits &shape,
                        llvm::ArrayRef<int> permutation) {
  return mapElements(operand, transposedElements(shape, permutation));
}

LinearLayout joined(const LinearLayout &operand) {
  LinearLayout result = operand;
  for (Bases *bases : {&result.registers, &result.lanes, &result.warps})
    for (ElementBits &basis : *bases)
      basis <<= 1;
  result.registers.insert(result.registers.begin(), 1);
  return result;
}

LinearLayout split(const LinearLayout &operand) {
  LinearLayout result = operand;
  llvm::erase(result.registers, ElementBits{1});
  for (Bases *bases : {&result.lanes, &result.warps})
    for (ElementBits &basis : *bases)
      if (basis == 1 && !result.registers.empty())
        basis = result.registers.pop_back_val();
  for (Bases *bases : {&result.registers, &result.lanes, &result.warps})
    for (ElementBits &basis : *bases)
      basis >>= 1;
  return withoutRegisterCopies(result);
}

} // namespace blockscope::gpu
