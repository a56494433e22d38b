// How the threads of a GPU would reach memory in a kernel, as the GPU compiler lays it out: plain
// data, so that whoever sees the addresses of a run on the CPU can count what a GPU would move.
#pragma once

#include "core/source_location.h"

#include <cstdint>
#include <string>
#include <vector>

namespace blockscope {

/// Which threads reach which elements at one op that accesses global memory. Elements of a block
/// are counted row by row.
struct AccessPlan {
  enum class Kind : uint8_t { Load, Store, Atomic };
  /// An instruction of each thread, one that copies to shared memory, or one thread's for a block.
  enum class Way : uint8_t { Threads, AsyncCopy, Tma };
  SourceLocation location;
  Kind kind = Kind::Load;
  Way way = Way::Threads;
  int elementBytes = 4;
  int elementsPerThread = 1; ///< of one instruction; they follow one another in memory
  /// The first element of an instruction, in a lane of a warp: the XOR of one of each. Lanes and
  /// warps that take no part are left out. Empty with TMA.
  std::vector<uint32_t> instructions, lanes, warps;
};

/// An access of shared memory: one side of an exchange between threads, or of a copy.
///
/// Units: wavefronts of one warp, of 32 banks of 4 bytes.
struct ExchangePlan {
  SourceLocation location;
  std::string what;        ///< "where an operand is read"
  int bytesPerThread = 4;  ///< of one instruction; of a matrix instruction 16
  int wavefronts = 0;      ///< of all instructions of the op
  int leastWavefronts = 0; ///< without bank conflicts
  bool isInLoop = false;
};

/// What a kernel does to memory on a GPU.
struct MemoryPlan {
  std::vector<AccessPlan> accesses;
  std::vector<ExchangePlan> exchanges;
  bool dotsAreTf32 = false; ///< those of fp32
};

} // namespace blockscope
