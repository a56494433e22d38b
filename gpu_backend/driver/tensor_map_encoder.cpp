// Evaluates expressions on a stack, and asks the driver for the bits of a map.
#include "gpu_backend/driver/tensor_map_encoder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace blockscope {

namespace {

constexpr int64_t kAlignmentBytes = 16;
constexpr int64_t kLargestSize = int64_t{1} << 32, kLargestStrideBytes = int64_t{1} << 40;

int64_t wrap(uint64_t value) { return static_cast<int64_t>(value); }

bool readNumber(std::string_view text, int64_t &number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

/// The low bits of a number, with their sign or with zeros above them.
int64_t lowBits(int64_t number, int64_t width, bool hasSign) {
  const auto shift = static_cast<unsigned>(64 - width);
  const uint64_t high = static_cast<uint64_t>(number) << shift;
  return hasSign ? wrap(high) >> shift : wrap(high >> shift);
}

std::optional<int64_t> combine(std::string_view word, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  if (word == "+")
    return wrap(x + y);
  if (word == "-")
    return wrap(x - y);
  if (word == "*")
    return wrap(x * y);
  if (word == "min")
    return std::min(a, b);
  if (word == "max")
    return std::max(a, b);
  if (word == "/" && b == -1)
    return wrap(0 - x);
  if (word == "/" && b != 0)
    return a / b;
  return std::nullopt;
}

CUtensorMapDataType elementType(int bytes) {
  switch (bytes) {
  case 1:
    return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  case 2:
    return CU_TENSOR_MAP_DATA_TYPE_UINT16;
  case 4:
    return CU_TENSOR_MAP_DATA_TYPE_UINT32;
  default:
    return CU_TENSOR_MAP_DATA_TYPE_UINT64;
  }
}

CUtensorMapSwizzle swizzleMode(int bytes) {
  switch (bytes) {
  case 32:
    return CU_TENSOR_MAP_SWIZZLE_32B;
  case 64:
    return CU_TENSOR_MAP_SWIZZLE_64B;
  case 128:
    return CU_TENSOR_MAP_SWIZZLE_128B;
  default:
    return CU_TENSOR_MAP_SWIZZLE_NONE;
  }
}

/// The numbers of a map for a launch: base, sizes, strides in bytes. Nothing where one has no
/// value.
std::optional<std::vector<int64_t>> numbersOf(const TensorMap &map, const uint64_t *arguments,
                                              int count) {
  std::vector<int64_t> numbers;
  const auto add = [&](const std::string &expression, int64_t factor) {
    const std::optional<int64_t> value = evaluate(expression, arguments, count);
    if (value && *value >= 0 && *value <= INT64_MAX / factor)
      numbers.push_back(*value * factor);
    return value && *value >= 0 && *value <= INT64_MAX / factor;
  };
  bool isKnown = add(map.base, 1);
  for (const std::string &size : map.sizes)
    isKnown = isKnown && add(size, 1);
  for (const std::string &stride : map.strides)
    isKnown = isKnown && add(stride, map.elementBytes);
  return isKnown ? std::optional(std::move(numbers)) : std::nullopt;
}

bool encodeOne(const TensorMap &map, const std::vector<int64_t> &numbers, CUtensorMap &encoded) {
  constexpr size_t kMostDims = 5;
  const size_t rank = map.sizes.size();
  std::array<cuuint64_t, kMostDims> sizes = {}, strides = {};
  std::array<cuuint32_t, kMostDims> box = {}, steps = {1, 1, 1, 1, 1};
  if (rank < 1 || rank > kMostDims || map.box.size() != rank || map.strides.size() != rank - 1 ||
      numbers[0] % kAlignmentBytes != 0)
    return false;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t size = numbers[1 + i];
    if (size < 1 || size > kLargestSize)
      return false;
    sizes[i] = static_cast<cuuint64_t>(size);
    box[i] = static_cast<cuuint32_t>(map.box[i]);
  }
  for (size_t i = 0; i + 1 < rank; ++i) {
    const int64_t stride = numbers[1 + rank + i];
    if (stride % kAlignmentBytes != 0 || stride >= kLargestStrideBytes)
      return false;
    strides[i] = static_cast<cuuint64_t>(stride);
  }
  return cudaApi()->cuTensorMapEncodeTiled(
             &encoded, elementType(map.elementBytes), static_cast<cuuint32_t>(rank),
             reinterpret_cast<void *>(numbers[0]), sizes.data(), strides.data(), box.data(),
             steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzleMode(map.swizzleBytes),
             CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

} // namespace

std::optional<int64_t> evaluate(std::string_view expression, const uint64_t *arguments, int count) {
  std::vector<int64_t> stack;
  while (!expression.empty()) {
    const size_t end = std::min(expression.find(' '), expression.size());
    const std::string_view word = expression.substr(0, end);
    expression.remove_prefix(std::min(end + 1, expression.size()));
    int64_t number = 0;
    const bool hasLetter = !word.empty() && readNumber(word.substr(1), number);
    if (hasLetter && word[0] == 'a' && number >= 0 && number < count) {
      stack.push_back(wrap(arguments[number]));
    } else if (hasLetter && (word[0] == 's' || word[0] == 'u') && !stack.empty() && number > 0 &&
               number <= 64) {
      stack.back() = lowBits(stack.back(), number, word[0] == 's');
    } else if (readNumber(word, number)) {
      stack.push_back(number);
    } else {
      if (stack.size() < 2)
        return std::nullopt;
      const int64_t b = stack.back();
      stack.pop_back();
      const std::optional<int64_t> result = combine(word, stack.back(), b);
      if (!result)
        return std::nullopt;
      stack.back() = *result;
    }
  }
  return stack.size() == 1 ? std::optional(stack.back()) : std::nullopt;
}

TensorMapEncoder::TensorMapEncoder(std::vector<TensorMap> maps)
    : maps_(std::move(maps)), kept_(maps_.size()) {}

bool TensorMapEncoder::encode(const uint64_t *arguments, int count, CUtensorMap *encoded) {
  const std::lock_guard lock(mutex_);
  if (!std::equal(arguments_.begin(), arguments_.end(), arguments, arguments + count) ||
      arguments_.empty()) {
    arguments_.clear();
    for (size_t i = 0; i < maps_.size(); ++i) {
      std::optional<std::vector<int64_t>> numbers = numbersOf(maps_[i], arguments, count);
      if (!numbers)
        return false;
      if (kept_[i].numbers == *numbers)
        continue;
      kept_[i].numbers.clear();
      if (!encodeOne(maps_[i], *numbers, kept_[i].encoded))
        return false;
      kept_[i].numbers = std::move(*numbers);
    }
    arguments_.assign(arguments, arguments + count);
  }
  for (size_t i = 0; i < maps_.size(); ++i)
    encoded[i] = kept_[i].encoded;
  return true;
}

} // namespace blockscope
