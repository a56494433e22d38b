// Loads modules, notes what uses them, and unloads those that nothing uses.
#include "gpu_backend/driver/gpu_module.h"

#include "gpu_backend/driver/devices.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

namespace blockscope {

/// Guarded by the lock of its device.
struct GpuModule::Code {
  struct Use {
    unsigned long long streamId;
    uint64_t number; ///< of the last launch there, counted on the device
  };

  CUmodule module = nullptr; ///< null once it is unloaded
  CUfunction function = nullptr;
  uint64_t lastLaunch = 0;
  int launching = 0;     ///< launches between `begin` and `end`
  std::vector<Use> uses; ///< launches that may still run
  bool isPinned = false;
  bool isWanted = true; ///< false once no GpuModule launches it

  bool isIdle() const { return launching == 0 && !isPinned; }
  bool runsOn(unsigned long long streamId) const {
    return std::any_of(uses.begin(), uses.end(),
                       [&](const Use &use) { return use.streamId == streamId; });
  }
};

namespace {

using Code = GpuModule::Code;

// The default stream is never captured, and a context has one for as long as it lives: launches
// there, which are most, need not ask the driver anything.
bool isDefaultStream(CUstream stream) { return !stream || stream == CU_STREAM_LEGACY; }
constexpr unsigned long long kDefaultStreamId = ~0ULL; // the driver counts up from a small number

std::atomic<size_t> limit = 1024;

/// The modules of one device. CUDA is not called with the lock held.
struct Residents {
  std::mutex mutex;
  std::vector<std::shared_ptr<Code>> loaded;
  uint64_t launches = 0;
  std::atomic<bool> mayTrim = false; ///< something may be unloaded that could not be before
  std::atomic<bool> isTrimming = false;
  // The event that is waited for; used by the thread that trims.
  CUevent event = nullptr;
  bool isPending = false;
  unsigned long long eventStreamId = 0;
  uint64_t eventNumber = 0; ///< launches up to this one came before the event
};

/// Never destroyed: kernels may go when the process ends.
Residents &residentsOf(int device) {
  static auto &all = *new std::vector<Residents>(gpuDevices().size());
  return all[static_cast<size_t>(device)];
}

struct Trim {
  std::vector<CUmodule> modules; ///< to unload
  bool wantsEvent = false;       ///< more can be unloaded once the stream's launches have run
};

/// Takes out what can be unloaded, the least recently launched first.
Trim takeUnused(Residents &own, unsigned long long streamId) {
  const std::lock_guard lock(own.mutex);
  std::vector<Code *> idle;
  for (const auto &code : own.loaded)
    if (code->isIdle())
      idle.push_back(code.get());
  std::sort(idle.begin(), idle.end(), [](const Code *a, const Code *b) {
    return std::pair(a->isWanted, a->lastLaunch) < std::pair(b->isWanted, b->lastLaunch);
  });
  size_t extra = own.loaded.size() - std::min(own.loaded.size(), limit.load());
  Trim trim;
  for (Code *code : idle) {
    if (code->isWanted && extra == 0)
      break;
    const bool runsHere = code->runsOn(streamId);
    trim.wantsEvent |= runsHere;
    if (code->uses.size() > (runsHere ? 1U : 0U))
      continue; // runs on other streams, of which nothing is known now
    if (!runsHere)
      trim.modules.push_back(std::exchange(code->module, nullptr));
    if (extra > 0)
      --extra;
  }
  std::erase_if(own.loaded, [](const auto &code) { return !code->module; });
  return trim;
}

void forgetFinished(Residents &own) {
  const std::lock_guard lock(own.mutex);
  for (const auto &code : own.loaded)
    std::erase_if(code->uses, [&](const Code::Use &use) {
      return use.streamId == own.eventStreamId && use.number <= own.eventNumber;
    });
}

bool recordEvent(Residents &own, CUstream stream, unsigned long long streamId) {
  const CudaApi &api = *cudaApi();
  if (!own.event && api.cuEventCreate(&own.event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
    return false;
  {
    const std::lock_guard lock(own.mutex);
    own.eventStreamId = streamId;
    own.eventNumber = own.launches;
  }
  return api.cuEventRecord(own.event, stream) == CUDA_SUCCESS;
}

/// Unloads what it can, and begins to find out what more it can. `stream` exists, not captured.
void trimModules(Residents &own, CUstream stream, unsigned long long streamId) {
  const BesideCaptures beside;
  if (own.isPending) {
    if (cudaApi()->cuEventQuery(own.event) != CUDA_SUCCESS)
      return;
    own.isPending = false;
    forgetFinished(own);
  }
  own.mayTrim = false;
  const Trim trim = takeUnused(own, streamId);
  for (CUmodule module : trim.modules)
    cudaApi()->cuModuleUnload(module);
  if (trim.wantsEvent)
    own.mayTrim = own.isPending = recordEvent(own, stream, streamId);
}

} // namespace

size_t moduleLimit() { return limit; }

void setModuleLimit(size_t newLimit) {
  limit = newLimit;
  for (size_t device = 0; device < gpuDevices().size(); ++device)
    residentsOf(static_cast<int>(device)).mayTrim = true;
}

size_t loadedModules(int device) {
  Residents &own = residentsOf(device);
  const std::lock_guard lock(own.mutex);
  return own.loaded.size();
}

GpuModule::GpuModule(int device, Loader loader) : device_(device), loader_(std::move(loader)) {}

GpuModule::~GpuModule() {
  Residents &own = residentsOf(device_);
  const std::lock_guard lock(own.mutex);
  if (!code_)
    return;
  code_->isWanted = false;
  own.mayTrim = true;
}

bool GpuModule::holdIfLoaded(Code *&code) {
  Residents &own = residentsOf(device_);
  const std::lock_guard lock(own.mutex);
  if (!code_ || !code_->module)
    return false;
  ++code_->launching;
  code_->lastLaunch = ++own.launches;
  code = code_.get();
  return true;
}

CUresult GpuModule::hold(Code *&code, std::string &error) {
  if (holdIfLoaded(code))
    return CUDA_SUCCESS;
  const std::lock_guard once(loading_);
  if (holdIfLoaded(code))
    return CUDA_SUCCESS;
  auto loaded = std::make_shared<Code>();
  {
    const BesideCaptures beside;
    const CUresult result = loader_(loaded->module, loaded->function, error);
    if (result != CUDA_SUCCESS)
      return result;
  }
  Residents &own = residentsOf(device_);
  const std::lock_guard lock(own.mutex);
  loaded->launching = 1;
  loaded->lastLaunch = ++own.launches;
  code_ = std::move(loaded);
  code = code_.get();
  own.loaded.push_back(code_);
  if (own.loaded.size() > limit)
    own.mayTrim = true;
  return CUDA_SUCCESS;
}

CUresult GpuModule::begin(CUstream stream, Launch &launch) {
  std::string error;
  const CUresult result = hold(launch.code, error);
  if (result != CUDA_SUCCESS)
    return result;
  Code &code = *launch.code;
  launch.function = code.function;
  launch.stream = stream;
  if (isDefaultStream(stream)) {
    launch.isStreamKnown = true;
    launch.streamId = kDefaultStreamId;
    return CUDA_SUCCESS;
  }
  const Capture capture = captureOf(stream);
  launch.isCaptured = capture.isActive;
  // The driver ends a capture when it is asked for the number of its stream.
  launch.isStreamKnown =
      capture.isKnown &&
      (launch.isCaptured || cudaApi()->cuStreamGetId(stream, &launch.streamId) == CUDA_SUCCESS);
  return CUDA_SUCCESS;
}

void GpuModule::end(const Launch &launch, CUresult result) {
  Residents &own = residentsOf(device_);
  Code &code = *launch.code;
  {
    const std::lock_guard lock(own.mutex);
    --code.launching;
    if (result == CUDA_SUCCESS && (launch.isCaptured || !launch.isStreamKnown)) {
      code.isPinned = true;
    } else if (result == CUDA_SUCCESS) {
      const auto use = std::find_if(code.uses.begin(), code.uses.end(), [&](const Code::Use &u) {
        return u.streamId == launch.streamId;
      });
      const uint64_t number = ++own.launches;
      if (use == code.uses.end())
        code.uses.push_back({launch.streamId, number});
      else
        use->number = number;
    }
  }
  const bool isStreamUsable = result == CUDA_SUCCESS && launch.isStreamKnown && !launch.isCaptured;
  if (!isStreamUsable || !own.mayTrim || own.isTrimming.exchange(true))
    return;
  trimModules(own, launch.stream, launch.streamId);
  own.isTrimming = false;
}

CUresult GpuModule::load(std::string &error) {
  Code *code = nullptr;
  const CUresult result = hold(code, error);
  if (result == CUDA_SUCCESS) {
    const std::lock_guard lock(residentsOf(device_).mutex);
    --code->launching;
  }
  return result;
}

CUresult GpuModule::pin(CUmodule &module, CUfunction &function) {
  Code *code = nullptr;
  std::string error;
  const CUresult result = hold(code, error);
  if (result == CUDA_SUCCESS) {
    const std::lock_guard lock(residentsOf(device_).mutex);
    --code->launching;
    code->isPinned = true;
    module = code->module;
    function = code->function;
  }
  return result;
}

} // namespace blockscope
