// A kernel's code on one device: loaded for the launch that needs it, unloaded to make room.
//
// A device keeps `moduleLimit()` modules loaded. Beyond that the least recently launched ones are
// unloaded, but none that may still run or that a CUDA graph may run:
// - A launch notes its stream. An event that is recorded behind a later launch on that stream (then
//   the stream is known to exist) has come when all launches noted before have run. Nothing waits
//   for it: later launches ask. The number of the default stream is known, that of another stream
//   is asked for in each launch: a new stream may have the address of an old one.
// - Code that was captured stays for good. A graph could hold a reference and give it back, but a
//   graph with references takes 1.2 us longer for each replay (measured on an H200).
// So more modules than the limit are loaded while they are in use.
#pragma once

#include "gpu_backend/driver/capture.h"

#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace blockscope {

/// How many modules of one device stay loaded. Setting it unloads with the next launches.
size_t moduleLimit();
void setModuleLimit(size_t limit);

/// How many modules are loaded on a device.
size_t loadedModules(int device);

class GpuModule {
public:
  struct Code;
  /// Loads the code while the device's context is current. Errors: the driver's, with a text.
  using Loader = std::function<CUresult(CUmodule &, CUfunction &, std::string &error)>;

  GpuModule(int device, Loader loader);
  /// Code that may still run is unloaded later.
  ~GpuModule();
  GpuModule(const GpuModule &) = delete;
  GpuModule &operator=(const GpuModule &) = delete;

  /// One launch, between `begin` and `end`, while which the code stays loaded.
  struct Launch {
    CUfunction function = nullptr;
    CUstream stream = nullptr;
    bool isCaptured = false;
    bool isStreamKnown = false;
    unsigned long long streamId = 0; ///< unique in a process; 0 while captured
    Code *code = nullptr;            ///< it is not unloaded while it is launched
  };

  /// Loads the code unless it is loaded. The device's context is current here and in `end`, and
  /// the module lives in between.
  ///
  /// Errors: the loader's; `end` is not called then.
  CUresult begin(CUstream stream, Launch &launch);
  void end(const Launch &launch, CUresult result);

  /// Loads the code unless it is loaded.
  CUresult load(std::string &error);
  /// Returns the code's addresses, and never unloads it from now on: nobody knows who uses them.
  CUresult pin(CUmodule &module, CUfunction &function);

private:
  CUresult hold(Code *&code, std::string &error);
  bool holdIfLoaded(Code *&code);

  const int device_;
  const Loader loader_;
  std::mutex loading_;         ///< one thread loads
  std::shared_ptr<Code> code_; ///< guarded by the device's lock
};

} // namespace blockscope
