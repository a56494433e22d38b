#include "python/src/writable_memory.h"

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace blockscope::python {

namespace {

#ifdef MADV_POPULATE_WRITE
constexpr int kPopulateWrite = MADV_POPULATE_WRITE;
#else
constexpr int kPopulateWrite = 23; // Linux 5.14; older C libraries do not name it
#endif

/// Asks the kernel to make a page ready to be written, which changes nothing in it.
bool isPageReady(uint64_t address, uint64_t pageBytes) {
  return madvise(reinterpret_cast<void *>(address & ~(pageBytes - 1)), pageBytes, kPopulateWrite) ==
         0;
}

/// For kernels that cannot be asked so: the table of mappings. Where there is none, memory counts
/// as writable.
bool isWritableInTable(uint64_t begin, uint64_t end) {
  std::ifstream table("/proc/self/maps");
  for (std::string line; std::getline(table, line);) {
    uint64_t low = 0, high = 0;
    char mayRead = 0, mayWrite = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %c%c", &low, &high, &mayRead,
                    &mayWrite) == 4 &&
        low < end && begin < high && mayWrite != 'w')
      return false;
  }
  return true;
}

} // namespace

bool isWritable(uint64_t begin, uint64_t bytes) {
  if (bytes == 0)
    return true;
  const bool canAsk = madvise(nullptr, 0, kPopulateWrite) == 0; // Linux 5.14 and later
  if (!canAsk)
    return isWritableInTable(begin, begin + bytes);
  const auto pageBytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return isPageReady(begin, pageBytes) && isPageReady(begin + bytes - 1, pageBytes);
}

} // namespace blockscope::python
