// Accesses of a rectangle: a block of a tensor whose address, sizes and strides are known when the
// kernel is launched, or somewhere in it.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Value.h"

#include <optional>
#include <string>

namespace blockscope::gpu {

/// base[start + i] along each dimension, where 0 <= start + i < size; elsewhere nothing is
/// accessed.
struct RectangularTile {
  /// Something of the tensor: an expression of tensor_map.h, empty if the launch does not know it,
  /// and what it is in the kernel.
  struct Number {
    std::string text;
    mlir::Value value; ///< a scalar: a pointer or an i64; null: `constant`
    int64_t constant = 0;
  };
  struct Dim {
    mlir::Value start; ///< an i32 scalar; null: `firstIndex`
    int64_t firstIndex = 0;
    Number size, stride; ///< in elements
  };
  std::optional<unsigned> argument; ///< the kernel's argument that points to the tensor, if known
  Number base;                      ///< in bytes
  llvm::SmallVector<Dim, 4> dims;
  int contiguousDim = 0;
  mlir::Value condition; ///< an i1 scalar: where it is false nothing is accessed; null: true

  /// Whether the launch knows all of the tensor.
  bool isKnownAtLaunch() const;
};

/// The rectangle that a load or store with these blocks of pointers and masks accesses: pointers
/// are a sum of indices times strides, and the mask compares each index with 0 and with a size, all
/// in 64 bits, as tensor descriptors and block pointers come out. Nothing for any other form, or
/// when the address may be, or an outer stride is, no multiple of 16 bytes. Strides that are known
/// at the launch only are looked at there. Of a tensor with a descriptor (`isDescribed`) they are
/// multiples: the launch need not know it.
std::optional<RectangularTile> matchTile(mlir::Value pointer, mlir::Value mask, bool isDescribed);

} // namespace blockscope::gpu
