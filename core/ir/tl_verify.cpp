// What must hold of `tl` ops beyond what their traits say.
#include "core/dot_precision.h"
#include "core/ir/tl_dialect.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscope::tl {
namespace {

Type elementOf(Type type) { return getElementTypeOrSelf(type); }

llvm::ArrayRef<int64_t> shapeOf(Type type) {
  auto block = dyn_cast<RankedTensorType>(type);
  return block ? block.getShape() : llvm::ArrayRef<int64_t>();
}

bool isFloat(Type type) { return isa<FloatType, F8E4M3B15Type>(elementOf(type)); }
bool isInteger(Type type) { return isa<IntegerType>(elementOf(type)); }
bool isPointer(Type type) { return isa<PtrType>(elementOf(type)); }

/// Units: bits of one element; 0 when the type is none of the language.
unsigned bitsOf(Type type) {
  const Type element = elementOf(type);
  if (isa<PtrType>(element))
    return 64;
  if (isa<F8E4M3B15Type>(element))
    return 8;
  return element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
}

std::string shapeText(llvm::ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

LogicalResult requireElement(Operation *op, Type found, Type expected) {
  if (elementOf(found) == elementOf(expected))
    return success();
  return op->emitOpError("has elements of ")
         << elementOf(found) << ", expected " << elementOf(expected);
}

LogicalResult requireShape(Operation *op, llvm::StringRef what, Type found,
                           llvm::ArrayRef<int64_t> expected) {
  if (shapeOf(found) == expected)
    return success();
  return op->emitOpError("has a ") << what << " of shape " << shapeText(shapeOf(found))
                                   << ", expected " << shapeText(expected);
}

LogicalResult requireAxis(Operation *op, int64_t axis, int64_t rank) {
  if (axis >= 0 && axis < rank)
    return success();
  return op->emitOpError("has axis ") << axis << ", expected 0 to " << rank - 1;
}

/// The rules of every access: a pointer, a value of its pointee, a mask of i1 of the same shape.
LogicalResult verifyAccess(Operation *op, Value pointer, Type value, Value mask) {
  auto pointerType = dyn_cast<PtrType>(elementOf(pointer.getType()));
  if (!pointerType)
    return op->emitOpError("needs a pointer, found ") << pointer.getType();
  const llvm::ArrayRef<int64_t> shape = shapeOf(pointer.getType());
  if (failed(requireElement(op, value, pointerType.getPointee())) ||
      failed(requireShape(op, "value", value, shape)))
    return failure();
  if (!mask)
    return success();
  if (!elementOf(mask.getType()).isInteger(1))
    return op->emitOpError("has a mask of ") << elementOf(mask.getType()) << ", expected 'i1'";
  return requireShape(op, "mask", mask.getType(), shape);
}

LogicalResult verifyCast(Operation *op, bool isLegal, llvm::StringRef rule) {
  if (isLegal)
    return success();
  return op->emitOpError("converts ")
         << op->getOperand(0).getType() << " to " << op->getResult(0).getType() << ", " << rule;
}

/// The region takes the two sides of every operand as scalars and yields one value for each.
LogicalResult verifyCombine(Operation *op, Region &region) {
  llvm::SmallVector<Type> elements;
  for (Value operand : op->getOperands())
    elements.push_back(elementOf(operand.getType()));
  llvm::SmallVector<Type> arguments(elements);
  arguments.append(elements);
  if (op->getNumOperands() == 0)
    return op->emitOpError("needs an operand");
  if (llvm::SmallVector<Type>(region.getArgumentTypes()) != arguments)
    return op->emitOpError("has a region with ")
           << region.getNumArguments()
           << " arguments, expected the elements of both sides: " << arguments.size();
  auto yield = dyn_cast<YieldOp>(region.front().back());
  if (!yield)
    return op->emitOpError("has a region that does not end in 'tl.yield'");
  if (llvm::SmallVector<Type>(yield.getOperandTypes()) != elements)
    return op->emitOpError("has a region whose 'tl.yield' does not give the operands' elements");
  return success();
}

} // namespace

LogicalResult RangeOp::verify() {
  if (!getType().getElementType().isInteger(32))
    return emitOpError("has elements of ") << getType().getElementType() << ", expected 'i32'";
  const int64_t start = static_cast<int32_t>(getStart());
  const int64_t end = static_cast<int32_t>(getEnd());
  if (end <= start)
    return emitOpError("is empty: end ") << end << " is not greater than start " << start;
  return requireShape(*this, "result", getType(), {end - start});
}

LogicalResult SplatOp::verify() {
  if (isa<ShapedType>(getSource().getType()))
    return emitOpError("needs a scalar, found ") << getSource().getType();
  return requireElement(*this, getSource().getType(), getType());
}

LogicalResult UnsplatOp::verify() {
  if (getSource().getType().getNumElements() != 1)
    return emitOpError("needs a block with one element, found ") << getSource().getType();
  return requireElement(*this, getType(), getSource().getType());
}

LogicalResult ExpandDimsOp::verify() {
  const RankedTensorType source = getSource().getType();
  const auto axis = static_cast<int32_t>(getAxis());
  if (failed(requireAxis(*this, axis, source.getRank() + 1)))
    return failure();
  llvm::SmallVector<int64_t> shape(source.getShape());
  shape.insert(shape.begin() + axis, 1);
  if (failed(requireElement(*this, getType(), source)))
    return failure();
  return requireShape(*this, "result", getType(), shape);
}

LogicalResult BroadcastOp::verify() {
  const RankedTensorType source = getSource().getType();
  if (failed(requireElement(*this, getType(), source)))
    return failure();
  bool isLegal = source.getRank() == getType().getRank();
  for (int64_t i = 0; isLegal && i < source.getRank(); ++i)
    isLegal = source.getDimSize(i) == 1 || source.getDimSize(i) == getType().getDimSize(i);
  if (!isLegal)
    return emitOpError("cannot repeat ") << source << " to " << getType();
  return success();
}

LogicalResult ReshapeOp::verify() {
  if (failed(requireElement(*this, getType(), getSource().getType())))
    return failure();
  if (getSource().getType().getNumElements() != getType().getNumElements())
    return emitOpError("has ") << getSource().getType().getNumElements() << " elements, expected "
                               << getType().getNumElements();
  return success();
}

LogicalResult TransOp::verify() {
  const RankedTensorType source = getSource().getType();
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<bool> seen(source.getRank(), false);
  for (int32_t dimension : getOrder()) {
    if (dimension < 0 || dimension >= source.getRank() || seen[dimension])
      return emitOpError("has an order that is no permutation of its ")
             << source.getRank() << " dimensions";
    seen[dimension] = true;
    shape.push_back(source.getDimSize(dimension));
  }
  if (static_cast<int64_t>(shape.size()) != source.getRank())
    return emitOpError("has an order that is no permutation of its ")
           << source.getRank() << " dimensions";
  if (failed(requireElement(*this, getType(), source)))
    return failure();
  return requireShape(*this, "result", getType(), shape);
}

LogicalResult JoinOp::verify() {
  llvm::SmallVector<int64_t> shape(shapeOf(getLhs().getType()));
  shape.push_back(2);
  if (failed(requireElement(*this, getType(), getLhs().getType())))
    return failure();
  return requireShape(*this, "result", getType(), shape);
}

LogicalResult SplitOp::verify() {
  const RankedTensorType source = getSource().getType();
  if (source.getRank() == 0 || source.getShape().back() != 2)
    return emitOpError("needs a last dimension of size 2, found ") << source;
  if (failed(requireElement(*this, getFirst().getType(), source)))
    return failure();
  return requireShape(*this, "result", getFirst().getType(), source.getShape().drop_back());
}

LogicalResult CatOp::verify() {
  const RankedTensorType lhs = getLhs().getType();
  const RankedTensorType rhs = getRhs().getType();
  const auto dim = static_cast<int32_t>(getDim());
  if (failed(requireAxis(*this, dim, lhs.getRank())))
    return failure();
  llvm::SmallVector<int64_t> other(rhs.getShape());
  if (rhs.getRank() == lhs.getRank())
    other[dim] = lhs.getDimSize(dim);
  if (failed(requireElement(*this, rhs, lhs)) || failed(requireElement(*this, getType(), lhs)))
    return failure();
  if (llvm::ArrayRef<int64_t>(other) != lhs.getShape())
    return emitOpError("cannot put ") << rhs << " after " << lhs << " along dimension " << dim;
  other[dim] += rhs.getDimSize(dim);
  return requireShape(*this, "result", getType(), other);
}

LogicalResult GatherOp::verify() {
  const RankedTensorType source = getSource().getType();
  const RankedTensorType indices = getIndices().getType();
  const auto axis = static_cast<int32_t>(getAxis());
  if (!indices.getElementType().isInteger())
    return emitOpError("has indices of ") << indices.getElementType() << ", expected integers";
  if (failed(requireAxis(*this, axis, source.getRank())) ||
      failed(requireElement(*this, getType(), source)) ||
      failed(requireShape(*this, "result", getType(), indices.getShape())))
    return failure();
  bool isLegal = source.getRank() == indices.getRank();
  for (int64_t i = 0; isLegal && i < source.getRank(); ++i)
    isLegal = i == axis || source.getDimSize(i) == indices.getDimSize(i);
  if (!isLegal)
    return emitOpError("has indices of shape ")
           << shapeText(indices.getShape()) << " for a source of shape "
           << shapeText(source.getShape()) << ": they may differ along the axis only";
  return success();
}

LogicalResult FpCastOp::verify() {
  if (getRounding() != "rtne" && getRounding() != "rtz")
    return emitOpError("has rounding '") << getRounding() << "', expected 'rtne' or 'rtz'";
  return verifyCast(*this, isFloat(getSource().getType()) && isFloat(getType()),
                    "expected two float types");
}

LogicalResult ToPayloadOp::verify() {
  return verifyCast(*this,
                    isFloat(getSource().getType()) && isInteger(getType()) &&
                        bitsOf(getSource().getType()) == bitsOf(getType()),
                    "expected a float and an integer type of as many bits");
}

LogicalResult FromPayloadOp::verify() {
  return verifyCast(*this,
                    isInteger(getSource().getType()) && isFloat(getType()) &&
                        bitsOf(getSource().getType()) == bitsOf(getType()),
                    "expected an integer and a float type of as many bits");
}

LogicalResult FloatToIntOp::verify() {
  return verifyCast(*this, isFloat(getSource().getType()) && isInteger(getType()),
                    "expected a float and an integer type");
}

LogicalResult IntToFloatOp::verify() {
  return verifyCast(*this, isInteger(getSource().getType()) && isFloat(getType()),
                    "expected an integer and a float type");
}

LogicalResult BitcastOp::verify() {
  const unsigned bits = bitsOf(getSource().getType());
  return verifyCast(*this, bits != 0 && bits == bitsOf(getType()), "expected types of one width");
}

LogicalResult IntToPtrOp::verify() {
  return verifyCast(*this, elementOf(getSource().getType()).isInteger(64) && isPointer(getType()),
                    "expected a 64-bit integer and a pointer type");
}

LogicalResult PtrToIntOp::verify() {
  return verifyCast(*this, isPointer(getSource().getType()) && elementOf(getType()).isInteger(64),
                    "expected a pointer type and a 64-bit integer");
}

LogicalResult AddPtrOp::verify() {
  if (!isPointer(getPointer().getType()))
    return emitOpError("needs a pointer, found ") << getPointer().getType();
  const Type offset = elementOf(getOffset().getType());
  if (!offset.isInteger(32) && !offset.isInteger(64))
    return emitOpError("has an offset of ") << offset << ", expected 'i32' or 'i64'";
  return success();
}

LogicalResult LoadOp::verify() {
  if (getOther() && getOther().getType() != getType())
    return emitOpError("has other values of ")
           << getOther().getType() << ", expected " << getType();
  return verifyAccess(*this, getPointer(), getType(), getMask());
}

LogicalResult StoreOp::verify() {
  return verifyAccess(*this, getPointer(), getValue().getType(), getMask());
}

LogicalResult AtomicLoadOp::verify() {
  return verifyAccess(*this, getPointer(), getType(), getMask());
}

LogicalResult AtomicStoreOp::verify() {
  return verifyAccess(*this, getPointer(), getValue().getType(), getMask());
}

LogicalResult AtomicRmwOp::verify() {
  static constexpr llvm::StringLiteral kKinds[] = {"add", "fadd", "max", "umax", "min", "umin",
                                                   "fmax", "fmin", "and", "or", "xor", "xchg",
                                                   // of floats that stand for integers
                                                   "fadd_payload", "fmax_payload", "fmin_payload"};
  if (!llvm::is_contained(kKinds, getKind()))
    return emitOpError("has the unknown kind '") << getKind() << "'";
  const bool wantsFloat = getKind() != "and" && getKind().starts_with("f");
  if (getKind() != "xchg" && wantsFloat != isFloat(getValue().getType()))
    return emitOpError("of kind '") << getKind() << "' does not take " << getValue().getType();
  if (getValue().getType() != getType())
    return emitOpError("gives ") << getType() << ", expected " << getValue().getType();
  return verifyAccess(*this, getPointer(), getValue().getType(), getMask());
}

LogicalResult AtomicCasOp::verify() {
  return verifyAccess(*this, getPointer(), getValue().getType(), {});
}

int64_t scaleGroup(Type scales) { return isa<Float8E4M3FNType>(elementOf(scales)) ? 16 : 32; }

/// Scales are of rows and groups, and so deep are the operands; e2m1 may have half as many bytes.
static LogicalResult verifyScales(DotOp op) {
  const auto scales = op.getScales();
  if (scales.size() != 2)
    return op.emitOpError("has ") << scales.size() << " blocks of scales, expected 2";
  const size_t rank = op.getA().getType().getShape().size();
  const int64_t groups = shapeOf(scales[0].getType()).back();
  const int64_t depth = groups * scaleGroup(scales[0].getType());
  for (const size_t side : {0, 1}) {
    const auto operand = cast<RankedTensorType>(op->getOperand(side).getType());
    const int64_t bytes = operand.getDimSize(static_cast<unsigned>(rank - 1 - side));
    llvm::SmallVector<int64_t> expected(operand.getShape().drop_back(2));
    expected.append({operand.getDimSize(static_cast<unsigned>(rank - 2 + side)), groups});
    if (failed(requireShape(op, "block of scales", scales[side].getType(), expected)))
      return failure();
    if (bytes != depth && (2 * bytes != depth || !operand.getElementType().isInteger(8)))
      return op.emitOpError("has scales for a depth of ")
             << depth << ", and an operand " << operand;
  }
  return success();
}

LogicalResult DotOp::verify() {
  const llvm::ArrayRef<int64_t> a = getA().getType().getShape();
  const llvm::ArrayRef<int64_t> b = getB().getType().getShape();
  const size_t rank = a.size();
  if ((rank != 2 && rank != 3) || b.size() != rank)
    return emitOpError("needs operands of rank 2 or 3, found ")
           << getA().getType() << " and " << getB().getType();
  const bool isScaled = !getScales().empty();
  if ((!isScaled && a[rank - 1] != b[rank - 2]) || (rank == 3 && a[0] != b[0]))
    return emitOpError("cannot multiply ") << getA().getType() << " by " << getB().getType();
  if (isScaled && failed(verifyScales(*this)))
    return failure();
  llvm::SmallVector<int64_t> shape(a.drop_back());
  shape.push_back(b.back());
  if (!llvm::is_contained({"ieee", "tf32", "tf32x3", "bf16x3", "bf16x6"},
                          precisionOfFloats(getInputPrecision())))
    return emitOpError("has the unknown input precision '") << getInputPrecision() << "'";
  return requireShape(*this, "result", getType(), shape);
}

LogicalResult ReduceOp::verify() {
  if (failed(verifyCombine(*this, getCombine())))
    return failure();
  llvm::SmallVector<int64_t> shape(shapeOf(getOperand(0).getType()));
  const auto axis = static_cast<int32_t>(getAxis());
  if (failed(requireAxis(*this, axis, static_cast<int64_t>(shape.size()))))
    return failure();
  shape.erase(shape.begin() + axis);
  if (getNumResults() != getNumOperands())
    return emitOpError("has ") << getNumResults() << " results, expected " << getNumOperands();
  for (auto [operand, result] : llvm::zip(getOperands(), getResults()))
    if (failed(requireElement(*this, result.getType(), operand.getType())) ||
        failed(requireShape(*this, "result", result.getType(), shape)))
      return failure();
  return success();
}

LogicalResult MapOp::verify() {
  const auto elements = [&](TypeRange types) {
    llvm::SmallVector<Type> each;
    for (const Type type : types)
      each.append(getPack(), elementOf(type));
    return each;
  };
  if (getNumOperands() == 0 || getNumResults() == 0)
    return emitOpError("needs an operand and a result");
  if (!llvm::isPowerOf2_32(getPack()))
    return emitOpError("has a pack of ") << getPack() << ", expected a power of two";
  if (llvm::SmallVector<Type>(getFunction().getArgumentTypes()) !=
      elements(getOperands().getTypes()))
    return emitOpError("has a region that does not take the elements of its operands");
  auto yield = dyn_cast<YieldOp>(getFunction().front().back());
  if (!yield || llvm::SmallVector<Type>(yield.getOperandTypes()) != elements(getResultTypes()))
    return emitOpError("has a region that does not give the elements of its results");
  const WalkResult walked = getFunction().walk([&](Operation *op) {
    return op->getNumRegions() != 0 || isMemoryEffectFree(op) ? WalkResult::advance()
                                                              : WalkResult::interrupt();
  });
  if (walked.wasInterrupted())
    return emitOpError("has a region that accesses memory, prints or asserts, expected only "
                       "operations on its elements");
  return success();
}

LogicalResult ScanOp::verify() {
  if (failed(verifyCombine(*this, getCombine())))
    return failure();
  if (getNumResults() != getNumOperands())
    return emitOpError("has ") << getNumResults() << " results, expected " << getNumOperands();
  for (auto [operand, result] : llvm::zip(getOperands(), getResults()))
    if (failed(requireElement(*this, result.getType(), operand.getType())))
      return failure();
  return requireAxis(*this, static_cast<int32_t>(getAxis()),
                     static_cast<int64_t>(shapeOf(getOperand(0).getType()).size()));
}

LogicalResult HistogramOp::verify() {
  const RankedTensorType source = getSource().getType();
  if (source.getRank() != 1 || !source.getElementType().isInteger())
    return emitOpError("needs a 1-D block of integers, found ") << source;
  if (getType().getRank() != 1 || !getType().getElementType().isInteger(32))
    return emitOpError("gives ") << getType() << ", expected a 1-D block of 'i32'";
  if (getMask() && (!getMask().getType().getElementType().isInteger(1) ||
                    getMask().getType().getShape() != source.getShape()))
    return emitOpError("has a mask of ")
           << getMask().getType() << ", expected 'i1' of shape " << shapeText(source.getShape());
  return success();
}

LogicalResult AssumeOp::verify() {
  if (!elementOf(getCondition().getType()).isInteger(1))
    return emitOpError("has a condition of ") << getCondition().getType() << ", expected 'i1'";
  return success();
}

LogicalResult HintOp::verify() {
  if (!llvm::is_contained({"multiple_of", "max_contiguous", "max_constancy"}, getKind()))
    return emitOpError("has the unknown kind '") << getKind() << "'";
  const size_t rank = shapeOf(getType()).size();
  if (getValues().size() != std::max<size_t>(rank, 1))
    return emitOpError("has ") << getValues().size() << " values, expected one a dimension: "
                               << std::max<size_t>(rank, 1);
  return success();
}

LogicalResult AssertOp::verify() {
  const llvm::ArrayRef<int64_t> shape = shapeOf(getCondition().getType());
  for (Value value : {getCondition(), getMask()})
    if (value && !elementOf(value.getType()).isInteger(1))
      return emitOpError("has an operand of ") << value.getType() << ", expected 'i1'";
  for (Value value : getShown())
    if (failed(requireShape(*this, "value to show", value.getType(), shape)))
      return failure();
  return getMask() ? requireShape(*this, "mask", getMask().getType(), shape) : success();
}

LogicalResult PrintOp::verify() {
  if (getIsSigned().size() != getValues().size())
    return emitOpError("has ") << getIsSigned().size() << " signs for " << getValues().size()
                               << " values";
  return success();
}

} // namespace blockscope::tl
