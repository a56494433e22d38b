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
  switch (activeIsa()) {
  case Isa::Baseline:
    return baseline::laneKernelTable();
  case Isa::Avx2:
    return avx2::laneKernelTable();
  case Isa::Avx512:
    return avx512::laneKernelTable();
  }
  return baseline::laneKernelTable();
}

} // namespace blockscope::interpreter
