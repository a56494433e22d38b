// Lowers tile ops, and loads and stores through tiles. Every tile also gets a block form, which
// fusion drops when nothing needs it.
#include "core/ir/convert.h"
#include "interpreter/flat/program_builder.h"

#include <cstring>

namespace blockscope::interpreter::flat {

void ProgramBuilder::bindTile(mlir::Value value, ValueId tile) {
  tileIds_[value] = tile;
  const Type type = fromMlirType(value.getType());
  const ValueId block = newRegister(value.getType());
  LoweredOp &op = add(LoweredOp::Kind::Elementwise);
  op.name = "tile to block";
  op.elements = type.numElements();
  op.operands = {tile};
  op.results = {block};
  op.evaluator = makeTileToBlock(type);
  bind(value, block);
}

ValueId ProgramBuilder::newTileRegister(mlir::Type type) {
  return lowered_.addRegister(8, tileWords(fromMlirType(type)));
}

bool ProgramBuilder::lowerTileOp(mlir::Operation &op, bool &handled) {
  handled = false;
  if (!useTiles_ || op.getNumResults() != 1)
    return true;
  const auto isTile = [&](mlir::Value value) { return tileIds_.contains(value); };
  if (!analysis_.makesTile(op, isTile, [&](mlir::Value value) { return isUniform(value); }) ||
      isUniformResult(op))
    return true;
  handled = true;
  const llvm::StringRef name = op.getName().getStringRef();
  const mlir::Value result = op.getResult(0);
  if (name == "tl.range") {
    lowerRange(op);
    Tile tile;
    tile.base = attributesOf(&op).getInt("start");
    tile.strides[0] = 1;
    std::byte bytes[kTileHeader] = {};
    std::memcpy(bytes, &tile, sizeof tile);
    tileIds_[result] = addConstant(bytes, 8);
    return true;
  }
  if (name == "tl.hint") {
    tileIds_[result] = tileIds_.lookup(op.getOperand(0));
    bind(result, idOf(op.getOperand(0)));
    return true;
  }
  LoweredOp lowered;
  lowered.kind = LoweredOp::Kind::Block;
  lowered.name = nameOf(op);
  uint32_t tiles = 0;
  for (const mlir::Value operand : op.getOperands()) {
    const bool tile = isTile(operand);
    tiles |= static_cast<uint32_t>(tile) << lowered.operands.size();
    lowered.operands.push_back(tile ? tileIds_.lookup(operand) : idOf(operand));
  }
  const bool keepsIndex = name != "tl.expand_dims" && name != "tl.broadcast" &&
                          name != "tl.trans" && name != "arith.cmpi" && name != "arith.remsi";
  lowered.pointwiseOperands = keepsIndex ? tiles : 0;
  const ValueId tile = newTileRegister(result.getType());
  lowered.results = {tile};
  lowered.evaluator = makeTileOp(signatureOf(op, attributesOf(&op)), tiles);
  lowered_.ops.push_back(std::move(lowered));
  bindTile(result, tile);
  return true;
}

bool ProgramBuilder::isUniformResult(mlir::Operation &op) const {
  return op.getNumOperands() != 0 &&
         llvm::all_of(op.getOperands(), [&](mlir::Value operand) { return isUniform(operand); });
}

bool ProgramBuilder::lowerTileAccess(mlir::Operation &op, const Evaluator &general,
                                     const Attributes &attributes, bool &handled) {
  const llvm::StringRef name = op.getName().getStringRef();
  const bool isLoad = name == "tl.load";
  handled = false;
  if (!(isLoad || name == "tl.store") || attributes.getBool("is_volatile") ||
      !tileIds_.contains(op.getOperand(0)))
    return true;
  const unsigned maskAt = isLoad ? 1 : 2;
  const bool hasMask = isLoad ? attributes.getBool("has_mask") : op.getNumOperands() == 3;
  if (hasMask && !tileIds_.contains(op.getOperand(maskAt)))
    return true;
  if (isLoad && attributes.getBool("has_other") &&
      !isUniform(op.getOperand(op.getNumOperands() - 1)))
    return true;
  handled = true;

  ValueIds operands = {tileIds_.lookup(op.getOperand(0))};
  bool valueIsScalar = false;
  if (!isLoad) {
    valueIsScalar = isUniform(op.getOperand(1));
    operands.push_back(idOf(op.getOperand(1)));
  }
  if (hasMask)
    operands.push_back(tileIds_.lookup(op.getOperand(maskAt)));
  if (isLoad && attributes.getBool("has_other"))
    operands.push_back(idOf(op.getOperand(op.getNumOperands() - 1)));
  LoweredOp lowered;
  lowered.kind = LoweredOp::Kind::Context;
  lowered.name = nameOf(op);
  lowered.op = addOpInfo(op);
  lowered.elements = fromMlirType(op.getOperand(0).getType()).numElements();
  lowered.operands.assign(operands.begin(), operands.end());
  const OpSignature signature = signatureOf(op, attributes);
  lowered.evaluator =
      isLoad ? makeTileLoad(signature, general) : makeTileStore(signature, valueIsScalar, general);
  if (isLoad) {
    lowered.results = {newRegister(op.getResult(0).getType())};
    bind(op.getResult(0), lowered.results[0]);
  }
  lowered_.ops.push_back(std::move(lowered));
  return true;
}

} // namespace blockscope::interpreter::flat
