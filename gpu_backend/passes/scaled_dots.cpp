#include "gpu_backend/passes/scaled_dots.h"

#include "gpu_backend/ir/tlg_dialect.h"

#include "core/dot_precision.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

constexpr int64_t kOneAsScale = 127;

/// One operand of a dot, as the kernel has it.
struct Side {
  tl::ScaledOp scaled;
  bool isA;

  tl::ScaledOp op() const { return scaled; }
  bool isFp4() const { return op().getFormat() == "e2m1"; }
  bool isPackedAlongK() const { return isFp4() && op().getPacksK(); }
  RankedTensorType wide() const { return cast<RankedTensorType>(op().getType()); }
  int64_t depthDim() const { return wide().getRank() - (isA ? 1 : 2); }
  int64_t lineDim() const { return wide().getRank() - (isA ? 2 : 1); }
  int64_t depth() const { return wide().getShape()[depthDim()]; }
  /// The type of its scales; null where there are none.
  RankedTensorType scales() const {
    return op().getScale() ? cast<RankedTensorType>(op().getScale().getType()) : RankedTensorType();
  }
  /// The shape of scales of type `element`.
  llvm::SmallVector<int64_t> scaleShape(Type element) const {
    llvm::SmallVector<int64_t> shape(wide().getShape().drop_back(2));
    shape.append({wide().getShape()[lineDim()], depth() / tl::scaleGroup(element)});
    return shape;
  }
};

/// Whether the elements are of a format of the instructions, as many as of the widened operand.
bool hasElements(const Side &side) {
  Builder builder(side.op().getContext());
  const Type element = llvm::StringSwitch<Type>(side.op().getFormat())
                           .Case("e2m1", builder.getI8Type())
                           .Case("e4m3", builder.getType<Float8E4M3FNType>())
                           .Case("e5m2", builder.getType<Float8E5M2Type>())
                           .Default(Type());
  llvm::SmallVector<int64_t> shape(side.wide().getShape());
  if (side.isFp4())
    shape[side.isPackedAlongK() ? side.depthDim() : side.lineDim()] /= 2;
  const auto type = cast<RankedTensorType>(side.op().getValue().getType());
  return type.getElementType() == element && type.getShape() == llvm::ArrayRef(shape);
}

/// The type of a dot's scales: null where both operands have none.
Type scaleElement(const Side &a, const Side &b) {
  const RankedTensorType type = a.scales() ? a.scales() : b.scales();
  return type ? type.getElementType() : Type();
}

/// Whether the scales are as the instructions take them: bytes for 32 elements, fp8 for 16.
bool hasScales(const Side &side, Type element) {
  const RankedTensorType type = side.scales();
  return !type || (type.getElementType() == element &&
                   (element.isInteger(8) || isa<Float8E4M3FNType>(element)) &&
                   type.getShape() == llvm::ArrayRef(side.scaleShape(element)));
}

/// Whether the block-scaled mma.sync multiplies these operands of a dot.
bool isTaken(tl::DotOp dot, const Side &a, const Side &b, const GpuTarget &target) {
  constexpr int64_t kDepth = 32, kDepthOfFp4 = 64;
  if (!target.hasScaledMma || !a.scaled || !b.scaled || isOfPayloads(dot.getInputPrecision()))
    return false;
  if (!hasElements(a) || !hasElements(b))
    return false;
  const Type element = scaleElement(a, b);
  if (!hasScales(a, element) || !hasScales(b, element))
    return false;
  if (isa_and_nonnull<FloatType>(element))
    return a.isPackedAlongK() && b.isPackedAlongK() && a.depth() >= kDepthOfFp4;
  return a.depth() >= kDepth;
}

