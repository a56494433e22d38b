// Parts of a finding that a launch without checks and all sanitizers fill in the same way.
#pragma once

#include "core/report.h"
#include "interpreter/observer.h"

#include <array>
#include <string>
#include <vector>

namespace blockscope::interpreter {

/// Starts a finding of `code` in this launch; severity is that of the code.
Finding beginFinding(llvm::StringRef code, const LaunchInfo &launch);
/// Describes one lane of an access. The location stays unknown where `access.op` is null.
AccessSite describeSite(const Access &access, const LaunchInfo &launch, int64_t lane);
/// Returns x, y, z of a linear program number.
std::array<int32_t, 3> programIndex(int64_t program, const std::array<int32_t, 3> &grid);
/// Returns the index per dimension of a flat lane.
std::vector<int64_t> laneIndex(int64_t lane, llvm::ArrayRef<int64_t> blockShape);
/// Fills tensor, element index and byte offset.
void describeElement(Finding &finding, const Allocation &allocation, int64_t offset);
/// Returns "acq_rel, gpu" for atomics, "volatile" for volatile loads, else "".
std::string semanticsText(const Access &access);
/// Returns "1 byte", "4 bytes".
std::string bytesText(int64_t bytes);

/// Returns the code of a refused access.
llvm::StringRef badLaneCode(AccessKind kind, BadLane::Reason reason);
/// Describes a refused lane. Only the hint of an access outside the storage is left to the caller,
/// who may know the other lanes.
Finding describeBadLane(const LaunchInfo &launch, const Access &access, const BadLane &bad);

} // namespace blockscope::interpreter
