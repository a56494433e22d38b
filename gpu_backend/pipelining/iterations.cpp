// Counters of later iterations.
#include "gpu_backend/pipelining/iterations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace blockscope::gpu {

LoopBounds::LoopBounds(scf::ForOp loop, const IRMapping &now)
    : lower(now.lookupOrDefault(loop.getLowerBound())),
      upper(now.lookupOrDefault(loop.getUpperBound())), step(now.lookupOrDefault(loop.getStep())) {}

Value hasIteration(OpBuilder &builder, Location location, const LoopBounds &bounds, Value at,
                   int iterations) {
  Value left = bounds.upper, step = bounds.step;
  Type wide = builder.getI64Type();
  const auto constant = [&](Type type, int64_t value) -> Value {
    return arith::ConstantOp::create(builder, location, builder.getIntegerAttr(type, value));
  };
  const auto widened = [&](Value value) -> Value {
    if (value.getType() == wide || value.getType().isIndex())
      return value;
    return arith::ExtSIOp::create(builder, location, wide, value);
  };
  // A constant step cannot overflow, other steps are multiplied in 64 bits.
  llvm::APInt known;
  const bool isSmall = matchPattern(step, m_ConstantInt(&known)) && known.ult(1 << 20);
  if (!isSmall) {
    left = widened(left);
    at = widened(at);
    step = widened(step);
  }
  left = arith::SubIOp::create(builder, location, left, at);
  Value needed =
      isSmall ? constant(step.getType(), known.getSExtValue() * iterations)
              : arith::MulIOp::create(builder, location, step, constant(step.getType(), iterations))
                    .getResult();
  return arith::CmpIOp::create(builder, location, arith::CmpIPredicate::ugt, left, needed);
}

Value iterationAfter(OpBuilder &builder, Location location, const LoopBounds &bounds, Value at,
                     int iterations) {
  Value count = arith::ConstantOp::create(
      builder, location, builder.getIntegerAttr(bounds.step.getType(), iterations));
  Value distance = arith::MulIOp::create(builder, location, bounds.step, count);
  return arith::AddIOp::create(builder, location, at, distance);
}

scf::ForOp withVariables(RewriterBase &rewriter, scf::ForOp loop, ValueRange initial) {
  auto made = loop.replaceWithAdditionalYields(
      rewriter, initial, /*replaceInitOperandUsesInLoop=*/false,
      [](OpBuilder &, Location, llvm::ArrayRef<BlockArgument> arguments) {
        return llvm::SmallVector<Value>(arguments.begin(), arguments.end());
      });
  return cast<scf::ForOp>(made->getOperation());
}

} // namespace blockscope::gpu
