// The short way for autotuned kernels: the configuration that was chosen for such arguments is
// launched again, without Python.
//
// As the launcher, it decides nothing: runtime/autotuner.py has chosen, and says for each launch
// that it made what it launched. That is kept under what the choice depends on (the values of the
// key arguments, the dtypes of all), and holds for as long as the autotuner's table of choices and
// the configuration are what they were.
#pragma once

#include "python/src/launcher.h"

namespace blockscope::python {

class TunedLauncher {
public:
  pybind11::object general;    ///< a function of (grid, *arguments, **keywords)
  pybind11::object choice;     ///< a function of (*arguments, **keywords), for `remember`
  pybind11::object attributes; ///< the dict of the autotuner's attributes
  pybind11::object kernel;     ///< what is tuned, and
  pybind11::object launcher;   ///< its launcher
  std::vector<pybind11::object> parameters; ///< their names, interned
  std::vector<bool> isKey;                  ///< whether the choice depends on a parameter's value

  /// As Launcher::launch.
  PyObject *launch(PyObject *grid, PyObject *const *arguments, size_t count, PyObject *keywords);
  void clear() { const auto forgotten = std::exchange(choices_, {}); }
  int traverse(visitproc visit, void *arg) const;

private:
  /// One configuration for arguments with some key.
  struct Choice : llvm::RefCountedBase<Choice> {
    explicit Choice(const LaunchKey &key) : key(key) {}

    StoredKey key;
    pybind11::object cacheKey; ///< in the autotuner's table; null where there is one configuration
    pybind11::object config, hook;
    /// What the configuration held: its attributes and the dicts among them, as keys and values.
    std::vector<pybind11::object> contents;
    pybind11::object keywords;            ///< the launch's, those of the configuration behind them
    std::vector<pybind11::object> values; ///< of the configuration's
  };
  using Kept = llvm::IntrusiveRefCntPtr<Choice>;

  bool takeKey(PyObject *const *arguments, size_t count, PyObject *keywords, LaunchKey &key) const;
  bool addArgument(size_t parameter, PyObject *value, LaunchKey &key) const;
  Kept find(const LaunchKey &key) const;
  bool holds(const Choice &choice) const;
  void remember(const LaunchKey &key, PyObject *const *arguments, size_t count, PyObject *keywords);
  bool callHook(const Choice &choice, PyObject *grid, PyObject *const *arguments, size_t count,
                llvm::ArrayRef<PyObject *> named) const;

  std::unordered_multimap<uint64_t, Kept> choices_; ///< by hash
};

void bindTunedLauncher(pybind11::module_ &module);

} // namespace blockscope::python
