// Whether the threads of a program exchange what they loaded, read off the block IR.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::interpreter::flat {

/// Where they may, warps meet at barriers that the compiler puts around the exchange. False where
/// all that is loaded goes through elementwise ops alone.
bool mayExchange(mlir::func::FuncOp function);

} // namespace blockscope::interpreter::flat
