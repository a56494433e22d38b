// Chooses between the tensor cores and plain multiplication.
#include "gpu_backend/passes/dot_layouts.h"

#include "core/dot_precision.h"
#include "core/ir/facts.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/layout/blocked_layout.h"
#include "gpu_backend/passes/mma_forms.h"
#include "gpu_backend/passes/scaled_dots.h"
#include "gpu_backend/passes/shared_operands.h"
#include "gpu_backend/passes/split_dots.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

Type elementOf(Type block) { return cast<RankedTensorType>(block).getElementType(); }
Type elementOf(Value value) { return elementOf(value.getType()); }

Type withElement(Type block, Type element) {
  const auto type = cast<RankedTensorType>(block);
  return RankedTensorType::get(type.getShape(), element, type.getEncoding());
}

/// Floats as another type, rounded. Those that stand for integers become as wide by their sign, or
/// lose high bits.
Value castFloats(OpBuilder &builder, Location location, Value value, Type element,
                 bool arePayloads) {
  const Type type = withElement(value.getType(), element);
  if (!arePayloads)
    return tl::FpCastOp::create(builder, location, type, value);
  const auto integers = [&](Type block) {
    return withElement(block, builder.getIntegerType(elementOf(block).getIntOrFloatBitWidth()));
  };
  value = tl::ToPayloadOp::create(builder, location, integers(value.getType()), value);
  const Type to = integers(type);
  if (tlg::elementBytes(to) > tlg::elementBytes(value.getType()))
    value = arith::ExtSIOp::create(builder, location, to, value);
  else
    value = arith::TruncIOp::create(builder, location, to, value);
  return tl::FromPayloadOp::create(builder, location, type, value);
}

int64_t depthOf(tl::DotOp dot) {
  return cast<RankedTensorType>(dot.getA().getType()).getShape().back();
}

/// Whether operands are multiplied with their scales (passes/scaled_dots.h).
bool isScaled(tl::DotOp dot) { return !dot.getScales().empty(); }

bool isFp8(Type type) { return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8; }

/// Whether K is enough for mma.sync: half an instruction's depth is filled up with zeros.
bool isDeepEnough(tl::DotOp dot, int bytes) {
  return depthOf(dot) >= (bytes == 8 ? mmaDepth(bytes) : mmaDepth(bytes) / 2);
}

/// Whether the tensor cores multiply fp8 operands of these types, or scaled ones.
bool multipliesFp8(tl::DotOp dot, const GpuTarget &target) {
  if (isScaled(dot))
    return true;
  return target.hasFp8 && isDeepEnough(dot, 1) &&
         llvm::all_of(ValueRange{dot.getA(), dot.getB()}, [](Value operand) {
           return isa<Float8E4M3FNType, Float8E5M2Type>(elementOf(operand));
         });
}

/// The bytes of an element as the tensor cores multiply it, or 0 where they cannot.
int tensorCoreBytes(tl::DotOp dot, const GpuTarget &target) {
  const Type type = elementOf(dot.getA());
  if (isScaled(dot))
    return 1;
  int bytes = 0;
  if (type.isF32()) {
    const llvm::StringRef precision = dot.getInputPrecision();
    bytes = precision.starts_with("tf32") ? 4 : precision.starts_with("bf16") ? 2 : 0;
  } else if (isFp8(type)) {
    bytes = multipliesFp8(dot, target) ? 1 : 0;
  } else if (type.isInteger() && !type.isInteger(8)) {
    bytes = 0; // folded floats that stand for integers (docs/algebra.md)
  } else {
    bytes = tlg::elementBytes(type);
  }
  return bytes != 0 && isDeepEnough(dot, bytes) ? bytes : 0;
}

/// The bits of lanes with those along N and those along M in turn. Shared memory gives a vector to
/// two neighbouring lanes, or two lanes apart, at once: so both operands have such lanes.
Bases interleaved(const Bases &lanes, int64_t n) {
  Bases columns, rows, result;
  for (const ElementBits lane : lanes)
    (lane < static_cast<ElementBits>(n) ? columns : rows).push_back(lane);
  for (size_t i = 0; i < std::max(columns.size(), rows.size()); ++i) {
    if (i < columns.size())
      result.push_back(columns[i]);
    if (i < rows.size())
      result.push_back(rows[i]);
  }
  return result;
}

