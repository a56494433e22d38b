// What launches depend on besides their arguments: settings, hooks, what watches them.
//
// Python hands over all that is looked at here (`_core.surroundings`, runtime/launcher.py), and
// says when it changes. C++ knows the public names in `knobs.runtime`, and no others.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace blockscope::python {

/// Where a kernel runs.
enum class Place : uint8_t { Cpu, Gpu };

/// One for the process, guarded by Python's lock.
class Surroundings {
public:
  /// What Python hands over (bindSurroundings says what each is).
  struct Handed {
    pybind11::object knobs, hookChain, steps, isGpuActive, cpuSettings, gpuSettings, beginWatched,
        endWatched, launchDefaults, callForUser;
  };

  /// Whether launches may go the short way now: no step mode, no hook, nothing that holds. It looks
  /// at the environment and at the knobs, for this launch.
  bool isPlain();
  /// Whether checks or traces watch launches. They run on the CPU then.
  bool isWatched() const { return watchers_ != 0; }
  /// The setting that switches asserts on, in a launch that has called `isPlain`.
  bool isDebug() const { return knobs_.isDebug; }
  /// Whether launches on GPU tensors go to the GPU.
  bool hasActiveGpu();

  /// The number of the settings that change the code of kernels for a place, as they are now: the
  /// same number for the same settings. Nothing, with Python's error set, when one cannot be read.
  std::optional<uint64_t> settings(Place place);
  /// The same in a launch that has called `isPlain`, which has looked at the environment.
  std::optional<uint64_t> settingsOfLaunch(Place place) {
    const Reading &known = settings_[static_cast<size_t>(place)];
    return known.generation == generation_ ? known.number : readSettings(place);
  }

  /// The options of a launch that a grid function finds among its arguments.
  PyObject *launchDefaults() const { return handed_.launchDefaults.ptr(); }
  /// `call_for_user(function, ...)` of launch.cpp.
  PyObject *callForUser() const { return handed_.callForUser.ptr(); }
  /// Functions around a launch that is watched: `begin(launch)` gives what
  /// `end(watched, failed)` takes.
  PyObject *beginWatched() const { return handed_.beginWatched.ptr(); }
  PyObject *endWatched() const { return handed_.endWatched.ptr(); }

  /// Settings may have changed: they are read again when they are next asked for.
  void settingsChanged() { ++generation_; }
  void activateGpu(bool isActive) { gpuIsActive_ = isActive; }
  /// Until as many releases, all launches go the general way.
  void hold() { ++holds_; }
  void release() { --holds_; }
  void watch(int sessions) { watchers_ = sessions; }

  void configure(Handed handed);

private:
  /// What a function gave in some generation.
  struct Reading {
    uint64_t generation = 0;
    uint64_t number = 0;
  };

  /// `knobs.runtime` in some generation.
  struct Knobs {
    uint64_t generation = 0;
    std::array<pybind11::object, 2> chains; ///< the lists of hooks before and after launches
    bool isHooked = false;                  ///< by what is no chain
    bool isDebug = false;
    bool steps = false;
  };

  void look();
  std::optional<uint64_t> readSettings(Place place);
  Knobs readKnobs() const;

  Handed handed_; ///< all null before `configure`
  uint64_t generation_ = 1;
  std::vector<char *> environment_; ///< as it was in this generation
  Knobs knobs_;
  std::array<Reading, 2> settings_;     ///< by place
  std::vector<pybind11::object> known_; ///< settings by number
  std::optional<bool> gpuIsActive_;     ///< nothing before a driver was made
  int holds_ = 0, watchers_ = 0;
};

Surroundings &surroundings();

void bindSurroundings(pybind11::module_ &module);

} // namespace blockscope::python
