// What memory held before a launch wrote to it, so that the launch can be done again.
//
// A piece of a page is copied when it is first written. Pieces are found by page under one of many
// locks, so programs on several threads may write anywhere, also to the same bytes.
#pragma once

#include "interpreter/memory.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/Allocator.h"

#include <array>

namespace blockscope::interpreter {

class SavedMemory {
public:
  /// Copies what is not saved yet of `bytes` bytes of `allocation`'s storage at `host`. To be
  /// called before they are written. Thread safe.
  void save(const Allocation &allocation, const std::byte *host, int64_t bytes);
  /// Writes everything back. Not while programs run.
  void restore();

private:
  static constexpr uint64_t kPageBytes = 4096;
  static constexpr size_t kShards = 64;

  struct Piece {
    std::byte *host;
    std::byte *copy;
    size_t bytes;
  };
  struct Shard {
    std::mutex mutex;
    /// Page and storage: storages may share a page.
    llvm::DenseSet<std::pair<uint64_t, uint64_t>> known;
    std::vector<Piece> pieces; ///< in the order in which they were saved
    llvm::BumpPtrAllocator memory;
  };

  std::array<Shard, kShards> shards_;
};

} // namespace blockscope::interpreter
