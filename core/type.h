// The type of a value of the language: a scalar or a block of an element type or of pointers.
#pragma once

#include "core/dtype.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <string>

namespace blockscope {

/// A scalar (empty shape) or a block. Pointers count their depth: 1 points to `dtype`, 2 to a
/// pointer.
struct Type {
  DType dtype = DType::Void;
  uint8_t pointerDepth = 0;
  uint8_t addressSpace = 1;
  bool pointeeIsConst = false;
  llvm::SmallVector<int64_t, 4> shape;

  bool isBlock() const { return !shape.empty(); }
  bool isPointer() const { return pointerDepth != 0; }
  bool isVoid() const { return dtype == DType::Void && !isPointer(); }
  bool isFloating() const { return !isPointer() && blockscope::isFloating(dtype); }
  bool isInteger() const { return !isPointer() && blockscope::isInteger(dtype); }
  bool isBool() const { return !isPointer() && dtype == DType::Int1; }
  int rank() const { return static_cast<int>(shape.size()); }
  int64_t numElements() const;
  /// Units: bytes of one element; pointers take 8.
  int elementBytes() const { return isPointer() ? 8 : byteSize(dtype); }
  /// Returns the same element type without a shape.
  Type scalar() const;
  /// Returns the same element type with `shape`.
  Type withShape(llvm::ArrayRef<int64_t> shape) const;
  /// Returns a value type of `dtype` with this shape.
  Type withDType(DType dtype) const;
  /// Returns what a pointer points to, with this shape.
  Type pointee() const;
  /// Returns a pointer to this (scalar or block of pointers to the elements).
  Type pointerTo() const;
  /// Returns `fp32`, `pointer<fp32>`, `<['128', '64'], fp16>` as error messages print it.
  std::string str() const;

  static Type get(DType dtype, llvm::ArrayRef<int64_t> shape = {});
  bool operator==(const Type &other) const;
  bool operator!=(const Type &other) const { return !(*this == other); }
};

} // namespace blockscope
