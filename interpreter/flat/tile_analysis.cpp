// Decides tiles by op; for loops it starts with all carried values and drops those that are not.
#include "interpreter/flat/tile_analysis.h"

#include "core/ir/convert.h"
#include "interpreter/flat/tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace blockscope::interpreter::flat {
namespace {

bool isTileType(mlir::Type mlirType) {
  auto shaped = mlir::dyn_cast<mlir::RankedTensorType>(mlirType);
  if (!shaped || shaped.getRank() > kTileRank || shaped.getNumElements() < 2)
    return false;
  const Type type = fromMlirType(mlirType);
  return type.isPointer() || type.dtype == DType::Int32 || type.dtype == DType::Int64;
}

bool isUniform(mlir::Value value) {
  auto shaped = mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
  if (!shaped || shaped.getNumElements() == 1)
    return true;
  mlir::Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions() != 0)
    return false;
  const llvm::StringRef name = op->getName().getStringRef();
  if (name == "tl.splat")
    return true;
  if (auto constant = mlir::dyn_cast<mlir::arith::ConstantOp>(op))
    return mlir::isa<mlir::SplatElementsAttr>(constant.getValue());
  const bool keepsUniform = name == "tl.expand_dims" || name == "tl.broadcast" ||
                            name == "tl.trans" || name == "tl.reshape" || name == "tl.addptr" ||
                            name == "tl.hint" || op->getName().getDialectNamespace() == "arith";
  return keepsUniform && op->getNumOperands() != 0 && llvm::all_of(op->getOperands(), isUniform);
}

bool isSignedOrder(mlir::Operation &op) {
  using mlir::arith::CmpIPredicate;
  const CmpIPredicate predicate = mlir::cast<mlir::arith::CmpIOp>(op).getPredicate();
  return predicate == CmpIPredicate::slt || predicate == CmpIPredicate::sle ||
         predicate == CmpIPredicate::sgt || predicate == CmpIPredicate::sge;
}

} // namespace

void TileAnalysis::run(mlir::func::FuncOp function) {
  function.walk([&](mlir::scf::ForOp loop) {
    for (const mlir::BlockArgument argument : loop.getRegionIterArgs())
      if (isTileType(argument.getType()))
        carried_.insert(argument);
  });
  for (bool changed = true; changed;) {
    changed = false;
    known_.clear();
    function.walk([&](mlir::scf::ForOp loop) {
      auto yields = loop.getBody()->getTerminator()->getOperands();
      for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs()))
        if (carried_.contains(argument) && !(isTile(loop.getInitArgs()[i]) && isTile(yields[i]))) {
          carried_.erase(argument);
          changed = true;
        }
    });
  }
}

bool TileAnalysis::isTile(mlir::Value value) {
  if (carried_.contains(value))
    return true;
  auto result = mlir::dyn_cast<mlir::OpResult>(value);
  if (!result)
    return false;
  if (auto loop = mlir::dyn_cast<mlir::scf::ForOp>(result.getOwner()))
    return carried_.contains(loop.getRegionIterArgs()[result.getResultNumber()]);
  if (const auto known = known_.find(value); known != known_.end())
    return known->second;
  const bool answer = makesTile(
      *result.getOwner(), [this](mlir::Value operand) { return isTile(operand); }, isUniform);
  known_[value] = answer;
  return answer;
}

uint32_t TileAnalysis::varying(mlir::Value value) const {
  auto shaped = mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
  if (!shaped || isUniform(value))
    return 0;
  uint32_t all = 0;
  for (int64_t d = 0; d < shaped.getRank(); ++d)
    if (shaped.getDimSize(d) != 1)
      all |= 1U << d;
  mlir::Operation *op = value.getDefiningOp();
  if (!op)
    return all;
  const llvm::StringRef name = op->getName().getStringRef();
  if (name == "tl.broadcast")
    return varying(op->getOperand(0));
  if (name == "arith.addi" || name == "arith.subi" || name == "arith.muli")
    return varying(op->getOperand(0)) | varying(op->getOperand(1));
  return all;
}

bool TileAnalysis::makesTile(mlir::Operation &op, llvm::function_ref<bool(mlir::Value)> isTile,
                             llvm::function_ref<bool(mlir::Value)> isUniform) const {
  if (op.getNumResults() != 1 || op.getNumRegions() != 0)
    return false;
  const mlir::Type type = op.getResult(0).getType();
  const llvm::StringRef name = op.getName().getStringRef();
  const auto tile = [&](unsigned i) { return isTile(op.getOperand(i)); };
  const auto either = [&](unsigned i) { return tile(i) || isUniform(op.getOperand(i)); };
  const auto shaped = mlir::dyn_cast<mlir::RankedTensorType>(type);
  if (shaped && shaped.getElementType().isInteger(1)) {
    if (shaped.getRank() > kTileRank || shaped.getNumElements() < 2)
      return false;
    if (name == "arith.cmpi")
      return isSignedOrder(op) && either(0) && either(1) && (tile(0) || tile(1)) &&
             llvm::popcount(varying(op.getOperand(0)) | varying(op.getOperand(1))) <= 1;
    if (name == "arith.andi")
      return tile(0) && tile(1);
    return (name == "tl.expand_dims" || name == "tl.broadcast") && tile(0);
  }
  if (!isTileType(type))
    return false;
  if (name == "tl.range")
    return true;
  if (name == "tl.expand_dims" || name == "tl.broadcast" || name == "tl.trans" || name == "tl.hint")
    return tile(0);
  if (name == "tl.addptr" && !isTileType(op.getOperand(1).getType()))
    return false;
  if (name == "arith.addi" || name == "arith.subi" || name == "tl.addptr")
    return either(0) && either(1) && (tile(0) || tile(1));
  if (name == "arith.remsi")
    return tile(0) && isUniform(op.getOperand(1));
  if (name == "arith.muli")
    return (tile(0) && isUniform(op.getOperand(1))) || (isUniform(op.getOperand(0)) && tile(1));
  if (name == "arith.extsi" || name == "arith.extui")
    return tile(0) && isTileType(op.getOperand(0).getType()); // and not a mask
  return false;
}

} // namespace blockscope::interpreter::flat
