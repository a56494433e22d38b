// Binds step mode: a step emitter for one launch, program after program.
#include "interpreter/step_emitter.h"
#include "python/src/current_emitter.h"
#include "python/src/launch.h"
#include "python/src/python_lock.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <map>
#include <utility>

namespace py = pybind11;

namespace blockscope::python {

namespace {

using Place = std::tuple<std::string, int, int, std::string>;

/// Asks Python where the stepped kernel is: innermost call first.
SourceLocation locationFrom(const py::object &provider) {
  const auto places = provider().cast<std::vector<Place>>();
  std::shared_ptr<const SourceLocation> caller;
  SourceLocation location;
  for (auto place = places.rbegin(); place != places.rend(); ++place) {
    location = SourceLocation();
    std::tie(location.file, location.line, location.column, location.function) = *place;
    location.caller = caller;
    caller = std::make_shared<SourceLocation>(location);
  }
  return location;
}

struct PyStepRunner {
  PyStepRunner(PyLaunch &launch, py::object provider, py::object onSpin, bool checksOverflow,
               bool hasPayloads)
      : launch(launch), onSpin(std::move(onSpin)), checksOverflow(checksOverflow),
        hasPayloads(hasPayloads), emitter(launch.state, [&launch, provider] {
          SourceLocation location;
          launch.callbackErrors.call(launch.state, [&] { location = locationFrom(provider); });
          return location;
        }) {}

  /// After every op: throws what went wrong, and lets other programs run where this one spins.
  void afterOp() {
    parkIfPythonIsEnding();
    if (launch.state.stop) {
      throwLaunchErrors(launch);
      throwStopped();
    }
    if (const std::string failure = emitter.takeFailure(); !failure.empty())
      throw py::value_error(failure);
    if (emitter.takeSpin())
      handleSpin();
  }

  /// A program that spins waits for another one: the others get their turn (frontend/step.py). When
  /// memory stays as it is however often they had it, and each has come back to where it was,
  /// nothing will ever change.
  void handleSpin() {
    constexpr int kSpinsBeforeOthers = 8;
    const uint64_t progress = launch.state.progress;
    spins = progress == progressAtSpin ? spins + 1 : 1;
    progressAtSpin = progress;
    spinning[emitter.context().linearProgram].note(progress, countedLoops());
    if (spins < kSpinsBeforeOthers)
      return;
    if (letOthersRun(progress)) // a program began that did not run before
      spins = 0;
    // Each of the others has to have its turn many times.
    if (spins < kSpinsBeforeDeadlock + kTurnsBeforeDeadlock * emitter.suspendedPrograms() ||
        !llvm::all_of(spinning, [&](const auto &each) { return each.second.goesRound(progress); }))
      return;
    emitter.reportDeadlock();
    throwLaunchErrors(launch);
    throwStopped();
  }

  /// Whether a program began that did not run before.
  bool letOthersRun(uint64_t progress) {
    const auto kept = std::exchange(hasEnd, {});
    const int suspended = emitter.suspendProgram();
    const bool begins = onSpin(progress).cast<bool>();
    emitter.resumeProgram(suspended);
    hasEnd = kept;
    return begins;
  }

  /// The counters of the loops around that count up to an end.
  llvm::SmallVector<int64_t, 4> countedLoops() {
    llvm::SmallVector<int64_t, 4> counters;
    for (const auto [counter, counts] : llvm::zip(emitter.context().loopIterations, hasEnd))
      if (counts)
        counters.push_back(counter);
    return counters;
  }

  /// At the begin of an iteration of a loop without bounds. Where only memory can end it, the other
  /// programs get their turn.
  void lookAtLoop(const std::vector<Value> &deciding, uint64_t others, std::vector<int> lines,
                  bool isFirst) {
    if (!emitter.goesOnForEver(deciding, others, std::move(lines), isFirst))
      return;
    if (emitter.waitsByLoads()) {
      const uint64_t progress = launch.state.progress;
      for (int round = 0; round < kSpinsBeforeDeadlock; ++round) {
        if (letOthersRun(progress)) // a program began that did not run before
          round = 0;
        if (launch.state.progress != progress)
          return;
      }
      emitter.reportDeadlock();
    } else {
      emitter.reportEndlessLoop();
    }
    throwLaunchErrors(launch);
    throwStopped();
  }

  /// Ends the launch whose finding a check has recorded.
  [[noreturn]] static void throwStopped() {
    py::object type = py::module_::import("blockscope.frontend.scheduler").attr("StoppedByFinding");
    PyErr_SetNone(type.ptr());
    throw py::error_already_set();
  }

  /// The spins of a program since memory has changed. In a loop with an end it is elsewhere at
  /// each; else it comes back, if not at once, to one of those that are remembered at rising
  /// distances.
  struct Spinning {
    static constexpr size_t kReturns = 8;

