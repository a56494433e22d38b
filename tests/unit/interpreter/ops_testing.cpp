// Running one evaluator on given blocks.
#include "ops_testing.h"

#include "core/numeric/scalar.h"
#include "interpreter/execution_context.h"

#include <cmath>

namespace blockscope::interpreter::testing {

Data randomBits(DType dtype, std::vector<int64_t> shape, uint64_t seed) {
  Data data(Type::get(dtype, shape));
  std::mt19937_64 random(seed);
  const int size = byteSize(dtype);
  constexpr double kFloats[] = {0.0,  -0.0, 1.0,  -1.0,     0.5,  2.0,       3.0, 1e-3,
                                1e30, 88.5, -5.5, INFINITY, -2.0, -INFINITY, NAN, 1e-40};
  for (int64_t i = 0; i < data.type.numElements(); ++i) {
    char *element = data.bytes.data() + i * size;
    const uint64_t bits = random();
    switch (random() % 4) {
    case 0:
      if (isFloating(dtype))
        numeric::writeDouble(dtype, kFloats[bits % 16], element);
      else
        numeric::writeInt(dtype, static_cast<int64_t>(bits % 7) - 3, element);
      break;
    case 1:
      if (isFloating(dtype)) {
        numeric::writeDouble(dtype, (static_cast<double>(bits >> 11) * 0x1p-53 - 0.5) * 200,
                             element);
        break;
      }
      [[fallthrough]];
    default:
      std::memcpy(element, &bits, size);
      if (dtype == DType::Int1)
        *element &= 1;
    }
  }
  return data;
}

Data randomFloats(DType dtype, std::vector<int64_t> shape, uint64_t seed) {
  Data data(Type::get(dtype, shape));
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < data.type.numElements(); ++i)
    numeric::writeDouble(dtype, static_cast<double>(random() >> 11) * 0x1p-51 - 2,
                         data.bytes.data() + i * byteSize(dtype));
  return data;
}

std::vector<Data> run(llvm::StringRef name, const std::vector<Data> &operands,
                      const std::vector<Type> &results, const Attributes &attributes) {
  OpSignature signature{name, {}, {}, attributes};
  std::vector<const void *> in;
  std::vector<void *> out;
  std::vector<Data> made;
  made.reserve(results.size());
  for (const Data &operand : operands) {
    signature.operands.push_back(operand.type);
    in.push_back(operand.bytes.data());
  }
  for (const Type &type : results) {
    signature.results.push_back(type);
    made.emplace_back(type);
    out.push_back(made.back().bytes.data());
  }
  const EvaluatorOrError chosen = EvaluatorTable::instance().choose(signature);
  EXPECT_EQ(chosen.error, "") << name.str();
  if (!chosen.error.empty())
    return made;
  const Evaluator &evaluator = chosen.evaluator;
  if (evaluator.form == Evaluator::Form::Block) {
    evaluator.block(out.data(), in.data(), evaluator.payload.get());
    return made;
  }
  if (evaluator.form == Evaluator::Form::Context) {
    LaunchState launch;
    ExecutionContext context;
    context.launch = &launch;
    evaluator.context(context, out.data(), in.data(), evaluator.payload.get());
    return made;
  }
  const int64_t n = results[0].numElements();
  uint32_t scalars = 0;
  for (size_t k = 0; k < operands.size(); ++k)
    if (n > 1 && operands[k].type.numElements() == 1)
      scalars |= 1u << k;
  evaluator.elementwise(n, 0, out.data(), in.data(), scalars, evaluator.payload.get());
  return made;
}

Data run1(llvm::StringRef name, const std::vector<Data> &operands, const Type &result,
          const Attributes &attributes) {
  return run(name, operands, {result}, attributes)[0];
}

Data runBlock(const Evaluator &evaluator, const Data &operand, const Type &result) {
  Data made(result);
  EXPECT_NE(evaluator.block, nullptr);
  void *const out[1] = {made.bytes.data()};
  const void *const in[1] = {operand.bytes.data()};
  if (evaluator.block)
    evaluator.block(out, in, evaluator.payload.get());
  return made;
}

std::vector<Isa> instructionSets() {
  std::vector<Isa> sets = {Isa::Baseline};
  if (bestIsa() >= Isa::Avx2)
    sets.push_back(Isa::Avx2);
  if (bestIsa() >= Isa::Avx512)
    sets.push_back(Isa::Avx512);
  return sets;
}

bool sameBits(const Data &x, const Data &y) {
  if (x.bytes == y.bytes)
    return true;
  if (x.type != y.type || !x.type.isFloating())
    return false;
  const int size = x.type.elementBytes();
  for (int64_t i = 0; i < x.type.numElements(); ++i) {
    const char *a = x.bytes.data() + i * size, *b = y.bytes.data() + i * size;
    if (std::memcmp(a, b, size) != 0 && !(std::isnan(numeric::readAsDouble(x.type.dtype, a)) &&
                                          std::isnan(numeric::readAsDouble(x.type.dtype, b)))) {
      ADD_FAILURE() << "element " << i << ": " << numeric::readAsDouble(x.type.dtype, a) << " and "
                    << numeric::readAsDouble(x.type.dtype, b);
      return false;
    }
  }
  return true;
}

} // namespace blockscope::interpreter::testing
