// Forms are compared by what a thread has to do: a cost that is walked back from each operand, in
// the layout that the form gives it, to the loads that it is made of.
#include "gpu_backend/passes/mma_forms.h"

#include "core/ir/facts.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/layout/matrix_access.h"
#include "gpu_backend/passes/block_queries.h"
#include "gpu_backend/passes/clone_in_layout.h"
#include "gpu_backend/passes/equal_runs.h"
#include "gpu_backend/passes/shape_transfer.h"
#include "gpu_backend/passes/shared_operands.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

#include <optional>

using namespace mlir;

namespace blockscope::gpu {
namespace {

constexpr int kOperandBytes = 2, kWordBytes = 4;
/// The most registers of an operand that is converted in them: a larger one goes through shared
/// memory as what it has become (`stageLargeOperands`).
constexpr int kMostWords = 64;

struct Cost {
  int64_t instructions = 0;
  int64_t wavefronts = 0; ///< of shared memory, for a warp
  bool isNarrow = false;  ///< something narrower than the operand is loaded

  /// A multiprocessor begins four instructions in the time of a wavefront, but these overlap.
  int64_t total() const { return instructions + wavefronts; }
  void add(const Cost &other) {
    instructions += other.instructions;
    wavefronts += other.wavefronts;
    isNarrow |= other.isNarrow;
  }
};

/// What it costs to bring an operand, or what it is made of, from shared memory to its threads.
class OperandCost {
public:
  OperandCost(tl::DotOp dot, const AxisAnalysis &axes) : dot_(dot), axes_(axes) {}

  /// In `layout`; `isOfRows`: the instruction takes it as its first operand. Nothing where it is
  /// made of something else than loads, or too large.
  std::optional<Cost> of(Value operand, const LinearLayout &layout, bool isOfRows) const {
    Cost cost;
    // What several warps want is made once, and goes to them through shared memory.
    const bool isMade = operand.getDefiningOp() && tl::isElementwise(operand.getDefiningOp());
    const int64_t copies = isMade ? copiesOf(layout) : 1;
    if (copies > 1)
      cost.add(ofStaged(operand, layout, copies, isOfRows));
    else if (isMade && layout.registerCount() * kOperandBytes > kMostWords * kWordBytes)
      return std::nullopt;
    llvm::SmallPtrSet<Operation *, 16> seen;
    llvm::SmallVector<std::pair<Value, LinearLayout>> open{{operand, layout}};
    while (!open.empty()) {
      auto [value, wanted] = open.pop_back_val();
      if (value.getParentBlock() != dot_->getBlock() && value.getDefiningOp())
        continue; // once, before the loop
      Operation *op = value.getDefiningOp();
      if (!op || op->getNumResults() != 1)
        return std::nullopt;
      if (!seen.insert(op).second || isSplat(op) || isa<tl::RangeOp>(op))
        continue;
      const int64_t elements = std::max<int64_t>(wanted.registerCount() / copies, 1);
      if (auto load = dyn_cast<tl::LoadOp>(op)) {
        Cost ofIt = ofLoad(load, wanted, isOfRows && !isMade);
        if (copies > 1)
          ofIt = inWidePieces(elements * tlg::elementBytes(load.getType()), ofIt.isNarrow);
        cost.add(ofIt);
        continue;
      }
      // Two in a register; bytes take some three instructions for two (lowering/small_ints.cpp).
      if (tl::isElementwise(op))
        cost.instructions += elements * (isa<tl::IntToFloatOp>(op) ? 3 : 1) / 2;
      for (OpOperand &each : op->getOpOperands()) {
        if (!isBlock(each.get()))
          continue;
        const auto from = operandLayout(op, each.getOperandNumber(), wanted);
        if (!from)
          return std::nullopt;
        open.emplace_back(each.get(), *from);
      }
    }
    return cost;
  }

private:
  static int64_t copiesOf(const LinearLayout &layout) {
    const InputBits free = freeBits(layout);
    return int64_t{1} << (llvm::popcount(free.lanes) + llvm::popcount(free.warps));
  }

  static Cost inWidePieces(int64_t bytes, bool isNarrow) {
    constexpr int64_t kPieceBytes = 16;
    const int64_t pieces = llvm::divideCeil(bytes, kPieceBytes);
    return {pieces, pieces * kPieceBytes / kWordBytes, isNarrow};
  }

  /// To store what is made and to read it in `layout`.
  Cost ofStaged(Value operand, const LinearLayout &layout, int64_t copies, bool isOfRows) const {
    constexpr int64_t kOfBarriers = 8;
    const auto type = cast<RankedTensorType>(operand.getType());
    tl::DotOp dot = dot_;
    const int depthDim = operand == dot.getA() ? 1 : 0;
    Cost cost = inWidePieces(layout.registerCount() / copies * kOperandBytes, /*isNarrow=*/false);
    cost.instructions += kOfBarriers;
    cost.add(fromShared(sharedForOperand(type, depthDim), layout, isOfRows));
    return cost;
  }

