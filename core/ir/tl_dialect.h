// The `tl` dialect in C++: its types, its ops, and what else a context of kernels needs.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace blockscope::tl {

/// How many elements along K share one of `scales`, of tl.dot: 32 where these are bytes, powers of
/// two, and 16 where they are fp8.
int64_t scaleGroup(mlir::Type scales);

/// The resource that checks and traces read: every access writes to it.
struct Observation : mlir::SideEffects::Resource::Base<Observation> {
  llvm::StringRef getName() final { return "Observation"; }
};

} // namespace blockscope::tl

#include "core/ir/tl_dialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "core/ir/tl_types.h.inc"

#define GET_OP_CLASSES
#include "core/ir/tl_ops.h.inc"

namespace blockscope::tl {

/// The i32 attributes of a loop with what tl.range says: `num_stages` and `loop_unroll_factor`.
inline constexpr llvm::StringLiteral kNumStagesHint = "tl.num_stages";
inline constexpr llvm::StringLiteral kUnrollHint = "tl.loop_unroll_factor";

/// Loads the dialects of the block IR: tl, arith, math, scf, func, ub.
void loadDialects(mlir::MLIRContext &context);
/// Registers the same, for a tool that loads them when it parses.
void registerDialects(mlir::DialectRegistry &registry);

} // namespace blockscope::tl