/// Whether `operand` of a dot is loaded from where its neighbours along K are neighbours.
bool liesAlongDepth(Value operand, int64_t depthDim, const AxisAnalysis &axes) {
  const int64_t rank = cast<RankedTensorType>(operand.getType()).getRank();
  bool isTurned = false;
  while (auto trans = operand.getDefiningOp<tl::TransOp>()) {
    isTurned ^= trans.getOrder().back() != rank - 1;
    operand = trans.getSource();
  }
  auto load = operand.getDefiningOp<tl::LoadOp>();
  if (!load || !isa<RankedTensorType>(load.getPointer().getType()))
    return false;
  return (axes.orderOf(load.getPointer())[0] == depthDim) != isTurned;
}

/// The accumulator of plain multiplication: each thread a small square, so that what it reads is
/// used often. Its rows are neighbours, which a vector brings at once, or, where A is read along K
/// (`apartM`), apart, so that lanes read neighbouring rows: these lie in different banks. So are
/// its columns.
LinearLayout fmaAccumulator(llvm::ArrayRef<int64_t> shape, int numWarps, bool apartM, bool apartN) {
  const size_t rank = shape.size();
  const int64_t m = shape[rank - 2], n = shape[rank - 1];
  llvm::SmallVector<int64_t> size(rank, 1), lanes(rank, 1), warps(rank, 1);
  llvm::SmallVector<int> order(rank);
  for (size_t i = 0; i < rank; ++i)
    order[i] = static_cast<int>(rank - 1 - i);
  int64_t elements = m * n;
  if (rank == 3)
    for (int64_t left = numWarps; left > 1 && warps[0] < shape[0]; left /= 2)
      warps[0] *= 2;
  const int64_t warpsInside = numWarps / warps[0];
  elements /= 32 * warpsInside;
  for (int64_t left = std::min<int64_t>(elements, 16); left > 1; left /= 2) {
    const bool alongN = size[rank - 1] <= size[rank - 2] && size[rank - 1] < n;
    (alongN || size[rank - 2] >= m ? size[rank - 1] : size[rank - 2]) *= 2;
  }
  const auto spread = [&](llvm::SmallVectorImpl<int64_t> &counts, int64_t count,
                          const llvm::SmallVectorImpl<int64_t> &below) {
    for (; count > 1; count /= 2) {
      const int64_t rows = m / (size[rank - 2] * below[rank - 2] * counts[rank - 2]);
      const int64_t columns = n / (size[rank - 1] * below[rank - 1] * counts[rank - 1]);
      counts[columns >= rows || rows <= 1 ? rank - 1 : rank - 2] *= 2;
    }
  };
  const llvm::SmallVector<int64_t> ones(rank, 1);
  spread(lanes, 32, ones);
  spread(warps, warpsInside, lanes);
  if (apartM)
    size[rank - 2] = 1;
  if (apartN)
    size[rank - 1] = 1;
  LinearLayout layout = blocked(shape, size, lanes, warps, order);
  layout.lanes = interleaved(layout.lanes, n);
  return layout;
}

bool isFedByDot(tl::DotOp dot) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  llvm::SmallVector<Value> open{dot.getA()};
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (!op || op->getBlock() != dot->getBlock() || !seen.insert(op).second)
      continue;
    if (isa<tl::DotOp>(op))
      return true;
    llvm::append_range(open, op->getOperands());
  }
  return false;
}

/// Whether `dot` adds to sums of a dot of its block whose operands are no sums, element by element.
bool addsToOtherSums(tl::DotOp dot) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  llvm::SmallVector<Value> open{dot.getAcc()};
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (!op || op->getBlock() != dot->getBlock() || !seen.insert(op).second)
      continue;
    if (auto other = dyn_cast<tl::DotOp>(op); other && !isFedByDot(other))
      return true;
    if (tl::isElementwise(op))
      llvm::append_range(open, op->getOperands());
  }
  return false;
}

/// Whether the first operand of `dot` is made of sums whose rows then stay in their warp: the warps
/// of both dots lie along M. Not where sums of a third one would have to go to other warps for it.
bool takesRows(tl::DotOp dot) { return isFedByDot(dot) && !addsToOtherSums(dot); }

