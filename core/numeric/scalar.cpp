// One value of any dtype as a double or an int64.
#include "core/numeric/scalar.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>

namespace blockscope::numeric {
namespace {

template <typename T> T load(const void *element) {
  T value;
  std::memcpy(&value, element, sizeof(T));
  return value;
}

template <typename T> void store(void *element, T value) {
  std::memcpy(element, &value, sizeof(T));
}

template <Rounding R> uint32_t encodeAs(DType dtype, double value) {
  switch (dtype) {
  case DType::Fp8E4M3NV:
    return encode<kFp8E4M3NV, R>(value);
  case DType::Fp8E4M3B8:
    return encode<kFp8E4M3B8, R>(value);
  case DType::Fp8E4M3B15:
    return encodeE4M3B15<R>(value);
  case DType::Fp8E5M2:
    return encode<kFp8E5M2, R>(value);
  case DType::Fp8E5M2B16:
    return encode<kFp8E5M2B16, R>(value);
  case DType::Fp16:
    return encode<kFp16, R>(value);
  case DType::Bf16:
    return encode<kBf16, R>(value);
  case DType::Fp32:
    return encode<kFp32, R>(value);
  case DType::Fp64:
  case DType::Void:
  case DType::Int1:
  case DType::Int8:
  case DType::Int16:
  case DType::Int32:
  case DType::Int64:
  case DType::UInt8:
  case DType::UInt16:
  case DType::UInt32:
  case DType::UInt64:
    break;
  }
  return 0;
}

} // namespace

int64_t readAsInt(DType dtype, const void *element) {
  const bool isSignedInteger = isSigned(dtype);
  switch (byteSize(dtype)) {
  case 1:
    return isSignedInteger ? int64_t(load<int8_t>(element)) : int64_t(load<uint8_t>(element));
  case 2:
    return isSignedInteger ? int64_t(load<int16_t>(element)) : int64_t(load<uint16_t>(element));
  case 4:
    return isSignedInteger ? int64_t(load<int32_t>(element)) : int64_t(load<uint32_t>(element));
  case 8:
    return load<int64_t>(element);
  }
  return 0;
}

double readAsDouble(DType dtype, const void *element) {
  switch (dtype) {
  case DType::Fp8E4M3NV:
    return decode<kFp8E4M3NV>(load<uint8_t>(element));
  case DType::Fp8E4M3B8:
    return decode<kFp8E4M3B8>(load<uint8_t>(element));
  case DType::Fp8E4M3B15:
    return decodeE4M3B15(load<uint8_t>(element));
  case DType::Fp8E5M2:
    return decode<kFp8E5M2>(load<uint8_t>(element));
  case DType::Fp8E5M2B16:
    return decode<kFp8E5M2B16>(load<uint8_t>(element));
  case DType::Fp16:
    return decode<kFp16>(load<uint16_t>(element));
  case DType::Bf16:
    return decode<kBf16>(load<uint16_t>(element));
  case DType::Fp32:
    return load<float>(element);
  case DType::Fp64:
    return load<double>(element);
  case DType::UInt64:
    return static_cast<double>(load<uint64_t>(element));
  case DType::Void:
  case DType::Int1:
  case DType::Int8:
  case DType::Int16:
  case DType::Int32:
  case DType::Int64:
  case DType::UInt8:
  case DType::UInt16:
  case DType::UInt32:
    break;
  }
  return static_cast<double>(readAsInt(dtype, element));
}

void writeDouble(DType dtype, double value, void *element, Rounding rounding) {
  if (dtype == DType::Fp64)
    return store(element, value);
  const uint32_t bits = rounding == Rounding::NearestEven
                            ? encodeAs<Rounding::NearestEven>(dtype, value)
                            : encodeAs<Rounding::TowardZero>(dtype, value);
  switch (byteSize(dtype)) {
  case 1:
    return store(element, static_cast<uint8_t>(bits));
  case 2:
    return store(element, static_cast<uint16_t>(bits));
  case 4:
    return store(element, bits);
  }
}

void writeInt(DType dtype, int64_t value, void *element) {
  if (dtype == DType::Int1)
    return store(element, static_cast<uint8_t>(value & 1));
  std::memcpy(element, &value, byteSize(dtype)); // little endian
}

std::string shortestText(double value, bool isDouble) {
  if (std::isnan(value))
    return "nan";
  char text[32];
  const std::to_chars_result end =
      isDouble ? std::to_chars(std::begin(text), std::end(text), value)
               : std::to_chars(std::begin(text), std::end(text), static_cast<float>(value));
  return {text, end.ptr};
}

} // namespace blockscope::numeric
