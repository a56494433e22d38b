// Parts of a finding that all sanitizers fill in the same way.
#pragma once

#include "core/report.h"
#include "interpreter/observer.h"

#include <string>

namespace blockscope {

/// Starts a finding of `code` in this launch; severity is that of the code.
Finding beginFinding(llvm::StringRef code, const LaunchInfo &launch);
/// Describes one lane of an access.
AccessSite describeSite(const Access &access, const LaunchInfo &launch, int64_t lane);
/// Returns x, y, z of a linear program number.
std::array<int32_t, 3> programIndex(int64_t program, const std::array<int32_t, 3> &grid);
/// Returns the index per dimension of a flat lane.
std::vector<int64_t> laneIndex(int64_t lane, llvm::ArrayRef<int64_t> blockShape);
/// Fills tensor, element index and byte offset.
void describeElement(Finding &finding, const Allocation &allocation, int64_t offset);
/// Returns "acq_rel, gpu" for atomics, "volatile" for volatile loads, else "".
std::string semanticsText(const Access &access);
/// Returns "file:line:column" with its callers: what tells two causes apart.
std::string placeKey(const SourceLocation &location);
/// Returns the element at `bytes` as text, read as the tensor's dtype when sizes agree.
std::string valueText(const void *bytes, int elementBytes, llvm::StringRef dtype);

} // namespace blockscope
