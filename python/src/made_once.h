// State that C++ makes from Python objects, once for the process.
#pragma once

#include <memory>

namespace blockscope::python {

/// A value that is made when it is first asked for, with Python's lock held. It is never destroyed:
/// threads outlive static objects.
///
/// There is no lock and no flag: a static with an initialiser, std::call_once and the once of
/// pybind11 let threads wait while one of them runs Python. With Python's lock held that is a
/// deadlock, and a child that is forked meanwhile waits for ever. Here two threads that come at
/// once may both make a value, and the first one is kept. Declare it `static constinit`.
template <typename T> class MadeOnce {
public:
  template <typename Make> T &get(Make make) {
    if (!value_) {
      auto made = std::make_unique<T>(make()); // runs Python, which may let other threads run
      if (!value_)
        value_ = made.release();
    }
    return *value_;
  }
  T &get() {
    return get([] { return T(); });
  }

private:
  T *value_ = nullptr;
};

} // namespace blockscope::python
