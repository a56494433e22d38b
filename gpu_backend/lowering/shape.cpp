// Program ids, creation and shape: their layouts were chosen so that registers are only renumbered.
#include "gpu_backend/lowering/families.h"

#include "core/ir/tl_dialect.h"
#include "gpu_backend/layout/layout_queries.h"
#include "gpu_backend/passes/shape_transfer.h"

#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// Takes each register of the result from the register of the source that `map` names.
LogicalResult renumber(Lowering &lowering, Operation *op, Value source, Value result,
                       llvm::ArrayRef<ElementBits> map) {
  const auto registers =
      sourceRegisters(tlg::layoutOf(result.getType()), tlg::layoutOf(source.getType()), map);
  if (!registers)
    return op->emitError("layouts of operand and result do not fit (a mistake in blockscope)");
  const llvm::ArrayRef<llvm::Value *> values = lowering.get(source);
  Registers results;
  for (const uint32_t reg : *registers)
    results.push_back(values[reg]);
  lowering.set(result, results);
  return success();
}

LogicalResult lowerRenumbering(Lowering &lowering, Operation *op) {
  return renumber(lowering, op, op->getOperand(0), op->getResult(0), elementMap(op));
}

LogicalResult lowerRange(Lowering &lowering, Operation *op) {
  auto range = cast<tl::RangeOp>(op);
  Registers numbers = lowering.coordinates(range.getType(), 0);
  if (range.getStart() != 0)
    for (llvm::Value *&number : numbers)
      number = lowering.builder().CreateAdd(number, lowering.i32(range.getStart()));
  lowering.set(range, numbers);
  return success();
}

LogicalResult lowerSplat(Lowering &lowering, Operation *op) {
  const Value result = op->getResult(0);
  lowering.set(result, Registers(Lowering::registerCount(result.getType()),
                                 lowering.scalar(op->getOperand(0))));
  return success();
}

LogicalResult lowerUnsplat(Lowering &lowering, Operation *op) {
  lowering.set(op->getResult(0), lowering.get(op->getOperand(0)).front());
  return success();
}

/// The element map from a result to one operand of join or cat: `bit` is dropped.
Bases dropping(int bit, int width) {
  Bases map;
  for (int i = 0; i < width; ++i)
    map.push_back(i == bit ? 0 : ElementBits{1} << (i < bit ? i : i - 1));
  return map;
}

/// Takes registers from two operands, as `bit` of their element says.
LogicalResult interleave(Lowering &lowering, Operation *op, int bit) {
  const Value result = op->getResult(0);
  const LinearLayout layout = tlg::layoutOf(result.getType());
  const ShapeBits shape(cast<RankedTensorType>(result.getType()).getShape());
  const Bases map = dropping(bit, shape.width());
  Registers results;
  llvm::SmallVector<Registers, 2> halves;
  for (const Value operand : op->getOperands()) {
    if (!tlg::hasLayout(operand.getType())) { // tl.join of scalars
      halves.emplace_back(layout.registerCount(), lowering.scalar(operand));
      continue;
    }
    const auto registers = sourceRegisters(layout, tlg::layoutOf(operand.getType()), map);
    if (!registers)
      return op->emitError("layouts of operand and result do not fit (a mistake in blockscope)");
    Registers &half = halves.emplace_back();
    for (const uint32_t reg : *registers)
      half.push_back(lowering.get(operand)[reg]);
  }
  for (int reg = 0; reg < layout.registerCount(); ++reg)
    results.push_back(halves[(layout.registerElement(reg) >> bit) & 1][reg]);
  lowering.set(result, results);
  return success();
}

LogicalResult lowerJoin(Lowering &lowering, Operation *op) { return interleave(lowering, op, 0); }

LogicalResult lowerCat(Lowering &lowering, Operation *op) {
  auto cat = cast<tl::CatOp>(op);
  const ShapeBits shape(cat.getType().getShape());
  const int dim = static_cast<int>(cat.getDim());
  return interleave(lowering, op, shape.shift(dim) + shape.width(dim) - 1);
}

/// The operand's layout is joined(result's): register 2r + i goes to register r of result i.
LogicalResult lowerSplit(Lowering &lowering, Operation *op) {
  const llvm::ArrayRef<llvm::Value *> values = lowering.get(op->getOperand(0));
  for (int half = 0; half < 2; ++half) {
    Registers results;
    for (size_t reg = half; reg < values.size(); reg += 2)
      results.push_back(values[reg]);
    if (!tlg::hasLayout(op->getResult(half).getType()))
      results.resize(1);
    lowering.set(op->getResult(half), results);
  }
  return success();
}

LogicalResult lowerProgramId(Lowering &lowering, Operation *op) {
  lowering.set(op->getResult(0),
               lowering.programId(static_cast<int>(cast<tl::ProgramIdOp>(op).getAxis())));
  return success();
}

LogicalResult lowerNumPrograms(Lowering &lowering, Operation *op) {
  static constexpr llvm::Intrinsic::ID kIds[] = {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x,
                                                 llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_y,
                                                 llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_z};
  const auto axis = cast<tl::NumProgramsOp>(op).getAxis();
  lowering.set(op->getResult(0), lowering.builder().CreateIntrinsic(
                                     axis == 0 && lowering.numCtas() > 1
                                         ? llvm::Intrinsic::nvvm_read_ptx_sreg_nclusterid_x
                                         : kIds[axis],
                                     {}));
  return success();
}

} // namespace

llvm::ArrayRef<LoweringRow> shapeRows() {
  static constexpr LoweringRow kRows[] = {
      {"tl.broadcast", lowerRenumbering},
      {"tl.cat", lowerCat},
      {"tl.expand_dims", lowerRenumbering},
      {"tl.join", lowerJoin},
      {"tl.num_programs", lowerNumPrograms},
      {"tl.program_id", lowerProgramId},
      {"tl.range", lowerRange},
      {"tl.reshape", lowerRenumbering},
      {"tl.splat", lowerSplat},
      {"tl.split", lowerSplit},
      {"tl.trans", lowerRenumbering},
      {"tl.unsplat", lowerUnsplat},
  };
  return kRows;
}

} // namespace blockscope::gpu
