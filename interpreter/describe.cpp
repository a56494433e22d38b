// Turns launches, accesses and lanes into the data of a finding.
#include "interpreter/describe.h"

#include "core/numeric/scalar.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

#include <cstring>

namespace blockscope::interpreter {
Finding beginFinding(FindingCode code, const LaunchInfo &launch) {
  Finding finding;
  finding.code = code;
  finding.severity = infoOf(code).severity;
  finding.launch = {launch.kernel, launch.grid, launch.metaParameters, launch.launchIndex};
  return finding;
}

std::array<int32_t, 3> programIndex(int64_t program, const std::array<int32_t, 3> &grid) {
  return {static_cast<int32_t>(program % grid[0]),
          static_cast<int32_t>(program / grid[0] % grid[1]),
          static_cast<int32_t>(program / grid[0] / grid[1])};
}

std::string programName(int64_t program, const std::array<int32_t, 3> &grid) {
  return blockscope::programName(programIndex(program, grid), grid);
}

std::vector<int64_t> laneIndex(int64_t lane, llvm::ArrayRef<int64_t> blockShape) {
  std::vector<int64_t> index(blockShape.size());
  for (size_t dim = blockShape.size(); dim-- > 0; lane /= blockShape[dim])
    index[dim] = lane % blockShape[dim];
  return index;
}

std::string semanticsText(const Access &access) {
  if (!isAtomic(access.kind))
    return access.isVolatile ? "volatile" : "";
  static constexpr llvm::StringLiteral kSemantics[] = {"relaxed", "acquire", "release", "acq_rel"};
  static constexpr llvm::StringLiteral kScopes[] = {"cta", "gpu", "sys"};
  return (kSemantics[static_cast<int>(access.semantics)] + ", " +
          kScopes[static_cast<int>(access.scope)])
      .str();
}

Site describeSite(const Access &access, const LaunchInfo &launch, int64_t lane) {
  Site site;
  if (access.op)
    site.location = access.op->location;
  Execution &ran = site.execution.emplace();
  ran.access = access.kind;
  ran.program = programIndex(access.program, launch.grid);
  ran.lane = lane;
  ran.blockShape.assign(access.blockShape.begin(), access.blockShape.end());
  ran.laneIndex = laneIndex(lane, access.blockShape);
  ran.loopIterations.assign(access.loopIterations.begin(), access.loopIterations.end());
  ran.accessBytes = access.elementBytes;
  ran.semantics = semanticsText(access);
  return site;
}

Site describeSite(const OpInfo *op, int64_t program, const LaunchInfo &launch,
                  llvm::ArrayRef<int64_t> loopIterations) {
  Site site;
  if (op)
    site.location = op->location;
  Execution &ran = site.execution.emplace();
  ran.program = programIndex(program, launch.grid);
  ran.loopIterations.assign(loopIterations.begin(), loopIterations.end());
  return site;
}

Element describeElement(const Allocation &allocation, int64_t offset) {
  return {allocation.info, allocation.elementIndex(offset), offset, 0};
}

std::string valueText(const void *bytes, int elementBytes, llvm::StringRef dtype) {
  const auto parsed = parseDType(dtype);
  if (parsed && byteSize(*parsed) == elementBytes) {
    if (isFloating(*parsed))
      return numeric::shortestText(numeric::readAsDouble(*parsed, bytes),
                                   elementBytes == sizeof(double));
    const int64_t value = numeric::readAsInt(*parsed, bytes);
    return isUnsigned(*parsed) ? std::to_string(static_cast<uint64_t>(value))
                               : std::to_string(value);
  }
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, std::min<size_t>(elementBytes, sizeof(bits)));
  return "0x" + llvm::utohexstr(bits, /*LowerCase=*/true);
}

std::string bytesText(int64_t bytes) {
  return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

} // namespace blockscope::interpreter
