// Asks the driver about captures, and hands graphs references.
#include "gpu_backend/driver/capture.h"

namespace blockscope {

Capture captureOf(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  Capture capture;
  cuuint64_t id = 0;
  const CUresult result =
      cudaApi()->cuStreamGetCaptureInfo_v2(stream, &status, &id, &capture.graph, nullptr, nullptr);
  capture.isKnown = result == CUDA_SUCCESS;
  if (!capture.isKnown || status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
    capture.graph = nullptr;
  capture.id = id;
  return capture;
}

bool holdByGraph(CUgraph graph, void *data, CUhostFn release) {
  const CudaApi &api = *cudaApi();
  CUuserObject object = nullptr;
  if (api.cuUserObjectCreate(&object, data, release, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) !=
      CUDA_SUCCESS) {
    release(data);
    return false;
  }
  if (api.cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE) == CUDA_SUCCESS)
    return true;
  api.cuUserObjectRelease(object, 1);
  return false;
}

BesideCaptures::BesideCaptures() { cudaApi()->cuThreadExchangeStreamCaptureMode(&mode_); }
BesideCaptures::~BesideCaptures() { cudaApi()->cuThreadExchangeStreamCaptureMode(&mode_); }

} // namespace blockscope
