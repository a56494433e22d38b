// The ops that combine functions, and what their elements come from, are made of.
#include "gpu_backend/passes/region_numbers.h"

#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace blockscope::gpu {
namespace {

std::optional<Number> ofConstant(TypedAttr value) {
  if (auto splat = dyn_cast<SplatElementsAttr>(value))
    value = dyn_cast<TypedAttr>(splat.getSplatValue<Attribute>());
  if (auto number = dyn_cast_or_null<FloatAttr>(value))
    return Number{.real = number.getValueAsDouble()};
  if (auto number = dyn_cast_or_null<IntegerAttr>(value))
    return Number{.bits = number.getValue().getZExtValue()};
  return std::nullopt;
}

std::optional<Number> realOf(Operation &op, llvm::ArrayRef<Number> operands) {
  const auto of = [](double value) { return std::optional(Number{.real = value}); };
  const auto signedOf = [&] {
    return llvm::SignExtend64(operands[0].bits, widthOf(op.getOperand(0).getType()));
  };
  const double x = operands[0].real;
  const auto y = [&] { return operands[1].real; };
  return llvm::TypeSwitch<Operation *, std::optional<Number>>(&op)
      .Case<arith::AddFOp>([&](auto) { return of(x + y()); })
      .Case<arith::SubFOp>([&](auto) { return of(x - y()); })
      .Case<arith::MulFOp>([&](auto) { return of(x * y()); })
      .Case<arith::DivFOp>([&](auto) { return of(x / y()); })
      .Case<arith::NegFOp>([&](auto) { return of(-x); })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>([&](auto) { return of(std::fmax(x, y())); })
      .Case<arith::MinimumFOp, arith::MinNumFOp>([&](auto) { return of(std::fmin(x, y())); })
      .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) { return of(x); })
      .Case<arith::SIToFPOp>([&](auto) { return of(static_cast<double>(signedOf())); })
      .Case<arith::UIToFPOp>([&](auto) { return of(static_cast<double>(operands[0].bits)); })
      .Case<tl::IntToFloatOp>([&](auto cast) {
        return of(cast.getIsUnsigned() ? static_cast<double>(operands[0].bits)
                                       : static_cast<double>(signedOf()));
      })
      .Case<math::FmaOp>([&](auto) { return of(x * y() + operands[2].real); })
      .Case<math::AbsFOp>([&](auto) { return of(std::fabs(x)); })
      .Case<math::SqrtOp>([&](auto) { return of(std::sqrt(x)); })
      .Case<math::RsqrtOp>([&](auto) { return of(1 / std::sqrt(x)); })
      .Case<math::ExpOp>([&](auto) { return of(std::exp(x)); })
      .Case<math::Exp2Op>([&](auto) { return of(std::exp2(x)); })
      .Case<math::LogOp>([&](auto) { return of(std::log(x)); })
      .Case<math::Log2Op>([&](auto) { return of(std::log2(x)); })
      .Default(std::nullopt);
}

std::optional<Number> integerOf(Operation &op, llvm::ArrayRef<Number> operands) {
  const Type from = getElementTypeOrSelf(op.getOperand(0).getType());
  if (!from.isIntOrIndex())
    return std::nullopt;
  const auto of = [&](uint64_t bits) {
    return std::optional(Number{.bits = lowBits(bits, widthOf(op.getResult(0).getType()))});
  };
  const uint64_t x = operands[0].bits;
  const auto y = [&] { return operands[1].bits; };
  return llvm::TypeSwitch<Operation *, std::optional<Number>>(&op)
      .Case<arith::AddIOp>([&](auto) { return of(x + y()); })
      .Case<arith::SubIOp>([&](auto) { return of(x - y()); })
      .Case<arith::MulIOp>([&](auto) { return of(x * y()); })
      .Case<arith::AndIOp>([&](auto) { return of(x & y()); })
      .Case<arith::OrIOp>([&](auto) { return of(x | y()); })
      .Case<arith::XOrIOp>([&](auto) { return of(x ^ y()); })
      .Case<arith::ExtSIOp>(
          [&](auto) { return of(static_cast<uint64_t>(llvm::SignExtend64(x, widthOf(from)))); })
      .Case<arith::ExtUIOp, arith::TruncIOp>([&](auto) { return of(x); })
      .Default(std::nullopt);
}

} // namespace

unsigned widthOf(Type type) {
  const Type element = getElementTypeOrSelf(type);
  return element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
}

uint64_t lowBits(uint64_t bits, unsigned width) {
  return bits & llvm::maskTrailingOnes<uint64_t>(width);
}

std::optional<Number> evaluated(Operation &op, llvm::ArrayRef<Number> operands) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return ofConstant(constant.getValue());
  if (op.getNumOperands() == 0)
    return std::nullopt;
  if (isa<arith::SelectOp>(op))
    return operands[operands[0].bits != 0 ? 1 : 2];
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return Number{.bits = arith::applyCmpPredicate(compare.getPredicate(),
                                                   llvm::APFloat(operands[0].real),
                                                   llvm::APFloat(operands[1].real))};
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    if (!getElementTypeOrSelf(compare.getLhs().getType()).isIntOrIndex())
      return std::nullopt;
    const unsigned width = widthOf(compare.getLhs().getType());
    return Number{.bits = arith::applyCmpPredicate(compare.getPredicate(),
                                                   llvm::APInt(width, operands[0].bits),
                                                   llvm::APInt(width, operands[1].bits))};
  }
  return isa<FloatType>(getElementTypeOrSelf(op.getResult(0).getType())) ? realOf(op, operands)
                                                                         : integerOf(op, operands);
}

} // namespace blockscope::gpu
