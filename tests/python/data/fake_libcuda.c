// A libcuda.so.1 without a GPU: "device memory" is host memory, launches are written to a file.
// Streams, events, captures and graphs are as CUDA's as far as they decide what may be unloaded:
// what a held stream was given has not run, and code that may still run must stay loaded.
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

// -- streams, captures, graphs; 64 streams, whose handles are their numbers ------------------------

enum { STREAMS = 64, NODES = 64, NOT_READY = 600, UNSUPPORTED = 900, RELAXED = 2 };

typedef struct {
  char *name;
  int isLoaded;
  long launches[STREAMS]; // the stream's count after this module's last launch
} Module;

typedef struct {
  Module *modules[NODES];
  int moduleCount;
} Graph;

typedef struct {
  int isHeld, isInvalid;
  long launched, finished;
  Graph *graph; // while it is captured
} Stream;

typedef struct {
  Stream *stream;
  long number;
} Event;

static Stream streams[STREAMS];
static _Atomic int loadedCount, capturing; // threads load and unload at the same time
static __thread int captureMode;

static Stream *streamOf(void *handle) { return streams + (uintptr_t)handle % STREAMS; }

static void fail(const char *what) {
  fprintf(stderr, "fake libcuda: %s\n", what);
  abort();
}

// A call that CUDA refuses during a capture, and that ends the capture.
static int disturbs(void) {
  if (!capturing || captureMode == RELAXED)
    return 0;
  for (int i = 0; i < STREAMS; ++i)
    streams[i].isInvalid = streams[i].graph != NULL;
  return 1;
}

void fake_hold(int stream) { streams[stream].isHeld = 1; }
void fake_finish(int stream) {
  streams[stream].isHeld = 0;
  streams[stream].finished = streams[stream].launched;
}
int fake_loaded(void) { return loadedCount; }
int fake_is_loaded(Module *module) { return module->isLoaded; }
void fake_begin_capture(int stream) {
  streams[stream].graph = calloc(1, sizeof(Graph));
  ++capturing;
}
void *fake_end_capture(int stream) {
  Graph *graph = streams[stream].isInvalid ? NULL : streams[stream].graph;
  streams[stream].graph = NULL;
  streams[stream].isInvalid = 0;
  --capturing;
  return graph;
}
void fake_replay(Graph *graph) {
  for (int i = 0; i < graph->moduleCount; ++i)
    if (!graph->modules[i]->isLoaded)
      fail("a graph runs code that is unloaded");
}

int cuThreadExchangeStreamCaptureMode(int *mode) {
  const int before = captureMode;
  captureMode = *mode;
  return *mode = before, 0;
}
int cuStreamGetId(void *stream, unsigned long long *id) {
  if (streamOf(stream)->graph) { // even in the relaxed mode
    streamOf(stream)->isInvalid = 1;
    return 900;
  }
  return *id = 1000 + (uintptr_t)stream, 0;
}
int cuStreamIsCapturing(void *stream, int *status) {
  return *status = streamOf(stream)->graph != NULL, 0;
}
int cuEventCreate(void **event, unsigned flags) { return *event = calloc(1, sizeof(Event)), 0; }
int cuEventRecord(Event *event, void *stream) {
  if (streamOf(stream)->graph)
    fail("an event of ours is recorded into a graph");
  event->stream = streamOf(stream);
  event->number = event->stream->launched;
  return 0;
}
int cuEventQuery(Event *event) {
  if (disturbs())
    return UNSUPPORTED;
  return event->stream->finished >= event->number ? 0 : NOT_READY;
}
int cuModuleLoadDataEx(Module **module, const void *image, unsigned n, void *names, void *values) {
  if (disturbs())
    return UNSUPPORTED;
  if (strncmp(image, "bad", 3) == 0)
    return 200;
  *module = calloc(1, sizeof(Module));
  (*module)->isLoaded = 1;
  return ++loadedCount, 0;
}
// Records are kept when a module is unloaded, to see who uses it.
int cuModuleUnload(Module *module) {
  if (disturbs())
    return UNSUPPORTED;
  if (!module->isLoaded)
    fail("a module is unloaded twice");
  for (int i = 0; i < STREAMS; ++i)
    if (module->launches[i] > streams[i].finished)
      fail("a module is unloaded while it runs");
  module->isLoaded = 0;
  return --loadedCount, 0;
}
int cuModuleGetFunction(Module **function, Module *module, const char *name) {
  module->name = strdup(name);
  return *function = module, 0;
}
int cuFuncGetAttribute(int *value, int attribute, void *function) {
  *value = attribute == 0 ? 1024 : attribute == 4 ? 40 : 0;
  return 0;
}
SUCCEEDS(cuFuncSetAttribute)
SUCCEEDS(cuFuncSetCacheConfig)
SUCCEEDS(cuOccupancyMaxActiveClusters)
SUCCEEDS(cuStreamSynchronize)
static void countLaunch(Module *module, Stream *stream) {
  if (!module->isLoaded)
    fail("a kernel is launched whose code is unloaded");
  if (stream->graph && stream->graph->moduleCount < NODES)
    stream->graph->modules[stream->graph->moduleCount++] = module;
  if (stream->graph)
    return;
  module->launches[stream - streams] = ++stream->launched;
  if (!stream->isHeld)
    stream->finished = stream->launched;
}
int cuLaunchKernelEx(const LaunchConfig *config, Module *function, void **arguments, void **extra) {
  const char *path = getenv("FAKE_CUDA_LOG");
  FILE *file = path ? fopen(path, "a") : NULL;
  if (file) {
    fprintf(file, "%s %u %u %u %u %u %llu %d", function->name, config->grid[0], config->grid[1],
            config->grid[2], config->block[0], config->sharedBytes,
            (unsigned long long)(uintptr_t)config->stream,
            (int)((char *)current - contexts));
    for (int i = 0; i < number("FAKE_CUDA_ARGUMENTS", 0); ++i)
      fprintf(file, " %llu", (unsigned long long)*(uint64_t *)arguments[i]);
    fprintf(file, "\n");
    fclose(file);
  }
  const int result = number("FAKE_CUDA_LAUNCH", 0);
  if (result == 0)
    countLaunch(function, streamOf(config->stream));
  return result;
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
static _Atomic size_t hostBytes; // allocated now
size_t fake_host_bytes(void) { return hostBytes; }
int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
  if (disturbs())
    return UNSUPPORTED;
  size_t *block = aligned_alloc(256, 256 + (bytes + 255) / 256 * 256);
  hostBytes += *block = bytes;
  return *memory = (char *)block + 256, 0;
}
int cuMemFreeHost(void *memory) {
  if (disturbs())
    return UNSUPPORTED;
  size_t *block = (size_t *)((char *)memory - 256);
  hostBytes -= *block;
  return free(block), 0;
}
int cuMemHostGetDevicePointer_v2(uint64_t *address, void *memory, unsigned flags) {
  return *address = (uint64_t)(uintptr_t)memory, 0;
}
