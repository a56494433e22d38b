// The element types of the language and their facts: width, kind, names.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace blockscope {

/// An element type. Integers carry their signedness here; the IR and the evaluators are signless
/// and see `storageDType`.
enum class DType : uint8_t {
  Void,
  Int1,
  Int8,
  Int16,
  Int32,
  Int64,
  UInt8,
  UInt16,
  UInt32,
  UInt64,
  Fp8E4M3NV,  // MLIR f8E4M3FN
  Fp8E4M3B8,  // MLIR f8E4M3FNUZ
  Fp8E4M3B15, // bias 15, every encoding is a number; conversions saturate at 1.75
  Fp8E5M2,    // MLIR f8E5M2
  Fp8E5M2B16, // MLIR f8E5M2FNUZ
  Fp16,
  Bf16,
  Fp32,
  Fp64,
};

/// Returns the name that programs print, `fp32`, `int8`, `uint1` is `int1`.
llvm::StringRef dtypeName(DType dtype);
/// Returns the name in the language, `float32`, `int8`, `float8e4nv`.
llvm::StringRef languageName(DType dtype);
/// Returns the dtype of either spelling, or nothing.
std::optional<DType> parseDType(llvm::StringRef name);

/// Units: bits of the value; `Int1` has 1.
int bitWidth(DType dtype);
/// Units: bytes of one element in memory and in a block; `Int1` takes 1.
int byteSize(DType dtype);

bool isFloating(DType dtype);
bool isFp8(DType dtype);
bool isInteger(DType dtype);  // Int1 included
bool isSigned(DType dtype);   // signed integers only
bool isUnsigned(DType dtype); // unsigned integers and Int1
/// Returns the signless integer (UInt32 -> Int32) that blocks and the IR store; floats unchanged.
DType storageDType(DType dtype);

} // namespace blockscope
