// How many programs a GPU can hold at a time.
#include "interpreter/residency.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace blockscope::interpreter {
namespace {

// Of a multiprocessor.
constexpr int64_t kWarps = 64, kCtas = 32;
constexpr int64_t kDefaultWarps = 4; // of a launch that does not say

} // namespace

int64_t mostResident(const LaunchInfo &launch) {
  int64_t warps = kDefaultWarps;
  for (const auto &[name, text] : launch.metaParameters)
    if (int64_t given = 0; name == "num_warps" && !llvm::StringRef(text).getAsInteger(10, given))
      warps = std::clamp<int64_t>(given, 1, kWarps);
  return kMultiprocessors * std::min(kCtas, kWarps / warps);
}

Residency residencyOf(const LaunchInfo &launch) {
  Residency result{mostResident(launch), ""};
  if (const std::optional<Residency> exact =
          launch.askResidency ? launch.askResidency() : std::nullopt;
      exact && exact->programs < result.programs)
    result = *exact;
  return result;
}

bool mayExceedResidency(const LaunchInfo &launch) {
  const int64_t programs = int64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  return launch.mayWait && programs > kMultiprocessors;
}

} // namespace blockscope::interpreter
