// Which set of lane loops is in use.
#include "interpreter/simd/isa.h"
#include "interpreter/simd/lanes.h"

namespace blockscope::interpreter {

namespace baseline {
const LaneKernels &laneKernelTable();
} // namespace baseline
namespace avx2 {
const LaneKernels &laneKernelTable();
} // namespace avx2
namespace avx512 {
const LaneKernels &laneKernelTable();
} // namespace avx512

const LaneKernels &laneKernels() {
#ifdef __x86_64__
  switch (activeIsa()) {
  case Isa::Avx512:
    return avx512::laneKernelTable();
  case Isa::Avx2:
    return avx2::laneKernelTable();
  case Isa::Baseline:
    break;
  }
#endif
  return baseline::laneKernelTable();
}

} // namespace blockscope::interpreter
