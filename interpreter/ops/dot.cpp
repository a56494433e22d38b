// tl.dot: acc + a * b. Operands are widened (fp8, fp16, bf16 to fp32; int8 to int32), split or
// rounded as input_precision says, and multiplied by the register-tiled kernels of simd/gemm.cpp.
//
// Every element is one fma chain in order of k that begins with acc, so a result does not depend on
// tiles, threads or the instruction set. tf32x3 and bf16x3/x6 add the chains of the small terms
// first. A result in fp16 is accumulated in fp32 and rounded once.
#include "interpreter/ops/element_type.h"

#include "core/dot_precision.h"
#include "core/numeric/float_format.h"
#include "core/numeric/payload.h"
#include "core/numeric/scalar.h"

#include <cstring>
#include <vector>

namespace blockscope::interpreter {
namespace {

/// Which terms of an operand meet which of the other: pairs of term numbers, small ones first.
struct Precision {
  enum class Split : uint8_t { None, Tf32, Bf16 };
  Split split = Split::None;
  int terms = 1;
  llvm::SmallVector<std::pair<int, int>, 6> products = {{0, 0}};
};

/// The payloads of an operand's or a sum's elements.
struct Payloads {
  numeric::Payload rule{32, 1};
  int bytes = 4;

  static Payloads of(DType dtype) {
    uint64_t one = 0;
    numeric::writeDouble(dtype, 1, &one);
    return {numeric::Payload(bitWidth(dtype), one), bitWidth(dtype) / 8};
  }
};

struct Dot {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  int aBytes = 0, bBytes = 0;
  ElementKernel widenA = nullptr, widenB = nullptr; ///< null: already the type that is multiplied
  ElementKernel widenAcc = nullptr, narrow = nullptr;
  Precision precision;
  ElementKernel roundTf32 = nullptr;
  Payloads payloads[3]; ///< of a, b and acc, where floats stand for integers
  const Kernels *kernels = nullptr;
};

/// Scratch memory of one thread that only grows.
class Scratch {
public:
  template <typename T> T *get(int slot, int64_t count) {
    auto &buffer = buffers_[slot];
    if (buffer.size() * sizeof(Line) < count * sizeof(T))
      buffer.resize((count * sizeof(T) + sizeof(Line) - 1) / sizeof(Line));
    return reinterpret_cast<T *>(buffer.data());
  }

private:
  struct alignas(64) Line {
    char bytes[64];
  };
  std::vector<Line> buffers_[4];
};
thread_local Scratch scratch;

void convert(ElementKernel kernel, int64_t n, const void *in, void *out) {
  void *const results[1] = {out};
  const void *const operands[1] = {in};
  kernel(n, 0, results, operands, 0, nullptr);
}

const void *widened(ElementKernel kernel, int slot, int64_t n, const void *in) {
  if (!kernel)
    return in;
  float *out = scratch.get<float>(slot, n);
  convert(kernel, n, in, out);
  return out;
}

float roundTerm(Precision::Split split, float x) {
  using namespace numeric;
  if (split == Precision::Split::Tf32)
    return roundToTf32(x);
  return decode<kBf16>(encode<kBf16, Rounding::NearestEven>(x));
}

/// Splits n floats into terms that sum to them nearly: each the rounding of what is left.
float *splitIntoTerms(const Precision &precision, int slot, int64_t n, const float *in) {
  float *out = scratch.get<float>(slot, n * precision.terms);
  for (int64_t i = 0; i < n; ++i) {
    float rest = in[i];
    for (int term = 0; term < precision.terms; ++term) {
      const float rounded = roundTerm(precision.split, rest);
      out[term * n + i] = rounded;
      // Infinity and NaN live in the first term only.
      rest = rest - rest == 0 ? rest - rounded : 0;
    }
  }
  return out;
}

void multiplyFp32(const Dot &dot, const float *a, const float *b, const float *acc, float *out) {
  const Precision &precision = dot.precision;
  const int64_t m = dot.m, n = dot.n, k = dot.k;
  if (precision.split == Precision::Split::None)
    return dot.kernels->gemmF32(m, n, k, a, b, acc, out);
  if (precision.terms == 1 && precision.split == Precision::Split::Tf32) {
    float *left = scratch.get<float>(2, m * k), *right = scratch.get<float>(3, k * n);
    convert(dot.roundTf32, m * k, a, left);
    convert(dot.roundTf32, k * n, b, right);
    return dot.kernels->gemmF32(m, n, k, left, right, acc, out);
  }
  const float *left = splitIntoTerms(precision, 2, m * k, a);
  const float *right = splitIntoTerms(precision, 3, k * n, b);
  const float *sum = acc;
  for (const auto &[i, j] : precision.products) {
    dot.kernels->gemmF32(m, n, k, left + i * m * k, right + j * k * n, sum, out);
    sum = out;
  }
}

void evalDotFp32(void *const *results, const void *const *operands, const void *payload) {
  const auto &dot = *static_cast<const Dot *>(payload);
  const int64_t aSize = dot.m * dot.k, bSize = dot.k * dot.n, cSize = dot.m * dot.n;
  const auto *a = static_cast<const char *>(operands[0]);
  const auto *b = static_cast<const char *>(operands[1]);
  const int accBytes = dot.narrow ? 2 : 4;
  std::vector<float> wide(dot.narrow ? cSize : 0);
  for (int64_t i = 0; i < dot.batch; ++i) {
    const auto *left =
        static_cast<const float *>(widened(dot.widenA, 0, aSize, a + i * aSize * dot.aBytes));
    const auto *right =
        static_cast<const float *>(widened(dot.widenB, 1, bSize, b + i * bSize * dot.bBytes));
    const char *acc = static_cast<const char *>(operands[2]) + i * cSize * accBytes;
    char *out = static_cast<char *>(results[0]) + i * cSize * accBytes;
    if (!dot.narrow) {
      multiplyFp32(dot, left, right, reinterpret_cast<const float *>(acc),
                   reinterpret_cast<float *>(out));
      continue;
    }
    convert(dot.widenAcc, cSize, acc, wide.data());
    multiplyFp32(dot, left, right, wide.data(), wide.data());
    convert(dot.narrow, cSize, wide.data(), out);
  }
}

void evalDotFp64(void *const *results, const void *const *operands, const void *payload) {
  const auto &dot = *static_cast<const Dot *>(payload);
  for (int64_t i = 0; i < dot.batch; ++i)
    dot.kernels->gemmF64(dot.m, dot.n, dot.k,
                         static_cast<const double *>(operands[0]) + i * dot.m * dot.k,
                         static_cast<const double *>(operands[1]) + i * dot.k * dot.n,
                         static_cast<const double *>(operands[2]) + i * dot.m * dot.n,
                         static_cast<double *>(results[0]) + i * dot.m * dot.n);
}

void evalDotInt8(void *const *results, const void *const *operands, const void *payload) {
  const auto &dot = *static_cast<const Dot *>(payload);
  const int64_t aSize = dot.m * dot.k, bSize = dot.k * dot.n, cSize = dot.m * dot.n;
  for (int64_t i = 0; i < dot.batch; ++i) {
    const auto *a = static_cast<const char *>(operands[0]) + i * aSize;
    const auto *b = static_cast<const char *>(operands[1]) + i * bSize;
    dot.kernels->gemmI32(dot.m, dot.n, dot.k,
                         static_cast<const int32_t *>(widened(dot.widenA, 0, aSize, a)),
                         static_cast<const int32_t *>(widened(dot.widenB, 1, bSize, b)),
                         static_cast<const int32_t *>(operands[2]) + i * cSize,
                         static_cast<int32_t *>(results[0]) + i * cSize);
  }
}

/// Wrapping sums of products of integers of one type: what the algebra check makes of a dot.
template <typename T>
void evalDotWhole(void *const *results, const void *const *operands, const void *payload) {
  const auto &dot = *static_cast<const Dot *>(payload);
  const auto *a = static_cast<const T *>(operands[0]), *b = static_cast<const T *>(operands[1]);
  auto *out = static_cast<T *>(results[0]);
  std::memcpy(out, operands[2], dot.batch * dot.m * dot.n * sizeof(T));
  for (int64_t row = 0; row < dot.batch * dot.m; ++row)
    for (int64_t k = 0; k < dot.k; ++k) {
      const uint64_t factor = a[row * dot.k + k];
      const T *right = b + (row / dot.m * dot.k + k) * dot.n;
      for (int64_t column = 0; column < dot.n; ++column)
        out[row * dot.n + column] += static_cast<T>(factor * right[column]);
    }
}

template <typename Bits, typename Sum>
const Sum *embedEach(const Payloads &payloads, const void *in, int64_t n, Sum *out) {
  const auto *bits = static_cast<const Bits *>(in);
  for (int64_t i = 0; i < n; ++i)
    out[i] = static_cast<Sum>(
        static_cast<std::make_signed_t<Bits>>(static_cast<Bits>(payloads.rule.embed(bits[i]))));
  return out;
}

/// The payloads of n floats, made wider by their sign.
template <typename Sum>
const Sum *embed(const Payloads &payloads, int slot, int64_t n, const void *in) {
  Sum *out = scratch.get<Sum>(slot, n);
  switch (payloads.bytes) {
  case 1:
    return embedEach<uint8_t>(payloads, in, n, out);
  case 2:
    return embedEach<uint16_t>(payloads, in, n, out);
  case 4:
    return embedEach<uint32_t>(payloads, in, n, out);
  default:
    return embedEach<uint64_t>(payloads, in, n, out);
  }
}

/// The same of floats that stand for integers; sums are of the width of `Sum`.
template <typename Sum>
void evalDotOfPayloads(void *const *results, const void *const *operands, const void *payload) {
  const auto &dot = *static_cast<const Dot *>(payload);
  const int64_t sums = dot.batch * dot.m * dot.n;
  const void *const whole[] = {
      embed<Sum>(dot.payloads[0], 0, dot.batch * dot.m * dot.k, operands[0]),
      embed<Sum>(dot.payloads[1], 1, dot.batch * dot.k * dot.n, operands[1]),
      embed<Sum>(dot.payloads[2], 2, sums, operands[2])};
  auto *out = static_cast<Sum *>(results[0]);
  evalDotWhole<Sum>(results, whole, payload);
  for (int64_t i = 0; i < sums; ++i)
    out[i] = static_cast<Sum>(dot.payloads[2].rule.unembed(out[i]));
}

EvaluatorOrError chooseOfPayloads(const OpSignature &signature, std::shared_ptr<Dot> dot) {
  for (int i = 0; i < 3; ++i)
    dot->payloads[i] = Payloads::of(signature.operands[i].dtype);
  switch (dot->payloads[2].bytes) {
  case 2:
    return {Evaluator::makeBlock(evalDotOfPayloads<uint16_t>, dot), {}};
  case 4:
    return {Evaluator::makeBlock(evalDotOfPayloads<uint32_t>, dot), {}};
  case 8:
    return {Evaluator::makeBlock(evalDotOfPayloads<uint64_t>, dot), {}};
  default:
    return {{}, unsupported(signature)};
  }
}

std::optional<Precision> parsePrecision(llvm::StringRef name) {
  using Split = Precision::Split;
  if (name.empty() || name == "ieee")
    return Precision{};
  if (name == "tf32")
    return Precision{Split::Tf32, 1, {{0, 0}}};
  if (name == "tf32x3")
    return Precision{Split::Tf32, 2, {{1, 0}, {0, 1}, {0, 0}}};
  if (name == "bf16x3")
    return Precision{Split::Bf16, 2, {{1, 0}, {0, 1}, {0, 0}}};
  if (name == "bf16x6")
    return Precision{Split::Bf16, 3, {{1, 1}, {2, 0}, {0, 2}, {1, 0}, {0, 1}, {0, 0}}};
  return std::nullopt;
}

EvaluatorOrError chooseFp32(const OpSignature &signature, std::shared_ptr<Dot> dot, ElementType a,
                            ElementType b, ElementType acc) {
  const auto &near = dot->kernels->castNearest;
  const int f32 = static_cast<int>(ElementType::F32);
  if (a != ElementType::F32)
    dot->widenA = near[static_cast<int>(a)][f32];
  if (b != ElementType::F32)
    dot->widenB = near[static_cast<int>(b)][f32];
  if (acc == ElementType::F16 || acc == ElementType::BF16) {
    dot->widenAcc = near[static_cast<int>(acc)][f32];
    dot->narrow = near[f32][static_cast<int>(acc)];
  } else if (acc != ElementType::F32) {
    return {{}, unsupported(signature)};
  }
  // Smaller types are exact in every format that an fp32 operand is rounded to.
  if (a == ElementType::F32) {
    const auto name = signature.attributes.getString("input_precision", "ieee");
    const auto precision = parsePrecision(name);
    if (!precision)
      return {{},
              "tl.dot has input_precision '" + name.str() +
                  "', expected ieee, tf32, tf32x3, bf16x3 or bf16x6"};
    dot->precision = *precision;
  }
  return {Evaluator::makeBlock(evalDotFp32, dot), {}};
}

EvaluatorOrError chooseDot(const OpSignature &signature) {
  if (signature.operands.size() != 3)
    return {{}, unsupported(signature)};
  const Type &a = signature.operands[0], &b = signature.operands[1];
  const auto left = elementTypeOf(a), right = elementTypeOf(b),
             acc = elementTypeOf(signature.operands[2]);
  const int rank = a.rank();
  if (!left || !right || !acc || rank < 2 || b.rank() != rank ||
      a.shape[rank - 1] != b.shape[rank - 2])
    return {{}, unsupported(signature)};
  auto dot = std::make_shared<Dot>();
  dot->kernels = &kernels();
  dot->roundTf32 = dot->kernels->roundTf32;
  dot->m = a.shape[rank - 2];
  dot->k = a.shape[rank - 1];
  dot->n = b.shape[rank - 1];
  dot->batch = a.numElements() / (dot->m * dot->k);
  dot->aBytes = a.elementBytes();
  dot->bBytes = b.elementBytes();
  if (isOfPayloads(signature.attributes.getString("input_precision")))
    return chooseOfPayloads(signature, dot);
  if (a.isFloating() && b.isFloating()) {
    const bool isDouble = *left == ElementType::F64;
    if (isDouble != (*right == ElementType::F64) || isDouble != (*acc == ElementType::F64))
      return {{}, unsupported(signature)};
    if (isDouble)
      return {Evaluator::makeBlock(evalDotFp64, dot), {}};
    return chooseFp32(signature, dot, *left, *right, *acc);
  }
  if (*left == *acc && *right == *acc) {
    if (*acc == ElementType::I16)
      return {Evaluator::makeBlock(evalDotWhole<uint16_t>, dot), {}};
    if (*acc == ElementType::I32)
      return {Evaluator::makeBlock(evalDotWhole<uint32_t>, dot), {}};
    if (*acc == ElementType::I64)
      return {Evaluator::makeBlock(evalDotWhole<uint64_t>, dot), {}};
  }
  if (*left != ElementType::I8 || *right != ElementType::I8 || *acc != ElementType::I32)
    return {{}, unsupported(signature)};
  const int i8 = static_cast<int>(ElementType::I8), i32 = static_cast<int>(ElementType::I32);
  const auto widen = [&](const char *flag) {
    return (signature.attributes.getBool(flag) ? dot->kernels->castUnsigned
                                               : dot->kernels->castSigned)[i8][i32];
  };
  dot->widenA = widen("a_unsigned");
  dot->widenB = widen("b_unsigned");
  return {Evaluator::makeBlock(evalDotInt8, dot), {}};
}

} // namespace

void addDotEvaluators(EvaluatorTable &table) { table.add("tl.dot", chooseDot); }

} // namespace blockscope::interpreter
