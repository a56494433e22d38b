// Overlap of one iteration's second dot with the next iteration's first.
//
// Where a loop by wgmma adds the dot of something that it computes and something that it loads to a
// variable, after another dot (attention: scores, then weights times values), the second dot can
// run an iteration later, beside the first one:
//
//   begin the first dot of iteration i and the second one of iteration i - 1
//   wait for the first one; everything between the two dots
//   wait for the second one; what is done with the sum
//
// Where the sum has many more elements than the second dot's first operand, the wait, and what is
// done with the sum, come before the exponentials between the dots: products that scale the sum
// then fill the cycles in which the special units are busy. Attention with 64 keys and heads of
// 128: 372 to 331 us; with as many elements as the operand it is up to 4 % slower (H200).
//
// Before the first iteration zeros are multiplied, after the last one a dot follows the loop.
#pragma once

#include "gpu_backend/ir/tlg_dialect.h"

#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <optional>

namespace blockscope::gpu {

/// The parts of such a loop.
struct DelayedDot {
  tlg::WgmmaOp first, second;
  tlg::WgmmaWaitOp firstWait, secondWait;
  unsigned variable = 0; ///< of the loop, with the second dot's sum
  llvm::SmallPtrSet<mlir::Operation *, 8>
      sumOps; ///< what is done with the sum before it is added to
  /// Before it the second dot is waited for; null: before what is done with the sum.
  mlir::Operation *exponential = nullptr;
  tl::LoadOp load;                            ///< of the second operand
  llvm::SmallVector<mlir::Operation *> views; ///< from the load to the dot
};

/// Returns the parts of a loop of this form; nothing for others.
std::optional<DelayedDot> matchDelayedDot(mlir::scf::ForOp loop);

/// The loads that take the place of the delayed dot's.
struct DelayedLoads {
  tl::LoadOp inLoop, after;
};

/// Delays the dot. Replaces the loop.
DelayedLoads delayDot(mlir::RewriterBase &rewriter, mlir::scf::ForOp &loop, const DelayedDot &dot);

} // namespace blockscope::gpu
