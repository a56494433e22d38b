// Chooses the kind of ring for each loop.
#include "gpu_backend/pipelining/rings.h"

#include "gpu_backend/passes/disjoint_arguments.h"
#include "gpu_backend/passes/place_conversions.h"
#include "gpu_backend/passes/wanted_layouts.h"

#include <memory>

using namespace mlir;

namespace blockscope::gpu {
namespace {

std::unique_ptr<LoopRing> ringFor(const LoopPlan &loop) {
  switch (loop.rings.front().sync) {
  case RingSync::CtaBarrier:
    return std::make_unique<CpAsyncRing>(loop);
  case RingSync::FilledMbarriers:
    return std::make_unique<TmaRing>(loop);
  case RingSync::FilledAndReleasedMbarriers:
    return std::make_unique<IndependentRing>(loop);
  case RingSync::ClusterMbarriers:
    return std::make_unique<ClusterRing>(loop);
  }
  return nullptr;
}

LogicalResult writeEarlyLoads(const LoopPlan &plan) {
  llvm::SmallVector<Operation *> loads;
  for (const LoadPlan &load : plan.loads)
    if (load.copy == CopyKind::Registers)
      loads.push_back(load.load);
  return loadEarly(cast<scf::ForOp>(plan.loop), loads);
}

} // namespace

LogicalResult writePipelines(func::FuncOp function, const PipelinePlan &plan) {
  for (const LoopPlan &loop : plan.loops) {
    if (!loop.isPipelined() && !loop.loadsEarly())
      continue;
    for (const auto [loaded, stored] : loop.disjoint)
      requireDisjoint(function, loaded, stored);
    if (failed(loop.isPipelined() ? ringFor(loop)->write() : writeEarlyLoads(loop)))
      return failure();
  }
  readInWantedLayouts(function);
  placeConversions(function, /*inPipelines=*/true);
  return success();
}

} // namespace blockscope::gpu
