// How far the present launch is, for people who wait for it.
#pragma once

#include <cstdint>

namespace blockscope::interpreter {

/// Of the launch that has begun programs last; several threads may launch.
struct Progress {
  int64_t begun = 0;    ///< programs that have begun
  int64_t programs = 0; ///< of the whole grid
};

/// Returns how far the launch is. May be asked from any thread.
Progress progressOfLaunch();
/// Notes that programs have begun. Called once for many of them.
void noteProgress(Progress progress);

} // namespace blockscope::interpreter
