// What a launch may choose about the code of its kernel.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace blockscope {

/// What a launch may choose, besides the types and constants that are in the IR.
struct GpuOptions {
  int numWarps = 4;
  int numStages = 3;
  int numCtas = 1; ///< that run a program together, as a cluster, where kernel and GPU allow it
  std::optional<int> maxRegisters;
  int ptxVersion = 0; ///< 10 * major + minor of the PTX language; 0: the target's
  bool enableFpFusion = true;
  bool debug = false; ///< device_assert is compiled in
  bool lineInfo = true;
  bool tma = true;         ///< blocks of tensors are copied by TMA where the GPU has it
  bool mayOverlap = false; ///< any two arguments may be views of the same memory
  std::vector<std::pair<int, int>> knownDisjoint; ///< but not these pairs of arguments
  bool mayBeNegative = false;                     ///< any integer argument
  bool extraBuffers = true; ///< rings may have a buffer more than stages, where memory is left
  /// What the rings of a loop may take of shared memory; nothing: as many buffers as stages.
  std::optional<int64_t> ringBytes;
  bool oneBuffer = false;   ///< loads that threads read at once have one buffer in rings of two
  std::string dumpDir;      ///< if not empty, every stage is written to a file there
  std::string passPipeline; ///< the passes of the GPU level as text; empty: `tlg-pipeline`
  std::string dumpPasses;   ///< "1" or a kernel's name: the IR goes to stderr after every pass
  bool dumpLlvm = false;    ///< LLVM IR goes to stderr, as lowered and as optimised
  std::string ptxasPath;    ///< the assembler; empty: look for it
  std::string ptxasOptions; ///< more options for it, separated by blanks
  int ptxasSeconds = 600;   ///< after which it is killed; 0: never
  /// Asked while ptxas runs; true kills it. May be empty.
  std::function<bool()> isInterrupted;
  std::string libdevicePath; ///< libdevice.10.bc; empty: look for it
  /// What ptxas gets as its environment, "NAME=value". Python takes it while no other thread can
  /// change the process's own, which is no longer so when ptxas starts.
  std::vector<std::string> environment;
};

} // namespace blockscope
