// Puts refused lanes and failed asserts into words.
#include "interpreter/describe.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace blockscope::interpreter {
namespace {

using Reason = RefusedLane::Reason;

/// The bytes of the storage, counted from the view's first element as offsets are.
std::string extentText(const Allocation &allocation) {
  const int64_t before = allocation.view - allocation.storage;
  if (before == 0)
    return "which has " + bytesText(allocation.storageBytes);
  return llvm::formatv("whose storage reaches from byte {0} to byte {1}", -before,
                       allocation.storageBytes - before - 1);
}

std::string refusedText(const Access &access, const RefusedLane &lane, int64_t offset) {
  const std::string what =
      (accessKindName(access.kind) + " of " + bytesText(access.elementBytes)).str();
  const std::string name = lane.allocation ? "'" + lane.allocation->info.name + "'" : "";
  switch (lane.reason) {
  case Reason::OutOfStorage:
    return llvm::formatv("{0} at byte {1} of {2}, {3}", what, offset, name,
                         extentText(*lane.allocation));
  case Reason::Gone:
    return llvm::formatv("{0} at byte {1} of {2}, whose storage is gone", what, offset, name);
  case Reason::Null:
    return what + " through a null pointer";
  case Reason::Wild:
    return llvm::formatv("{0} at address {1:x}, which belongs to no known tensor", what,
                         lane.address);
  case Reason::Misaligned:
    return llvm::formatv("{0} at byte {1} of {2}, at an address that is no multiple of {3}", what,
                         offset, name, access.elementBytes);
  case Reason::ReadOnly:
    return llvm::formatv("{0} at byte {1} of {2}, which is read-only on the host", what, offset,
                         name);
  }
  return what;
}

std::string refusedHint(const Access &access, const RefusedGroup &group, int64_t offset,
                        bool isMasked) {
  switch (group.first.reason) {
  case Reason::OutOfStorage:
    return outOfBoundsHint(access, *group.first.allocation, offset, group.count, isMasked);
  case Reason::Gone:
    return "it was freed or resized to 0 before the launch: give it back its memory first";
  case Reason::Null:
    return "an entry of a pointer table may be 0, or a tensor argument has no memory";
  case Reason::Wild:
    return "pointers loaded from memory must be data_ptr() of tensors that are alive";
  case Reason::Misaligned:
    return offset % access.elementBytes == 0
               ? "the view that was passed begins at such an address: was it made of smaller "
                 "elements?"
               : "was the pointer cast to a wider type after an offset in smaller elements?";
  case Reason::ReadOnly:
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

std::string outOfBoundsHint(const Access &access, const Allocation &allocation, int64_t offset,
                            int64_t lanes, bool isMasked) {
  constexpr int64_t kWrapMargin = int64_t{1} << 30, kUnsignedEnd = int64_t{1} << 32,
                    kFar = int64_t{1} << 24;
  const int64_t element = offset / std::max(1, access.elementBytes);
  if (element < -kWrapMargin)
    return "the offset wrapped in int32: convert to tl.int64 before the multiplication";
  if (element < -kFar && element < -4 * allocation.storageBytes / std::max(1, access.elementBytes))
    return "the offset is far below 0: if it wrapped in int32, convert to tl.int64 before the "
           "multiplication";
  if (offset < 0)
    return "the offset is negative: does the mask also exclude what lies before the start?";
  if (element > kUnsignedEnd - kWrapMargin && element < kUnsignedEnd)
    return "the offset went below 0 in uint32: leave out what lies before the start by the mask, "
           "or "
           "compute it in a signed type";
  const bool hasStrides = allocation.info.shape.size() > 1;
  if (!isMasked && !(access.op && access.op->isMasked))
    return hasStrides ? "is a mask missing, or does the kernel get strides in another order than "
                        "it takes them?"
                      : "is a mask missing?";
  if (offset == allocation.viewEnd && lanes == 1)
    return "one element too far: is the offset too large by 1, or does the mask compare with '<=' "
           "where '<' is meant?";
  return hasStrides
             ? "the mask, or the shape of a block pointer or descriptor, lets this lane "
               "through: is it this tensor's size, and are the strides in the order in which "
               "the kernel takes them?"
             : "the mask, or the shape of a block pointer or descriptor, lets this lane "
               "through: does it compare with this tensor's size?";
}

llvm::SmallVector<RefusedGroup, 2> groupRefused(llvm::ArrayRef<RefusedLane> lanes) {
  llvm::SmallVector<RefusedGroup, 2> groups;
  for (const RefusedLane &lane : lanes) {
    auto *group = llvm::find_if(groups, [&](const RefusedGroup &known) {
      return known.first.reason == lane.reason && known.first.allocation == lane.allocation;
    });
    if (group == groups.end())
      groups.push_back({lane, 1});
    else
      ++group->count;
  }
  return groups;
}

FindingCode refusedCode(AccessKind kind, Reason reason) {
  switch (reason) {
  case Reason::OutOfStorage:
    return kind == AccessKind::Load    ? FindingCode::OobLoad
           : kind == AccessKind::Store ? FindingCode::OobStore
                                       : FindingCode::OobAtomic;
  case Reason::Gone:
    return FindingCode::UseAfterFree;
  case Reason::Null:
    return FindingCode::NullPointer;
  case Reason::Wild:
    return FindingCode::WildPointer;
  case Reason::Misaligned:
    return FindingCode::MisalignedAccess;
  case Reason::ReadOnly:
    return FindingCode::ReadOnlyStore;
  }
  return FindingCode::WildPointer;
}

Finding describeRefused(const LaunchInfo &launch, const Access &access, const RefusedGroup &group,
                        size_t refused) {
  const RefusedLane &lane = group.first;
  Finding finding = beginFinding(refusedCode(access.kind, lane.reason), launch);
  finding.site = describeSite(access, launch, lane.lane);
  int64_t offset = 0;
  if (lane.allocation) {
    offset = MemoryMap::offsetIn(*lane.allocation, lane.address);
    finding.element = describeElement(*lane.allocation, offset);
    if (lane.reason == Reason::OutOfStorage)
      finding.element->distanceBytes = distanceOf(*lane.allocation, offset, access.elementBytes);
  } else {
    finding.values = {{"address", llvm::formatv("{0:x}", lane.address).str()}};
  }
  finding.message = refusedText(access, lane, offset);
  // Refused lanes are off in `access.mask`; the kernel's own mask had them on.
  const bool isMasked = access.activeLanes + static_cast<int64_t>(refused) < access.lanes;
  finding.hint = refusedHint(access, group, offset, isMasked);
  return finding;
}

Finding describeAssert(const LaunchInfo &launch, const FailedAssert &failed) {
  Finding finding = beginFinding(FindingCode::DeviceAssert, launch);
  finding.message =
      "device-side assert failed" + (failed.message.empty() ? "" : ": " + failed.message.str());
  finding.site = describeSite(failed.op, failed.program, launch, failed.loopIterations);
  Execution &ran = *finding.site.execution;
  ran.lane = failed.lanes.front();
  ran.laneIndex = laneIndex(ran.lane, failed.blockShape);
  ran.blockShape.assign(failed.blockShape.begin(), failed.blockShape.end());
  finding.values = failed.values;
  return finding;
}

} // namespace blockscope::interpreter
