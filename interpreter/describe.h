// Events as findings: the words of what the machine itself notices, for a launch without checks and
// for all sanitizers alike, and parts of findings that sanitizers fill in the same way.
#pragma once

#include "core/report.h"
#include "interpreter/events.h"

#include <array>
#include <string>
#include <vector>

namespace blockscope::interpreter {

/// Starts a finding of `code` in this launch; severity is that of the code.
Finding beginFinding(FindingCode code, const LaunchInfo &launch);
/// Describes one lane of an access. The location stays unknown where `access.op` is null.
Site describeSite(const Access &access, const LaunchInfo &launch, int64_t lane);
/// Describes a place where no lane accesses memory. The location stays unknown where `op` is null.
Site describeSite(const OpInfo *op, int64_t program, const LaunchInfo &launch,
                  llvm::ArrayRef<int64_t> loopIterations);
/// Returns x, y, z of a linear program number.
std::array<int32_t, 3> programIndex(int64_t program, const std::array<int32_t, 3> &grid);
/// Names a program in a sentence: "3", or "(3, 1, 0)" where the grid has more than one dimension.
std::string programName(int64_t program, const std::array<int32_t, 3> &grid);
/// Returns the index per dimension of a flat lane.
std::vector<int64_t> laneIndex(int64_t lane, llvm::ArrayRef<int64_t> blockShape);
/// Returns the element of an allocation at a byte offset.
Element describeElement(const Allocation &allocation, int64_t offset);
/// Returns "acq_rel, gpu" for atomics, "volatile" for volatile loads, else "".
std::string semanticsText(const Access &access);
/// Returns the element at `bytes` as text, read as the tensor's dtype when sizes agree.
std::string valueText(const void *bytes, int elementBytes, llvm::StringRef dtype);
/// Returns "1 byte", "4 bytes".
std::string bytesText(int64_t bytes);

/// Refused lanes of one access that have one cause.
struct RefusedGroup {
  RefusedLane first;
  int64_t count = 0;
};
/// Puts together the lanes that were refused for one reason and belong to one tensor.
llvm::SmallVector<RefusedGroup, 2> groupRefused(llvm::ArrayRef<RefusedLane> lanes);
/// Returns the code of a refused access.
FindingCode refusedCode(AccessKind kind, RefusedLane::Reason reason);
/// Describes the first lane of a group. `refused` is how many lanes of the access were refused.
Finding describeRefused(const LaunchInfo &launch, const Access &access, const RefusedGroup &group,
                        size_t refused);
/// What most likely went wrong with an access at byte `offset`, which is outside of a tensor.
/// `lanes` of the access fell outside; `isMasked`: some of its lanes were off.
std::string outOfBoundsHint(const Access &access, const Allocation &allocation, int64_t offset,
                            int64_t lanes, bool isMasked);

Finding describeAssert(const LaunchInfo &launch, const FailedAssert &failed);

/// Programs that wait for ever at one place.
struct WaitingPlace {
  llvm::SmallVector<size_t, 4> programs; ///< indices into the stuck ones
};
/// Returns the places at which programs wait, in order of the first program at each.
std::vector<WaitingPlace> waitingPlaces(llvm::ArrayRef<StuckProgram> stuck);
/// Describes one place of a deadlock: its first program, and what all stuck ones wait for.
Finding describeDeadlock(const LaunchInfo &launch, llvm::ArrayRef<StuckProgram> stuck,
                         const WaitingPlace &place);
Finding describeNotResident(const LaunchInfo &launch, const NotResident &crowd);
Finding describeEndlessLoop(const LaunchInfo &launch, const EndlessLoop &loop);

} // namespace blockscope::interpreter
