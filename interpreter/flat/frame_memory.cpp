// A short list of free buffers behind a mutex; a launch asks once per thread.
#include "interpreter/flat/frame_memory.h"

#include "core/no_fork.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <unistd.h>
#include <vector>

namespace blockscope::interpreter::flat {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kMostFreeBytes = size_t{256} << 20;

struct FreeList {
  struct Buffer {
    std::byte *memory;
    size_t bytes;
  };
  std::mutex mutex;
  std::vector<Buffer> buffers;
  size_t totalBytes = 0;

  static FreeList &instance() {
    static auto *list = new FreeList; // never destroyed: threads may outlive static objects
    return *list;
  }
};

} // namespace

std::byte *acquireFrameMemory(size_t &bytes) {
  const NoFork whole;
  FreeList &list = FreeList::instance();
  bytes = llvm::alignTo(std::max(bytes, kAlignment), kAlignment);
  {
    const std::lock_guard lock(list.mutex);
    auto best = list.buffers.end();
    for (auto it = list.buffers.begin(); it != list.buffers.end(); ++it)
      if (it->bytes >= bytes && it->bytes / 4 <= bytes &&
          (best == list.buffers.end() || it->bytes < best->bytes))
        best = it;
    if (best != list.buffers.end()) {
      const FreeList::Buffer buffer = *best;
      list.buffers.erase(best);
      list.totalBytes -= buffer.bytes;
      bytes = buffer.bytes;
      return buffer.memory;
    }
  }
  return static_cast<std::byte *>(std::aligned_alloc(kAlignment, bytes));
}

void releaseFrameMemory(std::byte *memory, size_t bytes) {
  if (!memory)
    return;
  const NoFork whole;
  FreeList &list = FreeList::instance();
  {
    const std::lock_guard lock(list.mutex);
    if (list.totalBytes + bytes <= kMostFreeBytes) {
      list.buffers.push_back({memory, bytes});
      list.totalBytes += bytes;
      return;
    }
  }
  std::free(memory);
}

uint64_t frameMemoryLimit() {
  const auto pages = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES));
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) / 4 * 3;
}

} // namespace blockscope::interpreter::flat
