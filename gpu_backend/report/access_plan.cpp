// As lowering/memory.cpp groups registers into instructions, and leaves copies out of stores.
#include "gpu_backend/report/access_plan.h"

#include "core/ir/convert.h"
#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/layout/layout_queries.h"
#include "gpu_backend/passes/equal_runs.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

#include <optional>
#include <utility>

using namespace mlir;

namespace blockscope::gpu {
namespace {

using Kind = AccessPlan::Kind;
using Way = AccessPlan::Way;

constexpr uint32_t kLanes = 32;

std::optional<std::pair<Kind, Way>> formOf(Operation *op) {
  using Form = std::optional<std::pair<Kind, Way>>;
  return llvm::TypeSwitch<Operation *, Form>(op)
      .Case([](tl::LoadOp) { return Form({Kind::Load, Way::Threads}); })
      .Case([](tlg::AsyncCopyOp) { return Form({Kind::Load, Way::AsyncCopy}); })
      .Case([](tlg::TmaLoadOp) { return Form({Kind::Load, Way::Tma}); })
      .Case([](tl::StoreOp) { return Form({Kind::Store, Way::Threads}); })
      .Case([](tlg::TmaStoreOp) { return Form({Kind::Store, Way::Tma}); })
      .Default([](Operation *other) {
        return tl::isAtomic(other) ? Form({Kind::Atomic, Way::Threads}) : Form();
      });
}

/// A scalar: every warp loads it, with all lanes at one address; one thread stores it.
void planScalar(AccessPlan &plan, int numWarps) {
  plan.instructions = {0};
  plan.lanes.assign(plan.kind == Kind::Load ? kLanes : 1, 0);
  plan.warps.assign(plan.kind == Kind::Load ? static_cast<size_t>(numWarps) : 1, 0);
}

void planBlock(AccessPlan &plan, Operation *op, RankedTensorType type) {
  const LinearLayout layout = tlg::layoutOf(type);
  const auto vector = op->getAttrOfType<DenseI32ArrayAttr>(tlg::kVectorAttribute);
  const RegisterRuns runs =
      contiguity(layout, ShapeBits(type.getShape()),
                 vector ? vector[0] : static_cast<int>(type.getRank()) - 1, vector ? vector[1] : 1);
  const InputBits free =
      plan.kind == Kind::Load && plan.way == Way::Threads ? InputBits() : freeBits(layout);
  plan.elementsPerThread = runs.length;
  const ElementBits equal = equalBits(op, ShapeBits(type.getShape()));
  llvm::DenseSet<ElementBits> known;
  for (int run = 0; run < runs.distinct; run += runs.length) {
    const ElementBits element = layout.registerElement(runs.order[static_cast<size_t>(run)]);
    if (known.insert(element & ~equal).second)
      plan.instructions.push_back(element);
  }
  for (uint32_t lane = 0; lane < static_cast<uint32_t>(layout.laneCount()); ++lane)
    if ((lane & free.lanes) == 0)
      plan.lanes.push_back(layout.laneElement(lane));
  for (uint32_t warp = 0; warp < static_cast<uint32_t>(layout.warpCount()); ++warp)
    if ((warp & free.warps) == 0)
      plan.warps.push_back(layout.warpElement(warp));
}

} // namespace

std::vector<AccessPlan> planAccesses(func::FuncOp function, int numWarps) {
  std::vector<AccessPlan> plans;
  function.walk([&](Operation *op) {
    const auto form = formOf(op);
    if (!form)
      return;
    AccessPlan &plan = plans.emplace_back();
    plan.location = fromMlirLocation(op->getLoc());
    std::tie(plan.kind, plan.way) = *form;
    if (plan.way == Way::Tma)
      return;
    const Type type = op->getOperand(0).getType();
    if (auto pointer = dyn_cast<tl::PtrType>(getElementTypeOrSelf(type)))
      plan.elementBytes = static_cast<int>(tlg::elementBytes(pointer.getPointee()));
    if (tlg::hasLayout(type))
      planBlock(plan, op, cast<RankedTensorType>(type));
    else
      planScalar(plan, numWarps);
  });
  return plans;
}

} // namespace blockscope::gpu
