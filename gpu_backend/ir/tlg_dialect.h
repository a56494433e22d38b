// The `tlg` dialect in C++: the layout attribute of tensor types, and the ops of the GPU level.
#pragma once

#include "gpu_backend/layout/shared_layout.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "gpu_backend/ir/tlg_dialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "gpu_backend/ir/tlg_attributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "gpu_backend/ir/tlg_types.h.inc"

#define GET_OP_CLASSES
#include "gpu_backend/ir/tlg_ops.h.inc"

namespace blockscope::tlg {

gpu::LinearLayout toLayout(LayoutAttr attribute);
LayoutAttr toAttribute(mlir::MLIRContext *context, const gpu::LinearLayout &layout);

/// The layout of a tensor type of the GPU level. The type must have one.
gpu::LinearLayout layoutOf(mlir::Type type);
bool hasLayout(mlir::Type type);
/// The same tensor type with another layout.
mlir::RankedTensorType withLayout(mlir::Type type, const gpu::LinearLayout &layout);

/// The layout of a buffer in shared memory, and the type of a buffer or ring of that layout.
gpu::SharedLayout sharedLayoutOf(SharedType type);
SharedType sharedType(llvm::ArrayRef<int64_t> shape, mlir::Type elementType,
                      const gpu::SharedLayout &layout, int stages = 1);

/// The size of an element in memory: of int1 1, of pointers 8.
int elementBytes(mlir::Type type);

/// The module's attribute with the number of warps of a program.
inline constexpr llvm::StringLiteral kNumWarpsAttribute = "tlg.num_warps";
/// The module's attributes with the architecture (a string) and the stages of loops (i32): what
/// passes take when their options say nothing.
inline constexpr llvm::StringLiteral kArchAttribute = "tlg.arch";
inline constexpr llvm::StringLiteral kNumStagesAttribute = "tlg.num_stages";
/// The i32 attribute of a kernel argument that is a multiple of it (bytes for pointers).
inline constexpr llvm::StringLiteral kDivisibilityAttribute = "tl.divisibility";
/// The bool attribute of an access by a tensor descriptor, which promises what TMA needs: the base
/// and all strides but the last one are multiples of 16 bytes.
inline constexpr llvm::StringLiteral kDescribedAttribute = "tl.described";
/// The i32 attribute of an access: how many neighbouring elements of a thread go in one
/// instruction.
inline constexpr llvm::StringLiteral kVectorAttribute = "tlg.vector";
/// The i32 array attribute of a comparison or a load: along each dimension, how many neighbouring
/// elements are equal, of a load at one address (a power of two; runs begin at multiples of it).
inline constexpr llvm::StringLiteral kEqualRunsAttribute = "tlg.equal_runs";
/// The unit attribute of a reduction that may take its elements in any order, because of what its
/// operands can be.
inline constexpr llvm::StringLiteral kAnyOrderAttribute = "tlg.any_order";
/// The module's unit attributes that say that blocks which a loop loads alike in each iteration
/// were loaded before it, and that they are to stay in it.
inline constexpr llvm::StringLiteral kBlocksLeftLoopsAttribute = "tlg.blocks_left_loops";
inline constexpr llvm::StringLiteral kKeepBlocksAttribute = "tlg.keep_blocks_in_loops";
/// The module's unit attribute that says that buffers share bytes wherever they can.
inline constexpr llvm::StringLiteral kTogetherAttribute = "tlg.buffers_together";
/// The unit attribute of a loop that is not the kernel's own: it goes over parts of its blocks
/// (passes/element_loops).
inline constexpr llvm::StringLiteral kOfElementsAttribute = "tlg.of_elements";
/// The module's unit attribute that says to do without TMA.
inline constexpr llvm::StringLiteral kNoTmaAttribute = "tlg.no_tma";
/// The module's unit attribute that says that any two arguments may overlap in memory, but for the
/// pairs of the attribute below, which is as kDisjointAttribute.
inline constexpr llvm::StringLiteral kMayOverlapAttribute = "tlg.may_overlap";
inline constexpr llvm::StringLiteral kKnownDisjointAttribute = "tlg.known_disjoint";
/// The array attribute of a function that relies on arguments not to overlap in memory: pairs of
/// their numbers (i32 arrays).
inline constexpr llvm::StringLiteral kDisjointAttribute = "tlg.disjoint";
/// The module's unit attribute that says that any integer argument may be negative.
inline constexpr llvm::StringLiteral kMayBeNegativeAttribute = "tlg.may_be_negative";
/// The array attribute of a function that relies on integer arguments to be at least 0 or 1: pairs
/// of their numbers and that (i32 arrays).
inline constexpr llvm::StringLiteral kAtLeastAttribute = "tlg.at_least";
/// The module's attribute with the CTAs that a program should have (i32), and the function's with
/// those that it has, once it is split; a function that cannot be split has the reason (a string)
/// and where it is (an array of locations).
inline constexpr llvm::StringLiteral kNumCtasAttribute = "tlg.num_ctas";
inline constexpr llvm::StringLiteral kClusterAttribute = "tlg.cluster";
inline constexpr llvm::StringLiteral kNoClusterAttribute = "tlg.no_cluster";
inline constexpr llvm::StringLiteral kNoClusterAtAttribute = "tlg.no_cluster_at";
/// The unit attribute of a load of which all CTAs of the cluster want all of the block.
inline constexpr llvm::StringLiteral kSharedByCtasAttribute = "tlg.shared_by_ctas";
/// The array attribute of a function with its tensor maps: dictionaries with the fields of
/// TensorMap (gpu_backend/tensor_map.h) and `contiguous_dim`, of the block. Each is a parameter of
/// the kernel.
inline constexpr llvm::StringLiteral kTensorMapsAttribute = "tlg.tensor_maps";

} // namespace blockscope::tlg

namespace blockscope::gpu {

// In this component these names mean MLIR's, not those of core/.
using mlir::Attribute;
using mlir::Type;
using mlir::Value;

} // namespace blockscope::gpu
