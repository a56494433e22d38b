// The products of the rests come first, as on the CPU; that of both rests is left out.
#include "gpu_backend/passes/split_dots.h"

#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

struct Terms {
  Value cut, rest;
};

/// `value` is the sum of both; infinity and NaN are in the first only.
Terms split(OpBuilder &builder, Location location, Value value) {
  constexpr int32_t kKept = -0x2000; // sign, exponent and 10 bits
  const auto type = cast<RankedTensorType>(value.getType());
  const auto bitsType = RankedTensorType::get(type.getShape(), builder.getI32Type());
  const auto constant = [&](RankedTensorType of, Attribute number) -> Value {
    return arith::ConstantOp::create(builder, location, DenseElementsAttr::get(of, number));
  };
  Value zero = constant(type, builder.getF32FloatAttr(0));
  Value bits = tl::BitcastOp::create(builder, location, bitsType, value);
  bits = arith::AndIOp::create(builder, location, bits,
                               constant(bitsType, builder.getI32IntegerAttr(kKept)));
  Value cut = tl::BitcastOp::create(builder, location, type, bits);
  Value rest = arith::SubFOp::create(builder, location, value, cut);
  Value nothing = arith::SubFOp::create(builder, location, value, value);
  Value isFinite =
      arith::CmpFOp::create(builder, location, arith::CmpFPredicate::OEQ, nothing, zero);
  return {arith::SelectOp::create(builder, location, isFinite, cut, value),
          arith::SelectOp::create(builder, location, isFinite, rest, zero)};
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
    const Terms a = split(builder, dot.getLoc(), dot.getA());
    const Terms b = dot.getA() == dot.getB() ? a : split(builder, dot.getLoc(), dot.getB());
    Value sum = dot.getAcc();
    for (const auto &[left, right] : {std::pair(a.rest, b.cut), {a.cut, b.rest}, {a.cut, b.cut}}) {
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
