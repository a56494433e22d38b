// Sums of what each operand grows by.
#include "gpu_backend/passes/exact_steps.h"

#include "gpu_backend/ir/tlg_dialect.h"

#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

using Steps = std::optional<llvm::SmallVector<int64_t, 3>>;

/// The wrapping sum, difference or product, as unsigned numbers have it.
template <typename F> int64_t wrapping(int64_t x, int64_t y, F f) {
  return static_cast<int64_t>(f(static_cast<uint64_t>(x), static_cast<uint64_t>(y)));
}

class Walk {
public:
  Steps of(Value block) {
    Operation *op = block.getDefiningOp();
    const auto type = dyn_cast<RankedTensorType>(block.getType());
    if (!op || !type || ++visited_ > kMostOps)
      return std::nullopt;
    if (constantOf(block))
      return same(type);
    return llvm::TypeSwitch<Operation *, Steps>(op)
        .Case([&](tl::RangeOp) { return llvm::SmallVector<int64_t, 3>{1}; })
        .Case([&](tl::SplatOp) { return same(type); })
        .Case([&](tl::ExpandDimsOp expand) {
          Steps steps = of(expand.getSource());
          if (steps)
            steps->insert(steps->begin() + expand.getAxis(), 0);
          return steps;
        })
        .Case([&](tl::BroadcastOp broadcast) {
          Steps steps = of(broadcast.getSource());
          const auto from = cast<RankedTensorType>(broadcast.getSource().getType()).getShape();
          if (steps)
            for (auto [step, before, now] : llvm::zip_equal(*steps, from, type.getShape()))
              step = before == now ? step : 0;
          return steps;
        })
        .Case([&](tl::TransOp trans) {
          const Steps before = of(trans.getSource());
          if (!before)
            return before;
          llvm::SmallVector<int64_t, 3> steps;
          for (const int64_t from : trans.getOrder())
            steps.push_back((*before)[from]);
          return Steps(steps);
        })
        .Case<tl::HintOp, tlg::ConvertLayoutOp>([&](auto) { return of(op->getOperand(0)); })
        .Case([&](arith::AddIOp) { return both(op, std::plus<uint64_t>()); })
        .Case([&](arith::SubIOp) { return both(op, std::minus<uint64_t>()); })
        .Case([&](arith::MulIOp) { return multiple(op->getOperand(0), op->getOperand(1)); })
        // A range does not wrap in fewer bits, where its sums may.
        .Case<arith::ExtSIOp, arith::ExtUIOp>(
            [&](auto) { return isRange(op->getOperand(0)) ? of(op->getOperand(0)) : std::nullopt; })
        .Default(Steps());
  }

private:
  static constexpr int kMostOps = 64; // of one block

  static llvm::SmallVector<int64_t, 3> same(RankedTensorType type) {
    return llvm::SmallVector<int64_t, 3>(type.getRank(), 0);
  }

  static std::optional<int64_t> constantOf(Value block) {
    SplatElementsAttr splat;
    if (!matchPattern(block, m_Constant(&splat)) || !isa<IntegerType>(splat.getElementType()))
      return std::nullopt;
    return splat.getSplatValue<APInt>().getSExtValue();
  }

  static bool isRange(Value block) {
    Operation *op = block.getDefiningOp();
    while (
        isa_and_nonnull<tl::ExpandDimsOp, tl::BroadcastOp, tl::TransOp, tlg::ConvertLayoutOp>(op))
      op = op->getOperand(0).getDefiningOp();
    return isa_and_nonnull<tl::RangeOp>(op);
  }

  template <typename F> Steps both(Operation *op, F f) {
    Steps x = of(op->getOperand(0));
    const Steps y = x ? of(op->getOperand(1)) : std::nullopt;
    if (!y)
      return std::nullopt;
    for (auto [a, b] : llvm::zip_equal(*x, *y))
      a = wrapping(a, b, f);
    return x;
  }

  Steps multiple(Value block, Value factor) {
    if (!constantOf(factor))
      std::swap(block, factor);
    const std::optional<int64_t> times = constantOf(factor);
    Steps steps = times ? of(block) : std::nullopt;
    if (steps)
      for (int64_t &step : *steps)
        step = wrapping(step, *times, std::multiplies<uint64_t>());
    return steps;
  }

  int visited_ = 0;
};

} // namespace

std::optional<llvm::SmallVector<int64_t, 3>> exactSteps(Value block) { return Walk().of(block); }

} // namespace blockscope::gpu
