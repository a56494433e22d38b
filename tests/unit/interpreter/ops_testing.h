// Running one evaluator on given blocks, for the tests of interpreter/ops.
#pragma once

#include "interpreter/evaluator.h"
#include "interpreter/simd/isa.h"

#include "gtest/gtest.h"

#include <cstring>
#include <initializer_list>
#include <random>
#include <vector>

namespace blockscope::interpreter::testing {

/// A block with its type.
struct Data {
  Type type;
  std::vector<char> bytes;

  Data() = default;
  explicit Data(Type t) : type(std::move(t)), bytes(type.numElements() * type.elementBytes()) {}
  template <typename T> T *as() { return reinterpret_cast<T *>(bytes.data()); }
  template <typename T> const T *as() const { return reinterpret_cast<const T *>(bytes.data()); }
};

template <typename T>
Data makeData(DType dtype, std::vector<int64_t> shape, const std::vector<T> &values) {
  Data data(Type::get(dtype, shape));
  EXPECT_EQ(data.bytes.size(), values.size() * sizeof(T));
  std::memcpy(data.bytes.data(), values.data(), data.bytes.size());
  return data;
}

inline Data makeFloats(std::vector<int64_t> shape, const std::vector<float> &values) {
  return makeData(DType::Fp32, std::move(shape), values);
}
inline Data makeInts(std::vector<int64_t> shape, const std::vector<int32_t> &values) {
  return makeData(DType::Int32, std::move(shape), values);
}

/// Elements that are random bits, small numbers and the special values of every type.
Data randomBits(DType dtype, std::vector<int64_t> shape, uint64_t seed);
/// Floats in (-2, 2), encoded in `dtype`.
Data randomFloats(DType dtype, std::vector<int64_t> shape, uint64_t seed);

/// Runs one op on whole blocks; an error is a test failure.
std::vector<Data> run(llvm::StringRef name, const std::vector<Data> &operands,
                      const std::vector<Type> &results, const Attributes &attributes = {});
Data run1(llvm::StringRef name, const std::vector<Data> &operands, const Type &result,
          const Attributes &attributes = {});

/// Runs an evaluator of the Block form.
Data runBlock(const Evaluator &evaluator, const Data &operand, const Type &result);

/// The instruction sets of this machine, baseline first.
std::vector<Isa> instructionSets();

/// Puts the instruction set back at the end.
struct IsaScope {
  ~IsaScope() { setIsa(bestIsa()); }
};

/// Whether two blocks are equal bit by bit; a NaN equals any NaN of a floating type.
bool sameBits(const Data &x, const Data &y);

} // namespace blockscope::interpreter::testing
