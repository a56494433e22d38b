// Maps, reductions, scans, sort and histogram.
#include "core/semantic/semantic.h"

#include "llvm/Support/SaveAndRestore.h"

namespace blockscope {
ValueList
Semantic::reduceBy(llvm::ArrayRef<Value> operands, std::optional<int64_t> axis, bool keepDims,
                   llvm::function_ref<ValueList(llvm::ArrayRef<Value> operands, int axis)> run) {
  if (failed() || operands.empty())
    return {};
  const llvm::SmallVector<int64_t, 4> shape(operands.front().type.shape);
  llvm::SmallVector<Value, 2> inputs(operands);
  for (Value &input : inputs) {
    if (!input.type.isBlock() || input.type.shape != shape) {
      valueError("operands are " + typeText(operands.front().type) + " and " +
                 typeText(input.type) + ", expected blocks of one shape");
      return {};
    }
    if (!axis)
      input = reshape(input, input.type.numElements(), /*canReorder=*/false);
  }
  const std::optional<int64_t> at = normalizeAxis(axis.value_or(0), inputs.front().type.rank());
  if (!at || failed())
    return {};
  ValueList results = run(inputs, static_cast<int>(*at));
  if (failed() || results.size() != inputs.size())
    return {};
  llvm::SmallVector<int64_t, 4> kept(shape);
  if (axis)
    kept[*at] = 1;
  else
    kept.assign(kept.size(), 1);
  for (size_t i = 0; i < results.size(); ++i) {
    Type result = inputs[i].type;
    result.shape.erase(result.shape.begin() + *at);
    results[i].type = result;
    if (keepDims)
      results[i] = reshape(results[i], kept, /*canReorder=*/false);
  }
  return results;
}

ValueList Semantic::reduce(llvm::ArrayRef<Value> operands, std::optional<int64_t> axis,
                           bool keepDims, CombineFunction combine) {
  return reduceBy(operands, axis, keepDims, [&](llvm::ArrayRef<Value> inputs, int at) {
    const llvm::SaveAndRestore isInside(combines_, combines_ + 1);
    return emitter_.reduce(inputs, at, combine);
  });
}

ValueList Semantic::map(llvm::ArrayRef<Value> operands, int64_t pack, MapFunction function) {
  if (failed() || operands.empty())
    return {};
  const int64_t count = operands.front().type.numElements();
  if (pack < 1 || (pack & (pack - 1)) != 0 || pack > count) {
    valueError("pack is " + std::to_string(pack) + ", expected a power of two of at most " +
               std::to_string(count) + ", the elements of the block");
    return {};
  }
  const llvm::SaveAndRestore isInside(maps_, maps_ + 1);
  return emitter_.map(operands, pack, function);
}

ValueList Semantic::scan(llvm::ArrayRef<Value> operands, int64_t axis, bool reverse,
                         CombineFunction combine) {
  if (failed() || operands.empty())
    return {};
  for (const Value &input : operands)
    if (!input.type.isBlock() || input.type.shape != operands.front().type.shape) {
      valueError("operands are " + typeText(operands.front().type) + " and " +
                 typeText(input.type) + ", expected blocks of one shape");
      return {};
    }
  const std::optional<int64_t> at = normalizeAxis(axis, operands.front().type.rank());
  if (!at)
    return {};
  const llvm::SaveAndRestore isInside(combines_, combines_ + 1);
  ValueList results = emitter_.scan(operands, static_cast<int>(*at), reverse, combine);
  if (failed() || results.size() != operands.size())
    return {};
  for (size_t i = 0; i < results.size(); ++i)
    results[i].type = operands[i].type;
  return results;
}

llvm::StringRef Semantic::combineOp(const NamedCombine &combine, const Type &type) {
  if (type.isPointer())
    typeError("input is " + typeText(type) + ", expected numbers");
  else if (type.isFloating() && combine.floats.empty())
    valueError("input is " + typeText(type) + ", expected integers");
  return type.isFloating()      ? combine.floats
         : type.isBool()        ? combine.bools
         : isSigned(type.dtype) ? combine.signedIntegers
                                : combine.unsignedIntegers;
}

Value Semantic::reduceNamed(const NamedCombine &combine, const Value &x,
                            std::optional<int64_t> axis, bool keepDims) {
  if (failed())
    return {};
  const llvm::StringRef op = combineOp(combine, x.type);
  const auto combineElements = [&](llvm::ArrayRef<Value> lhs,
                                   llvm::ArrayRef<Value> rhs) -> ValueList {
    return {emit1(op, {lhs[0], rhs[0]}, lhs[0].type)};
  };
  const auto run = [&](llvm::ArrayRef<Value> inputs, int at) -> ValueList {
    if (Value fast = emitter_.reduceByOp(op, inputs[0], at))
      return {fast};
    return emitter_.reduce(inputs, at, combineElements);
  };
  ValueList results = reduceBy(x, axis, keepDims, run);
  return results.empty() ? Value() : results.front();
}

Value Semantic::scanNamed(const NamedCombine &combine, const Value &x, int64_t axis, bool reverse) {
  if (failed())
    return {};
  const llvm::StringRef op = combineOp(combine, x.type);
  const std::optional<int64_t> at =
      x.type.isBlock() ? normalizeAxis(axis, x.type.rank()) : std::nullopt;
  if (at && !failed()) {
    if (Value fast = emitter_.scanByOp(op, x, static_cast<int>(*at), reverse)) {
      fast.type = x.type;
      return fast;
    }
  }
  const auto combineElements = [&](llvm::ArrayRef<Value> lhs,
                                   llvm::ArrayRef<Value> rhs) -> ValueList {
    return {emit1(op, {lhs[0], rhs[0]}, lhs[0].type)};
  };
  ValueList results = scan(x, axis, reverse, combineElements);
  return results.empty() ? Value() : results.front();
}

Value Semantic::sort(const Value &x, int64_t dim, bool descending) {
  if (failed())
    return {};
  if (!x.type.isBlock() || x.type.isPointer())
    return typeError("x is " + typeText(x.type) + ", expected a block of numbers");
  const std::optional<int64_t> at = normalizeAxis(dim, x.type.rank());
  if (!at)
    return {};
  if (*at != x.type.rank() - 1)
    return valueError("dim is " + std::to_string(dim) + ", expected the last of " +
                      std::to_string(x.type.rank()) + " dimensions");
  return emit1("tl.sort", {x}, x.type,
               {{"descending", descending}, {"is_unsigned", isUnsigned(x.type.dtype)}});
}

Value Semantic::histogram(const Value &x, int64_t bins, const std::optional<Value> &mask) {
  if (failed())
    return {};
  if (x.type.rank() != 1 || !x.type.isInteger())
    return typeError("x is " + typeText(x.type) + ", expected integers in one dimension");
  if (!checkBlockShape(bins))
    return {};
  const Value wide = bitWidth(x.type.dtype) < 32 ? cast(x, DType::Int32) : x;
  llvm::SmallVector<Value, 2> operands = {wide};
  if (mask) {
    if (!mask->type.isBool())
      return typeError("mask is " + typeText(mask->type) + ", expected int1");
    operands.push_back(broadcastTo(*mask, x.type.shape));
  }
  return emit1("tl.histogram", operands, Type::get(DType::Int32, bins),
               {{"has_mask", mask.has_value()}});
}

} // namespace blockscope
