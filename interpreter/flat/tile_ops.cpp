// Arithmetic on tiles.
#include "interpreter/flat/tile.h"

#include "interpreter/flat/index_walk.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <vector>

namespace blockscope::interpreter::flat {
namespace {

/// All elements of a tile, in memory of this thread; `slot` distinguishes two tiles.
const int64_t *elementsOf(const Tile &tile, const TileShape &shape, int slot) {
  thread_local std::vector<int64_t> elements[2];
  elements[slot].resize(static_cast<size_t>(shape.lanes));
  writeTile(tile, shape, 0, shape.lanes, 8, elements[slot].data());
  return elements[slot].data();
}

struct TileOp {
  TileShape result;
  TileShape operands[2];
  uint32_t tileOperands = 0;
  int scalarBytes[2] = {0, 0};
  int64_t pointeeBytes = 1;
  bool isUnsigned = false;
  int axis = 0;
  int order[kTileRank] = {};
};

int64_t readScalar(const void *from, int bytes) {
  int64_t wide = 0;
  int32_t narrow = 0;
  if (bytes == 8)
    std::memcpy(&wide, from, 8);
  else
    std::memcpy(&narrow, from, 4);
  return bytes == 8 ? wide : narrow;
}

/// A scalar operand as a tile without strides.
const Tile &operandTile(const TileOp &op, int i, const void *const *operands, Tile &scratch) {
  if (op.tileOperands >> i & 1)
    return *static_cast<const Tile *>(operands[i]);
  scratch.base = readScalar(operands[i], op.scalarBytes[i]);
  return scratch;
}

/// Combines two operands of one shape: affinely when `affine` says so, else lane by lane.
template <typename Affine, typename Lane>
void combine(const TileOp &op, void *const *results, const void *const *operands, Affine affine,
             Lane lane) {
  Tile scratch[2];
  const Tile &a = operandTile(op, 0, operands, scratch[0]);
  const Tile &b = operandTile(op, 1, operands, scratch[1]);
  Tile &result = *static_cast<Tile *>(results[0]);
  Tile header;
  if (!a.inBlock && !b.inBlock && affine(a, b, header)) {
    result = header;
    return;
  }
  const int64_t *left = elementsOf(a, op.operands[0], 0);
  const int64_t *right = elementsOf(b, op.operands[1], 1);
  for (int64_t i = 0; i < op.result.lanes; ++i) {
    const int64_t element = lane(left[i], right[i]);
    result.block()[i] = op.result.isNarrow ? static_cast<int32_t>(element) : element;
  }
  result.inBlock = true;
}

bool addTiles(const Tile &a, const Tile &b, int64_t sign, bool isNarrow, Tile &out) {
  int64_t scaled = 0;
  bool isLost = __builtin_mul_overflow(b.base, sign, &scaled);
  isLost |= __builtin_add_overflow(a.base, scaled, &out.base);
  for (int d = 0; d < kTileRank; ++d) {
    isLost |= __builtin_mul_overflow(b.strides[d], sign, &scaled);
    isLost |= __builtin_add_overflow(a.strides[d], scaled, &out.strides[d]);
  }
  out.isLost = isNarrow && (isLost || a.isLost || b.isLost); // 64 bits wrap as they should
  return true;
}

void evalAdd(void *const *results, const void *const *operands, const void *payload) {
  const auto &op = *static_cast<const TileOp *>(payload);
  combine(
      op, results, operands,
      [&](const Tile &a, const Tile &b, Tile &out) {
        return addTiles(a, b, 1, op.result.isNarrow, out);
      },
      wrapAdd);
}

void evalSub(void *const *results, const void *const *operands, const void *payload) {
  const auto &op = *static_cast<const TileOp *>(payload);
  combine(
      op, results, operands,
      [&](const Tile &a, const Tile &b, Tile &out) {
        return addTiles(a, b, -1, op.result.isNarrow, out);
      },
      [](int64_t x, int64_t y) { return wrapAdd(x, wrapMul(y, -1)); });
}

void evalMul(void *const *results, const void *const *operands, const void *payload) {
  const auto &op = *static_cast<const TileOp *>(payload);
  combine(
      op, results, operands,
      [&](const Tile &x, const Tile &y, Tile &out) {
        const Tile &tile = op.tileOperands & 1 ? x : y;
        const int64_t factor = op.tileOperands & 1 ? y.base : x.base;
        bool isLost = __builtin_mul_overflow(tile.base, factor, &out.base);
        for (int d = 0; d < kTileRank; ++d)
          isLost |= __builtin_mul_overflow(tile.strides[d], factor, &out.strides[d]);
        out.isLost = op.result.isNarrow && (isLost || tile.isLost);
        return true;
      },
      wrapMul);
}

/// Whether a narrow tile's exact elements are the elements, also as unsigned when asked.
bool isExact(const Tile &tile, const TileShape &shape, bool isUnsigned) {
  if (!shape.isNarrow)
    return true;
  int64_t least = 0, most = 0;
  return !tile.isLost && tileBounds(tile, shape, least, most) && least >= INT32_MIN &&
         most <= INT32_MAX && (!isUnsigned || least >= 0);
}

int64_t widen(int64_t element, bool isNarrow, bool isUnsigned) {
  return isNarrow && isUnsigned ? static_cast<int64_t>(static_cast<uint32_t>(element)) : element;
}

void evalExtend(void *const *results, const void *const *operands, const void *payload) {
  const auto &op = *static_cast<const TileOp *>(payload);
  const Tile &source = *static_cast<const Tile *>(operands[0]);
  Tile &result = *static_cast<Tile *>(results[0]);
  if (!source.inBlock && isExact(source, op.operands[0], op.isUnsigned)) {
    result = source;
    return;
  }
  const int64_t *elements = elementsOf(source, op.operands[0], 0);
  for (int64_t i = 0; i < op.result.lanes; ++i)
    result.block()[i] = widen(elements[i], true, op.isUnsigned);
  result.inBlock = true;
}

void evalAddPtr(void *const *results, const void *const *operands, const void *payload) {
  const auto &op = *static_cast<const TileOp *>(payload);
  const bool isNarrow = op.operands[1].isNarrow;
  combine(
      op, results, operands,
      [&](const Tile &pointer, const Tile &offset, Tile &out) {
        if (!isExact(offset, op.operands[1], op.isUnsigned))
          return false;
        out.base = wrapAdd(pointer.base, wrapMul(offset.base, op.pointeeBytes));
        for (int d = 0; d < kTileRank; ++d)
          out.strides[d] = wrapAdd(pointer.strides[d], wrapMul(offset.strides[d], op.pointeeBytes));
        return true;
      },
      [&](int64_t pointer, int64_t offset) {
        return wrapAdd(pointer, wrapMul(widen(offset, isNarrow, op.isUnsigned), op.pointeeBytes));
      });
}

// The remainder of a block that lies between two multiples is affine again. Else the evaluator over
// blocks decides, also what a remainder by 0 is.
struct RemainderOp {
  TileOp op;
  Evaluator general;
};

void evalRemainder(void *const *results, const void *const *operands, const void *payload) {
  const auto &remainder = *static_cast<const RemainderOp *>(payload);
  const TileOp &op = remainder.op;
  const Tile &source = *static_cast<const Tile *>(operands[0]);
  const int64_t divisor = readScalar(operands[1], op.scalarBytes[1]);
  Tile &result = *static_cast<Tile *>(results[0]);
  int64_t least = 0, most = 0;
  if (!source.inBlock && isExact(source, op.operands[0], false) && divisor > 0 &&
      tileBounds(source, op.operands[0], least, most) && least >= 0 &&
      least / divisor == most / divisor) {
    Tile header = source;
    header.base -= least / divisor * divisor;
    result = header;
    return;
  }
  const auto lanes = static_cast<size_t>(op.result.lanes);
  thread_local std::vector<int64_t> in, out;
  in.resize(lanes);
  out.resize(lanes);
  const int elementBytes = op.result.isNarrow ? 4 : 8;
  writeTile(source, op.operands[0], 0, op.result.lanes, elementBytes, in.data());
  void *outs[] = {out.data()};
  const void *ins[] = {in.data(), operands[1]};
  remainder.general.elementwise(op.result.lanes, 0, outs, ins, /*scalarOperands=*/2,
                                remainder.general.payload.get());
  if (op.result.isNarrow)
    std::copy_n(reinterpret_cast<const int32_t *>(out.data()), lanes, result.block());
  else
    std::copy_n(out.data(), lanes, result.block());
  result.inBlock = true;
}

/// Dimension of the source that dimension `d` of the result comes from, or -1.
int sourceDimension(const TileOp &op, llvm::StringRef name, int d) {
  if (name == "tl.expand_dims")
    return d == op.axis ? -1 : d - (d > op.axis);
  if (name == "tl.trans")
    return op.order[d];
  return op.operands[0].sizes[d] == op.result.sizes[d] ? d : -1; // tl.broadcast
}

struct ShapeOp {
  TileOp op;
  int from[kTileRank]; ///< per dimension of the result
};

/// Calls visit(lane of the result, lane of the source) for all lanes.
template <typename Visit> void forShapeLanes(const ShapeOp &shapeOp, Visit visit) {
  const TileShape &result = shapeOp.op.result, &source = shapeOp.op.operands[0];
  for (int64_t lane = 0; lane < result.lanes; ++lane) {
    const IndexWalk walk(result, lane);
    int64_t index[kTileRank] = {};
    for (int d = 0; d < result.rank; ++d)
      if (shapeOp.from[d] >= 0)
        index[shapeOp.from[d]] = walk.index[d];
    int64_t from = 0;
    for (int d = 0; d < source.rank; ++d)
      from = from * source.sizes[d] + index[d];
    visit(lane, from);
  }
}

void evalShape(void *const *results, const void *const *operands, const void *payload) {
  const auto &shapeOp = *static_cast<const ShapeOp *>(payload);
  const Tile &source = *static_cast<const Tile *>(operands[0]);
  Tile &result = *static_cast<Tile *>(results[0]);
  Tile header = source;
  for (int d = 0; d < kTileRank; ++d)
    header.strides[d] =
        d < shapeOp.op.result.rank && shapeOp.from[d] >= 0 ? source.strides[shapeOp.from[d]] : 0;
  result = header;
  if (source.inBlock)
    forShapeLanes(shapeOp,
                  [&](int64_t lane, int64_t from) { result.block()[lane] = source.block()[from]; });
}

void evalMaskShape(void *const *results, const void *const *operands, const void *payload) {
  const auto &shapeOp = *static_cast<const ShapeOp *>(payload);
  const auto &source = *static_cast<const MaskTile *>(operands[0]);
  auto &result = *static_cast<MaskTile *>(results[0]);
  MaskTile header;
  header.inBlock = source.inBlock;
  bool isEmpty = false; // along a dimension that is repeated
  for (int d = 0; d < shapeOp.op.operands[0].rank; ++d)
    isEmpty |= source.lo[d] >= source.hi[d];
  for (int d = 0; d < shapeOp.op.result.rank; ++d) {
    const int from = shapeOp.from[d];
    header.lo[d] = from >= 0 ? source.lo[from] : 0;
    header.hi[d] = from >= 0 ? source.hi[from] : shapeOp.op.result.sizes[d];
    if (isEmpty)
      header.hi[d] = header.lo[d];
  }
  result = header;
  if (source.inBlock)
    forShapeLanes(shapeOp,
                  [&](int64_t lane, int64_t from) { result.block()[lane] = source.block()[from]; });
}

enum class Comparison : uint8_t { Less, LessEqual, Greater, GreaterEqual };

struct CompareOp {
  TileOp op;
  Comparison comparison;
};

bool compare(Comparison comparison, int64_t x, int64_t y) {
  switch (comparison) {
  case Comparison::Less:
    return x < y;
  case Comparison::LessEqual:
    return x <= y;
  case Comparison::Greater:
    return x > y;
  case Comparison::GreaterEqual:
    return x >= y;
  }
  return false;
}

// The difference of the sides is base + stride * i along one dimension; where it is below zero (or
// not above) is an interval.
bool compareAffine(const CompareOp &compareOp, const Tile &a, const Tile &b, MaskTile &mask) {
  const TileShape &shape = compareOp.op.result;
  const bool less =
      compareOp.comparison == Comparison::Less || compareOp.comparison == Comparison::LessEqual;
  const Tile &low = less ? a : b, &high = less ? b : a;
  const bool isStrict =
      compareOp.comparison == Comparison::Less || compareOp.comparison == Comparison::Greater;
  // low - high < 1 or < 0, that is low - high <= limit
  const int64_t limit = isStrict ? -1 : 0;
  int64_t base = 0, stride = 0;
  if (__builtin_sub_overflow(low.base, high.base, &base))
    return false;
  int along = -1;
  for (int d = 0; d < shape.rank; ++d) {
    mask.lo[d] = 0;
    mask.hi[d] = shape.sizes[d];
    int64_t difference = 0;
    if (__builtin_sub_overflow(low.strides[d], high.strides[d], &difference))
      return false;
    if (difference == 0 || shape.sizes[d] == 1)
      continue;
    if (along >= 0)
      return false; // not a box
    along = d;
    stride = difference;
  }
  int64_t room = 0; // base + stride * i <= limit
  if (__builtin_sub_overflow(limit, base, &room))
    return false;
  if (along < 0) {
    if (room < 0)
      for (int d = 0; d < shape.rank; ++d)
        mask.hi[d] = 0;
    return true;
  }
  const int64_t size = shape.sizes[along];
  if (stride > 0)
    mask.hi[along] = room < 0 ? 0 : std::min(size, room / stride + 1);
  else if (room < 0) // i >= room / stride, rounded up
    mask.lo[along] =
        stride == INT64_MIN || room == INT64_MIN
            ? 1
            : std::min<int64_t>(size, llvm::divideCeil(static_cast<uint64_t>(-room),
                                                       static_cast<uint64_t>(-stride)));
  return true;
}

void evalCompare(void *const *results, const void *const *operands, const void *payload) {
  const auto &compareOp = *static_cast<const CompareOp *>(payload);
  const TileOp &op = compareOp.op;
  Tile scratch[2];
  const Tile &a = operandTile(op, 0, operands, scratch[0]);
  const Tile &b = operandTile(op, 1, operands, scratch[1]);
  auto &result = *static_cast<MaskTile *>(results[0]);
  result = MaskTile();
  int64_t least = 0, most = 0;
  if (!a.inBlock && !b.inBlock && isExact(a, op.operands[0], false) &&
      isExact(b, op.operands[1], false) && tileBounds(a, op.result, least, most) &&
      tileBounds(b, op.result, least, most) && compareAffine(compareOp, a, b, result))
    return;
  result.inBlock = true;
  const int64_t *left = elementsOf(a, op.operands[0], 0);
  const int64_t *right = elementsOf(b, op.operands[1], 1);
  for (int64_t i = 0; i < op.result.lanes; ++i)
    result.block()[i] = compare(compareOp.comparison, left[i], right[i]);
}

void evalAnd(void *const *results, const void *const *operands, const void *payload) {
  const auto &op = *static_cast<const TileOp *>(payload);
  const auto &a = *static_cast<const MaskTile *>(operands[0]);
  const auto &b = *static_cast<const MaskTile *>(operands[1]);
  auto &result = *static_cast<MaskTile *>(results[0]);
  MaskTile header;
  if (!a.inBlock && !b.inBlock) {
    for (int d = 0; d < op.result.rank; ++d) {
      header.lo[d] = std::max(a.lo[d], b.lo[d]);
      header.hi[d] = std::min(a.hi[d], b.hi[d]);
    }
    result = header;
    return;
  }
  for (int64_t i = 0; i < op.result.lanes; ++i) {
    uint8_t x = 0, y = 0;
    writeMask(a, op.result, i, 1, &x);
    writeMask(b, op.result, i, 1, &y);
    result.block()[i] = x & y;
  }
  result.inBlock = true;
}

struct ToBlock {
  TileShape shape;
  int elementBytes;
};

void evalToBlock(int64_t n, int64_t begin, void *const *results, const void *const *operands,
                 uint32_t /*scalarOperands*/, const void *payload) {
  const auto &op = *static_cast<const ToBlock *>(payload);
  writeTile(*static_cast<const Tile *>(operands[0]), op.shape, begin, n, op.elementBytes,
            results[0]);
}

void evalMaskToBlock(int64_t n, int64_t begin, void *const *results, const void *const *operands,
                     uint32_t /*scalarOperands*/, const void *payload) {
  writeMask(*static_cast<const MaskTile *>(operands[0]),
            static_cast<const ToBlock *>(payload)->shape, begin, n,
            static_cast<uint8_t *>(results[0]));
}

TileOp describe(const OpSignature &signature, uint32_t tileOperands) {
  TileOp op;
  op.result = TileShape(signature.results[0]);
  op.tileOperands = tileOperands;
  for (size_t i = 0; i < std::min<size_t>(2, signature.operands.size()); ++i) {
    op.operands[i] = TileShape(signature.operands[i]);
    op.scalarBytes[i] = signature.operands[i].elementBytes();
  }
  if (signature.operands[0].isPointer())
    op.pointeeBytes = signature.operands[0].pointee().elementBytes();
  op.isUnsigned = signature.name == "arith.extui" || signature.attributes.getBool("is_unsigned");
  return op;
}

/// The predicate as a word or as upstream's number.
Comparison comparisonOf(const Attributes &attributes) {
  const int64_t number = llvm::StringSwitch<int64_t>(attributes.getString("predicate"))
                             .Case("slt", 2)
                             .Case("sle", 3)
                             .Case("sgt", 4)
                             .Case("sge", 5)
                             .Default(attributes.getInt("predicate"));
  return static_cast<Comparison>(number - 2);
}

Evaluator makeShapeOp(const OpSignature &signature) {
  auto shapeOp = std::make_shared<ShapeOp>();
  shapeOp->op = describe(signature, 1);
  TileOp &op = shapeOp->op;
  op.axis = static_cast<int>(signature.attributes.getInt("axis"));
  const llvm::ArrayRef<int64_t> order = signature.attributes.getInts("order");
  for (size_t d = 0; d < order.size(); ++d)
    op.order[d] = static_cast<int>(order[d]);
  for (int d = 0; d < op.result.rank; ++d)
    shapeOp->from[d] = sourceDimension(op, signature.name, d);
  return Evaluator::makeBlock(signature.results[0].isBool() ? evalMaskShape : evalShape,
                              std::move(shapeOp));
}

} // namespace

Evaluator makeTileOp(const OpSignature &signature, uint32_t tileOperands) {
  const llvm::StringRef name = signature.name;
  if (name == "tl.expand_dims" || name == "tl.broadcast" || name == "tl.trans")
    return makeShapeOp(signature);
  if (name == "arith.cmpi") {
    auto op = std::make_shared<CompareOp>();
    op->op = describe(signature, tileOperands);
    op->op.operands[0].rank = op->op.operands[1].rank = op->op.result.rank;
    op->comparison = comparisonOf(signature.attributes);
    return Evaluator::makeBlock(evalCompare, std::move(op));
  }
  if (name == "arith.remsi") {
    auto op = std::make_shared<RemainderOp>();
    op->op = describe(signature, tileOperands);
    op->general = EvaluatorTable::instance().choose(signature).evaluator;
    return Evaluator::makeBlock(evalRemainder, std::move(op));
  }
  const BlockFn function = llvm::StringSwitch<BlockFn>(name)
                               .Case("arith.addi", evalAdd)
                               .Case("arith.subi", evalSub)
                               .Case("arith.muli", evalMul)
                               .Case("arith.andi", evalAnd)
                               .Case("tl.addptr", evalAddPtr)
                               .Default(evalExtend); // arith.extsi, arith.extui
  return Evaluator::makeBlock(function,
                              std::make_shared<TileOp>(describe(signature, tileOperands)));
}

Evaluator makeTileToBlock(const Type &type) {
  auto op = std::make_shared<ToBlock>(ToBlock{TileShape(type), type.elementBytes()});
  return Evaluator::makeElementwise(type.isBool() ? evalMaskToBlock : evalToBlock, std::move(op));
}

} // namespace blockscope::interpreter::flat