/// The e2m1 of bytes that hold two along M or N, each in a byte as the instruction takes it.
Value widenAlongLines(OpBuilder &builder, const Side &side) {
  Value packed = side.op().getValue();
  const auto type = cast<RankedTensorType>(packed.getType());
  const Location location = side.op().getLoc();
  const auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(
        builder, location,
        SplatElementsAttr::get(type, builder.getIntegerAttr(type.getElementType(), value)));
  };
  Value two = constant(2), mask = constant(0x3c);
  Value low = arith::AndIOp::create(builder, location,
                                    arith::ShLIOp::create(builder, location, packed, two), mask);
  Value high = arith::AndIOp::create(builder, location,
                                     arith::ShRUIOp::create(builder, location, packed, two), mask);
  llvm::SmallVector<int64_t> shape(type.getShape());
  shape.push_back(2);
  Value both = tl::JoinOp::create(builder, location,
                                  RankedTensorType::get(shape, type.getElementType()), low, high);
  if (side.isA) { // [..., M, K, 2] becomes [..., M, 2, K]
    llvm::SmallVector<int32_t> order;
    for (int32_t dim = 0; dim < static_cast<int32_t>(shape.size()); ++dim)
      order.push_back(dim);
    std::swap(order.back(), order[order.size() - 2]);
    std::swap(shape.back(), shape[shape.size() - 2]);
    both =
        tl::TransOp::create(builder, location, RankedTensorType::get(shape, type.getElementType()),
                            both, builder.getDenseI32ArrayAttr(order));
  }
  return tl::ReshapeOp::create(builder, location,
                               RankedTensorType::get(side.wide().getShape(), type.getElementType()),
                               both);
}

Value operandOf(OpBuilder &builder, const Side &side) {
  return side.isFp4() && !side.isPackedAlongK() ? widenAlongLines(builder, side)
                                                : side.op().getValue();
}

/// The scales of one side, of elements as the other side has them: 1 where there are none.
Value scalesOf(OpBuilder &builder, const Side &side, Type element) {
  if (Value scale = side.op().getScale())
    return scale;
  const TypedAttr one = isa<FloatType>(element) ? TypedAttr(builder.getFloatAttr(element, 1))
                                                : builder.getIntegerAttr(element, kOneAsScale);
  return arith::ConstantOp::create(
      builder, side.op().getLoc(),
      SplatElementsAttr::get(RankedTensorType::get(side.scaleShape(element), element),
                             Attribute(one)));
}

} // namespace

void formScaledDots(func::FuncOp function, const GpuTarget &target) {
  llvm::SmallVector<tl::ScaledOp> scaled;
  function.walk([&](tl::ScaledOp op) { scaled.push_back(op); });
  if (scaled.empty())
    return;
  function.walk([&](tl::DotOp dot) {
    const Side a{dot.getA().getDefiningOp<tl::ScaledOp>(), true};
    const Side b{dot.getB().getDefiningOp<tl::ScaledOp>(), false};
    if (!isTaken(dot, a, b, target))
      return;
    OpBuilder builder(dot);
    Value left = operandOf(builder, a), right = operandOf(builder, b);
    Type element = scaleElement(a, b);
    if (!element)
      element = builder.getI8Type();
    Value ofLeft = scalesOf(builder, a, element), ofRight = scalesOf(builder, b, element);
    dot->setOperands({left, right, dot.getAcc(), ofLeft, ofRight});
  });
  for (tl::ScaledOp op : scaled) {
    op.replaceAllUsesWith(op.getWide());
    op.erase();
  }
  // What widened the operands. Nobody has seen it yet who chooses layouts.
  function.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
}

ScaledMma scaledMmaOf(Type a, Type b, Type scales) {
  constexpr int64_t kDepth = 32;
  const auto shapeOf = [](Type type) {
    if (auto shared = dyn_cast<tlg::SharedType>(type))
      return shared.getShape();
    return cast<RankedTensorType>(type).getShape();
  };
  const int64_t depth = shapeOf(scales).back() * tl::scaleGroup(scales);
  const bool halfA = shapeOf(a).back() < depth, halfB = shapeOf(b).drop_back().back() < depth;
  ScaledMma mma;
  mma.steps = depth / kDepth;
  mma.scalesB.isOfRows = false;
  if (halfA && halfB && depth >= 2 * kDepth) {
    const bool isOfPowers = tl::scaleGroup(scales) == kDepth;
    mma.kind = isOfPowers ? ScaledMma::Kind::Mxf4 : ScaledMma::Kind::Mxf4nvf4;
    mma.steps /= 2;
    mma.scalesA.groupsPerStep = mma.scalesB.groupsPerStep = isOfPowers ? 2 : 4;
    return mma;
  }
  if (halfA || halfB) {
    mma.depthA = halfA ? DepthOrder::PackedNeighbours : DepthOrder::Neighbours;
    mma.depthB = halfB ? DepthOrder::PackedNeighbours : DepthOrder::Neighbours;
  }
  return mma;
}

} // namespace blockscope::gpu
