// Python's lock: given up while C++ works alone, taken where a worker calls Python; and what
// becomes of both when Python ends.
//
// When Python ends it does not wait for daemon threads. It frees what their frames hold, under the
// kernels that they run, and ends each of them where it next asks for the lock, by an unwinding
// that C++ takes for an error. So an exit handler stops the launches of other threads, and waits
// until each of them has left this module or is parked in it for ever.
#pragma once

#include <pybind11/pybind11.h>

namespace blockscope::python {

/// A call from Python that may take long or give up its lock. The lock is held at both ends.
class ActiveCall {
public:
  ActiveCall();
  ~ActiveCall();
  ActiveCall(const ActiveCall &) = delete;
  ActiveCall &operator=(const ActiveCall &) = delete;
};

/// Gives up Python's lock for as long as it lives.
class UnlockPython {
public:
  /// What the exit handler does about such a thread. What may wait for a GPU is left alone.
  enum class AtExit : uint8_t { WaitFor, LeaveAlone };

  explicit UnlockPython(AtExit atExit = AtExit::WaitFor);
  ~UnlockPython();
  UnlockPython(const UnlockPython &) = delete;
  UnlockPython &operator=(const UnlockPython &) = delete;

private:
  ActiveCall call_;
  AtExit atExit_;
  PyThreadState *state_;
};

/// Holds Python's lock for as long as it lives, on any thread.
class LockPython {
public:
  LockPython();
  ~LockPython();
  LockPython(const LockPython &) = delete;
  LockPython &operator=(const LockPython &) = delete;

private:
  PyGILState_STATE state_;
};

/// Whether another thread is ending Python: launches of this one stop.
bool isPythonEnding();
/// Keeps a thread that has no business any more. Called with Python's lock held when it is ending.
void parkIfPythonIsEnding();
/// Keeps this thread for ever, without Python's lock.
[[noreturn]] void parkThread();

void bindPythonLock(pybind11::module_ &module);

} // namespace blockscope::python
