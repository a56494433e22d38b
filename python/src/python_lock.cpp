// Threads at the end of Python. All state is of the process, and begins anew in a forked child.
#include "python/src/python_lock.h"

#include <cxxabi.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace py = pybind11;

namespace blockscope::python {

namespace {

/// So long the end of Python waits for threads that do not stop.
constexpr std::chrono::seconds kLongestWait{5};

/// Threads in this module that are not parked, as a sum: what changes with Python's lock held, as
/// in each launch, need not be told to other processors at once.
std::atomic<int> activeWithLock{0}, activeWithout{0};
std::atomic<bool> isEnding{false}; ///< the exit handler has begun
std::atomic<bool> isOver{false};   ///< and has ended: nothing takes the lock any more
thread_local int depth = 0;        ///< active calls of this thread
thread_local bool endsPython = false;

int activeThreads() { return activeWithLock + activeWithout; }

void addActive(int change) { // with Python's lock held
  activeWithLock.store(activeWithLock.load(std::memory_order_relaxed) + change,
                       std::memory_order_relaxed);
}

void startAnewInChild() {
  activeWithLock = depth > 0 ? 1 : 0;
  activeWithout = 0;
  isEnding = isOver = endsPython = false;
}

void stopOtherThreads() {
  endsPython = isEnding = true;
  const int own = depth > 0 ? 1 : 0;
  const auto end = std::chrono::steady_clock::now() + kLongestWait;
  PyThreadState *state = PyEval_SaveThread(); // they may need it to come to an end
  while (activeThreads() > own && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  PyEval_RestoreThread(state);
  isOver = true;
}

/// Takes the lock by `take`. Where Python ends the thread instead, it is parked: the unwinding must
/// not reach C++ that knows no exceptions, nor destructors that need the lock.
template <typename Take> void takeOrPark(Take take) {
  try {
    take();
  } catch (abi::__forced_unwind &) {
    parkThread();
  }
}

} // namespace

bool isPythonEnding() { return isEnding && !endsPython; }

void parkThread() {
  if (depth > 0)
    --activeWithout;
  for (;;)
    pause();
}

void parkIfPythonIsEnding() {
  if (!isPythonEnding())
    return;
  PyEval_SaveThread();
  parkThread();
}

ActiveCall::ActiveCall() {
  if (depth == 0) {
    parkIfPythonIsEnding();
    addActive(1);
  }
  ++depth;
}

ActiveCall::~ActiveCall() {
  if (--depth == 0)
    addActive(-1);
}

UnlockPython::UnlockPython(AtExit atExit) : atExit_(atExit), state_(PyEval_SaveThread()) {
  if (atExit_ == AtExit::LeaveAlone)
    --activeWithout;
}

UnlockPython::~UnlockPython() {
  if (atExit_ == AtExit::LeaveAlone)
    ++activeWithout;
  if (isPythonEnding())
    parkThread();
  takeOrPark([this] { PyEval_RestoreThread(state_); });
}

LockPython::LockPython() {
  if (isOver && !endsPython)
    parkThread();
  takeOrPark([this] { state_ = PyGILState_Ensure(); });
}

LockPython::~LockPython() { PyGILState_Release(state_); }

void bindPythonLock(py::module_ &module) {
  module.def("park_if_python_is_ending", &parkIfPythonIsEnding,
             "keep this thread for ever when another one is ending Python");
  pthread_atfork(nullptr, nullptr, startAnewInChild);
  py::module_::import("atexit").attr("register")(py::cpp_function(stopOtherThreads));
}

} // namespace blockscope::python