  Cost ofLoad(tl::LoadOp load, const LinearLayout &layout, bool isOfRows) const {
    const auto type = cast<RankedTensorType>(load.getType());
    const ShapeBits shape(type.getShape());
    ElementBits equal = 0;
    for (auto [dim, run] : llvm::enumerate(equalRuns(load, axes_)))
      equal |= (static_cast<ElementBits>(run) - 1) << shape.shift(static_cast<int>(dim));
    const auto different = RankedTensorType::get(shapeWithout(shape, equal), type.getElementType());
    const SharedLayout shared = sharedForRuns(
        sharedForOperand(different, axes_.orderOf(load.getPointer())[0]), shape, equal);
    Cost cost = fromShared(shared, layout, isOfRows);
    const int bytes = shared.elementBytes;
    cost.isNarrow = type.getRank() > 1 && bytes != kOperandBytes &&
                    (bytes < kOperandBytes || (equal != 0 && type.getElementType().isInteger()));
    return cost;
  }

  static Cost fromShared(const SharedLayout &shared, const LinearLayout &layout, bool isOfRows) {
    constexpr int64_t kOfTwoBytes = 3; // ptxas puts bytes together one by one
    const int bytes = shared.elementBytes;
    Cost cost;
    if (const auto matrices = matrixLoad(layout, shared)) {
      cost.instructions = static_cast<int64_t>(matrices->instructions.size());
      cost.wavefronts = matrices->leastWavefronts();
      return cost;
    }
    const SharedAccess vectors = vectorLoad(layout, shared);
    const auto count = static_cast<int64_t>(vectors.vectors.size());
    cost.instructions = count;
    cost.wavefronts = vectors.leastWavefronts();
    if (vectors.vectorBytes < kWordBytes && bytes < kWordBytes)
      cost.instructions += count * (bytes == 1 && vectors.vectorBytes == 2 ? kOfTwoBytes : 1);
    else if (isOfRows && vectors.vectorBytes > kWordBytes) // the instruction wants other neighbours
      cost.instructions += count * vectors.vectorBytes / kWordBytes;
    return cost;
  }

  tl::DotOp dot_;
  const AxisAnalysis &axes_;
};

llvm::ArrayRef<int64_t> shapeOf(Value block) {
  return cast<RankedTensorType>(block.getType()).getShape();
}

/// The cost of both operands, and of the products.
std::optional<Cost> costOf(tl::DotOp dot, const MmaForm &form, const AxisAnalysis &axes) {
  constexpr int64_t kOfProduct = 4;
  const MmaLayouts layouts = mmaLayouts(shapeOf(dot.getA()), shapeOf(dot.getB()), kOperandBytes,
                                        form.warps, form.depth, form.isTurned);
  const OperandCost costs(dot, axes);
  std::optional<Cost> a = costs.of(dot.getA(), layouts.a, !form.isTurned);
  const std::optional<Cost> b = costs.of(dot.getB(), layouts.b, form.isTurned);
  if (!a || !b)
    return std::nullopt;
  a->add(*b);
  constexpr int kSumsOfProduct = 4;
  a->instructions += kOfProduct * layouts.accumulator.registerCount() / kSumsOfProduct *
                     shapeOf(dot.getA()).back() / mmaDepth(kOperandBytes);
  return a;
}

MmaForm cheapest(tl::DotOp dot, const MmaForm &plain, const AxisAnalysis &axes, bool keepsRows) {
  const std::optional<Cost> ofPlain = costOf(dot, plain, axes);
  if (!ofPlain || !ofPlain->isNarrow)
    return plain;
  MmaForm best = plain;
  int64_t least = ofPlain->total();
  const int64_t m = dot.getType().getShape()[0], n = dot.getType().getShape()[1];
  const int64_t warps = plain.warps.m * plain.warps.n;
  const bool hasEights = shapeOf(dot.getA()).back() >= 2 * mmaDepth(kOperandBytes);
  for (const DepthOrder depth : {DepthOrder::Plain, DepthOrder::Eights})
    for (const bool isTurned : {false, true})
      for (int64_t rows = 1; rows <= warps; rows *= 2) {
        const MmaForm form{{rows, warps / rows, 1}, depth, isTurned};
        const bool hasPlace =
            form.warps.m * (isTurned ? 8 : 16) <= m && form.warps.n * (isTurned ? 16 : 8) <= n;
        const bool isAsPlain = rows == plain.warps.m && !isTurned;
        if ((depth == DepthOrder::Eights && !hasEights) || !(isAsPlain || hasPlace) ||
            (keepsRows && !isAsPlain))
          continue;
        if (const auto cost = costOf(dot, form, axes); cost && cost->total() < least) {
          best = form;
          least = cost->total();
        }
      }
  return best;
}

} // namespace

MmaForm formOfNarrow(tl::DotOp dot, const MmaForm &plain, const AxisAnalysis &axes,
                     bool keepsRows) {
  if (dot.getType().getRank() != 2)
    return plain;
  const MmaForm best = cheapest(dot, plain, axes, keepsRows);
  if (best.isTurned == plain.isTurned && best.warps == plain.warps)
    return best;
  // Sums that go from one dot to another stay where they are.
  const bool isAlone = llvm::all_of(dot->getBlock()->getOps<tl::DotOp>(), [&](tl::DotOp other) {
    return other == dot ||
           (other.getType() == dot.getType() && shapeOf(other.getA()) == shapeOf(dot.getA()) &&
            cheapest(other, plain, axes, keepsRows) == best);
  });
  return isAlone ? best : cheapest(dot, plain, axes, /*keepsRows=*/true);
}

} // namespace blockscope::gpu
