// Overlap of one turn's second product with the next turn's first.
#pragma once

#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

#include <optional>

namespace blockscope::gpu {

/// A load that was moved one turn back, and its last one behind the loop.
struct DelayedLoad {
  tl::LoadOp inLoop;
  tl::LoadOp after;
};

/// Where a loop by wgmma adds the product of something that it computes and something that it loads
/// to a variable, after another product (attention: scores, then weights times values), does that a
/// turn later, at the same time as the next turn's first product:
///
///   begin the first product of turn i and the second one of turn i - 1
///   wait for the first one; everything between the two products
///   wait for the second one; what is done with the sum
///
/// Before the first turn zeros are multiplied, after the last one a product follows the loop.
/// Replaces the loop; nothing where it has not this form.
std::optional<DelayedLoad> delayProduct(mlir::RewriterBase &rewriter, mlir::scf::ForOp &loop);

} // namespace blockscope::gpu