/// Whether the result of `dot` goes, through other ops, into the first operand of another dot that
/// takes its rows.
bool feedsDot(tl::DotOp dot) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  llvm::SmallVector<Operation *> open{dot};
  while (!open.empty()) {
    Operation *op = open.pop_back_val();
    for (Operation *user : op->getUsers()) {
      if (auto other = dyn_cast<tl::DotOp>(user)) {
        if (other != dot && other.getA().getDefiningOp() == op && takesRows(other))
          return true;
        continue;
      }
      if (user->getBlock() == dot->getBlock() && user->getNumResults() != 0 &&
          seen.insert(user).second)
        open.push_back(user);
    }
  }
  return false;
}

/// What a warp needs to bring an element of each operand from shared memory to its threads.
struct ElementCosts {
  int64_t a = 1, b = 1;
};

/// Warps along M and N, so that those of a warp cost about as much for each operand.
MmaWarps splitWarps(llvm::ArrayRef<int64_t> shape, int numWarps, bool alongRows,
                    ElementCosts costs) {
  MmaWarps warps;
  const size_t rank = shape.size();
  int left = numWarps;
  if (rank == 3)
    while (left > 1 && warps.batch < shape[0]) {
      warps.batch *= 2;
      left /= 2;
    }
  const int64_t m = shape[rank - 2], n = shape[rank - 1];
  while (left > 1) {
    const int64_t rows = m / (16 * warps.m), columns = n / (8 * warps.n);
    if (rows > 1 && (alongRows || rows * 2 * costs.a >= columns * costs.b || columns <= 1))
      warps.m *= 2;
    else if (columns > 1)
      warps.n *= 2;
    else
      warps.m *= 2; // copies
    left /= 2;
  }
  return warps;
}

} // namespace

namespace {

/// Whether an operand is loaded for the dot, perhaps to be transposed.
bool isLoaded(Value operand) {
  while (auto trans = operand.getDefiningOp<tl::TransOp>())
    operand = trans.getSource();
  return operand.getDefiningOp<tl::LoadOp>() != nullptr;
}

/// Whether an operand has been made before the loop around `dot` begins.
bool isMadeOutside(tl::DotOp dot, Value operand) {
  auto loop = dot->getParentOfType<LoopLikeOpInterface>();
  return loop && !loop->isAncestor(operand.getParentRegion()->getParentOp());
}

/// Whether `value` is made of the sums of a dot of its block, of this iteration or the one before,
/// element by element, so that it lies in registers as these do.
bool isMadeOfSums(Value value) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  llvm::SmallVector<Value> open{value};
  while (!open.empty()) {
    Value current = open.pop_back_val();
    if (auto variable = dyn_cast<BlockArgument>(current)) {
      auto loop = dyn_cast<scf::ForOp>(variable.getOwner()->getParentOp());
      if (!loop || variable == loop.getInductionVar())
        continue;
      current = loop.getYieldedValues()[variable.getArgNumber() - 1];
    }
    Operation *op = current.getDefiningOp();
    if (!op || op->getBlock() != value.getParentBlock() || !seen.insert(op).second)
      continue;
    if (isa<tl::DotOp>(op))
      return true;
    if (tl::isElementwise(op))
      llvm::append_range(open, op->getOperands());
  }
  return false;
}

/// Whether `value` is the turned sums of a dot of its block, or computed from them element by
/// element: its threads do not hold what a dot wants in theirs.
bool isMadeOfTurnedSums(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && tl::isElementwise(op) && op->getNumOperands() == 1)
    op = op->getOperand(0).getDefiningOp();
  return isa_and_nonnull<tl::TransOp>(op) && isMadeOfSums(op->getOperand(0));
}

/// Whether an operand, or what it is computed from element by element, is loaded from where its
/// neighbours along K are neighbours.
bool comesAlongDepth(Value operand, int64_t depthDim, const AxisAnalysis &axes) {
  if (liesAlongDepth(operand, depthDim, axes))
    return true;
  Operation *op = operand.getDefiningOp();
  return op && tl::isElementwise(op) && llvm::any_of(op->getOperands(), [&](Value value) {
           return isa<RankedTensorType>(value.getType()) && comesAlongDepth(value, depthDim, axes);
         });
}

