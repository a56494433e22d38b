// The short way from `kernel[grid](...)` to a launch, for kernels that ran before.
//
// A `_core.Launcher` belongs to one JITFunction; `launcher.bind(grid)` gives a callable. A call
// computes the launch's key and launches what is kept for it. Whatever is unusual (a first launch,
// hooks, step mode, odd arguments, mistakes) goes the general way in Python, runtime/launch.py,
// which decides and words all errors; what it comes back with is kept. So the short way never
// decides anything that the general way has not decided before.
#pragma once

#include "python/src/short_way.h"

#include "llvm/ADT/IntrusiveRefCntPtr.h"

#include <memory>
#include <unordered_map>
#include <vector>

namespace blockscope::python {

/// One compiled kernel of a function, under one key. Counted with Python's lock held.
struct KeptKernel : llvm::RefCountedBase<KeptKernel> {
  explicit KeptKernel(const LaunchKey &key) : key(key) {}

  StoredKey key;
  pybind11::object kernel; ///< a CompiledKernel, which launches give back
  pybind11::object used;   ///< a list of what it read when it was compiled (used_values.h)
  std::shared_ptr<ShortWay> way;
};

class Launcher {
public:
  pybind11::object general;    ///< a function of (grid, *arguments, **keywords)
  pybind11::object attributes; ///< the dict of the function's attributes
  std::vector<LaunchParameter> parameters;
  bool isUsable = false; ///< false for signatures that only Python binds
  uint64_t shortLaunches = 0;

  /// Launches, the short way or the general one. Returns a new reference to the kernel, or null
  /// with Python's error set.
  PyObject *launch(PyObject *grid, PyObject *const *arguments, size_t count, PyObject *keywords);
  /// Tries the short way. `key` of the arguments is whole when the outcome is not Unusual, and
  /// `result` a new reference to the kernel that was launched. A `grid` that is a function is
  /// called at most once, and is then what it gave.
  Outcome launchShort(pybind11::object &grid, PyObject *const *arguments, size_t count,
                      PyObject *keywords, LaunchArguments &bound, PyObject *&result);
  /// Keeps what the general way gave for these arguments, if it can be launched the short way.
  void keep(const LaunchArguments &bound, PyObject *kernel);

  /// Tells of a change of `attributes`. From the first call on, all changes have to be told.
  void attributesChanged() {
    areChangesTold_ = true;
    looked_.isKnown = false;
  }

  void clear() { // freeing a kernel may run code that launches
    ++clears_;
    const Kept last = std::exchange(last_, Kept());
    const auto forgotten = std::exchange(kept_, {});
  }
  size_t size() const { return kept_.size(); }
  int traverse(visitproc visit, void *arg) const;

private:
  using Kept = llvm::IntrusiveRefCntPtr<KeptKernel>;

  /// A dict of the names that a grid function finds, for launches with some options.
  struct GridNames {
    std::vector<pybind11::object> options; ///< their names
    pybind11::object names;                ///< the dict, without the launch's values
  };

  /// What users have set of `attributes`.
  struct Attributes {
    bool isKnown = false;
    bool hasRun = false, isDebug = false;
    pybind11::object hooks; ///< a list, or any object that is true where there are hooks
  };

  bool isUsual();
  void look();
  bool takeKey(PyObject *const *arguments, size_t count, PyObject *keywords,
               LaunchArguments &bound);
  /// `isFresh`: only if what the kernel read is as it was.
  Kept find(const LaunchKey &key, bool isFresh = true);
  pybind11::object sizesFrom(PyObject *grid, const LaunchArguments &bound);
  pybind11::object namesFor(const LaunchArguments &bound);

  std::unordered_multimap<uint64_t, Kept> kept_; ///< by hash
  Kept last_;                                    ///< of these, the one that was found last
  uint64_t clears_ = 0;
  GridNames gridNames_;
  Attributes looked_;
  bool areChangesTold_ = false;
};

/// The launcher in a `_core.Launcher`; null for one that the garbage collector has cleared.
Launcher *launcherFrom(PyObject *object);

void bindLauncher(pybind11::module_ &module);
void bindRepeatedLaunch(pybind11::module_ &module);

} // namespace blockscope::python
