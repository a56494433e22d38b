// Every kernel gives the same bits on every instruction set, in every operand form, and in place.
#include "ops_testing.h"

#include "interpreter/simd/kernels.h"

using namespace blockscope;
using namespace blockscope::interpreter;
using namespace blockscope::interpreter::testing;

namespace {

constexpr DType kDTypes[] = {DType::Int1,    DType::Int8,       DType::Int16,     DType::Int32,
                             DType::Int64,   DType::Fp8E4M3NV,  DType::Fp8E4M3B8, DType::Fp8E4M3B15,
                             DType::Fp8E5M2, DType::Fp8E5M2B16, DType::Fp16,      DType::Bf16,
                             DType::Fp32,    DType::Fp64};
static_assert(std::size(kDTypes) == kNumElementTypes);

constexpr int64_t kElements = 1037; // strips, vectors and a tail

const Kernels &kernelsOf(Isa isa) {
  switch (isa) {
  case Isa::Baseline:
    return baseline::kernels();
  case Isa::Avx2:
    return avx2::kernels();
  case Isa::Avx512:
    return avx512::kernels();
  }
  return baseline::kernels();
}

int arityOf(ElementOp op) {
  using enum ElementOp;
  switch (op) {
#define BLK_INTEGER_OP(id, name, family, count, ...)                                               \
  case id:                                                                                         \
    return count;
#define BLK_FLOAT_OP(id, name, family, count, ...)                                                 \
  case id:                                                                                         \
    return count;
#define BLK_MATH_OP(id, ...) case id:
#include "core/op_facts.def"
  case Copy:
    return 1;
  case ClampNanF:
  case Select:
    return 3;
  default: // comparisons
    return 2;
  }
}

bool givesBool(ElementOp op) {
  using enum ElementOp;
  return (op >= Eq && op <= Uge) || (op >= CmpFalse && op <= CmpTrue);
}

Data runKernel(ElementKernel kernel, const std::vector<Data> &operands, uint32_t scalars,
               DType result, bool inPlace) {
  Data made(Type::get(result, {kElements}));
  std::vector<const void *> in;
  for (const Data &operand : operands)
    in.push_back(operand.bytes.data());
  if (inPlace) {
    made.bytes = operands.back().bytes;
    in.back() = made.bytes.data();
  }
  void *const out[1] = {made.bytes.data()};
  kernel(kElements, 0, out, in.data(), scalars, nullptr);
  return made;
}

TEST(KernelVariantsTest, ElementwiseOpsAgreeBitByBit) {
  int kernelsSeen = 0;
  for (int op = 0; op < kNumElementOps; ++op)
    for (int type = 0; type < kNumElementTypes; ++type) {
      const auto element = static_cast<ElementOp>(op);
      if (!baseline::kernels().element[op][type])
        continue;
      ++kernelsSeen;
      const int arity = arityOf(element);
      std::vector<Data> operands;
      for (int k = 0; k < arity; ++k)
        operands.push_back(
            randomBits(element == ElementOp::Select && k == 0 ? DType::Int1 : kDTypes[type],
                       {kElements}, op * 100 + type * 10 + k));
      const DType result = givesBool(element) ? DType::Int1 : kDTypes[type];
      for (uint32_t scalars = 0; scalars < (1u << arity); ++scalars) {
        const Data expected =
            runKernel(baseline::kernels().element[op][type], operands, scalars, result, false);
        // The scalar form is the form of a block of equal elements.
        std::vector<Data> spread = operands;
        for (int k = 0; k < arity; ++k)
          for (int64_t i = 1; (scalars >> k & 1) && i < kElements; ++i)
            std::memcpy(spread[k].bytes.data() + i * spread[k].type.elementBytes(),
                        spread[k].bytes.data(), spread[k].type.elementBytes());
        ASSERT_TRUE(sameBits(
            expected, runKernel(baseline::kernels().element[op][type], spread, 0, result, false)))
            << "op " << op << " type " << type << " scalars " << scalars;
        for (const Isa isa : instructionSets()) {
          const ElementKernel kernel = kernelsOf(isa).element[op][type];
          ASSERT_NE(kernel, nullptr);
          ASSERT_TRUE(sameBits(expected, runKernel(kernel, operands, scalars, result, false)))
              << "op " << op << " type " << type << " scalars " << scalars << " isa " << int(isa);
          if (!givesBool(element) && !(scalars >> (arity - 1) & 1)) {
            ASSERT_TRUE(sameBits(expected, runKernel(kernel, operands, scalars, result, true)))
                << "in place: op " << op << " type " << type;
          }
        }
      }
    }
  EXPECT_GT(kernelsSeen, 400);
}

TEST(KernelVariantsTest, CastsAgreeBitByBit) {
  int seen = 0;
  for (int matrix = 0; matrix < 4; ++matrix)
    for (int from = 0; from < kNumElementTypes; ++from)
      for (int to = 0; to < kNumElementTypes; ++to) {
        const auto kernelOf = [&](const Kernels &kernels) {
          const decltype(kernels.castNearest) *matrices[] = {
              &kernels.castNearest, &kernels.castTowardZero, &kernels.castSigned,
              &kernels.castUnsigned};
          return (*matrices[matrix])[from][to];
        };
        if (!kernelOf(baseline::kernels()))
          continue;
        ++seen;
        const Data in = randomBits(kDTypes[from], {kElements}, from * 20 + to);
        const Data expected = runKernel(kernelOf(baseline::kernels()), {in}, 0, kDTypes[to], false);
        for (const Isa isa : instructionSets())
          ASSERT_TRUE(
              sameBits(expected, runKernel(kernelOf(kernelsOf(isa)), {in}, 0, kDTypes[to], false)))
              << "matrix " << matrix << " from " << from << " to " << to << " isa " << int(isa);
      }
  EXPECT_GT(seen, 250);
}

} // namespace
