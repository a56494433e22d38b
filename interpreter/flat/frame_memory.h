// Memory for frames, kept from launch to launch so that the pages stay mapped.
#pragma once

#include <cstddef>
#include <cstdint>

namespace blockscope::interpreter::flat {

/// Returns memory of at least `bytes`, aligned to 64, with undefined contents; `bytes` becomes its
/// whole size. Null when there is not enough. Thread safe.
std::byte *acquireFrameMemory(size_t &bytes);
void releaseFrameMemory(std::byte *memory, size_t bytes);

/// Units: bytes that all frames of a launch may take, a part of the machine's memory.
uint64_t frameMemoryLimit();

} // namespace blockscope::interpreter::flat
