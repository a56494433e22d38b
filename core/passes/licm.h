// The pass that takes what does not change out of loops, but for those that say tl.disable_licm.
#pragma once

#include <memory>

namespace mlir {
class Pass;
} // namespace mlir

namespace blockscope {

std::unique_ptr<mlir::Pass> createLicmPass();

} // namespace blockscope
