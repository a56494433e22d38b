// Creation of blocks and changes of shape.
#include "core/semantic/semantic.h"

#include "llvm/Support/MathExtras.h"

namespace blockscope {

bool Semantic::checkBlockShape(llvm::ArrayRef<int64_t> shape) {
  int64_t elements = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] <= 0 || !llvm::isPowerOf2_64(static_cast<uint64_t>(shape[i]))) {
      valueError("Shape element " + std::to_string(i) + " must be a power of 2",
                 "; the shape is " + shapeText(shape));
      return false;
    }
    elements = elements > kMaxBlockElements ? elements : elements * shape[i];
  }
  if (elements > kMaxBlockElements) {
    valueError("shape " + shapeText(shape) + " has more than " + std::to_string(kMaxBlockElements) +
               " elements");
    return false;
  }
  return true;
}

std::optional<int64_t> Semantic::normalizeAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    valueError("invalid axis " + std::to_string(axis) + ". Expected " + std::to_string(-rank) +
               " <= axis < " + std::to_string(rank));
    return std::nullopt;
  }
  return axis < 0 ? axis + rank : axis;
}

Value Semantic::programId(int64_t axis) {
  if (axis < 0 || axis > 2)
    return valueError("program_id axis must be 0, 1, or 2 but got " + std::to_string(axis));
  return emit1("tl.program_id", {}, Type::get(DType::Int32), {{"axis", axis}});
}

Value Semantic::numPrograms(int64_t axis) {
  if (axis < 0 || axis > 2)
    return valueError("num_programs axis must be 0, 1, or 2 but got " + std::to_string(axis));
  return emit1("tl.num_programs", {}, Type::get(DType::Int32), {{"axis", axis}});
}

Value Semantic::arange(int64_t start, int64_t end) {
  if (!llvm::isInt<32>(start) || !llvm::isInt<32>(end))
    return valueError("start and end must fit int32, got " + std::to_string(start) + " and " +
                      std::to_string(end));
  if (end <= start)
    return valueError("arange's end argument must be greater than the start argument",
                      "; end is " + std::to_string(end) + ", start " + std::to_string(start));
  const int64_t length = end - start;
  if (!llvm::isPowerOf2_64(static_cast<uint64_t>(length)))
    return valueError("arange's range must be a power of 2",
                      "; end - start is " + std::to_string(length));
  if (!checkBlockShape(length))
    return {};
  return emit1("tl.range", {}, Type::get(DType::Int32, length), {{"start", start}, {"end", end}});
}

Value Semantic::splat(const Value &scalar, llvm::ArrayRef<int64_t> shape) {
  if (failed() || shape.empty())
    return scalar;
  if (!checkBlockShape(shape))
    return {};
  return emit1("tl.splat", {scalar}, scalar.type.withShape(shape));
}

Value Semantic::unsplat(const Value &block) {
  if (failed() || !block.type.isBlock())
    return block;
  if (block.type.numElements() != 1)
    return valueError("expected a block of one element, got " + typeText(block.type));
  return emit1("tl.unsplat", {block}, block.type.scalar());
}

Value Semantic::expandDims(const Value &x, int64_t axis) {
  if (failed())
    return {};
  const std::optional<int64_t> at = normalizeAxis(axis, x.type.rank() + 1);
  if (!at)
    return {};
  if (!x.type.isBlock())
    return splat(x, 1);
  Type result = x.type;
  result.shape.insert(result.shape.begin() + *at, 1);
  return emit1("tl.expand_dims", {x}, result, {{"axis", *at}});
}

