// Walks the MLIR of one function or combine region and lists its ops over virtual registers.
//
// Only the builder*.cpp files see MLIR. A value is bound to a register, a constant or an argument;
// shape-only ops bind their result to their source, splats to their scalar.
#pragma once

#include "interpreter/flat/address_analysis.h"
#include "interpreter/flat/lowered.h"
#include "interpreter/flat/tile.h"
#include "interpreter/flat/tile_analysis.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>

namespace blockscope::interpreter::flat {

class ProgramBuilder {
public:
  ProgramBuilder(FlatProgram &program, const FlatOptions &options)
      : program_(program), options_(options) {}

  bool buildFunction(mlir::func::FuncOp function);
  /// Builds a combine region, which is isolated, for `lanes` lanes at a time.
  bool buildCombine(mlir::Block &body, int64_t lanes);

  const std::string &error() const { return error_; }
  /// Whether the analysis promised a tile that lowering did not make: build again without tiles.
  bool lostTile() const { return lostTile_; }

private:
  using ValueIds = llvm::SmallVector<ValueId, 4>;

  // builder.cpp: ops
  bool lowerBlock(mlir::Block &block); // all but the terminator
  bool lowerOp(mlir::Operation &op);
  bool lowerShapeOp(mlir::Operation &op, bool &handled);
  bool lowerWithEvaluator(mlir::Operation &op);
  bool lowerConstant(mlir::arith::ConstantOp op);
  void lowerRange(mlir::Operation &op);
  void finish();
  void keepFactsByPlace();

  // builder_control.cpp: scf
  bool lowerIf(mlir::scf::IfOp op);
  bool lowerFor(mlir::scf::ForOp op);
  bool lowerWhile(mlir::scf::WhileOp op);
  void watchLoop(LoweredOp &next, mlir::scf::WhileOp op, const ValueIds &carried);
  void bindCarried(mlir::ValueRange arguments, mlir::ValueRange initial, ValueIds &registers);
  /// Copies values into registers, at once; `asTile` (if not empty) says which ones as tiles.
  bool addCopy(llvm::ArrayRef<ValueId> to, mlir::ValueRange from, llvm::ArrayRef<bool> asTile = {});

  // builder_tiles.cpp: affine blocks
  bool lowerTileOp(mlir::Operation &op, bool &handled);
  bool lowerTileAccess(mlir::Operation &op, const Evaluator &general, const Attributes &attributes,
                       bool &handled);
  /// Binds `value` to a tile, and to the block that is made of it where one is needed.
  void bindTile(mlir::Value value, ValueId tile);
  ValueId newTileRegister(mlir::Type type);
  bool isUniformResult(mlir::Operation &op) const;

  // builder_combine.cpp: reduce, scan and map
  bool lowerCombine(mlir::Operation &op);
  bool lowerKnownCombine(mlir::Operation &op, bool &handled);
  /// The region of an op as observers see it; null where it has control flow, or needs more.
  std::shared_ptr<const CombineRegion> regionOf(mlir::Operation &op);

  int64_t elementsOf(mlir::Type type) const;
  ValueId newRegister(mlir::Type type);
  ValueId idOf(mlir::Value value) const { return bindings_.lookup(value); }
  bool isUniform(mlir::Value value) const { return lowered_.values[idOf(value)].elements == 1; }
  void bind(mlir::Value value, ValueId id) { bindings_[value] = id; }
  /// Returns a register with all elements of `value`: splats are filled out.
  ValueId whole(mlir::Value value);
  /// The same for an operand that nothing is written to: constant splats are filled out once, when
  /// the program is built.
  ValueId wholeForReading(mlir::Value value);
  ValueId addConstant(llvm::ArrayRef<std::byte> bytes, int elementBytes);
  OpSignature signatureOf(mlir::Operation &op, Attributes attributes) const;
  llvm::StringRef nameOf(mlir::Operation &op);
  uint32_t addOpInfo(mlir::Operation &op);
  /// Makes an op that observers of values see; its number. Without such observers: 0.
  uint32_t show(mlir::Operation &op, const LoweredOp &lowered);
  /// Lets observers of claims see the operands of an op.
  void showClaim(mlir::Operation &op);
  uint32_t showFill(mlir::Value value, const LoweredOp &lowered);
  void showLoop(uint32_t number, mlir::scf::ForOp op);
  LoweredOp &add(LoweredOp::Kind kind) {
    lowered_.ops.emplace_back().kind = kind;
    return lowered_.ops.back();
  }
  LoweredOp &addTo(LoweredOp::Kind kind, uint32_t label) {
    LoweredOp &op = add(kind);
    op.target = label;
    return op;
  }
  bool fail(mlir::Operation &op, const llvm::Twine &message);

  FlatProgram &program_;
  FlatOptions options_;
  Lowered lowered_;
  llvm::DenseMap<mlir::Value, ValueId> bindings_;
  std::map<std::pair<int64_t, int64_t>, ValueId> ranges_;
  std::map<std::pair<ValueId, int64_t>, ValueId> filledConstants_;
  TileAnalysis analysis_;
  AddressAnalysis addresses_;
  llvm::DenseMap<uint32_t, llvm::ArrayRef<int32_t>> unrolled_; ///< iterations, by accesses' ops
  llvm::DenseMap<mlir::Value, ValueId> tileIds_;
  bool useTiles_ = false;
  bool lostTile_ = false;
  int64_t lanes_ = 1;
  std::string error_;
};

} // namespace blockscope::interpreter::flat
