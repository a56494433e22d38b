#include "core/passes/licm.h"

#include "core/ir/option_attributes.h"

#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;

namespace blockscope {
namespace {

struct LicmPass : PassWrapper<LicmPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LicmPass)

  llvm::StringRef getArgument() const final { return "blk-licm"; }
  llvm::StringRef getDescription() const final {
    return "take what does not change out of loops, but for those that say tl.disable_licm";
  }

  void runOnOperation() final {
    // Inner loops come first, so that what leaves them may leave the outer ones as well.
    getOperation()->walk([](LoopLikeOpInterface loop) {
      if (!loop->hasAttr(tl::kDisableLicmHint))
        moveLoopInvariantCode(loop);
    });
  }
};

} // namespace

std::unique_ptr<Pass> createLicmPass() { return std::make_unique<LicmPass>(); }

} // namespace blockscope
