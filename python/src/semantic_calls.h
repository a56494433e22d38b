// What the bindings of the language's functions share: running one operation, reading arguments.
#pragma once

#include "python/src/current_emitter.h"
#include "python/src/tensor.h"

#include <optional>
#include <string>

namespace blockscope::python {

/// Runs one operation of the language named `op` and wraps its value.
template <typename Body> pybind11::object runOp(const char *op, Body body) {
  Semantic &semantic = currentSemantic(op);
  Value result = body(semantic);
  finishOp(semantic);
  return wrapValue(std::move(result));
}

template <typename Body> void runVoidOp(const char *op, Body body) {
  Semantic &semantic = currentSemantic(op);
  body(semantic);
  finishOp(semantic);
}

inline std::optional<Operand> optionalOperand(pybind11::handle object, const char *op,
                                              const char *name) {
  if (unwrapConstexpr(object).is_none())
    return std::nullopt;
  return operandOf(object, op, name);
}

inline std::optional<int64_t> optionalInt(pybind11::handle object, const char *op,
                                          const char *name) {
  if (unwrapConstexpr(object).is_none())
    return std::nullopt;
  return intOf(object, op, name);
}

inline pybind11::object wrapAll(const ValueList &values) {
  pybind11::tuple results(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    results[i] = wrapValue(values[i]);
  return results;
}

inline llvm::SmallVector<Value, 2> valuesOf(Semantic &semantic, const pybind11::list &operands,
                                            const char *op) {
  llvm::SmallVector<Value, 2> values;
  for (pybind11::handle operand : operands)
    values.push_back(tensorOf(semantic, operand, op, "input"));
  return values;
}

/// Reductions, scans, sort and histogram.
void bindReductions(pybind11::module_ &module);

} // namespace blockscope::python
