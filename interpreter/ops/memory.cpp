// tl.load, tl.store, tl.addptr, and barriers.
//
// A load or store resolves its addresses to runs, then copies run by run: bounds were checked once
// for each run. Scattered lanes go through a gather loop.
#include "interpreter/evaluator.h"
#include "interpreter/lane_access.h"
#include "interpreter/simd/lanes.h"

#include <cstring>

namespace blockscope::interpreter {
namespace {

struct MemoryOp {
  AccessShape shape;
  int maskOperand = -1;
  int otherOperand = -1;
};

const uint8_t *maskOf(const MemoryOp &op, const void *const *operands) {
  return op.maskOperand < 0 ? nullptr : static_cast<const uint8_t *>(operands[op.maskOperand]);
}

const std::byte *hostOf(const ExecutionContext &context, const ResolvedLanes &lanes,
                        DeviceAddress address) {
  const uint64_t delta =
      lanes.allocation ? lanes.delta : hostDelta(*context.launch->memory.find(address), address);
  return reinterpret_cast<const std::byte *>(address + delta);
}

/// Calls `copy` with all runs, or run by run when they are in different allocations.
template <typename Copy>
void forEachDelta(const ExecutionContext &context, const ResolvedLanes &lanes, Copy copy) {
  if (lanes.allocation) {
    copy(lanes.runs.data(), static_cast<int64_t>(lanes.runs.size()), lanes.delta);
    return;
  }
  for (const AccessRun &run : lanes.runs)
    copy(&run, 1, hostDelta(*context.launch->memory.find(run.address), run.address));
}

void loadLanes(const ExecutionContext &context, const AccessShape &shape,
               const ResolvedLanes &lanes, const DeviceAddress *addresses, std::byte *out) {
  if (!lanes.isScattered) {
    forEachDelta(context, lanes, [&](const AccessRun *runs, int64_t count, uint64_t delta) {
      laneKernels().loadRuns[shape.sizeLog](runs, count, delta, out);
    });
  } else if (lanes.allocation) {
    laneKernels().gather[shape.sizeLog](addresses, lanes.mask, shape.lanes, lanes.firstLane,
                                        lanes.delta, out);
  } else {
    for (int64_t lane = 0; lane < shape.lanes; ++lane)
      if (!lanes.mask || lanes.mask[lane])
        copyTensorBytes(out + lane * shape.elementBytes, hostOf(context, lanes, addresses[lane]),
                        shape.elementBytes);
  }
}

void storeLanes(const ExecutionContext &context, const AccessShape &shape,
                const ResolvedLanes &lanes, const DeviceAddress *addresses,
                const std::byte *values) {
  if (!lanes.isScattered) {
    forEachDelta(context, lanes, [&](const AccessRun *runs, int64_t count, uint64_t delta) {
      laneKernels().storeRuns[shape.sizeLog](runs, count, delta, values);
    });
  } else if (lanes.allocation) {
    laneKernels().scatter[shape.sizeLog](addresses, lanes.mask, shape.lanes, lanes.delta, values);
  } else {
    for (int64_t lane = 0; lane < shape.lanes; ++lane)
      if (!lanes.mask || lanes.mask[lane])
        copyTensorBytes(const_cast<std::byte *>(hostOf(context, lanes, addresses[lane])),
                        values + lane * shape.elementBytes, shape.elementBytes);
  }
}

/// Reads one element the way other threads write it.
void loadScalar(const std::byte *from, int bytes, std::byte *out) {
  switch (bytes) {
  case 1:
    *reinterpret_cast<uint8_t *>(out) =
        __atomic_load_n(reinterpret_cast<const uint8_t *>(from), __ATOMIC_SEQ_CST);
    break;
  case 2:
    *reinterpret_cast<uint16_t *>(out) =
        __atomic_load_n(reinterpret_cast<const uint16_t *>(from), __ATOMIC_SEQ_CST);
    break;
  case 4:
    *reinterpret_cast<uint32_t *>(out) =
        __atomic_load_n(reinterpret_cast<const uint32_t *>(from), __ATOMIC_SEQ_CST);
    break;
  default:
    *reinterpret_cast<uint64_t *>(out) =
        __atomic_load_n(reinterpret_cast<const uint64_t *>(from), __ATOMIC_SEQ_CST);
  }
}

void evalLoad(ExecutionContext &context, void *const *results, const void *const *operands,
              const void *payload) {
  const auto &op = *static_cast<const MemoryOp *>(payload);
  const AccessShape &shape = op.shape;
  const auto *addresses = static_cast<const DeviceAddress *>(operands[0]);
  auto *out = static_cast<std::byte *>(results[0]);
  const size_t bytes = static_cast<size_t>(shape.lanes) * shape.elementBytes;
  const ResolvedLanes lanes = resolveLanes(context, shape, addresses, maskOf(op, operands));
  if (lanes.mask || lanes.activeLanes == 0) { // masked off or refused lanes
    if (op.otherOperand >= 0)
      std::memcpy(out, operands[op.otherOperand], bytes);
    else
      std::memset(out, 0, bytes);
    for (const RefusedLane &refused : lanes.refused)
      std::memset(out + refused.lane * shape.elementBytes, 0, shape.elementBytes);
  }
  if (!context.launch->observers.empty())
    notifyAccess(context, shape, lanes, addresses, nullptr, nullptr);
  if (lanes.activeLanes == 0)
    return;
  if (shape.isVolatile && shape.lanes == 1)
    loadScalar(hostOf(context, lanes, addresses[0]), shape.elementBytes, out);
  else
    loadLanes(context, shape, lanes, addresses, out);
  if (shape.isVolatile)
    noteSeen(context, shape, payload, out, /*changed=*/false);
}

void evalStore(ExecutionContext &context, void *const *, const void *const *operands,
               const void *payload) {
  const auto &op = *static_cast<const MemoryOp *>(payload);
  const auto *addresses = static_cast<const DeviceAddress *>(operands[0]);
  const ResolvedLanes lanes = resolveLanes(context, op.shape, addresses, maskOf(op, operands));
  if (!context.launch->observers.empty())
    notifyAccess(context, op.shape, lanes, addresses, operands[1], nullptr);
  if (lanes.activeLanes == 0)
    return;
  storeLanes(context, op.shape, lanes, addresses, static_cast<const std::byte *>(operands[1]));
  noteProgress(context);
  if (context.launch->changes.isOn())
    noteRange(context, op.shape, lanes);
}

bool isAccess(const OpSignature &signature, size_t operands) {
  return signature.operands.size() >= operands && signature.operands[0].isPointer();
}

/// Pointers in memory are integers: the rule book converts them.
bool isOfPointers(const OpSignature &signature) { return signature.operands[0].pointerDepth > 1; }

EvaluatorOrError chooseLoad(const OpSignature &signature) {
  if (!isAccess(signature, 1) || signature.results.size() != 1)
    return {{}, "tl.load needs a pointer"};
  if (isOfPointers(signature))
    return {{}, "tl.load of pointers is not supported, expected integers and tl.int_to_ptr"};
  auto op =
      std::make_shared<MemoryOp>(MemoryOp{AccessShape(AccessKind::Load, signature.operands[0])});
  op->shape.isVolatile = signature.attributes.getBool("is_volatile");
  int next = 1;
  if (signature.attributes.getBool("has_mask"))
    op->maskOperand = next++;
  if (signature.attributes.getBool("has_other"))
    op->otherOperand = next++;
  if (next != static_cast<int>(signature.operands.size()))
    return {{}, "tl.load has operands that has_mask and has_other do not name"};
  return {Evaluator::makeContext(evalLoad, std::move(op)), ""};
}

EvaluatorOrError chooseStore(const OpSignature &signature) {
  if (!isAccess(signature, 2))
    return {{}, "tl.store needs a pointer and a value"};
  if (isOfPointers(signature))
    return {{}, "tl.store of pointers is not supported, expected tl.ptr_to_int and integers"};
  auto op =
      std::make_shared<MemoryOp>(MemoryOp{AccessShape(AccessKind::Store, signature.operands[0])});
  if (signature.operands.size() == 3)
    op->maskOperand = 2;
  return {Evaluator::makeContext(evalStore, std::move(op)), ""};
}

EvaluatorOrError chooseAddPtr(const OpSignature &signature) {
  if (!isAccess(signature, 2))
    return {{}, "tl.addptr needs a pointer and an offset"};
  const LaneKernels &kernels = laneKernels();
  const auto size = std::make_shared<const int64_t>(signature.operands[0].pointee().elementBytes());
  switch (signature.operands[1].elementBytes()) {
  case 4:
    return {Evaluator::makeElementwise(signature.attributes.getBool("is_unsigned")
                                           ? kernels.addUnsigned32
                                           : kernels.addSigned32,
                                       size),
            ""};
  case 8:
    return {Evaluator::makeElementwise(kernels.add64, size), ""};
  default:
    return {{},
            "tl.addptr needs an offset of 32 or 64 bits, found " +
                signature.operands[1].scalar().str()};
  }
}

void evalBarrier(ExecutionContext &context, void *const *, const void *const *, const void *) {
  for (Observer *observer : context.launch->observers)
    observer->onBarrier(context.linearProgram, context.worker);
}

void evalNothing(void *const *, const void *const *, const void *) {}

} // namespace

void addAtomicEvaluators(EvaluatorTable &table); // ops/atomics.cpp

void addMemoryEvaluators(EvaluatorTable &table) {
  table.add("tl.load", chooseLoad);
  table.add("tl.store", chooseStore);
  table.add("tl.addptr", chooseAddPtr);
  table.add("tl.barrier", [](const OpSignature &) -> EvaluatorOrError {
    return {Evaluator::makeContext(evalBarrier), ""};
  });
  // Launches come one after another on the CPU: there is nothing to wait for.
  for (const char *name : {"tl.gdc_wait", "tl.gdc_launch_dependents"})
    table.add(name, [](const OpSignature &) -> EvaluatorOrError {
      return {Evaluator::makeBlock(evalNothing), ""};
    });
  addAtomicEvaluators(table);
}

} // namespace blockscope::interpreter
