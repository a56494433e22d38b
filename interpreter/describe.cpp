// Turns launches, accesses and lanes into the data of a finding.
#include "interpreter/describe.h"

#include "llvm/ADT/Twine.h"

namespace blockscope::interpreter {

Finding beginFinding(llvm::StringRef code, const LaunchInfo &launch) {
  Finding finding;
  finding.code = code.str();
  if (const auto known = findFindingCode(code))
    finding.severity = known->severity;
  finding.kernel = launch.kernel;
  finding.grid = launch.grid;
  finding.metaParameters = launch.metaParameters;
  finding.launchIndex = launch.launchIndex;
  return finding;
}

std::array<int32_t, 3> programIndex(int64_t program, const std::array<int32_t, 3> &grid) {
  return {static_cast<int32_t>(program % grid[0]),
          static_cast<int32_t>(program / grid[0] % grid[1]),
          static_cast<int32_t>(program / grid[0] / grid[1])};
}

std::vector<int64_t> laneIndex(int64_t lane, llvm::ArrayRef<int64_t> blockShape) {
  std::vector<int64_t> index(blockShape.size());
  for (size_t dim = blockShape.size(); dim-- > 0; lane /= blockShape[dim])
    index[dim] = lane % blockShape[dim];
  return index;
}

std::string semanticsText(const Access &access) {
  if (access.kind == AccessKind::Load || access.kind == AccessKind::Store)
    return access.isVolatile ? "volatile" : "";
  static constexpr llvm::StringLiteral kSemantics[] = {"relaxed", "acquire", "release", "acq_rel"};
  static constexpr llvm::StringLiteral kScopes[] = {"cta", "gpu", "sys"};
  return (kSemantics[static_cast<int>(access.semantics)] + ", " +
          kScopes[static_cast<int>(access.scope)])
      .str();
}

AccessSite describeSite(const Access &access, const LaunchInfo &launch, int64_t lane) {
  AccessSite site;
  if (access.op)
    site.location = access.op->location;
  site.kind = access.kind;
  site.program = programIndex(access.program, launch.grid);
  site.lane = lane;
  site.blockShape.assign(access.blockShape.begin(), access.blockShape.end());
  site.laneIndex = laneIndex(lane, access.blockShape);
  site.loopIterations.assign(access.loopIterations.begin(), access.loopIterations.end());
  site.accessBytes = access.elementBytes;
  site.semantics = semanticsText(access);
  return site;
}

void describeElement(Finding &finding, const Allocation &allocation, int64_t offset) {
  finding.tensor = allocation.info;
  finding.byteOffset = offset;
  finding.elementIndex = allocation.elementIndex(offset);
}

std::string bytesText(int64_t bytes) {
  return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

} // namespace blockscope::interpreter