/// ldmatrix brings four registers, of elements of up to two bytes in either order, of wider ones
/// only where neighbours lie along K; else each comes by itself.
ElementCosts elementCosts(tl::DotOp dot, int bytes, const AxisAnalysis &axes) {
  constexpr int64_t kAlone = 2;
  const int64_t rank = cast<RankedTensorType>(dot.getB().getType()).getRank();
  const auto cost = [&](Value operand, int64_t depthDim) {
    return bytes == 4 && isLoaded(operand) && !liesAlongDepth(operand, depthDim, axes) ? kAlone : 1;
  };
  return {cost(dot.getA(), rank - 1), cost(dot.getB(), rank - 2)};
}

/// The order of K of a dot whose first operand is in registers: that in which it has been computed,
/// unless it has to go to other warps anyway, or the second one comes in vectors along K.
DepthOrder depthOrder(tl::DotOp dot, int bytes, MmaWarps warps, const AxisAnalysis &axes) {
  const int64_t rank = cast<RankedTensorType>(dot.getB().getType()).getRank();
  return bytes == 4 && depthOf(dot) >= mmaDepth(bytes) && warps.n == 1 &&
                 isMadeOfSums(dot.getA()) && !comesAlongDepth(dot.getB(), rank - 2, axes)
             ? DepthOrder::Paired
             : DepthOrder::Plain;
}

/// Whether the target has wgmma for a dot of its size and type.
bool hasWgmmaFor(tl::DotOp dot, int bytes, const GpuTarget &target, int numWarps) {
  const llvm::ArrayRef<int64_t> shape = dot.getType().getShape();
  const bool isSplit =
      elementOf(dot.getA()).isF32() && precisionOfFloats(dot.getInputPrecision()) != "tf32";
  return target.hasWgmma && shape.size() == 2 && shape[0] >= 64 && shape[1] >= 16 &&
         numWarps % 4 == 0 && bytes != 8 && !isSplit && depthOf(dot) >= mmaDepth(bytes);
}

/// The layouts for wgmma, where the target has it and takes the dot.
std::optional<DotLayouts> chooseWgmma(tl::DotOp dot, int bytes, const AxisAnalysis &axes,
                                      const GpuTarget &target, int numWarps) {
  const llvm::ArrayRef<int64_t> shape = dot.getType().getShape();
  if (!hasWgmmaFor(dot, bytes, target, numWarps))
    return std::nullopt;
  DotLayouts layouts;
  layouts.kind = DotKind::Wgmma;
  layouts.operandBytes = bytes;
  layouts.warps.m = 4;
  for (int left = numWarps / 4; left > 1; left /= 2) {
    if (shape[0] / 16 >= 2 * layouts.warps.m)
      layouts.warps.m *= 2;
    else if (shape[1] / layouts.warps.n >= 32)
      layouts.warps.n *= 2;
    else
      return std::nullopt; // warpgroups would repeat each other's work
  }
  // Where the first operand has to go through shared memory anyway, and may lie there along M, it
  // is read there, instead of coming back into registers.
  const bool isShared = bytes == 2 && isMadeOfTurnedSums(dot.getA());
  if (!isMadeOutside(dot, dot.getA()) && !isLoaded(dot.getA()) && !isShared) {
    layouts.depth = depthOrder(dot, bytes, layouts.warps, axes);
    layouts.a = wgmmaOperandA(cast<RankedTensorType>(dot.getA().getType()).getShape(), bytes,
                              layouts.warps, layouts.depth);
  }
  layouts.accumulator =
      wgmmaAccumulator(shape, wgmmaColumns(shape[1], layouts.warps.n), layouts.warps);
  return layouts;
}

} // namespace

