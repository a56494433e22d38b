// Puts a refused lane into words: what the launch fails with when no check records it.
#include "interpreter/lane_access.h"

#include "llvm/Support/FormatVariadic.h"

namespace blockscope {
namespace {

llvm::StringRef verbOf(AccessKind kind) {
  switch (kind) {
  case AccessKind::Load:
    return "load";
  case AccessKind::Store:
    return "store";
  case AccessKind::AtomicRmw:
    return "atomic";
  case AccessKind::AtomicCas:
    return "atomic compare-and-swap";
  }
  return "access";
}

llvm::StringRef codeOf(AccessKind kind, BadLane::Reason reason) {
  switch (reason) {
  case BadLane::Reason::OutOfStorage:
    return kind == AccessKind::Load    ? "oob-load"
           : kind == AccessKind::Store ? "oob-store"
                                       : "oob-atomic";
  case BadLane::Reason::Null:
    return "null-pointer";
  case BadLane::Reason::Wild:
    return "wild-pointer";
  case BadLane::Reason::Misaligned:
    return "misaligned-access";
  case BadLane::Reason::ReadOnly:
    return "read-only-store";
  }
  return "";
}

std::vector<int64_t> unflatten(int64_t lane, llvm::ArrayRef<int64_t> shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t i = shape.size(); i-- > 0; lane /= shape[i])
    index[i] = lane % shape[i];
  return index;
}

std::string extentText(const Allocation &allocation) {
  const int64_t before = allocation.view - allocation.storage;
  if (before == 0)
    return llvm::formatv("which has {0} bytes", allocation.storageBytes);
  return llvm::formatv("whose storage reaches from byte {0} to byte {1}", -before,
                       allocation.storageBytes - before - 1);
}

std::string messageOf(const Access &access, const BadLane &lane, int64_t offset) {
  const std::string what =
      llvm::formatv("{0} of {1} bytes", verbOf(access.kind), access.elementBytes);
  const std::string name = lane.allocation ? "'" + lane.allocation->info.name + "'" : "";
  switch (lane.reason) {
  case BadLane::Reason::OutOfStorage:
    return llvm::formatv("{0} at byte {1} of {2}, {3}", what, offset, name,
                         extentText(*lane.allocation));
  case BadLane::Reason::Null:
    return what + " through a null pointer";
  case BadLane::Reason::Wild:
    return llvm::formatv("{0} at address {1:x}, which belongs to no known tensor", what,
                         lane.address);
  case BadLane::Reason::Misaligned:
    return llvm::formatv("{0} at byte {1} of {2}, which is not a multiple of {3}", what, offset,
                         name, access.elementBytes);
  case BadLane::Reason::ReadOnly:
    return llvm::formatv("{0} at byte {1} of {2}, which is read-only", what, offset, name);
  }
  return what;
}

int64_t distanceOf(const Allocation &allocation, int64_t offset, int64_t size) {
  const int64_t begin = allocation.storage - allocation.view;
  const int64_t end = begin + allocation.storageBytes;
  if (offset < begin)
    return begin - offset;
  return std::max<int64_t>(0, offset + size - end);
}

} // namespace

Finding describeBadLane(const ExecutionContext &context, const Access &access,
                        const BadLane &lane) {
  Finding finding;
  const LaunchInfo &info = context.launch->info;
  finding.code = codeOf(access.kind, lane.reason).str();
  finding.kernel = info.kernel;
  finding.grid = info.grid;
  finding.metaParameters = info.metaParameters;
  finding.launchIndex = info.launchIndex;
  if (access.op)
    finding.site.location = access.op->location;
  finding.site.kind = access.kind;
  finding.site.program = context.program;
  finding.site.lane = lane.lane;
  finding.site.laneIndex = unflatten(lane.lane, access.blockShape);
  finding.site.blockShape = access.blockShape.vec();
  finding.site.loopIterations.assign(context.loopIterations.begin(), context.loopIterations.end());
  finding.site.accessBytes = access.elementBytes;
  if (lane.allocation) {
    finding.byteOffset = MemoryMap::offsetIn(*lane.allocation, lane.address);
    finding.tensor = lane.allocation->info;
    finding.elementIndex = lane.allocation->elementIndex(finding.byteOffset);
    finding.distanceBytes = distanceOf(*lane.allocation, finding.byteOffset, access.elementBytes);
  }
  finding.message = messageOf(access, lane, finding.byteOffset);
  if (lane.reason == BadLane::Reason::OutOfStorage)
    finding.hint = access.mask || access.lanes > 1 ? "is a mask missing?" : "";
  return finding;
}

} // namespace blockscope
