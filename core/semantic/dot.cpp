// Dot: which types multiply, what they accumulate in, which shapes match.
#include "core/semantic/semantic.h"

namespace blockscope {
namespace {

bool isDotType(DType dtype) {
  return isFp8(dtype) || dtype == DType::Int8 || dtype == DType::UInt8 || dtype == DType::Fp16 ||
         dtype == DType::Bf16 || dtype == DType::Fp32 || dtype == DType::Fp64;
}

} // namespace

Value Semantic::dot(const Value &a, const Value &b, const std::optional<Value> &acc,
                    const DotOptions &options) {
  if (failed())
    return {};
  if (!a.type.isBlock() || !b.type.isBlock() || a.type.isPointer() || b.type.isPointer())
    return typeError("operands are " + typeText(a.type) + " and " + typeText(b.type) +
                     ", expected two blocks of numbers");
  const DType left = a.type.dtype, right = b.type.dtype;
  if (!isDotType(left) || !isDotType(right))
    return typeError("operands are " + typeText(a.type) + " and " + typeText(b.type) +
                     ", expected int8, uint8, fp8, fp16, bf16, fp32 or fp64");
  if (left != right && !(isFp8(left) && isFp8(right)))
    return typeError("Both operands must be same dtype. Got " + a.type.scalar().str() + " and " +
                     b.type.scalar().str());
  if (!checkOneOf("input_precision", options.inputPrecision,
                  {"tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"}))
    return {};
  const int64_t rank = a.type.rank();
  if (rank < 2 || rank != b.type.rank())
    return valueError("operands are " + typeText(a.type) + " and " + typeText(b.type) +
                      ", expected two blocks of 2 dimensions, or of 3 and more (batched)");
  const llvm::ArrayRef<int64_t> leftShape = a.type.shape, rightShape = b.type.shape;
  const int64_t m = leftShape[rank - 2], k = leftShape[rank - 1], n = rightShape[rank - 1];
  if (rightShape[rank - 2] != k)
    return valueError("First input shape (" + shapeText(leftShape) + ") and second input shape (" +
                          shapeText(rightShape) + ") are not compatible for matmul",
                      ": K is " + std::to_string(k) + " and " +
                          std::to_string(rightShape[rank - 2]));
  if (leftShape.drop_back(2) != rightShape.drop_back(2))
    return valueError("shapes " + shapeText(leftShape) + " and " + shapeText(rightShape) +
                      " have different batch dimensions");

  DType out = DType::Fp32;
  if (isInteger(left))
    out = DType::Int32;
  else if (options.outDType == DType::Bf16)
    return valueError("out_dtype=bfloat16 is unsupported. Please use out_dtype=float32/float16 and "
                      "cast with `.to(tl.bfloat16)`");
  else if (left == DType::Fp64)
    out = DType::Fp64;
  else if (left != DType::Fp32 && left != DType::Bf16 && options.outDType == DType::Fp16)
    out = DType::Fp16;

  llvm::SmallVector<int64_t, 4> shape(leftShape.drop_back(2));
  shape.append({m, n});
  if (!checkBlockShape(shape))
    return {};
  Value sum;
  if (acc) {
    if (acc->type.shape != llvm::ArrayRef<int64_t>(shape))
      return valueError("acc is " + typeText(acc->type) + ", expected shape " + shapeText(shape));
    if (acc->type.isPointer() || acc->type.dtype != out)
      return typeError("acc is " + typeText(acc->type) + ", expected " +
                       typeText(Type::get(out, shape)));
    sum = *acc;
  } else {
    sum = full(shape, Scalar::ofInt(0), out);
  }

  Value x = a, y = b;
  if (rank > 3) { // one batch dimension
    int64_t batch = 1;
    for (int64_t size : leftShape.drop_back(2))
      batch *= size;
    x = reshape(x, {batch, m, k}, false);
    y = reshape(y, {batch, k, n}, false);
    sum = reshape(sum, {batch, m, n}, false);
  }
  if (failed())
    return {};
  Attributes attributes;
  attributes.set("input_precision", options.inputPrecision);
  if (options.maxNumImpreciseAcc && isFp8(left) && isFp8(right)) {
    if (*options.maxNumImpreciseAcc < 0 || *options.maxNumImpreciseAcc > k)
      return valueError("max_num_imprecise_acc (" + std::to_string(*options.maxNumImpreciseAcc) +
                            ") must be <= K (" + std::to_string(k) + ")",
                        " and not negative");
    attributes.set("max_num_imprecise_acc", *options.maxNumImpreciseAcc);
  }
  if (left == DType::UInt8)
    attributes.set("a_unsigned", true);
  if (right == DType::UInt8)
    attributes.set("b_unsigned", true);
  const Value result = emit1("tl.dot", {x, y, sum}, sum.type, attributes);
  return rank > 3 ? reshape(result, shape, false) : result;
}

} // namespace blockscope
