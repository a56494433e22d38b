// From the block IR to a flat program. No MLIR headers here.
#pragma once

#include "interpreter/flat/flat_program.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace blockscope {
class IrEmitter;
} // namespace blockscope

namespace blockscope::interpreter {

/// Switches of the build; tests compare results with and without them.
struct FlatOptions {
  bool fuse = true;     ///< run elementwise chains strip by strip
  bool coalesce = true; ///< update loop-carried values in place
  bool tiles = true;    ///< keep affine offsets and pointers as base and strides
  bool share = true;    ///< let values that never live at once share memory
  /// The form that shows values (Observer::onValues): no tiles, and no result in the place of an
  /// operand. Slower, also where nobody looks.
  bool values = false;
  /// The form that shows the operands of claims (RunNeeds::claims), otherwise as fast as any.
  bool claims = false;
};

/// Lowers the module's one function. The module is not changed and not needed afterwards.
///
/// Errors: an op that has no evaluator, more registers than can be addressed; then the result is
/// not valid and `error` is "file:line:column: error: ..." with the user's position.
FlatProgram buildFlatProgram(mlir::ModuleOp module, std::string *error,
                             const FlatOptions &options = {});
/// The same for the module of an emitter; for callers without MLIR headers.
FlatProgram buildFlatProgram(const IrEmitter &emitter, std::string *error,
                             const FlatOptions &options = {});

} // namespace blockscope::interpreter
