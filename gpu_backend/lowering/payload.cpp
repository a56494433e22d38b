// Floats as integers, in LLVM IR.
#include "gpu_backend/lowering/payload.h"

#include "core/ir/convert.h"
#include "core/numeric/scalar.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/Support/FormatVariadic.h"

namespace blockscope::gpu {
namespace {

/// Instructions on integers of the width of one rule.
class Words {
public:
  Words(llvm::IRBuilder<> &builder, const numeric::Payload &rule)
      : builder_(builder), rule_(rule), type_(builder.getIntNTy(rule.bits)) {}

  llvm::Value *number(uint64_t value) const {
    return llvm::ConstantInt::get(type_, llvm::APInt(64, value).trunc(rule_.bits));
  }
  llvm::Value *bits(llvm::Value *value) const { return builder_.CreateBitCast(value, type_); }
  llvm::Value *sign(llvm::Value *value) const {
    return builder_.CreateAnd(value, number(rule_.sign));
  }
  llvm::Value *magnitude(llvm::Value *value) const {
    return builder_.CreateAnd(value, number(rule_.sign - 1));
  }
  llvm::Value *times(llvm::Value *value, uint64_t factor) const {
    return magnitude(builder_.CreateMul(value, number(factor)));
  }
  /// Times the factor, or its opposite where `sign` is set.
  llvm::Value *times(llvm::Value *value, llvm::Value *sign, uint64_t factor) const {
    llvm::Value *isNegative = builder_.CreateICmpNE(sign, number(0));
    llvm::Value *chosen = builder_.CreateSelect(isNegative, number(0 - factor), number(factor));
    return magnitude(builder_.CreateMul(value, chosen));
  }
  llvm::Value *mixed(llvm::Value *value, int by) const {
    return builder_.CreateXor(value, builder_.CreateLShr(value, number(by)));
  }

private:
  llvm::IRBuilder<> &builder_;
  const numeric::Payload &rule_;
  llvm::Type *type_;
};

/// The same bits, of which LLVM does not see how they were made. It would make a float's negation
/// of a sign that is put in, which is not one of bits on a GPU: NaNs lose theirs.
llvm::Value *hidden(llvm::IRBuilder<> &builder, llvm::Value *bits) {
  const unsigned width = bits->getType()->getIntegerBitWidth();
  const char *letter = width == 16 ? "h" : width == 32 ? "r" : "l";
  auto *type = llvm::FunctionType::get(bits->getType(), {bits->getType()}, false);
  return builder.CreateCall(
      llvm::InlineAsm::get(type, llvm::formatv("mov.b{0} $0, $1;", width).str(),
                           llvm::formatv("={0},{0}", letter).str(), /*hasSideEffects=*/false),
      {bits});
}

} // namespace

llvm::Value *embedFloat(llvm::IRBuilder<> &builder, llvm::Value *value,
                        const numeric::Payload &rule) {
  const Words words(builder, rule);
  value = words.bits(value);
  llvm::Value *sign = words.sign(value);
  llvm::Value *low = words.mixed(words.times(value, rule.first), rule.shift);
  return builder.CreateOr(words.times(low, sign, rule.second), sign);
}

llvm::Value *unembedFloat(llvm::IRBuilder<> &builder, llvm::Value *payload,
                          const numeric::Payload &rule, llvm::Type *type) {
  const Words words(builder, rule);
  llvm::Value *sign = words.sign(payload);
  llvm::Value *value = words.times(payload, sign, rule.secondBack);
  for (int by = rule.shift; by < rule.bits; by *= 2)
    value = words.mixed(value, by);
  value = builder.CreateOr(words.times(value, rule.firstBack), sign);
  if (type->isFloatingPointTy())
    value = hidden(builder, value);
  return builder.CreateBitCast(value, type);
}

numeric::Payload payloadRuleOf(llvm::Type *type) {
  const llvm::APInt one = llvm::cast<llvm::ConstantFP>(llvm::ConstantFP::get(type, 1.0))
                              ->getValueAPF()
                              .bitcastToAPInt();
  return {static_cast<int>(one.getBitWidth()), one.getZExtValue()};
}

numeric::Payload payloadRuleOf(mlir::Type type) {
  const DType dtype = fromMlirType(mlir::getElementTypeOrSelf(type)).dtype;
  uint64_t one = 0;
  numeric::writeDouble(dtype, 1, &one);
  return {bitWidth(dtype), one};
}

} // namespace blockscope::gpu
