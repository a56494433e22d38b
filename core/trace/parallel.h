// Work on several threads, or on this one where no other can be made.
#pragma once

#include <cstddef>
#include <functional>

namespace blockscope {

/// Calls `work(0)` to `work(count - 1)`, each once, on up to `most` threads; this one is the first.
void forEachInParallel(size_t count, size_t most, const std::function<void(size_t)> &work);

} // namespace blockscope
