// B-trees of version 1, which both groups and chunked datasets are kept in.
#pragma once

#include "core/trace/hdf5/cursor.h"
#include "core/trace/hdf5/file.h"

#include <functional>

namespace blockscope::hdf5 {

/// The values are those of the file.
enum class TreeKind : uint8_t { Group = 0, Chunks = 1 };

/// Walks over a tree and calls `visit(key, child)` for each entry of its leaves, in their order.
/// `visit` may take further bytes from `budget`, which begins as the size of the file.
///
/// Errors: false when a node is no such node, when the nodes have more bytes than the file (some
/// are entered twice), or when `visit` gives false.
bool walkTree(const File &file, TreeKind kind, uint64_t keyBytes, uint64_t root, uint64_t &budget,
              const std::function<bool(Cursor key, uint64_t child)> &visit);

/// Takes `bytes` from `budget`; false when that is more than is left.
inline bool takeFrom(uint64_t &budget, uint64_t bytes) {
  if (bytes > budget)
    return false;
  budget -= bytes;
  return true;
}

} // namespace blockscope::hdf5
