// The widths of atomics follow from what PTX has, those of loads and stores from their addresses.
#include "gpu_backend/passes/access_width.h"

#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/passes/block_queries.h"

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;

namespace blockscope::gpu {
namespace {

int64_t widestAtomic(Operation *op, const GpuTarget &target) {
  auto atomic = dyn_cast<tl::AtomicRmwOp>(op);
  if (!atomic || atomic.getKind() != "fadd")
    return 1;
  const Type type = getElementTypeOrSelf(atomic.getType());
  const bool hasVectors = target.hasBf16Atomics; // they came with sm_90, both of them
  if (hasVectors && (type.isF16() || type.isBF16() || type.isF32()))
    return 16 / tlg::elementBytes(type);
  return type.isF16() ? 2 : 1;
}

/// How far `count` neighbours lie apart, in elements, where that is known.
std::optional<int64_t> stepAlong(const AxisInfo::Dim &known, int64_t count) {
  if (known.contiguity > 1)
    return 1;
  return known.constancy > 1 ? 0 : known.spacing.of(count);
}

constexpr int64_t kLineBytes = 128, kSectorBytes = 32;

/// The sectors and lines that an access touches for each element, when a thread has `width`
/// neighbours, 32 threads side by side. A line takes a multiprocessor about as long as a sector:
/// values stored 32 bytes apart, four neighbours a thread, took 94 us, and 60 one by one (H200).
double touchedPerElement(int64_t width, int64_t vector, int64_t step, int64_t elementBytes) {
  constexpr int64_t kLanes = 32, kFewest = 4; // sectors: a line goes at a time
  const int64_t pieces = std::max<int64_t>(width / vector, 1);
  const int64_t bytes = kLanes * width * std::abs(step) * elementBytes;
  const int64_t sectors = std::clamp(bytes / kSectorBytes, kFewest, kLanes),
                lines = std::clamp<int64_t>(bytes / kLineBytes, 1, kLanes);
  return static_cast<double>(pieces * (sectors + lines)) / static_cast<double>(width);
}

} // namespace

Value maskOf(Operation *access) {
  return llvm::TypeSwitch<Operation *, Value>(access)
      .Case<tl::LoadOp, tl::StoreOp, tl::AtomicRmwOp, tl::AtomicLoadOp, tl::AtomicStoreOp>(
          [](auto op) { return op.getMask(); })
      .Default(Value());
}

int64_t accessWidth(Operation *access, const AxisAnalysis &axes, const GpuTarget &target, int dim) {
  const int64_t width = axes.vectorWidth(access->getOperand(0), maskOf(access), dim);
  return tl::isAtomic(access) ? std::min(width, widestAtomic(access, target)) : width;
}

int64_t widestAccess(llvm::ArrayRef<Operation *> accesses, const AxisAnalysis &axes,
                     const GpuTarget &target, int dim) {
  int64_t widest = 1;
  for (Operation *op : accesses)
    if (!tl::isAtomic(op))
      widest = std::max(widest, accessWidth(op, axes, target, dim));
  return widest;
}

int64_t commonWidth(llvm::ArrayRef<Operation *> accesses, const AxisAnalysis &axes,
                    const GpuTarget &target, int dim) {
  constexpr int64_t kFewNeighbours = 8;
  constexpr int64_t kVectorBytes = 16;
  constexpr int64_t kLeastBytes = 4; // of a thread's access: a warp's is a line
  struct Access {
    int64_t width, step, elementBytes, times;
  };
  llvm::SmallVector<Access> all;
  int64_t widest = 1, widestStore = std::numeric_limits<int64_t>::max();
  int64_t fewestBytes = std::numeric_limits<int64_t>::max(); // of an element
  bool isStrided = false;
  int deepest = 0;
  for (Operation *op : accesses)
    deepest = std::max(deepest, loopDepth(op));
  for (Operation *op : accesses) {
    if (tl::isAtomic(op))
      continue;
    Value pointer = op->getOperand(0);
    const int64_t width = accessWidth(op, axes, target, dim);
    widest = std::max(widest, width);
    const int64_t bytes =
        tlg::elementBytes(cast<tl::PtrType>(getElementTypeOrSelf(pointer.getType())).getPointee());
    fewestBytes = std::min(fewestBytes, bytes);
    if (isa<tl::StoreOp>(op) && width * bytes == kVectorBytes && loopDepth(op) == deepest)
      widestStore = std::min(widestStore, width);
    const std::optional<int64_t> step = stepAlong(axes.at(pointer).dims[dim], kFewNeighbours);
    if (!step)
      continue;
    all.push_back({width, *step, bytes, timesRun(op)});
    // Those of a row that runs down are taken one by one, however near they are.
    // Beyond a line each is alone anyway.
    isStrided |= (*step < 0 || *step > 1) && std::abs(*step) * bytes < kLineBytes;
  }
  if (!isStrided) {
    // A store that takes several vectors of a thread leaves gaps in each sector that it touches.
    // What is loaded in parts of a vector leaves none, and gaps are filled from the L1 cache.
    const int64_t dense = std::min(widest, widestStore);
    return dense * fewestBytes >= kLeastBytes ? dense : widest;
  }
  int64_t best = widest;
  double fewest = std::numeric_limits<double>::infinity();
  for (int64_t width = widest; width >= 1; width /= 2) {
    double touched = 0;
    for (const Access &access : all)
      touched +=
          static_cast<double>(access.times) *
          touchedPerElement(width, std::min(width, access.width), access.step, access.elementBytes);
    if (touched < fewest) {
      fewest = touched;
      best = width;
    }
  }
  return best;
}

int64_t addressCount(Value pointer, const LinearLayout &layout, const AxisAnalysis &axes) {
  const auto type = cast<RankedTensorType>(pointer.getType());
  const ShapeBits shape(type.getShape());
  const auto isKnown = [&](ElementBits basis) {
    for (int dim = 0; dim < shape.rank(); ++dim) {
      const int64_t distance = shape.coordinate(basis, dim);
      const AxisInfo::Dim &known = axes.at(pointer).dims[dim];
      const int64_t run = std::max(known.contiguity, known.constancy);
      if (distance != 0 && distance >= run && (run > 1 || !known.spacing.of(type.getDimSize(dim))))
        return false;
    }
    return true;
  };
  return int64_t{1} << llvm::count_if(layout.registers,
                                      [&](ElementBits basis) { return !isKnown(basis); });
}

} // namespace blockscope::gpu
