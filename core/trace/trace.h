// What a trace file holds, as plain data; docs/trace-format.md has the same on disk.
//
// A trace is a list of launches. A launch has arguments, ops and access runs; an access run is a
// two-level strided set of elements, so that a 64x32 tile is one run and not 2048 accesses.
#pragma once

#include "core/finding.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace blockscope {

/// What an access does to memory. The values are those of the file.
enum class TraceAccessKind : uint8_t { Read = 0, Write = 1, Atomic = 2 };

/// What an op does to memory. The values are those of the file.
enum class TraceOpKind : uint8_t { Other = 0, Read = 1, Write = 2, Atomic = 3 };

/// Bits of `TraceRun::flags`.
enum TraceRunFlag : uint8_t {
  kTraceOutsideView = 1,    ///< not an element of the argument's view (shape and strides)
  kTraceOutsideStorage = 2, ///< not inside the argument's storage
  kTraceFirstOfBlock = 4,   ///< the first run of one block access: counting these counts accesses
};

/// One set of equally wide accesses: `outerCount` rows of `innerCount` elements.
///
/// Units: offsets and strides are in bytes from the argument's element (0, ..., 0); they may be
///        negative. Without an argument (-1) the offset is the address.
struct TraceRun {
  int64_t offsetBytes = 0;
  int64_t innerStrideBytes = 0;
  int64_t outerStrideBytes = 0;
  uint32_t program = 0;    ///< x + grid[0] * (y + grid[1] * z)
  uint32_t innerCount = 0; ///< 0: every lane of the block was masked off
  uint32_t outerCount = 1;
  uint32_t maskedLanes = 0; ///< lanes masked off, on the first run of a block access
  uint32_t op = 0;
  int32_t argument = -1;
  uint8_t elementBytes = 0; ///< bytes per lane
  TraceAccessKind kind = TraceAccessKind::Read;
  uint8_t flags = 0;
};

/// One kernel argument. A scalar has no strides, `elementBytes` 0, and its text in `value`.
struct TraceArgument {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides; ///< in elements
  int64_t elementBytes = 0;
  int64_t storageBytes = 0;    ///< extent of the whole storage
  int64_t baseOffsetBytes = 0; ///< where element (0, ..., 0) is, from the start of the storage
  std::string value;
  bool isTensor() const { return elementBytes > 0; }
};

/// One op of the kernel with the place in the user's Python that made it.
struct TraceOp {
  std::string name; ///< "tl.load"
  TraceOpKind kind = TraceOpKind::Other;
  int32_t source = -1; ///< index into the file's sources
  int32_t line = 0;
  int32_t column = 0;
  std::string variable;  ///< the Python name the result was assigned to, or empty
  std::string callChain; ///< callers, innermost first, one "file:line:column function" per line
};

/// Text of one Python file, or of a part of it that starts at `firstLine`.
struct TraceSource {
  std::string path;
  std::string text;
  int32_t firstLine = 1;
};

/// A place that a finding names, and what ran there, as words of a report.
struct TracePlace {
  SiteRole role = SiteRole::Here; ///< the first one with `Here` is the finding's own
  int32_t source = -1;
  int32_t line = 0;
  int32_t column = 0;
  int32_t op = -1;
  int64_t program = -1; ///< linear program id
  std::string access;   ///< "load", or empty
  std::string lane;     ///< "23 of [32]", "33 = [1, 1] of [2, 32]", or empty
  std::string loop;     ///< iterations of the loops around it, "[0, 3]", or empty
  std::string value;    ///< loaded or stored, when known
};

/// Elements of a tensor that a finding is about: `outerCount` rows of `innerCount` neighbours.
///
/// Units: as those of `TraceRun`.
struct TraceElements {
  int32_t argument = -1;
  int64_t offsetBytes = 0;
  int64_t innerCount = 0;
  int64_t outerCount = 1;
  int64_t outerStrideBytes = 0;
};

/// How much of the error of an output a source line brings.
struct TraceShare {
  int32_t source = -1;
  int32_t line = 0;
  int32_t permille = 0;
  std::string what; ///< what rounds there: "a sum in fp16"
};

/// A program that waits, in the words of the report.
struct TraceWait {
  int64_t program = -1; ///< linear program id
  int32_t source = -1;  ///< where it waits
  int32_t line = 0;
  int64_t holder = -1;    ///< the program that has what it waits for; -1: not known
  std::string waits;      ///< "in line 11 for 'lock_ptr'[1] = 1"
  std::string holderText; ///< "taken by program 1 in line 11, which waits, too", or empty
};