DotLayouts chooseDotLayouts(tl::DotOp dot, const AxisAnalysis &axes, const GpuTarget &target,
                            int numWarps) {
  const llvm::ArrayRef<int64_t> shape = dot.getType().getShape();
  const llvm::ArrayRef<int64_t> aShape = cast<RankedTensorType>(dot.getA().getType()).getShape();
  const llvm::ArrayRef<int64_t> bShape = cast<RankedTensorType>(dot.getB().getType()).getShape();
  DotLayouts layouts;
  const int bytes = tensorCoreBytes(dot, target);
  if (bytes == 0) {
    const auto rank = static_cast<int64_t>(shape.size());
    layouts.accumulator =
        fmaAccumulator(shape, numWarps, liesAlongDepth(dot.getA(), rank - 1, axes),
                       liesAlongDepth(dot.getB(), rank - 2, axes));
    return layouts;
  }
  if (const std::optional<DotLayouts> wgmma = chooseWgmma(dot, bytes, axes, target, numWarps))
    return *wgmma;
  layouts.kind = DotKind::Mma;
  layouts.operandBytes = bytes;
  layouts.warps =
      splitWarps(shape, numWarps, feedsDot(dot) || takesRows(dot), elementCosts(dot, bytes, axes));
  layouts.accumulator = mmaAccumulator(shape, bytes, layouts.warps);
  if (isScaled(dot)) {
    const auto scalesOf = [&](int side) {
      return cast<RankedTensorType>(dot.getScales()[side].getType());
    };
    const ScaledMma mma = scaledMmaOf(dot.getA().getType(), dot.getB().getType(), scalesOf(0));
    layouts.a = mmaOperandA(aShape, bytes, layouts.warps, mma.depthA);
    layouts.b = mmaOperandB(bShape, bytes, layouts.warps, mma.depthB);
    layouts.scales = {mmaScales(scalesOf(0).getShape(), mma.scalesA, layouts.warps),
                      mmaScales(scalesOf(1).getShape(), mma.scalesB, layouts.warps)};
    return layouts;
  }
  MmaForm form{layouts.warps, depthOrder(dot, bytes, layouts.warps, axes)};
  if (bytes == 2 && elementOf(dot.getA()).getIntOrFloatBitWidth() == 16 &&
      !isOfPayloads(dot.getInputPrecision()))
    form = formOfNarrow(dot, form, axes, /*keepsRows=*/feedsDot(dot) || takesRows(dot));
  layouts.warps = form.warps;
  layouts.depth = form.depth;
  layouts.isTurned = form.isTurned;
  MmaLayouts ofForm = mmaLayouts(aShape, bShape, bytes, form.warps, form.depth, form.isTurned);
  layouts.a = std::move(ofForm.a);
  layouts.b = std::move(ofForm.b);
  layouts.accumulator = std::move(ofForm.accumulator);
  return layouts;
}

namespace {

/// Whether `value` is the sums of a dot as they are, of this iteration or the one before.
bool isBareSum(Value value) {
  if (auto variable = dyn_cast<BlockArgument>(value))
    if (auto loop = dyn_cast<scf::ForOp>(variable.getOwner()->getParentOp());
        loop && variable != loop.getInductionVar())
      value = loop.getYieldedValues()[variable.getArgNumber() - 1];
  return value.getDefiningOp<tl::DotOp>() != nullptr;
}

void setDepthOrder(Operation *dot, DepthOrder depth) {
  if (depth == DepthOrder::Paired)
    dot->setAttr(kPairedDepthAttribute, UnitAttr::get(dot->getContext()));
  if (depth == DepthOrder::Eights)
    dot->setAttr(kEightsDepthAttribute, UnitAttr::get(dot->getContext()));
}

} // namespace

