// The products of the rests come first, as on the CPU; that of both rests is left out.
#include "gpu_backend/passes/split_dots.h"

#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace blockscope::gpu {

Value cutToTf32(OpBuilder &builder, Location location, Value value) {
  constexpr int32_t kKept = -0x2000; // sign, exponent and 10 bits
  const auto type = cast<RankedTensorType>(value.getType());
  const auto bitsType =
      RankedTensorType::get(type.getShape(), builder.getI32Type(), type.getEncoding());
  Value mask = arith::ConstantOp::create(
      builder, location, DenseElementsAttr::get(bitsType, builder.getI32IntegerAttr(kKept)));
  Value bits = tl::BitcastOp::create(builder, location, bitsType, value);
  bits = arith::AndIOp::create(builder, location, bits, mask);
  return tl::BitcastOp::create(builder, location, type, bits);
}

namespace {

/// What tf32 does not hold of `value`: it, and what wgmma keeps of `value`, are `value` together.
/// Of an infinity it is a NaN (lowering/mma_operands.cpp).
Value restOf(OpBuilder &builder, Location location, Value value) {
  return arith::SubFOp::create(builder, location, value, cutToTf32(builder, location, value));
}

bool isForWgmma(tl::DotOp dot) {
  constexpr int64_t kRows = 64, kColumns = 16, kDepth = 8;
  const llvm::ArrayRef<int64_t> shape = dot.getType().getShape();
  const auto a = cast<RankedTensorType>(dot.getA().getType());
  return shape.size() == 2 && shape[0] >= kRows && shape[1] >= kColumns &&
         a.getShape()[1] >= kDepth && a.getElementType().isF32();
}

} // namespace

void splitDots(func::FuncOp function, const GpuTarget &target, int numWarps) {
  constexpr int kWarpsOfGroup = 4;
  if (!target.hasWgmma || numWarps % kWarpsOfGroup != 0)
    return;
  llvm::SmallVector<tl::DotOp> dots;
  function.walk([&](tl::DotOp dot) {
    if (dot.getInputPrecision() == "tf32x3" && isForWgmma(dot))
      dots.push_back(dot);
  });
  for (tl::DotOp dot : dots) {
    OpBuilder builder(dot);
    Value a = dot.getA(), b = dot.getB();
    Value restOfA = restOf(builder, dot.getLoc(), a);
    Value restOfB = a == b ? restOfA : restOf(builder, dot.getLoc(), b);
    Value sum = dot.getAcc();
    for (const auto &[left, right] : {std::pair(restOfA, b), {a, restOfB}, {a, b}}) {
      auto term = cast<tl::DotOp>(builder.clone(*dot));
      term->setOperands({left, right, sum});
      term.setInputPrecision("tf32");
      sum = term.getResult();
    }
    dot.replaceAllUsesWith(sum);
    dot.erase();
  }
}

} // namespace blockscope::gpu
