// tl.sort along the last dimension, by a total order: -0 before +0, every NaN after +infinity
// (before everything when descending).
#include "interpreter/ops/element_type.h"

#include "core/numeric/float_format.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace blockscope::interpreter {
namespace {

struct Rows {
  int64_t count;
  int64_t length;
  bool descending;
};

/// Integers compare as they are.
template <typename T> struct PlainKey {
  using Storage = T;
  using Key = T;
  static Key toKey(T x) { return x; }
  static T fromKey(Key key) { return key; }
};

/// The bits of a float as a signed integer in the order of the numbers. NaNs lose their sign.
template <typename Bits, Bits kInfinity> struct FloatKey {
  using Storage = Bits;
  using Key = std::make_signed_t<Bits>;
  static constexpr Bits kMagnitude = std::numeric_limits<Bits>::max() / 2;
  static Key toKey(Bits bits) {
    const Bits magnitude = bits & kMagnitude;
    if (magnitude > kInfinity)
      return static_cast<Key>(magnitude);
    return static_cast<Key>(bits == magnitude ? bits : static_cast<Bits>(~magnitude));
  }
  static Bits fromKey(Key key) {
    const Bits bits = static_cast<Bits>(key);
    return key >= 0 ? bits : static_cast<Bits>(~bits | static_cast<Bits>(~kMagnitude));
  }
};

/// fp8 through the value as fp32: the formats disagree on what the bits mean.
template <float (*decode)(uint32_t)> struct Fp8Key {
  using Storage = uint8_t;
  using Key = int64_t;
  static Key toKey(uint8_t x) {
    using Wide = FloatKey<uint32_t, 0x7f800000u>;
    return static_cast<Key>(Wide::toKey(std::bit_cast<uint32_t>(decode(x)))) * 256 + x;
  }
  static uint8_t fromKey(Key key) { return static_cast<uint8_t>(key); }
};
template <numeric::FloatFormat F> float decodeFp8(uint32_t x) { return numeric::decode<F>(x); }
inline float decodeFp8E4M3B15(uint32_t x) { return numeric::decodeE4M3B15(x); }

template <typename Order>
void evalSort(void *const *results, const void *const *operands, const void *payload) {
  const auto &rows = *static_cast<const Rows *>(payload);
  const auto *in = static_cast<const typename Order::Storage *>(operands[0]);
  auto *out = static_cast<typename Order::Storage *>(results[0]);
  std::vector<typename Order::Key> keys(rows.length);
  for (int64_t row = 0; row < rows.count; ++row, in += rows.length, out += rows.length) {
    std::transform(in, in + rows.length, keys.begin(), Order::toKey);
    std::sort(keys.begin(), keys.end());
    if (rows.descending)
      std::transform(keys.rbegin(), keys.rend(), out, Order::fromKey);
    else
      std::transform(keys.begin(), keys.end(), out, Order::fromKey);
  }
}

BlockFn sortOf(ElementType type, bool isUnsigned) {
  using namespace numeric;
  switch (type) {
  case ElementType::I1:
    return evalSort<PlainKey<uint8_t>>;
  case ElementType::I8:
    return isUnsigned ? evalSort<PlainKey<uint8_t>> : evalSort<PlainKey<int8_t>>;
  case ElementType::I16:
    return isUnsigned ? evalSort<PlainKey<uint16_t>> : evalSort<PlainKey<int16_t>>;
  case ElementType::I32:
    return isUnsigned ? evalSort<PlainKey<uint32_t>> : evalSort<PlainKey<int32_t>>;
  case ElementType::I64:
    return isUnsigned ? evalSort<PlainKey<uint64_t>> : evalSort<PlainKey<int64_t>>;
  case ElementType::F8E4M3NV:
    return evalSort<Fp8Key<decodeFp8<kFp8E4M3NV>>>;
  case ElementType::F8E4M3B8:
    return evalSort<Fp8Key<decodeFp8<kFp8E4M3B8>>>;
  case ElementType::F8E4M3B15:
    return evalSort<Fp8Key<decodeFp8E4M3B15>>;
  case ElementType::F8E5M2:
    return evalSort<Fp8Key<decodeFp8<kFp8E5M2>>>;
  case ElementType::F8E5M2B16:
    return evalSort<Fp8Key<decodeFp8<kFp8E5M2B16>>>;
  case ElementType::F16:
    return evalSort<FloatKey<uint16_t, 0x7c00>>;
  case ElementType::BF16:
    return evalSort<FloatKey<uint16_t, 0x7f80>>;
  case ElementType::F32:
    return evalSort<FloatKey<uint32_t, 0x7f800000u>>;
  case ElementType::F64:
    return evalSort<FloatKey<uint64_t, 0x7ff0000000000000ull>>;
  }
  return nullptr;
}

EvaluatorOrError chooseSort(const OpSignature &signature) {
  const auto type = elementTypeOf(signature.operands[0]);
  if (!type || signature.operands[0].isPointer() || !signature.operands[0].isBlock())
    return {{}, unsupported(signature)};
  auto rows = std::make_shared<Rows>();
  rows->length = signature.operands[0].shape.back();
  rows->count = signature.operands[0].numElements() / rows->length;
  rows->descending = signature.attributes.getBool("descending");
  return {Evaluator::makeBlock(sortOf(*type, signature.attributes.getBool("is_unsigned")), rows),
          {}};
}

} // namespace

void addSortEvaluators(EvaluatorTable &table) { table.add("tl.sort", chooseSort); }

} // namespace blockscope::interpreter
