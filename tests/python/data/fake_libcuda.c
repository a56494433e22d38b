// A libcuda.so.1 without a GPU: "device memory" is host memory, launches are written to a file.
// Environment: FAKE_CUDA_VERSION, FAKE_CUDA_INIT (result of cuInit), FAKE_CUDA_DEVICES,
// FAKE_CUDA_LAUNCH (result of launches), FAKE_CUDA_ARGUMENTS (8-byte cells to write), FAKE_CUDA_LOG.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  unsigned grid[3], block[3], sharedBytes;
  void *stream, *attributes;
  unsigned attributeCount;
} LaunchConfig;

static __thread void *current;
static char contexts[8];

static int number(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text && *text ? atoi(text) : otherwise;
}

static int succeed(void) { return 0; }
#define SUCCEEDS(name)                                                                             \
  int name() { return succeed(); }

int cuInit(unsigned flags) { return number("FAKE_CUDA_INIT", 0); }
int cuDriverGetVersion(int *version) { return *version = number("FAKE_CUDA_VERSION", 13000), 0; }
int cuGetErrorName(int error, const char **text) { return *text = "CUDA_ERROR_FAKE", 0; }
int cuGetErrorString(int error, const char **text) { return *text = "a fake error", 0; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, 0; }
int cuDeviceGetCount(int *count) { return *count = number("FAKE_CUDA_DEVICES", 1), 0; }
int cuDeviceGetName(char *name, int size, int device) { return strcpy(name, "Fake GPU"), 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { return *bytes = (size_t)80 << 30, 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 97 ? 232448 : 132;
  return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device) { return *context = contexts + device, 0; }
int cuCtxGetCurrent(void **context) { return *context = current, 0; }
int cuCtxSetCurrent(void *context) { return current = context, 0; }
int cuCtxGetDevice(int *device) {
  return current ? (*device = (int)((char *)current - contexts), 0) : 201;
}
// Addresses divisible by 64 are the GPU's, so that a test can have both kinds.
int cuPointerGetAttribute(void *value, int attribute, uint64_t address) {
  if (address % 64)
    return 1;
  if (attribute == 9)
    *(int *)value = 0;
  else
    *(uint64_t *)value = address;
  return 0;
}
// Written to the file too: "map", base, sizes, strides, box.
int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, uint64_t base,
                           const uint64_t *sizes, const uint64_t *strides, const unsigned *box) {
  const char *path = getenv("FAKE_CUDA_LOG");
  FILE *file = path ? fopen(path, "a") : NULL;
  if (file) {
    fprintf(file, "map %llu", (unsigned long long)base);
    for (unsigned i = 0; i < rank; ++i)
      fprintf(file, " %llu", (unsigned long long)sizes[i]);
    for (unsigned i = 0; i + 1 < rank; ++i)
      fprintf(file, " %llu", (unsigned long long)strides[i]);
    for (unsigned i = 0; i < rank; ++i)
      fprintf(file, " %u", box[i]);
    fprintf(file, "\n");
    fclose(file);
  }
  return number("FAKE_CUDA_MAPS", 0);
}
int cuModuleLoadDataEx(void **module, const void *image, unsigned n, void *names, void *values) {
  *module = strdup(image);
  return strncmp(image, "bad", 3) == 0 ? 200 : 0;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
  *function = strdup(name);
  return 0;
}
int cuFuncGetAttribute(int *value, int attribute, void *function) {
  *value = attribute == 0 ? 1024 : attribute == 4 ? 40 : 0;
  return 0;
}
SUCCEEDS(cuFuncSetAttribute)
SUCCEEDS(cuFuncSetCacheConfig)
SUCCEEDS(cuOccupancyMaxActiveClusters)
SUCCEEDS(cuStreamSynchronize)
int cuStreamIsCapturing(void *stream, int *status) { return *status = 0, 0; }
int cuLaunchKernelEx(const LaunchConfig *config, void *function, void **arguments, void **extra) {
  const char *path = getenv("FAKE_CUDA_LOG");
  FILE *file = path ? fopen(path, "a") : NULL;
  if (file) {
    fprintf(file, "%s %u %u %u %u %u %llu %d", (char *)function, config->grid[0], config->grid[1],
            config->grid[2], config->block[0], config->sharedBytes,
            (unsigned long long)(uintptr_t)config->stream,
            (int)((char *)current - contexts));
    for (int i = 0; i < number("FAKE_CUDA_ARGUMENTS", 0); ++i)
      fprintf(file, " %llu", (unsigned long long)*(uint64_t *)arguments[i]);
    fprintf(file, "\n");
    fclose(file);
  }
  return number("FAKE_CUDA_LAUNCH", 0);
}
int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  return *address = (uint64_t)(uintptr_t)aligned_alloc(256, (bytes + 255) / 256 * 256), 0;
}
int cuMemFree_v2(uint64_t address) { return free((void *)(uintptr_t)address), 0; }
int cuMemcpyDtoH_v2(void *host, uint64_t address, size_t bytes) {
  return memcpy(host, (void *)(uintptr_t)address, bytes), 0;
}
int cuMemcpyHtoD_v2(uint64_t address, const void *host, size_t bytes) {
  return memcpy((void *)(uintptr_t)address, host, bytes), 0;
}
int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
  return *memory = aligned_alloc(256, (bytes + 255) / 256 * 256), 0;
}
int cuMemFreeHost(void *memory) { return free(memory), 0; }
int cuMemHostGetDevicePointer_v2(uint64_t *address, void *memory, unsigned flags) {
  return *address = (uint64_t)(uintptr_t)memory, 0;
}
