// Decoding by the name of the dtype.
#include "viz/model/value_text.h"

#include "core/numeric/float_format.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string_view>

namespace blockscope::viz {
namespace {

using namespace numeric; // NOLINT: the formats of floats

constexpr FloatFormat kFp8E4M3B15{4, 3, 15, Specials::None, Overflow::Saturate};

template <typename Float> std::string floatText(Float value) {
  if (std::isnan(value))
    return "nan";
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

/// The shortest text that no other value of the format has; integers are written out.
template <FloatFormat F> std::string shortText(uint64_t bits) {
  constexpr float kLargeInteger = 1e6F;
  const float value = decode<F>(static_cast<uint32_t>(bits));
  if (!std::isfinite(value) || (value == std::trunc(value) && std::abs(value) < kLargeInteger))
    return floatText(value);
  std::array<char, 40> text{};
  for (int digits = 1; digits < std::numeric_limits<float>::max_digits10; ++digits) {
    std::snprintf(text.data(), text.size(), "%.*g", digits, static_cast<double>(value));
    float back = 0;
    std::from_chars(text.data(), text.data() + std::string_view(text.data()).size(), back);
    if (encode<F, Rounding::NearestEven>(back) == (bits & ((uint64_t{1} << F.bits()) - 1)))
      return text.data();
  }
  return floatText(value);
}

template <typename Int> std::string integerText(uint64_t bits) {
  return std::to_string(static_cast<Int>(bits));
}

struct Dtype {
  std::string_view name;
  int bytes;
  std::string (*text)(uint64_t bits);
};

constexpr auto kDtypes = std::to_array<Dtype>({
    {"fp64", 8, [](uint64_t bits) { return floatText(std::bit_cast<double>(bits)); }},
    {"fp32", 4,
     [](uint64_t bits) { return floatText(std::bit_cast<float>(static_cast<uint32_t>(bits))); }},
    {"fp16", 2, shortText<kFp16>},
    {"bf16", 2, shortText<kBf16>},
    {"fp8e4nv", 1, shortText<kFp8E4M3NV>},
    {"fp8e4b8", 1, shortText<kFp8E4M3B8>},
    {"fp8e4b15", 1,
     [](uint64_t bits) { return floatText(decode<kFp8E4M3B15>(static_cast<uint32_t>(bits))); }},
    {"fp8e5", 1, shortText<kFp8E5M2>},
    {"fp8e5b16", 1, shortText<kFp8E5M2B16>},
    {"int1", 1, [](uint64_t bits) { return std::string(bits != 0 ? "true" : "false"); }},
    {"int8", 1, integerText<int8_t>},
    {"int16", 2, integerText<int16_t>},
    {"int32", 4, integerText<int32_t>},
    {"int64", 8, integerText<int64_t>},
    {"uint8", 1, integerText<uint8_t>},
    {"uint16", 2, integerText<uint16_t>},
    {"uint32", 4, integerText<uint32_t>},
    {"uint64", 8, integerText<uint64_t>},
});

} // namespace

std::string valueText(const std::string &dtype, int bytes, uint64_t bits) {
  for (const Dtype &each : kDtypes)
    if (each.name == dtype && each.bytes == bytes)
      return each.text(bits);
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%0*llx", 2 * bytes,
                static_cast<unsigned long long>(bits));
  return text.data();
}

} // namespace blockscope::viz