/// A finding, and the rows of the trace that it is about. One that was read has of `Finding` its
/// code, severity, message, line, column and count, and, where the file has details of findings,
/// `values`, `hint` and `model`; `json` has the rest.
struct TraceFinding : Finding {
  int32_t op = -1;
  int32_t argument = -1;
  int64_t program = -1; ///< linear program id
  int32_t source = -1;
  std::string json; ///< all of it (findingFromJson)
  std::vector<TracePlace> places;
  std::optional<int64_t> elementOffsetBytes; ///< of the one element that the message names
  std::vector<TraceElements> elements;       ///< all that are known
  bool hasMoreElements = false;              ///< than `elements`
  std::vector<TraceShare> lineShares;        ///< largest first
  std::vector<TraceWait> waits;              ///< as in `WaitingFacts`
  bool isElsewhere = false;                  ///< found in a launch that was not recorded
};

struct TraceNamedValue {
  std::string name;
  std::string value;
};

/// Values of the first elements that a launch accessed: three columns of equal length. The elements
/// of one run follow one another, row by row of the run; a run has all of its values or none.
///
/// Units: bits of the element, from the lowest on; what is above its width is 0.
struct TraceValues {
  std::vector<int64_t> run;    ///< row of the access runs, ascending
  std::vector<int64_t> before; ///< what was there
  std::vector<int64_t> after;  ///< what is there then; of a read the same
  int64_t dropped = 0;         ///< elements whose values were left out
  bool empty() const { return run.empty() && dropped == 0; }
};

/// The GPU that a launch is predicted for. Peaks and bytes per second are 0 where they are not
/// known.
struct TraceGpuTarget {
  std::string target; ///< "sm_90a"
  std::string device; ///< "H100 SXM", or empty
  int32_t warps = 4;  ///< of one program
  int64_t bytesPerSecond = 0;
};

/// The most floating-point operations of one kind that the GPU does.
struct TracePeak {
  std::string unit; ///< "tensor" or "vector"
  std::string dtype;
  int64_t flopsPerSecond = 0;
};

/// What the accesses of an op move: those that were looked at, of all that it makes.
struct TraceTraffic {
  int32_t op = -1;
  std::string way;          ///< "threads", "cp.async" or "TMA"
  int32_t bytes = 0;        ///< that a thread moves in one instruction; 0 with TMA
  int64_t accesses = 0;     ///< of blocks, that were looked at
  int64_t requests = 0;     ///< of warps
  int64_t sectors = 0;      ///< of 32 bytes, that they touch
  int64_t leastSectors = 0; ///< that would hold their bytes
};

/// One side of an exchange through shared memory.
struct TraceExchange {
  int32_t source = -1;
  int32_t line = 0;
  int32_t column = 0;
  std::string what;            ///< "where a block is read from shared memory"
  int32_t bytes = 0;           ///< that a thread moves in one instruction
  int64_t wavefronts = 0;      ///< of one warp
  int64_t leastWavefronts = 0; ///< without bank conflicts
  uint8_t inLoop = 0;
};

/// Floating-point operations of a line, of the whole launch.
struct TraceWork {
  int32_t source = -1;
  int32_t line = 0;
  std::string unit; ///< as in `TracePeak`
  std::string dtype;
  int64_t flops = 0;
};

/// What a launch would do on a GPU; `target` is empty where nothing was predicted.
struct TraceGpu {
  TraceGpuTarget target;
  std::vector<TracePeak> peaks;
  std::vector<TraceTraffic> traffic;
  std::vector<TraceExchange> exchanges;
  std::vector<TraceWork> work;
  bool isThere() const { return !target.target.empty(); }
};

/// One kernel launch, without its access runs.
struct TraceLaunch {
  std::string kernel;
  std::array<int64_t, 3> grid{1, 1, 1};
  std::vector<TraceNamedValue> parameters; ///< meta-parameters (constexpr)
  std::vector<TraceNamedValue> options;    ///< num_warps and the like
  std::vector<TraceArgument> arguments;
  std::vector<TraceOp> ops;
  std::vector<TraceFinding> findings;
  TraceGpu gpu;
  int64_t droppedRuns = 0; ///< access runs that were left out, to bound the file
  int64_t programCount() const { return grid[0] * grid[1] * grid[2]; }
};

} // namespace blockscope