Value createDot(OpBuilder &builder, tl::DotOp dot, const DotLayouts &layouts, Value a, Value b,
                Value accumulator, ValueRange scales) {
  if (layouts.kind == DotKind::Fma)
    return tlg::FmaOp::create(builder, dot.getLoc(), accumulator.getType(), a, b, accumulator,
                              dot.getInputPrecisionAttr(), dot.getAUnsignedAttr(),
                              dot.getBUnsignedAttr());
  const llvm::SmallVector<int32_t, 3> warps{static_cast<int32_t>(layouts.warps.m),
                                            static_cast<int32_t>(layouts.warps.n),
                                            static_cast<int32_t>(layouts.warps.batch)};
  const Location location = dot.getLoc();
  if (layouts.kind == DotKind::Wgmma) {
    // Accumulated in fp32 and rounded once.
    const auto type = cast<RankedTensorType>(accumulator.getType());
    const bool isNarrow = type.getElementType().isF16();
    const bool isPayload = isOfPayloads(dot.getInputPrecision());
    if (isNarrow)
      accumulator = castFloats(builder, location, accumulator, builder.getF32Type(), isPayload);
    // Where an operand's registers are those of sums, ptxas runs all dots one by one: a cut makes
    // others of them.
    if (layouts.a && layouts.operandBytes == 4 && isBareSum(dot.getA()) && !isPayload)
      a = cutToTf32(builder, location, a);
    auto running = tlg::WgmmaOp::create(
        builder, location, accumulator.getType(), a, b, accumulator,
        builder.getI32IntegerAttr(layouts.operandBytes), builder.getDenseI32ArrayAttr(warps),
        dot.getInputPrecisionAttr(), dot.getAUnsignedAttr(), dot.getBUnsignedAttr(),
        layouts.operandBytes == 1 ? dot.getMaxNumImpreciseAccAttr() : IntegerAttr());
    setDepthOrder(running, layouts.depth);
    Value sum = running.getResult();
    Value result =
        tlg::WgmmaWaitOp::create(builder, location, TypeRange(sum.getType()), sum, 0)->getResult(0);
    return isNarrow ? castFloats(builder, location, result, type.getElementType(), isPayload)
                    : result;
  }
  auto made = tlg::MmaOp::create(builder, location, accumulator.getType(), a, b, accumulator,
                                 scales, builder.getI32IntegerAttr(layouts.operandBytes),
                                 builder.getDenseI32ArrayAttr(warps), dot.getInputPrecisionAttr(),
                                 dot.getAUnsignedAttr(), dot.getBUnsignedAttr(),
                                 layouts.isTurned ? builder.getUnitAttr() : UnitAttr());
  setDepthOrder(made, layouts.depth);
  return made.getResult();
}

namespace {

/// The type of 16 bits that an fp32 block was cast from, perhaps by way of ops that only move
/// elements; null if there is none. fp16 has every number of fp8.
Type castFrom(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto cast = dyn_cast<tl::FpCastOp>(op)) {
      const Type source = elementOf(cast.getOperand());
      if (source.isF16() || source.isBF16())
        return source;
      return isFp8(source) ? Type(Float16Type::get(source.getContext())) : Type();
    }
    if (!isa<tl::TransOp, tl::ReshapeOp, tl::BroadcastOp, tl::ExpandDimsOp>(op))
      return {};
    value = op->getOperand(0);
  }
  return {};
}

/// The block before it was cast, in `element`.
Value beforeCast(OpBuilder &builder, Value value, Type element) {
  Operation *op = value.getDefiningOp();
  if (auto cast = dyn_cast<tl::FpCastOp>(op)) {
    Value source = cast.getOperand();
    if (elementOf(source) == element)
      return source;
    return tl::FpCastOp::create(builder, op->getLoc(), withElement(source.getType(), element),
                                source);
  }
  IRMapping narrow;
  narrow.map(op->getOperand(0), beforeCast(builder, op->getOperand(0), element));
  Operation *moved = builder.clone(*op, narrow);
  moved->getResult(0).setType(withElement(value.getType(), element));
  return moved->getResult(0);
}

} // namespace

void narrowDotOperands(func::FuncOp function) {
  llvm::SmallVector<tl::DotOp> dots;
  function.walk([&](tl::DotOp dot) { dots.push_back(dot); });
  for (tl::DotOp dot : dots) {
    if (!elementOf(dot.getA()).isF32() || dot.getInputPrecision() == "ieee" ||
        !isDeepEnough(dot, 2))
      continue;
    const Type element = castFrom(dot.getA());
    if (!element || element != castFrom(dot.getB()))
      continue;
    OpBuilder builder(dot);
    for (const unsigned operand : {0U, 1U})
      dot->setOperand(operand, beforeCast(builder, dot->getOperand(operand), element));
  }
}

