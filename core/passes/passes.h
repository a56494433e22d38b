// The passes that every kernel goes through before it is run: inline, simplify, CSE, LICM.
//
// Simplify is canonicalization held to one rule: it never computes a float, because both CPU modes
// must give the same bits and only the evaluators know them. No MLIR headers here.
#pragma once

#include <string>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace blockscope {

class IrEmitter;

/// Runs the pipeline; returns false with the text of the errors when it fails.
bool runPasses(mlir::ModuleOp module, std::string *errors = nullptr);
bool runPasses(IrEmitter &emitter, std::string *errors = nullptr);

/// Registers the passes and the pipeline `blk-cpu` by name, for blk-opt.
void registerPasses();

} // namespace blockscope
