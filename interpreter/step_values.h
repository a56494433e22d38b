// Values of step mode: each holds a shared block.
#pragma once

#include "core/semantic/emitter.h"
#include "interpreter/block.h"

#include <memory>
#include <utility>

namespace blockscope::interpreter {

inline Block &blockOf(const Value &value) { return *static_cast<Block *>(value.handle.get()); }

inline Value wrapBlock(std::shared_ptr<Block> block, const Type &type) {
  return {type, std::move(block)};
}

/// Returns the type with signedness dropped, as evaluators know it.
inline Type storageType(const Type &type) {
  Type result = type;
  result.dtype = type.isPointer() ? type.dtype : storageDType(type.dtype);
  return result;
}

inline bool sameStorage(const Type &a, const Type &b) {
  return a.pointerDepth == b.pointerDepth && a.shape == b.shape &&
         (a.dtype == b.dtype || (!a.isPointer() && storageDType(a.dtype) == storageDType(b.dtype)));
}

inline bool allKnown(llvm::ArrayRef<Value> values) {
  for (const Value &value : values)
    if (!value)
      return false;
  return true;
}

} // namespace blockscope::interpreter