Value Semantic::broadcastTo(const Value &x, llvm::ArrayRef<int64_t> shape) {
  if (failed())
    return {};
  if (!x.type.isBlock())
    return splat(x, shape);
  if (x.type.shape == shape)
    return x;
  if (x.type.shape.size() != shape.size())
    return valueError("cannot broadcast shape " + shapeText(x.type.shape) + " to " +
                      shapeText(shape) + ": ranks differ");
  for (size_t i = 0; i < shape.size(); ++i)
    if (x.type.shape[i] != shape[i] && x.type.shape[i] != 1)
      return valueError("cannot broadcast shape " + shapeText(x.type.shape) + " to " +
                        shapeText(shape) + ": dimension " + std::to_string(i) + " is " +
                        std::to_string(x.type.shape[i]));
  if (!checkBlockShape(shape))
    return {};
  return emit1("tl.broadcast", {x}, x.type.withShape(shape));
}

std::pair<Value, Value> Semantic::broadcast(const Value &lhs, const Value &rhs) {
  if (failed())
    return {};
  if (lhs.type.shape == rhs.type.shape)
    return {lhs, rhs};
  // The shapes are those of blocks that exist, so their lengths are not checked again: in step mode
  // a scan combines parts of a block, which have any length.
  const auto splatLike = [&](const Value &scalar, const Value &block) {
    return emit1("tl.splat", {scalar}, scalar.type.withShape(block.type.shape));
  };
  if (!lhs.type.isBlock())
    return {splatLike(lhs, rhs), rhs};
  if (!rhs.type.isBlock())
    return {lhs, splatLike(rhs, lhs)};
  Value a = lhs, b = rhs;
  while (a && a.type.rank() < b.type.rank())
    a = expandDims(a, 0);
  while (b && b.type.rank() < a.type.rank())
    b = expandDims(b, 0);
  if (failed())
    return {};
  llvm::SmallVector<int64_t, 4> shape(a.type.shape);
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t left = a.type.shape[i], right = b.type.shape[i];
    if (left != right && left != 1 && right != 1) {
      valueError("shapes " + shapeText(lhs.type.shape) + " and " + shapeText(rhs.type.shape) +
                 " do not match: dimension " + std::to_string(i) + " is " + std::to_string(left) +
                 " and " + std::to_string(right));
      return {};
    }
    shape[i] = left == 1 ? right : left;
  }
  const bool isNew = a.type.shape != shape && b.type.shape != shape;
  if (isNew && !checkBlockShape(shape))
    return {};
  const auto stretched = [&](const Value &x) {
    return x.type.shape == shape ? x : emit1("tl.broadcast", {x}, x.type.withShape(shape));
  };
  return {stretched(a), stretched(b)};
}

Value Semantic::reshape(const Value &x, llvm::ArrayRef<int64_t> shape, bool canReorder) {
  if (failed() || !checkBlockShape(shape))
    return {};
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  if (elements != x.type.numElements())
    return valueError("cannot reshape " + typeText(x.type) + " with " +
                      std::to_string(x.type.numElements()) + " elements to " + shapeText(shape) +
                      " with " + std::to_string(elements));
  if (shape.empty())
    return unsplat(x);
  if (!x.type.isBlock())
    return splat(x, shape);
  if (x.type.shape == shape)
    return x;
  Attributes attributes;
  if (canReorder)
    attributes.set("allow_reorder", true);
  return emit1("tl.reshape", {x}, x.type.withShape(shape), attributes);
}

Value Semantic::permute(const Value &x, llvm::ArrayRef<int64_t> order) {
  if (failed())
    return {};
  const int64_t rank = x.type.rank();
  llvm::SmallVector<int64_t, 4> from, shape;
  llvm::SmallVector<bool, 4> seen(rank, false);
  for (int64_t axis : order) {
    const int64_t at = axis < 0 ? axis + rank : axis;
    if (at < 0 || at >= rank || seen[at])
      return valueError("order " + shapeText(order) + " is not a permutation of the " +
                        std::to_string(rank) + " dimensions of " + typeText(x.type));
    seen[at] = true;
    from.push_back(at);
    shape.push_back(x.type.shape[at]);
  }
  if (static_cast<int64_t>(from.size()) != rank)
    return valueError("order " + shapeText(order) + " is not a permutation of the " +
                      std::to_string(rank) + " dimensions of " + typeText(x.type));
  if (llvm::is_sorted(from))
    return x;
  return emit1("tl.trans", {x}, x.type.withShape(shape),
               {{"order", std::vector<int64_t>(from.begin(), from.end())}});
}

