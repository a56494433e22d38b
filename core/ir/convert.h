// Between the types, attributes and locations of core and those of MLIR.
#pragma once

#include "core/attributes.h"
#include "core/source_location.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"

namespace blockscope {

/// Returns the type of the IR: integers lose their sign, pointers their const.
mlir::Type toMlirType(mlir::MLIRContext &context, const Type &type);
/// Returns the storage type (signless integers) of a type of the block IR; void for any other.
Type fromMlirType(mlir::Type type);

/// Returns attribute `name` of op `opName` in the kind that the op declares; null when a false unit
/// attribute is to be left out.
mlir::Attribute toMlirAttribute(mlir::MLIRContext &context, llvm::StringRef opName,
                                llvm::StringRef name, const Attribute &value);
/// Returns the attributes of an op as `OpSignature` has them: defaults filled in, predicates as
/// upstream's numbers, `has_mask` and `has_other` for operand segments, `value` of a constant that
/// is a scalar or a block of equal elements (integers sign-extended, floats as double).
Attributes attributesOf(mlir::Operation *op);

/// Returns a location of the form name(variable, callsite(fused<function>[file:line:col], ...)).
mlir::Location toMlirLocation(mlir::MLIRContext &context, const SourceLocation &location);
/// Reads such a location back; also what passes make of it (fused, nested call sites).
SourceLocation fromMlirLocation(mlir::Location location);

/// The IR's integers have no sign. The location of an op whose result is unsigned in the language
/// says so; passes keep it there, and nothing that is computed depends on it.
mlir::Location markUnsigned(mlir::Location location);
/// Whether an op at this location, or one that passes have fused into it, has an unsigned result.
bool isMarkedUnsigned(mlir::Location location);

/// The location of an op in unrolled loops says in which iteration of each, the outermost first.
mlir::Location markIterations(mlir::Location location, llvm::ArrayRef<int32_t> iterations);
/// Reads them back; empty where there are none.
llvm::ArrayRef<int32_t> markedIterations(mlir::Location location);

} // namespace blockscope
