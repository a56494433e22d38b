// What the Python callbacks of one launch have raised.
#pragma once

#include "interpreter/execution_context.h"
#include "python/src/python_lock.h"

#include <cxxabi.h>
#include <exception>
#include <utility>

namespace blockscope::python {

/// Keeps the first exception of a launch's callbacks until the launch has ended. What calls them is
/// compiled without exceptions, and may be a thread that Python knows nothing of.
class CallbackErrors {
public:
  /// Calls `function` with Python's lock held. When it raises, the launch is abandoned, and none of
  /// its callbacks is called any more. False then.
  template <typename Function> bool call(interpreter::LaunchState &launch, Function function) {
    if (launch.abandoned)
      return false;
    const LockPython lock;
    try {
      if (launch.abandoned) // meanwhile, by another worker
        return false;
      function();
      return true;
    } catch (abi::__forced_unwind &) { // Python ends, and with it the threads that call it
      parkThread();
    } catch (...) {
      if (!first_)
        first_ = std::current_exception();
      launch.abandon();
      return false;
    }
  }

  /// Raises what was kept, once; with Python's lock held.
  void rethrow() {
    if (first_)
      std::rethrow_exception(std::exchange(first_, nullptr));
  }

private:
  std::exception_ptr first_; ///< guarded by Python's lock
};

} // namespace blockscope::python
