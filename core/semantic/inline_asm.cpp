// Inline assembly: arguments of one shape, and constraints that fit them.
#include "core/ptx/constraints.h"
#include "core/semantic/semantic.h"

namespace blockscope {

ValueList Semantic::inlineAsm(llvm::StringRef text, llvm::ArrayRef<Value> arguments,
                              llvm::ArrayRef<Type> results, const AsmOptions &options) {
  if (failed())
    return {};
  if (results.empty()) {
    valueError("dtype is empty, expected at least one type: the assembly returns a value, even "
               "where nobody needs it");
    return {};
  }
  llvm::SmallVector<Value, 4> operands(arguments);
  for (size_t round = 0; round < 2; ++round) // the first one has the shape of all after one round
    for (size_t i = 1; i < operands.size() && !failed(); ++i)
      std::tie(operands[0], operands[i]) = broadcast(operands[0], operands[i]);
  if (failed())
    return {};
  llvm::SmallVector<int64_t, 4> shape;
  llvm::SmallVector<Type, 4> types;
  for (const Value &operand : operands)
    types.push_back(operand.type);
  if (!operands.empty())
    shape = operands.front().type.shape;
  const int64_t count = operands.empty() ? 0 : operands.front().type.numElements();
  if (!shape.empty() && options.pack > 0 && (options.pack & (options.pack - 1)) == 0 &&
      count % options.pack != 0) {
    valueError("number of input elements " + std::to_string(count) +
               " must be a multiple of the op's packed_element attribute, " +
               std::to_string(options.pack));
    return {};
  }
  llvm::SmallVector<Type, 4> given;
  for (const Type &result : results)
    given.push_back(result.withShape(shape));
  const ptx::Constraints read =
      ptx::readConstraints(options.constraints, types, given, options.pack);
  if (!read.error.empty()) {
    valueError(read.error);
    return {};
  }
  return emitAll(
      options.isPure ? "tl.inline_asm" : "tl.inline_asm_volatile", operands, given,
      {{"asm_string", text.str()}, {"constraints", options.constraints}, {"pack", options.pack}});
}

} // namespace blockscope
