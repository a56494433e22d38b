// Walks up from pointers and mask to one index for each dimension.
//
// An index is `start + range` in 64 bits: the start is an i32 that was widened, so nothing wraps,
// and TMA's signed 32-bit coordinates are exact.
#include "gpu_backend/passes/rectangular_tile.h"

#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/passes/disjoint_arguments.h"

#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

constexpr int64_t kAlignmentBytes = 16;

/// The one number that all elements of a constant have.
std::optional<int64_t> constantOf(Value value) {
  Attribute constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return std::nullopt;
  if (auto dense = dyn_cast<SplatElementsAttr>(constant))
    constant = dense.getSplatValue<Attribute>();
  auto number = dyn_cast<IntegerAttr>(constant);
  return number ? std::optional(number.getValue().getSExtValue()) : std::nullopt;
}

bool isWide(Value value) { return getElementTypeOrSelf(value.getType()).isInteger(64); }

std::optional<unsigned> argumentNumber(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || !isa<func::FuncOp>(argument.getOwner()->getParentOp()))
    return std::nullopt;
  return argument.getArgNumber();
}

// -- what is known when the kernel is launched ----------------------------------------------------

struct Known {
  std::string text;
  int64_t divisor = 1; ///< a power of two
};

int64_t powerOfTwo(int64_t number) {
  constexpr int64_t kMost = int64_t{1} << 32;
  return number == 0 ? kMost : std::min(kMost, number & -number);
}

/// "s32" behind what may be wider than its type.
std::string wrapped(std::string text, Type type) {
  const unsigned width = type.getIntOrFloatBitWidth();
  return width == 64 ? text : text + " s" + std::to_string(width);
}

std::optional<Known> knownArgument(Value value) {
  const std::optional<unsigned> number = argumentNumber(value);
  if (!number)
    return std::nullopt;
  auto function = cast<func::FuncOp>(value.getParentBlock()->getParentOp());
  auto divisor = function.getArgAttrOfType<IntegerAttr>(*number, tlg::kDivisibilityAttribute);
  return Known{"a" + std::to_string(*number), divisor ? powerOfTwo(divisor.getInt()) : 1};
}

std::optional<Known> known(Value value) {
  auto type = dyn_cast<IntegerType>(value.getType());
  if (!type || !llvm::is_contained({8, 16, 32, 64}, type.getWidth()))
    return std::nullopt;
  if (const auto constant = constantOf(value))
    return Known{std::to_string(*constant), powerOfTwo(*constant)};
  if (std::optional<Known> argument = knownArgument(value))
    return Known{wrapped(argument->text, type), argument->divisor};
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumOperands() == 0 || op->getNumOperands() > 2)
    return std::nullopt;
  const std::optional<Known> a = known(op->getOperand(0));
  if (!a)
    return std::nullopt;
  if (isa<arith::ExtSIOp, tl::HintOp>(op))
    return a;
  if (isa<arith::ExtUIOp>(op)) {
    const unsigned width = op->getOperand(0).getType().getIntOrFloatBitWidth();
    return Known{a->text + " u" + std::to_string(width), a->divisor};
  }
  if (isa<arith::TruncIOp>(op))
    return Known{wrapped(a->text, type), a->divisor};
  if (op->getNumOperands() != 2)
    return std::nullopt;
  const std::optional<Known> b = known(op->getOperand(1));
  if (!b)
    return std::nullopt;
  const std::string both = a->text + " " + b->text;
  const int64_t common = std::min(a->divisor, b->divisor);
  if (isa<arith::AddIOp>(op))
    return Known{wrapped(both + " +", type), common};
  if (isa<arith::SubIOp>(op))
    return Known{wrapped(both + " -", type), common};
  if (isa<arith::MulIOp>(op))
    return Known{wrapped(both + " *", type), powerOfTwo(a->divisor * b->divisor)};
  if (isa<arith::DivSIOp>(op))
    return Known{wrapped(both + " /", type), 1};
  if (isa<arith::MinSIOp>(op))
    return Known{both + " min", common};
  if (isa<arith::MaxSIOp>(op))
    return Known{both + " max", common};
  return std::nullopt;
}

