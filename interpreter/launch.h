// Launches a flat program over a grid.
#pragma once

#include "interpreter/execution_context.h"
#include "interpreter/flat/flat_program.h"

namespace blockscope::interpreter {

/// The value of one parameter: the bits of a scalar in its low bytes, or a device address.
struct ArgumentValue {
  uint64_t bits = 0;
};

/// Tells observers of the program and its arguments, which both outlive the launch. launchFlat does
/// so itself; step mode where the kernel can be compiled.
void knowProgram(const FlatProgram &program, LaunchState &launch,
                 llvm::ArrayRef<uint64_t> arguments);

struct LaunchResult {
  /// Refused accesses, failed asserts, a deadlock: what was not recorded by an observer.
  std::vector<Finding> errors;
  bool interrupted = false; ///< the poll asked to stop
  /// Why the launch could not run to its end for another reason (memory, grid); else empty.
  std::string failure;

  bool succeeded() const { return errors.empty() && !interrupted && failure.empty(); }
};

/// Runs every program of the grid `launch.info.grid` on the thread pool and returns when all have
/// ended. Fills workers, memory and hasAtomics of `launch.info`. `poll` is called on this thread
/// every 20 ms; when it returns true the launch stops. Observers may have a kernel
/// whose programs do not wait for one another tried on all threads first, and done again from the
/// same memory, programs in order (ObserverPlan::Repeat).
LaunchResult launchFlat(const FlatProgram &program, LaunchState &launch,
                        llvm::ArrayRef<ArgumentValue> arguments,
                        llvm::function_ref<bool()> poll = {});

} // namespace blockscope::interpreter
