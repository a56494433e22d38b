// The element types of the language and their facts.
#include "core/dtype.h"

#include "llvm/ADT/ArrayRef.h"

namespace blockscope {
namespace {

enum class Kind : uint8_t { None, Bool, Signed, Unsigned, Float };

struct Facts {
  llvm::StringLiteral name;
  llvm::StringLiteral languageName;
  uint8_t bits;
  Kind kind;
  DType storage;
};

/// In the order of DType.
constexpr Facts kFacts[] = {
    {"void", "void", 0, Kind::None, DType::Void},
    {"int1", "int1", 1, Kind::Bool, DType::Int1},
    {"int8", "int8", 8, Kind::Signed, DType::Int8},
    {"int16", "int16", 16, Kind::Signed, DType::Int16},
    {"int32", "int32", 32, Kind::Signed, DType::Int32},
    {"int64", "int64", 64, Kind::Signed, DType::Int64},
    {"uint8", "uint8", 8, Kind::Unsigned, DType::Int8},
    {"uint16", "uint16", 16, Kind::Unsigned, DType::Int16},
    {"uint32", "uint32", 32, Kind::Unsigned, DType::Int32},
    {"uint64", "uint64", 64, Kind::Unsigned, DType::Int64},
    {"fp8e4nv", "float8e4nv", 8, Kind::Float, DType::Fp8E4M3NV},
    {"fp8e4b8", "float8e4b8", 8, Kind::Float, DType::Fp8E4M3B8},
    {"fp8e4b15", "float8e4b15", 8, Kind::Float, DType::Fp8E4M3B15},
    {"fp8e5", "float8e5", 8, Kind::Float, DType::Fp8E5M2},
    {"fp8e5b16", "float8e5b16", 8, Kind::Float, DType::Fp8E5M2B16},
    {"fp16", "float16", 16, Kind::Float, DType::Fp16},
    {"bf16", "bfloat16", 16, Kind::Float, DType::Bf16},
    {"fp32", "float32", 32, Kind::Float, DType::Fp32},
    {"fp64", "float64", 64, Kind::Float, DType::Fp64},
};
static_assert(std::size(kFacts) == static_cast<size_t>(DType::Fp64) + 1);

const Facts &factsOf(DType dtype) { return kFacts[static_cast<size_t>(dtype)]; }

} // namespace

llvm::StringRef dtypeName(DType dtype) { return factsOf(dtype).name; }

llvm::StringRef languageName(DType dtype) { return factsOf(dtype).languageName; }

std::optional<DType> parseDType(llvm::StringRef name) {
  for (size_t i = 0; i < std::size(kFacts); ++i)
    if (name == kFacts[i].name || name == kFacts[i].languageName)
      return static_cast<DType>(i);
  if (name == "uint1" || name == "bool")
    return DType::Int1;
  return std::nullopt;
}

int bitWidth(DType dtype) { return factsOf(dtype).bits; }

int byteSize(DType dtype) { return (factsOf(dtype).bits + 7) / 8; }

bool isFloating(DType dtype) { return factsOf(dtype).kind == Kind::Float; }

bool isFp8(DType dtype) { return isFloating(dtype) && bitWidth(dtype) == 8; }

bool isInteger(DType dtype) { return !isFloating(dtype) && dtype != DType::Void; }

bool isSigned(DType dtype) { return factsOf(dtype).kind == Kind::Signed; }

bool isUnsigned(DType dtype) {
  return factsOf(dtype).kind == Kind::Unsigned || factsOf(dtype).kind == Kind::Bool;
}

DType storageDType(DType dtype) { return factsOf(dtype).storage; }

} // namespace blockscope