/// A scalar pointer: an argument, or elements behind it.
std::optional<Known> knownPointer(Value value) {
  if (argumentNumber(value))
    return knownArgument(value);
  if (auto hint = value.getDefiningOp<tl::HintOp>())
    return knownPointer(hint.getSource());
  auto add = value.getDefiningOp<tl::AddPtrOp>();
  if (!add || add.getIsUnsigned())
    return std::nullopt;
  const std::optional<Known> base = knownPointer(add.getPointer());
  const std::optional<Known> offset = known(add.getOffset());
  if (!base || !offset)
    return std::nullopt;
  const int bytes = tlg::elementBytes(cast<tl::PtrType>(value.getType()).getPointee());
  return Known{base->text + " " + offset->text + " " + std::to_string(bytes) + " * +",
               std::min(base->divisor, powerOfTwo(offset->divisor * bytes))};
}

// -- indices --------------------------------------------------------------------------------------

/// start + range along one dimension; `dim` is -1 when there is no range.
struct Index {
  int dim = -1;
  int64_t length = 1;
  Value start;
  int64_t constant = 0;

  bool isSameAs(const Index &other) const {
    return dim == other.dim && start == other.start && constant == other.constant;
  }
};

/// For each dimension of a value the dimension of the whole block.
using DimMap = llvm::SmallVector<int, 4>;