    void note(uint64_t now, llvm::SmallVector<int64_t, 4> place) {
      if (now != progress || spins == 0)
        *this = {now, 0, 0, {}};
      if (spins > 0 && place == anchor)
        ++returns;
      if (llvm::isPowerOf2_64(++spins) && place != anchor) {
        anchor = std::move(place);
        returns = 0;
      }
    }
    bool goesRound(uint64_t now) const { return progress == now && returns >= kReturns; }

    uint64_t progress = 0;
    size_t spins = 0, returns = 0;
    llvm::SmallVector<int64_t, 4> anchor;
  };

  static constexpr int kSpinsBeforeDeadlock = 1000;
  static constexpr size_t kTurnsBeforeDeadlock = 4;

  PyLaunch &launch;
  py::object onSpin;
  const bool checksOverflow, hasPayloads; ///< as EmitterScope says
  size_t spins = 0;
  uint64_t progressAtSpin = 0;
  std::map<int64_t, Spinning> spinning; ///< programs that have spun and not ended
  llvm::SmallVector<bool, 4> hasEnd;    ///< of the loops around, outermost first
  interpreter::StepEmitter emitter;
};

/// `with runner.scope():` makes the emitter that of this thread, for which the end of Python waits.
struct PyStepScope {
  PyStepRunner *runner;
  std::unique_ptr<EmitterScope> scope;
  std::unique_ptr<ActiveCall> call;
};

} // namespace

void bindStepRunner(py::module_ &module) {
  py::class_<PyStepScope>(module, "StepScope")
      .def("__enter__",
           [](PyStepScope &self) {
             self.call = std::make_unique<ActiveCall>();
             PyStepRunner *runner = self.runner;
             self.scope = std::make_unique<EmitterScope>(
                 runner->emitter, [runner] { runner->afterOp(); }, runner->checksOverflow,
                 runner->hasPayloads);
           })
      .def("__exit__", [](PyStepScope &self, const py::args &) {
        self.scope.reset();
        self.call.reset();
      });
  py::class_<PyStepRunner>(module, "StepRunner")
      .def(py::init<PyLaunch &, py::object, py::object, bool, bool>(), py::keep_alive<1, 2>())
      .def("note_file",
           [](PyStepRunner &self, const std::string &file) {
             std::vector<std::string> &files = self.launch.state.info.files;
             if (!llvm::is_contained(files, file))
               files.push_back(file);
           })
      .def_property_readonly("crowd", [](const PyStepRunner &self) { return self.emitter.crowd(); })
      .def("tell_not_resident", [](PyStepRunner &self) { self.emitter.tellNotResident(); })
      .def("begin_launch",
           [](PyStepRunner &self, bool hasAtomics) { self.emitter.beginLaunch(hasAtomics); })
      .def("end_launch", [](PyStepRunner &self) { self.emitter.endLaunch(); })
      .def(
          "scope",
          [](PyStepRunner &self) {
            return std::make_unique<PyStepScope>(PyStepScope{&self, nullptr, nullptr});
          },
          py::keep_alive<0, 1>())
      .def("value", [](PyStepRunner &self, const Type &type,
                       uint64_t bits) { return self.emitter.scalarFromBits(type, bits); })
      .def("begin_program",
           [](PyStepRunner &self, int x, int y, int z) { self.emitter.beginProgram({x, y, z}); })
      .def("loop_depth",
           [](PyStepRunner &self) { return self.emitter.context().loopIterations.size(); })
      .def("unrolled_depth", [](PyStepRunner &self) { return self.emitter.unrolledDepth(); })
      .def("set_unrolled", [](PyStepRunner &self, size_t depth,
                              int32_t iteration) { self.emitter.setUnrolled(depth, iteration); })
      .def("look_at_loop",
           [](PyStepRunner &self, const std::vector<Value> &deciding, int64_t others,
              std::vector<int> lines, bool isFirst) {
             self.lookAtLoop(deciding, static_cast<uint64_t>(others), std::move(lines), isFirst);
           })
      .def("end_in_loop_past_its_goal",
           [](PyStepRunner &self, int64_t at, int64_t goal, int64_t step) {
             self.emitter.reportEndlessLoop(interpreter::EndlessLoop::Bounds{at, goal, step});
             throwLaunchErrors(self.launch);
             PyStepRunner::throwStopped();
           })
      .def("set_loops",
           [](PyStepRunner &self, size_t depth, int64_t iteration, bool hasEnd) {
             // Loops deeper than `depth` have ended; a negative iteration ends that one as well.
             auto &loops = self.emitter.context().loopIterations;
             if (loops.size() > depth)
               loops.resize(depth);
             self.hasEnd.resize(loops.size());
             if (iteration >= 0) {
               loops.push_back(iteration);
               self.hasEnd.push_back(hasEnd);
             }
           })
      .def("end_program",
           [](PyStepRunner &self) {
             self.spinning.erase(self.emitter.context().linearProgram);
             self.emitter.endProgram();
             throwLaunchErrors(self.launch);
           })
      .def("finish", [](PyStepRunner &self) { throwLaunchErrors(self.launch); });
}

} // namespace blockscope::python