void widenDotOperands(func::FuncOp function, const GpuTarget &target) {
  function.walk([&](tl::DotOp dot) {
    if (multipliesFp8(dot, target))
      return;
    OpBuilder builder(dot);
    for (const unsigned operand : {0U, 1U}) {
      Value value = dot->getOperand(operand);
      const Type type = elementOf(value);
      if (isFp8(type) || isa<tl::F8E4M3B15Type>(type))
        dot->setOperand(operand, castFloats(builder, dot.getLoc(), value, builder.getF16Type(),
                                            isOfPayloads(dot.getInputPrecision())));
    }
  });
}

namespace {

/// A dot that begins with zero, and the ops behind it that give its elements another shape.
struct FreshDot {
  tl::DotOp dot;
  llvm::SmallVector<Operation *, 2> reshapes; ///< from the sum to the dot

  explicit operator bool() const { return dot != nullptr; }
};

/// The dot of the same block that `value` is, perhaps in another shape, if it begins with zero and
/// nothing else needs it.
FreshDot freshDot(Operation *addition, Value value) {
  FreshDot found;
  Operation *op = value.getDefiningOp();
  const auto isOnlyHere = [&] {
    return op && op->hasOneUse() && op->getBlock() == addition->getBlock();
  };
  for (; isOnlyHere() && isa<tl::ReshapeOp, tl::ExpandDimsOp>(op);
       op = op->getOperand(0).getDefiningOp())
    found.reshapes.push_back(op);
  if (auto dot = dyn_cast_or_null<tl::DotOp>(op); dot && isOnlyHere() && isKnownZero(dot.getAcc()))
    found.dot = dot;
  return found;
}

/// Adds the dots to `dots` that `value` is computed from in `block`.
void addDotsBehind(Value value, Block *block, llvm::SmallPtrSetImpl<Operation *> &dots) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  llvm::SmallVector<Value> open{value};
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (!op || op->getBlock() != block || !seen.insert(op).second)
      continue;
    if (isa<tl::DotOp>(op))
      dots.insert(op);
    llvm::append_range(open, op->getOperands());
  }
}

/// Whether `dot` would have to wait for another one that it does not need, to begin with `sum`. It
/// does not wait for dots whose sums go directly into its own.
bool isDelayedBy(tl::DotOp dot, Value sum) {
  llvm::SmallPtrSet<Operation *, 8> needed, added;
  for (Value operand : {dot.getA(), dot.getB()})
    addDotsBehind(operand, dot->getBlock(), needed);
  tl::DotOp before;
  for (; (before = sum.getDefiningOp<tl::DotOp>()) && before->getBlock() == dot->getBlock();
       sum = before.getAcc())
    for (Value operand : {before.getA(), before.getB()})
      addDotsBehind(operand, dot->getBlock(), added);
  addDotsBehind(sum, dot->getBlock(), added);
  return llvm::any_of(added, [&](Operation *other) { return !needed.contains(other); });
}

/// Whether products of fp8 that are added to a sum fill, beside it, all registers of a thread.
/// wgmma then multiplies part by part, and adds each one up in fp32. Such a dot is always one of
/// wgmma (`chooseWgmma`): with so many sums there is work for every warpgroup.
bool isAddedInParts(tl::DotOp dot, const GpuTarget &target, int numWarps) {
  return hasWgmmaFor(dot, /*bytes=*/1, target, numWarps) && !isScaled(dot) &&
         !isOfPayloads(dot.getInputPrecision()) &&
         dot.getType().getNumElements() >= kManyWgmmaSums * 32 * numWarps;
}

/// Whether products of fp8 are added up in fp32, as those of fp16: mma.sync on GPUs with wgmma,
/// which the lowering makes of mma.sync of fp16.
bool isAddedInFull(tl::DotOp dot, const GpuTarget &target, int numWarps) {
  return target.hasWgmma && !isScaled(dot) && !isOfPayloads(dot.getInputPrecision()) &&
         !hasWgmmaFor(dot, /*bytes=*/1, target, numWarps);
}

/// Whether a loop carries `sum` from one iteration to the next.
bool isCarried(Value sum) {
  auto argument = dyn_cast<BlockArgument>(sum);
  return argument && isa<LoopLikeOpInterface>(argument.getOwner()->getParentOp());
}

