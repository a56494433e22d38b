// A block value: typed contiguous elements in row-major order; scalars are blocks of one element.
#pragma once

#include "core/type.h"

#include <cstddef>
#include <memory>

namespace blockscope::interpreter {

/// Owns the elements of one value in step mode. The flat machine uses arena memory in the same
/// form. Int1 elements are bytes 0 or 1, pointers are 64-bit device addresses
/// (interpreter/memory.h).
struct Block {
  Type type;            ///< the storage dtype: signless integers
  void *data = nullptr; ///< aligned to 64 bytes
  size_t capacityBytes = 0;

  Block() = default;
  Block(const Block &) = delete;
  Block &operator=(const Block &) = delete;
  ~Block(); ///< keeps the memory for the next block of this size

  int64_t numElements() const { return type.numElements(); }
  template <typename T> T *as() { return static_cast<T *>(data); }
  template <typename T> const T *as() const { return static_cast<const T *>(data); }
};

/// Returns a block of uninitialised elements, aligned to 64 bytes.
std::shared_ptr<Block> allocateBlock(const Type &type);

} // namespace blockscope::interpreter
