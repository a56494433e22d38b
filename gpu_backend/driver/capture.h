// CUDA graphs that are being captured, and calls that must not end their capture.
#pragma once

#include "gpu_backend/driver/cuda_api.h"

namespace blockscope {

/// Whether a stream's work goes into a graph.
struct Capture {
  bool isKnown = false; ///< false when the driver does not say
  bool isActive = false;
};

Capture captureOf(CUstream stream);

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
