// From the block IR of one kernel to a cubin. No MLIR headers here, so that callers compile fast.
//
// What the launcher (gpu_backend/driver) passes to a kernel, in this order:
//   1. the run-time arguments: pointers as 8 bytes, floats and integers in the size of their dtype,
//      int1 as one byte;
//   2. if `globalScratchBytes` is not 0, a pointer to scratch memory for the whole grid;
//   3. if `takesDebugBuffer`, a pointer to a debug buffer (below);
//   4. for each of `tensorMaps` the 128 bytes of the map, aligned to 64.
// Facts about arguments come as attributes of the function's arguments: `tl.divisibility` (i32), by
// how many bytes a pointer, or by what an integer, can be divided.
//
// Debug buffer, filled by device_assert and device_print, read by the host after the launch:
//   u32 usedBytes (what records asked for, by atomic add; above capacityBytes the rest is lost),
//   u32 capacityBytes of the records, u32 failedAsserts (elements that failed, by atomic add),
//   u32 reserved; then records of 24 bytes and 8 for each value: u32 site (in `debugSites`),
//   i32 program number per axis (3), u32 flat index of the element in its block (0 for a scalar),
//   u32 number of values, each value's bits in 8 bytes.
// One record per element, by the thread that owns it. An assert that failed adds one without values
// and the program goes on.
#pragma once

#include "core/dtype.h"
#include "core/finding.h"
#include "core/source_location.h"
#include "gpu_backend/tensor_map.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace blockscope {

class IrEmitter;

/// A GPU architecture as the assembler names it.
struct GpuTarget {
  int capability = 90; ///< 10 * major + minor
  std::string arch = "sm_90a";
  int ptxVersion = 90; ///< 10 * major + minor of the PTX language
  int sharedKiB = 227; ///< the most that one CTA can have

  /// Returns the target `sm_80`, `sm_90a` and so on, or what runs best on such a GPU (`sm_90`).
  ///
  /// Errors: nothing for an unknown name; `error` gets the known ones.
  static std::optional<GpuTarget> parse(llvm::StringRef arch, std::string *error = nullptr);
  /// Returns the target for a device of this capability (90), as `parse` does.
  static std::optional<GpuTarget> ofCapability(int capability, std::string *error = nullptr);
};

/// What a launch may choose, besides the types and constants that are in the IR.
struct GpuOptions {
  int numWarps = 4;
  int numStages = 3;
  int numCtas = 1;
  std::optional<int> maxRegisters;
  int ptxVersion = 0; ///< 10 * major + minor of the PTX language; 0: the target's
  bool enableFpFusion = true;
  bool debug = false; ///< device_assert is compiled in
  bool lineInfo = true;
  bool tma = true;           ///< blocks of tensors are copied by TMA where the GPU has it
  bool mayOverlap = false;   ///< any two arguments may be views of the same memory
  bool moreBlocks = true;    ///< rings may have a block more than stages, where memory is left
  std::string dumpDir;       ///< if not empty, every stage is written to a file there
  std::string passPipeline;  ///< the passes of the GPU level as text; empty: `tlg-pipeline`
  std::string dumpPasses;    ///< "1" or a kernel's name: the IR goes to stderr after every pass
  bool dumpLlvm = false;     ///< LLVM IR goes to stderr, as lowered and as optimised
  std::string ptxasPath;     ///< the assembler; empty: look for it
  std::string ptxasOptions;  ///< more options for it, separated by blanks
  std::string libdevicePath; ///< libdevice.10.bc; empty: look for it
  /// What ptxas gets as its environment, "NAME=value". Python takes it while no other thread can
  /// change the process's own, which is no longer so when ptxas starts.
  std::vector<std::string> environment;
};

/// How long a stage of the compiler took.
struct StageTime {
  std::string stage;
  int64_t elapsedNs = 0;
};

/// A device_assert or device_print of the kernel.
struct DebugSite {
  bool isAssert = false;
  std::string text; ///< the assert's message or the print's prefix
  SourceLocation location;
  std::vector<DType> values;  ///< of one record, in order
  std::vector<int64_t> shape; ///< of the block; empty for scalars
  bool hex = false;
};

/// What may cost a kernel speed, found while it was compiled (docs/gpu.md lists the codes).
struct KernelNote {
  std::string code;                      ///< "uncoalesced"
  Severity severity = Severity::Warning; ///< or a note: the author may well have meant it
  SourceLocation location;
  std::string message;              ///< what was found and expected: one line, lower case
  std::string cost;                 ///< what that costs
  std::string hint;                 ///< at most one, may be empty
  std::vector<SourceLocation> also; ///< other places of which the same holds
  /// The two numbers of the message, in the unit of the code; 0 where there are none.
  int64_t found = 0, expected = 0;
};

/// A kernel ready to be loaded.
struct GpuKernel {
  std::string name; ///< of the function in the cubin
  std::string tl, tlg, llir, ptx;
  std::string cubin; ///< bytes
  GpuTarget target;
  int numWarps = 4; ///< warps of one CTA, those of warp specialisation included
  int numCtas = 1;  ///< cluster size; the launcher starts grid x numCtas CTAs along x
  int sharedBytes = 0;
  int registers = 0;
  int spillBytes = 0;
  uint64_t globalScratchBytes = 0; ///< per program; the launcher allocates it for the whole grid
  uint64_t globalScratchAlign = 128;
  bool takesDebugBuffer = false;
  std::vector<TensorMap> tensorMaps;
  /// Pairs of run-time arguments that must not overlap in memory, by number. Where those of a
  /// launch do, or have no tensor maps, the kernel compiled without `tma` and with `mayOverlap` is
  /// for it.
  std::vector<std::pair<int, int>> apart;
  std::vector<DebugSite> debugSites;
  std::vector<StageTime> times;
  std::vector<std::string> warnings; ///< of ptxas, in its words
  std::vector<KernelNote> notes;
};

/// Compiles the kernel in `emitter`, whose module has been through runPasses. The module is lowered
/// in place. Safe to call from several threads, each with its own emitter.
///
/// Errors: null, with the text in `error`. A text that begins with "ptxas" is the assembler's; one
/// that begins with "out of resource: " has the form "out of resource: NAME, required: N, limit:
/// M". Where the mistake is ours, the text names a file with the IR that reproduces it.
std::unique_ptr<GpuKernel> compileForGpu(IrEmitter &emitter, const GpuTarget &target,
                                         const GpuOptions &options, std::string *error);

} // namespace blockscope
