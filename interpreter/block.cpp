// Blocks of step mode: memory is recycled, because every op of a kernel asks for blocks of the same
// few sizes.
#include "interpreter/block.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <array>
#include <new>
#include <vector>

namespace blockscope::interpreter {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kSmallest = 64;
constexpr int kClasses = 18;               // 64 bytes to 8 MiB
constexpr size_t kKeptBytes = 32ULL << 20; // per thread

/// Free lists of one thread, one for each power of two.
struct FreeLists {
  std::array<std::vector<void *>, kClasses> lists;
  size_t keptBytes = 0;

  FreeLists() = default;
  FreeLists(const FreeLists &) = delete;
  FreeLists &operator=(const FreeLists &) = delete;
  ~FreeLists() {
    for (std::vector<void *> &list : lists)
      for (void *memory : list)
        ::operator delete(memory, std::align_val_t(kAlignment));
  }
};

/// Null once the thread ends, so that blocks that outlive it are freed at once.
thread_local FreeLists *currentLists = nullptr;

struct ListsOwner {
  FreeLists lists;
  ListsOwner() { currentLists = &lists; }
  ListsOwner(const ListsOwner &) = delete;
  ListsOwner &operator=(const ListsOwner &) = delete;
  ~ListsOwner() { currentLists = nullptr; }
};

FreeLists *threadLists() {
  thread_local ListsOwner owner;
  return currentLists;
}

int classOf(size_t bytes) {
  return static_cast<int>(
      llvm::Log2_64_Ceil((std::max(bytes, kSmallest) + kSmallest - 1) / kSmallest));
}

void *takeMemory(size_t bytes) {
  const int index = classOf(bytes);
  FreeLists *free = index < kClasses ? threadLists() : nullptr;
  if (free && !free->lists[index].empty()) {
    void *memory = free->lists[index].back();
    free->lists[index].pop_back();
    free->keptBytes -= kSmallest << index;
    return memory;
  }
  return ::operator new(kSmallest << index, std::align_val_t(kAlignment));
}

void returnMemory(void *memory, size_t bytes) {
  const int index = classOf(bytes);
  FreeLists *free = index < kClasses ? currentLists : nullptr;
  if (!free || free->keptBytes + (kSmallest << index) > kKeptBytes) {
    ::operator delete(memory, std::align_val_t(kAlignment));
    return;
  }
  free->lists[index].push_back(memory);
  free->keptBytes += kSmallest << index;
}

} // namespace

Block::~Block() {
  if (data)
    returnMemory(data, capacityBytes);
}

std::shared_ptr<Block> allocateBlock(const Type &type) {
  auto block = std::make_shared<Block>();
  block->type = type;
  block->type.dtype = type.isPointer() ? type.dtype : storageDType(type.dtype);
  block->capacityBytes =
      static_cast<size_t>(type.numElements()) * static_cast<size_t>(type.elementBytes());
  block->data = takeMemory(block->capacityBytes);
  return block;
}

} // namespace blockscope::interpreter
