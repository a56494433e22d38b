// How C++ launches a compiled kernel again by itself, without asking Python what it is.
#pragma once

#include "python/src/launch_arguments.h"
#include "python/src/surroundings.h"

#include <array>
#include <cstdint>

namespace blockscope::python {

using Grid = std::array<uint32_t, 3>;

/// What became of a launch.
enum class Outcome : uint8_t {
  Unusual, ///< Python has to look at it
  Unknown, ///< as Unusual, and its key is good: what Python finds can be kept under it
  Launched,
  Failed, ///< Python's error is set
};

/// One compiled kernel. Backends make these (CompiledKernel.short_way in Python).
class ShortWay {
public:
  ShortWay(Place place, size_t argumentCount) : place_(place), argumentCount_(argumentCount) {}
  virtual ~ShortWay() = default;
  ShortWay(const ShortWay &) = delete;
  ShortWay &operator=(const ShortWay &) = delete;

  /// Launches with arguments that have the key which the kernel was compiled for; `grid` has no
  /// zeros. It may let other threads run.
  ///
  /// Errors: Unusual or Failed; nothing was launched then, or it has failed.
  virtual Outcome launch(const Grid &grid, const LaunchArguments &arguments) = 0;
  /// Shows what it owns to Python's garbage collector.
  virtual int traverse(visitproc visit, void *arg) const = 0;

  Place place() const { return place_; }
  /// Of the run-time arguments.
  size_t argumentCount() const { return argumentCount_; }

private:
  Place place_;
  size_t argumentCount_;
};

void bindShortWays(pybind11::module_ &module);
void bindGpuShortWay(pybind11::module_ &module);
void bindCpuShortWay(pybind11::module_ &module);

} // namespace blockscope::python
