// Asks the driver about captures.
#include "gpu_backend/driver/capture.h"

namespace blockscope {

Capture captureOf(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const bool isKnown = cudaApi()->cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS;
  return {isKnown, isKnown && status == CU_STREAM_CAPTURE_STATUS_ACTIVE};
}

BesideCaptures::BesideCaptures() { cudaApi()->cuThreadExchangeStreamCaptureMode(&mode_); }
BesideCaptures::~BesideCaptures() { cudaApi()->cuThreadExchangeStreamCaptureMode(&mode_); }

} // namespace blockscope