/// Has the dot of `fresh`, which is one side of `addition`, begin with the other side `sum`. One
/// that threads multiply by themselves only where a loop adds it up: else both sides, and what is
/// computed of them, would have to be in the layout of one dot.
bool foldInto(Operation *addition, const FreshDot &fresh, Value sum, const GpuTarget &target,
              int numWarps) {
  tl::DotOp dot = fresh.dot;
  if (!dot || (tensorCoreBytes(dot, target) == 0 && !isCarried(sum)))
    return false;
  if (multipliesFp8(dot, target) && !isAddedInFull(dot, target, numWarps)) {
    if (!isAddedInParts(dot, target, numWarps))
      return false;
    if (!dot.getMaxNumImpreciseAcc())
      dot.setMaxNumImpreciseAcc(static_cast<uint32_t>(depthOf(dot)));
  }
  const bool mayRunAlone = target.hasWgmma && dot.getType().getShape().drop_back().back() >= 64;
  if (mayRunAlone && isDelayedBy(dot, sum))
    return false;
  OpBuilder builder(addition);
  for (Operation *reshape : fresh.reshapes)
    sum = tl::ReshapeOp::create(builder, reshape->getLoc(), reshape->getOperand(0).getType(), sum);
  dot->moveBefore(addition); // where the sum is there
  dot.getAccMutable().assign(sum);
  Value result = dot.getResult();
  for (Operation *reshape : llvm::reverse(fresh.reshapes)) {
    reshape->moveBefore(addition);
    result = reshape->getResult(0);
  }
  addition->getResult(0).replaceAllUsesWith(result);
  addition->erase();
  return true;
}

/// A sum of two floats, or of the integers that they stand for.
struct Addition {
  Value left, right;
  llvm::SmallVector<Operation *, 3> payloads; ///< only for the sum, the users first
};

/// The sum that `op` gives; none where it is no sum, or its integers have other users.
std::optional<Addition> additionOf(Operation *op) {
  auto result = dyn_cast<tl::FromPayloadOp>(op);
  if (!result)
    return Addition{op->getOperand(0), op->getOperand(1), {}};
  auto sum = result.getOperand().getDefiningOp<arith::AddIOp>();
  if (!sum || !sum->hasOneUse())
    return std::nullopt;
  Addition found{{}, {}, {sum}};
  const auto floatOf = [&](Value payload) -> Value {
    auto made = payload.getDefiningOp<tl::ToPayloadOp>();
    if (made && made->hasOneUse() && made.getOperand().getType() == result.getType()) {
      found.payloads.push_back(made);
      return made.getOperand();
    }
    OpBuilder builder(op);
    auto computed = tl::FromPayloadOp::create(builder, op->getLoc(), result.getType(), payload);
    found.payloads.push_back(computed);
    return computed;
  };
  found.left = floatOf(sum.getLhs());
  found.right = floatOf(sum.getRhs());
  return found;
}

void foldSum(Operation *op, const GpuTarget &target, int numWarps) {
  const Type element = getElementTypeOrSelf(op->getResult(0).getType());
  if (!element.isF32() && !element.isF64() && !element.isInteger(32))
    return;
  const std::optional<Addition> addition = additionOf(op);
  if (!addition)
    return;
  const auto &[left, right, payloads] = *addition;
  const FreshDot ofLeft = freshDot(op, left), ofRight = freshDot(op, right);
  // Of two dots the later one first.
  const bool leftFirst = ofLeft && ofRight && ofRight.dot->isBeforeInBlock(ofLeft.dot);
  const auto fold = [&](const FreshDot &fresh, Value sum) {
    return foldInto(op, fresh, sum, target, numWarps);
  };
  if (!(leftFirst && fold(ofLeft, right)) && !fold(ofRight, left) && !leftFirst)
    fold(ofLeft, right);
  for (Operation *payload : payloads)
    if (payload->use_empty())
      payload->erase();
}

} // namespace

void foldSumsIntoDots(func::FuncOp function, const GpuTarget &target, int numWarps) {
  llvm::SmallVector<Operation *> additions;
  function.walk([&](Operation *op) {
    if (isa<arith::AddFOp, arith::AddIOp, tl::FromPayloadOp>(op) &&
        isa<RankedTensorType>(op->getResult(0).getType()))
      additions.push_back(op);
  });
  for (Operation *addition : additions)
    foldSum(addition, target, numWarps);
}

} // namespace blockscope::gpu
