// What the language takes as an operand: a value of the kernel, or a Python number.
#pragma once

#include "core/semantic/emitter.h"

#include <cstdint>
#include <string>

namespace blockscope {

/// A Python bool, int or float. Integers beyond int64 keep their bits and say so.
struct Scalar {
  enum class Kind : uint8_t { Bool, Int, Float };
  Kind kind = Kind::Int;
  bool isUnsigned64 = false; ///< an integer of 2^63 and more; `integer` has its bits
  int64_t integer = 0;
  double number = 0; ///< the value as a double, for every kind

  static Scalar ofBool(bool value);
  static Scalar ofInt(int64_t value);
  static Scalar ofUInt(uint64_t value);
  static Scalar ofFloat(double value);
  bool isNegativeInt() const { return kind == Kind::Int && !isUnsigned64 && integer < 0; }
  std::string str() const;
};

/// Either a value (with a handle) or a number.
struct Operand {
  Value value;
  Scalar scalar;

  Operand() = default;
  Operand(Value value) : value(std::move(value)) {} // NOLINT(google-explicit-constructor)
  Operand(const Scalar &scalar) : scalar(scalar) {} // NOLINT(google-explicit-constructor)
  bool isValue() const { return static_cast<bool>(value); }
};

/// Returns the dtype of a literal: the smallest of int32, uint32, int64, uint64 that holds an
/// integer; float32, or float64 outside the range of float32's normal numbers.
DType literalDType(const Scalar &scalar);

} // namespace blockscope
