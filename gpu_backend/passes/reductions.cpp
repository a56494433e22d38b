#include "gpu_backend/passes/reductions.h"

#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/layout/layout_queries.h"
#include "gpu_backend/passes/commutes.h"

using namespace mlir;

namespace blockscope::gpu {

bool isInAnyOrder(tl::ReduceOp reduce) {
  return reduce->hasAttr(tlg::kAnyOrderAttribute) || commutes(reduce.getCombine());
}

bool isAmongThreads(tl::ReduceOp reduce) {
  const Type type = reduce.getOperand(0).getType();
  const LinearLayout layout = tlg::layoutOf(type);
  const std::optional<InputBits> along =
      inputsAlong(layout, ShapeBits(cast<ShapedType>(type).getShape()), reduce.getAxis());
  const InputBits copies = freeBits(layout);
  return along && ((along->lanes & ~copies.lanes) != 0 || (along->warps & ~copies.warps) != 0);
}

} // namespace blockscope::gpu