/// What a value with a hint, a broadcast or a dimension of 1 in it is made of, and where its
/// dimensions go.
Value lookThrough(Value value, DimMap &dims) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto expand = dyn_cast<tl::ExpandDimsOp>(op))
      dims.erase(dims.begin() + expand.getAxis());
    else if (!isa<tl::BroadcastOp, tl::HintOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// A scalar that was widened from i32, or a constant of that size.
bool readStart(Value value, Index &index) {
  if (const auto constant = constantOf(value)) {
    index.constant = *constant;
    return llvm::isInt<32>(*constant);
  }
  auto widened = value.getDefiningOp<arith::ExtSIOp>();
  if (!widened || !widened.getIn().getType().isInteger(32))
    return false;
  index.start = widened.getIn();
  return true;
}

std::optional<Index> readIndex(Value value, DimMap dims) {
  value = lookThrough(value, dims);
  if (!isWide(value) || !value.getDefiningOp())
    return std::nullopt;
  Index index;
  if (constantOf(value))
    return readStart(value, index) ? std::optional(index) : std::nullopt;
  if (auto splat = value.getDefiningOp<tl::SplatOp>())
    return readStart(splat.getSource(), index) ? std::optional(index) : std::nullopt;
  if (auto widened = value.getDefiningOp<arith::ExtSIOp>()) {
    auto range = lookThrough(widened.getIn(), dims).getDefiningOp<tl::RangeOp>();
    if (!range)
      return std::nullopt;
    index.dim = dims.front();
    index.constant = range.getStart();
    index.length = static_cast<int64_t>(range.getEnd()) - range.getStart();
    return index;
  }
  auto sum = value.getDefiningOp<arith::AddIOp>();
  if (!sum)
    return std::nullopt;
  const std::optional<Index> a = readIndex(sum.getLhs(), dims), b = readIndex(sum.getRhs(), dims);
  if (!a || !b || (a->dim >= 0 && b->dim >= 0) || (a->start && b->start))
    return std::nullopt;
  index = a->dim >= 0 ? *a : *b;
  index.start = a->start ? a->start : b->start;
  index.constant = a->constant + b->constant;
  // One coordinate is one value: nothing is added to a start.
  if ((index.start && index.constant != 0) || !llvm::isInt<32>(index.constant))
    return std::nullopt;
  return index;
}

class TileMatcher {
public:
  explicit TileMatcher(bool isDescribed) : isDescribed_(isDescribed) {}

  std::optional<RectangularTile> match(Value pointer, Value mask) {
    auto type = dyn_cast<RankedTensorType>(pointer.getType());
    if (!type || !mask || type.getRank() < 1)
      return std::nullopt;
    shape_ = type.getShape();
    parts_.resize(shape_.size());
    tile_.dims.resize(shape_.size());
    const DimMap dims = llvm::to_vector<4>(llvm::seq<int>(0, static_cast<int>(shape_.size())));
    const Type element = cast<tl::PtrType>(type.getElementType()).getPointee();
    elementBytes_ = tlg::elementBytes(element);
    if (isa<tl::PtrType>(element) || element.isInteger(1) || !readPointer(pointer, dims) ||
        !readMask(mask, dims) || !check())
      return std::nullopt;
    return tile_;
  }

private:
  using Number = RectangularTile::Number;
  struct Part {
    std::optional<Index> index;
    std::optional<Index> above, below; ///< those that are compared with 0 and with the size
    std::optional<Number> stride, size;
  };

  bool readPointer(Value value, DimMap dims) {
    value = lookThrough(value, dims);
    if (auto add = value.getDefiningOp<tl::AddPtrOp>()) {
      if (isa<RankedTensorType>(value.getType()))
        return readOffset(add.getOffset(), dims) && readPointer(add.getPointer(), dims);
      return false;
    }
    auto splat = value.getDefiningOp<tl::SplatOp>();
    if (!splat)
      return false;
    tile_.base.value = splat.getSource();
    tile_.argument = argumentOf(splat.getSource());
    if (const std::optional<Known> base = knownPointer(splat.getSource())) {
      tile_.base.text = base->text;
      return base->divisor % kAlignmentBytes == 0;
    }
    return isDescribed_;
  }

  bool readOffset(Value value, DimMap dims) {
    value = lookThrough(value, dims);
    if (!isWide(value))
      return false;
    std::optional<Index> index = readIndex(value, dims);
    std::optional<Number> stride = Number{"1", {}, 1};
    if (!index) {
      if (auto sum = value.getDefiningOp<arith::AddIOp>())
        return readOffset(sum.getLhs(), dims) && readOffset(sum.getRhs(), dims);
      auto product = value.getDefiningOp<arith::MulIOp>();
      if (!product)
        return false;
      index = readIndex(product.getLhs(), dims);
      stride = readScalar(product.getRhs());
    }
    if (!index || !stride || index->dim < 0 || parts_[index->dim].index)
      return false;
    parts_[index->dim].index = index;
    parts_[index->dim].stride = stride;
    return true;
  }

  /// A scalar that every element has.
  std::optional<Number> readScalar(Value value) const {
    if (const auto constant = constantOf(value))
      return Number{std::to_string(*constant), {}, *constant};
    auto splat = value.getDefiningOp<tl::SplatOp>();
    if (!splat)
      return std::nullopt;
    Number number{{}, splat.getSource(), 0};
    if (const std::optional<Known> atLaunch = known(splat.getSource()))
      number.text = atLaunch->text;
    return !number.text.empty() || isDescribed_ ? std::optional(number) : std::nullopt;
  }

  bool readMask(Value value, DimMap dims) {
    value = lookThrough(value, dims);
    if (auto both = value.getDefiningOp<arith::AndIOp>())
      return readMask(both.getLhs(), dims) && readMask(both.getRhs(), dims);
    if (auto splat = value.getDefiningOp<tl::SplatOp>()) {
      if (tile_.condition && tile_.condition != splat.getSource())
        return false;
      tile_.condition = splat.getSource();
      return true;
    }
    auto compare = value.getDefiningOp<arith::CmpIOp>();
    if (!compare)
      return false;
    const std::optional<Index> index = readIndex(compare.getLhs(), dims);
    if (!index || index->dim < 0)
      return false;
    Part &part = parts_[index->dim];
    if (compare.getPredicate() == arith::CmpIPredicate::sge && constantOf(compare.getRhs()) == 0 &&
        !part.above) {
      part.above = index;
      return true;
    }
    if (compare.getPredicate() != arith::CmpIPredicate::slt || part.below)
      return false;
    part.below = index;
    part.size = readScalar(compare.getRhs());
    return part.size.has_value();
  }

  bool check() {
    int contiguous = -1;
    for (auto [dim, part] : llvm::enumerate(parts_)) {
      if (!part.index || !part.below || !part.below->isSameAs(*part.index) ||
          part.index->length != shape_[dim])
        return false;
      const bool isNeverNegative = !part.index->start && part.index->constant >= 0;
      if (part.above ? !part.above->isSameAs(*part.index) : !isNeverNegative)
        return false;
      if (part.stride->text == "1" && contiguous < 0)
        contiguous = static_cast<int>(dim);
      else if (int64_t known = 0; llvm::to_integer(part.stride->text, known) &&
                                  known * elementBytes_ % kAlignmentBytes != 0)
        return false; // others are looked at when the kernel is launched
      tile_.dims[dim] = {part.index->start, part.index->constant, *part.size, *part.stride};
    }
    tile_.contiguousDim = contiguous;
    return contiguous >= 0;
  }

  llvm::ArrayRef<int64_t> shape_;
  llvm::SmallVector<Part, 4> parts_;
  RectangularTile tile_;
  int elementBytes_ = 1;
  bool isDescribed_;
};

} // namespace

bool RectangularTile::isKnownAtLaunch() const {
  return !base.text.empty() && llvm::all_of(dims, [](const Dim &dim) {
    return !dim.size.text.empty() && !dim.stride.text.empty();
  });
}

std::optional<RectangularTile> matchTile(Value pointer, Value mask, bool isDescribed) {
  return TileMatcher(isDescribed).match(pointer, mask);
}

} // namespace blockscope::gpu
