// tl.map: the region once for each element, or each `pack` elements, by the thread that has them.
// What one element does is nobody else's business, so threads may take different ways.
#include "gpu_backend/layout/blocked_layout.h"
#include "gpu_backend/lowering/combine.h"
#include "gpu_backend/lowering/convert_layout.h"
#include "gpu_backend/lowering/families.h"
#include "gpu_backend/lowering/packs.h"

#include "core/ir/tl_dialect.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// Whether `pack` elements that follow each other are `pack` registers that do.
bool hasPacks(const LinearLayout &layout, int64_t pack) {
  for (size_t bit = 0; (int64_t{1} << bit) < pack; ++bit)
    if (bit >= layout.registers.size() || layout.registers[bit] != ElementBits{1} << bit)
      return false;
  return true;
}

LogicalResult lowerMap(Lowering &lowering, Operation *op) {
  auto map = cast<tl::MapOp>(op);
  const int64_t pack = map.getPack();
  const auto type = cast<RankedTensorType>(op->getResult(0).getType());
  const LinearLayout layout =
      layoutOfPacks(tlg::layoutOf(type), type.getNumElements(), pack, lowering.numWarps());
  llvm::SmallVector<Registers> operands, results(op->getNumResults());
  for (Value operand : op->getOperands())
    operands.push_back(convertLayout(lowering, lowering.get(operand),
                                     cast<RankedTensorType>(operand.getType()),
                                     tlg::layoutOf(operand.getType()), layout));
  llvm::SmallDenseMap<ElementBits, size_t> done; // copies within a thread
  for (int64_t reg = 0; reg < layout.registerCount(); reg += pack) {
    const auto [known, isNew] =
        done.try_emplace(layout.registerElement(static_cast<int>(reg)), reg);
    if (!isNew) {
      for (Registers &result : results)
        for (int64_t k = 0; k < pack; ++k)
          result.push_back(result[known->second + k]);
      continue;
    }
    llvm::SmallVector<llvm::Value *> arguments;
    for (const Registers &operand : operands)
      arguments.append(operand.begin() + reg, operand.begin() + reg + pack);
    const FailureOr<Registers> made = lowering.inlineRegion(map.getFunction(), arguments);
    if (failed(made))
      return failure();
    for (auto [i, result] : llvm::enumerate(results))
      result.append(made->begin() + i * pack, made->begin() + (i + 1) * pack);
  }
  for (auto [value, registers] : llvm::zip(op->getResults(), results))
    lowering.set(value, convertLayout(lowering, registers, cast<RankedTensorType>(value.getType()),
                                      layout, tlg::layoutOf(value.getType())));
  return success();
}

} // namespace

LinearLayout layoutOfPacks(const LinearLayout &layout, int64_t elements, int64_t pack,
                           int numWarps) {
  if (hasPacks(layout, pack))
    return layout;
  return blocked(elements, pack, int64_t{32}, int64_t{numWarps}, {0});
}

llvm::ArrayRef<LoweringRow> mapRows() {
  static constexpr LoweringRow kRows[] = {{"tl.map", lowerMap}};
  return kRows;
}

} // namespace blockscope::gpu
