// What launches.py measures with: a libcuda whose launches do nothing, and torch's table of DLPack
// with tensors that say that they are on GPU 0.
#define cuLaunchKernelEx logLaunch
#include "../tests/python/data/fake_libcuda.c"
#undef cuLaunchKernelEx

int cuLaunchKernelEx(const LaunchConfig *config, Module *function, void **arguments, void **extra) {
  return 0;
}

typedef struct {
  void *data;
  int32_t deviceType, device, rest[3];
  void *others[3];
} Tensor;

typedef struct {
  uint32_t version[2];
  void *others[4];
  int (*describe)(void *tensor, Tensor *description);
  int (*currentStream)(int deviceType, int32_t device, void **stream);
} ExchangeApi;

static ExchangeApi ofTorch, standIn;

static int describeOnGpu(void *tensor, Tensor *description) {
  const int result = ofTorch.describe(tensor, description);
  description->deviceType = 2;
  return result;
}
static int defaultStream(int deviceType, int32_t device, void **stream) {
  return *stream = NULL, 0;
}

ExchangeApi *stand_in_exchange(const ExchangeApi *real) {
  ofTorch = standIn = *real;
  standIn.describe = describeOnGpu;
  standIn.currentStream = defaultStream;
  return &standIn;
}
