// CUDA graphs that are being captured: what they hold, and calls that must not end their capture.
#pragma once

#include "gpu_backend/driver/cuda_api.h"

#include <cstdint>

namespace blockscope {

/// The graph that a stream's work goes into.
struct Capture {
  bool isKnown = false;    ///< false when the driver does not say
  CUgraph graph = nullptr; ///< null while work runs
  uint64_t id = 0;         ///< of the capture: no two have the same
};

Capture captureOf(CUstream stream);

/// Has `release(data)` called when the graph and all that was instantiated from it are gone, on a
/// thread of the driver, which must not call CUDA there.
///
/// Errors: false; `release` was called.
bool holdByGraph(CUgraph graph, void *data, CUhostFn release);

/// While one lives, calls of this thread that load, unload or allocate leave captures alone.
/// Without it the driver refuses them during a capture of any thread, and ends that capture.
class BesideCaptures {
public:
  BesideCaptures();
  ~BesideCaptures();
  BesideCaptures(const BesideCaptures &) = delete;
  BesideCaptures &operator=(const BesideCaptures &) = delete;

private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED; ///< the thread's own one, to restore
};

} // namespace blockscope