Value Semantic::trans(const Value &x) {
  if (failed())
    return {};
  const int64_t rank = x.type.rank();
  if (rank < 2)
    return valueError("x is " + typeText(x.type) + ", expected at least 2 dimensions");
  llvm::SmallVector<int64_t, 4> order;
  for (int64_t i = 0; i < rank; ++i)
    order.push_back(i);
  std::swap(order[rank - 1], order[rank - 2]);
  return permute(x, order);
}

Value Semantic::join(const Operand &lhs, const Operand &rhs) {
  const BinaryRules rules{.allowLhsPointer = true, .allowRhsPointer = true};
  auto [a, b] = unify(lhs, rhs, rules);
  if (failed())
    return {};
  Type result = a.type;
  result.shape.push_back(2);
  if (!checkBlockShape(result.shape))
    return {};
  return emit1("tl.join", {a, b}, result);
}

std::pair<Value, Value> Semantic::split(const Value &x) {
  if (failed())
    return {};
  if (!x.type.isBlock() || x.type.shape.back() != 2) {
    valueError("x is " + typeText(x.type) + ", expected a last dimension of size 2");
    return {};
  }
  Type half = x.type;
  half.shape.pop_back();
  const Type types[] = {half, half};
  const Attributes none;
  ValueList results = emitter_.emit({"tl.split", x, none, types});
  if (results.size() != 2)
    return {};
  results[0].type = results[1].type = half;
  return {results[0], results[1]};
}

Value Semantic::cat(const Value &lhs, const Value &rhs, bool canReorder, int64_t dim) {
  if (failed())
    return {};
  if (lhs.type.scalar() != rhs.type.scalar() || lhs.type.rank() != rhs.type.rank() ||
      !lhs.type.isBlock())
    return typeError("cannot put " + typeText(lhs.type) + " and " + typeText(rhs.type) +
                     " together, expected blocks of one element type and rank");
  const std::optional<int64_t> at = normalizeAxis(dim, lhs.type.rank());
  if (!at)
    return {};
  if (canReorder && lhs.type.rank() != 1)
    return valueError("can_reorder=True is only for blocks of one dimension, got " +
                      typeText(lhs.type));
  Type result = lhs.type;
  for (int64_t i = 0; i < lhs.type.rank(); ++i)
    if (i != *at && lhs.type.shape[i] != rhs.type.shape[i])
      return valueError("shapes " + shapeText(lhs.type.shape) + " and " +
                        shapeText(rhs.type.shape) + " differ outside dim " + std::to_string(*at));
  result.shape[*at] += rhs.type.shape[*at];
  if (!checkBlockShape(result.shape))
    return {};
  return emit1("tl.cat", {lhs, rhs}, result, {{"dim", *at}});
}

Value Semantic::gather(const Value &source, const Value &indices, int64_t axis) {
  if (failed())
    return {};
  if (!indices.type.isInteger() || indices.type.isBool())
    return typeError("index is " + typeText(indices.type) + ", expected integers");
  if (source.type.rank() != indices.type.rank() || !source.type.isBlock())
    return valueError("src is " + typeText(source.type) + " and index is " +
                      typeText(indices.type) + ", expected blocks of one rank");
  const std::optional<int64_t> at = normalizeAxis(axis, source.type.rank());
  if (!at)
    return {};
  for (int64_t i = 0; i < source.type.rank(); ++i)
    if (i != *at && source.type.shape[i] != indices.type.shape[i])
      return valueError("src " + typeText(source.type) + " and index " + typeText(indices.type) +
                        " differ outside axis " + std::to_string(*at));
  Value wide = indices;
  if (bitWidth(indices.type.dtype) < 32)
    wide = cast(indices, DType::Int32);
  return emit1("tl.gather", {source, wide}, source.type.withShape(indices.type.shape),
               {{"axis", *at}});
}

} // namespace blockscope
