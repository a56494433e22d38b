// Puts a refused lane into words: for the error of a launch without checks, and for asan.
#include "interpreter/describe.h"
#include "interpreter/lane_access.h"

#include "llvm/Support/FormatVariadic.h"

namespace blockscope::interpreter {
namespace {

/// The bytes of the storage, counted from the view's first element as offsets are.
std::string extentText(const Allocation &allocation) {
  const int64_t before = allocation.view - allocation.storage;
  if (before == 0)
    return "which has " + bytesText(allocation.storageBytes);
  return llvm::formatv("whose storage reaches from byte {0} to byte {1}", -before,
                       allocation.storageBytes - before - 1);
}

std::string messageOf(const Access &access, const BadLane &bad, int64_t offset) {
  const std::string what =
      (accessKindName(access.kind) + " of " + bytesText(access.elementBytes)).str();
  const std::string name = bad.allocation ? "'" + bad.allocation->info.name + "'" : "";
  switch (bad.reason) {
  case BadLane::Reason::OutOfStorage:
    return llvm::formatv("{0} at byte {1} of {2}, {3}", what, offset, name,
                         extentText(*bad.allocation));
  case BadLane::Reason::Null:
    return what + " through a null pointer";
  case BadLane::Reason::Wild:
    return llvm::formatv("{0} at address {1:x}, which belongs to no known tensor", what,
                         bad.address);
  case BadLane::Reason::Misaligned:
    return llvm::formatv("{0} at byte {1} of {2}, which is no multiple of {3}", what, offset, name,
                         access.elementBytes);
  case BadLane::Reason::ReadOnly:
    return llvm::formatv("{0} at byte {1} of {2}, which is read-only on the host", what, offset,
                         name);
  }
  return what;
}

llvm::StringRef hintOf(BadLane::Reason reason) {
  switch (reason) {
  case BadLane::Reason::OutOfStorage:
    return "";
  case BadLane::Reason::Null:
    return "an entry of a pointer table may be 0, or a tensor argument has no memory";
  case BadLane::Reason::Wild:
    return "pointers loaded from memory must be data_ptr() of tensors that are alive";
  case BadLane::Reason::Misaligned:
    return "was the pointer cast to a wider type after an offset in smaller elements?";
  case BadLane::Reason::ReadOnly:
    return "pass a writable copy";
  }
  return "";
}

/// Bytes from the nearest byte of the storage, negative before its start.
int64_t distanceOf(const Allocation &allocation, int64_t offset, int64_t size) {
  const int64_t begin = allocation.storage - allocation.view;
  return offset < begin ? offset - begin : offset + size - (begin + allocation.storageBytes);
}

} // namespace

llvm::StringRef badLaneCode(AccessKind kind, BadLane::Reason reason) {
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
  return "wild-pointer";
}

Finding describeBadLane(const LaunchInfo &launch, const Access &access, const BadLane &bad) {
  Finding finding = beginFinding(badLaneCode(access.kind, bad.reason), launch);
  finding.site = describeSite(access, launch, bad.lane);
  if (bad.allocation)
    describeElement(finding, *bad.allocation, MemoryMap::offsetIn(*bad.allocation, bad.address));
  else
    finding.values = {{"address", llvm::formatv("{0:x}", bad.address).str()}};
  if (bad.reason == BadLane::Reason::OutOfStorage)
    finding.distanceBytes = distanceOf(*bad.allocation, finding.byteOffset, access.elementBytes);
  finding.message = messageOf(access, bad, finding.byteOffset);
  finding.hint = hintOf(bad.reason);
  return finding;
}

Finding describeBadLane(const ExecutionContext &context, const Access &access,
                        const BadLane &lane) {
  Finding finding = describeBadLane(context.launch->info, access, lane);
  if (lane.reason == BadLane::Reason::OutOfStorage)
    finding.hint = access.mask || access.lanes > 1 ? "is a mask missing?" : "";
  return finding;
}

} // namespace blockscope::interpreter
