// Chooses the kind of ring for each loop.
#include "gpu_backend/pipelining/rings.h"

#include "gpu_backend/passes/disjoint_arguments.h"
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
  }
  return nullptr;
}

} // namespace

LogicalResult writePipelines(func::FuncOp function, const PipelinePlan &plan) {
  for (const LoopPlan &loop : plan.loops) {
    if (!loop.isPipelined())
      continue;
    for (const auto [loaded, stored] : loop.disjoint)
      requireDisjoint(function, loaded, stored);
    if (failed(ringFor(loop)->write()))
      return failure();
  }
  readInWantedLayouts(function);
  return success();
}

} // namespace blockscope::gpu
