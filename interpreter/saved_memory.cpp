// Saves pages piece by piece and writes them back in reverse order.
#include "interpreter/saved_memory.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstring>

namespace blockscope::interpreter {

void SavedMemory::save(const Allocation &allocation, const std::byte *host, int64_t bytes) {
  const auto storage = reinterpret_cast<uint64_t>(allocation.storage);
  const uint64_t storageEnd = storage + static_cast<uint64_t>(allocation.storageBytes);
  const auto begin = reinterpret_cast<uint64_t>(host);
  const uint64_t lastPage = (begin + static_cast<uint64_t>(bytes) - 1) / kPageBytes;
  for (uint64_t page = begin / kPageBytes; page <= lastPage; ++page) {
    Shard &shard = shards_[page % kShards];
    const std::lock_guard lock(shard.mutex);
    if (!shard.known.insert({page, storage}).second)
      continue;
    const uint64_t from = std::max(page * kPageBytes, storage);
    const size_t count = std::min((page + 1) * kPageBytes, storageEnd) - from;
    auto *source = reinterpret_cast<std::byte *>(from);
    auto *copy = shard.memory.Allocate<std::byte>(count);
    std::memcpy(copy, source, count);
    shard.pieces.push_back({source, copy, count});
  }
}

void SavedMemory::restore() {
  for (Shard &shard : shards_) {
    // Where storages overlap, the piece that was saved first has what was there at the beginning.
    for (const Piece &piece : llvm::reverse(shard.pieces))
      std::memcpy(piece.host, piece.copy, piece.bytes);
    shard.pieces.clear();
    shard.known.clear();
  }
}

} // namespace blockscope::interpreter
