// The functions of the rule book for Python: `_core.semantic`. blockscope.language gives them their
// public names, defaults and docstrings.
#include "python/src/semantic_calls.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace blockscope::python {
namespace {

//===-- Binding, one function per family ----------------------------------------------------===//

void bindNumbers(py::module_ &m) {
  m.def("to_tensor", [](py::handle x) -> py::object {
    if (isTensor(x.ptr()))
      return py::reinterpret_borrow<py::object>(x);
    return runOp("tl.to_tensor", [&](Semantic &s) { return tensorOf(s, x, "tl.to_tensor", "x"); });
  });
  m.def("full", [](py::handle shape, py::handle value, py::handle dtype, const std::string &name) {
    const char *op = name.c_str();
    std::optional<DType> element;
    if (!unwrapConstexpr(dtype).is_none())
      element = typeFromPython(dtype).dtype;
    return runOp(op, [&](Semantic &s) {
      return s.full(intsOf(shape, op, "shape"), operandOf(value, op, "value"), element);
    });
  });
  m.def("cast",
        [](py::handle x, py::handle dtype, std::optional<std::string> rounding, bool bitcast) {
          const char *op = "tl.cast";
          const Type to = typeFromPython(dtype);
          return runOp(op, [&](Semantic &s) {
            const Operand operand = operandOf(x, op, "input");
            if (!operand.isValue() && !bitcast && !to.isPointer() && isFloating(to.dtype))
              return s.constant(operand.scalar, to.dtype);
            const Value value = s.toTensor(operand);
            return bitcast ? s.bitcast(value, to) : s.cast(value, to, rounding);
          });
        });
}

template <typename Method>
void bindPair(py::module_ &m, const char *name, const char *op, Method method) {
  m.def(name, [op, method](py::handle x, py::handle y) {
    return runOp(
        op, [&](Semantic &s) { return (s.*method)(operandOf(x, op, "x"), operandOf(y, op, "y")); });
  });
}

void bindElementwise(py::module_ &m) {
  const auto bindOperator = [&](const char *name, const char *op, BinaryOp kind) {
    m.def(
        name,
        [op, kind](py::handle x, py::handle y, bool checksOverflow) {
          return runOp(op, [&](Semantic &s) {
            const Operand left = operandOf(x, op, "x"), right = operandOf(y, op, "y");
            return checksOverflow ? s.binaryChecked(kind, left, right)
                                  : s.binary(kind, left, right);
          });
        },
        py::arg("x"), py::arg("y"), py::arg("checks_overflow") = true);
  };
  bindOperator("add", "tl.add", BinaryOp::Add);
  bindOperator("sub", "tl.sub", BinaryOp::Sub);
  bindOperator("mul", "tl.mul", BinaryOp::Mul);
  m.def("fdiv", [](py::handle x, py::handle y, bool ieeeRounding) {
    const char *op = "tl.fdiv";
    return runOp(op, [&](Semantic &s) {
      return s.fdiv(operandOf(x, op, "x"), operandOf(y, op, "y"), ieeeRounding);
    });
  });
  bindPair(m, "div_rn", "tl.div_rn", &Semantic::divRn);
  bindPair(m, "logical_and", "logical and", &Semantic::logicalAnd);
  bindPair(m, "logical_or", "logical or", &Semantic::logicalOr);
  m.def("logical_not", [](py::handle x) {
    return runOp("logical not",
                 [&](Semantic &s) { return s.logicalNot(operandOf(x, "logical not", "x")); });
  });
  m.def("minimum", [](py::handle x, py::handle y, bool propagateNan) {
    const char *op = "tl.minimum";
    return runOp(op, [&](Semantic &s) {
      return s.minimum(operandOf(x, op, "x"), operandOf(y, op, "y"), propagateNan);
    });
  });
  m.def("maximum", [](py::handle x, py::handle y, bool propagateNan) {
    const char *op = "tl.maximum";
    return runOp(op, [&](Semantic &s) {
      return s.maximum(operandOf(x, op, "x"), operandOf(y, op, "y"), propagateNan);
    });
  });
  m.def("clamp", [](py::handle x, py::handle lo, py::handle hi, bool propagateNan) {
    const char *op = "tl.clamp";
    return runOp(op, [&](Semantic &s) {
      return s.clamp(operandOf(x, op, "x"), operandOf(lo, op, "min"), operandOf(hi, op, "max"),
                     propagateNan);
    });
  });
  m.def("where", [](py::handle condition, py::handle x, py::handle y) {
    const char *op = "tl.where";
    return runOp(op, [&](Semantic &s) {
      return s.where(operandOf(condition, op, "condition"), operandOf(x, op, "x"),
                     operandOf(y, op, "y"));
    });
  });
  m.def("fma", [](py::handle x, py::handle y, py::handle z) {
    const char *op = "tl.fma";
    return runOp(op, [&](Semantic &s) {
      return s.fma(operandOf(x, op, "x"), operandOf(y, op, "y"), operandOf(z, op, "z"));
    });
  });
}

void bindMath(py::module_ &m) {
  m.def("elementwise", [](const std::string &name, const std::string &function, const py::args &x) {
    static constexpr const char *kNames[] = {"x", "y", "z"};
    const OpFacts *facts = findOpFacts(name);
    if (!facts || !facts->isElementwise || x.empty() || x.size() > std::size(kNames))
      throw py::value_error("'" + name + "' is no elementwise op of " + std::to_string(x.size()) +
                            " operands");
    const char *op = function.c_str();
    return runOp(op, [&](Semantic &s) {
      llvm::SmallVector<Operand, 3> operands;
      for (size_t i = 0; i < x.size(); ++i)
        operands.push_back(operandOf(x[i], op, kNames[i]));
      return s.elementwise(*facts, operands);
    });
  });
  m.def("abs", [](py::handle x) {
    return runOp("tl.abs", [&](Semantic &s) { return s.abs(operandOf(x, "tl.abs", "x")); });
  });
  m.def("sqrt_rn", [](py::handle x) {
    return runOp("tl.sqrt_rn",
                 [&](Semantic &s) { return s.sqrtRn(operandOf(x, "tl.sqrt_rn", "x")); });
  });
  m.def("promote", [](const py::list &arguments) {
    const char *op = "libdevice";
    Semantic &s = currentSemantic(op);
    llvm::SmallVector<Operand, 4> operands;
    for (py::handle argument : arguments)
      operands.push_back(operandOf(argument, op, "an argument"));
    const ValueList results = s.promote(operands);
    finishOp(s);
    return wrapAll(results);
  });
  m.def("inline_asm",
        [](const std::string &text, const std::string &constraints, const py::list &arguments,
           const py::list &types, bool isPure, int64_t pack) {
          const char *op = "tl.inline_asm_elementwise";
          llvm::SmallVector<Type, 2> results;
          for (const py::handle type : types)
            results.push_back(typeFromPython(type).scalar());
          Semantic &semantic = currentSemantic(op);
          const ValueList values = semantic.inlineAsm(text, valuesOf(semantic, arguments, op),
                                                      results, {constraints, isPure, pack});
          finishOp(semantic);
          return wrapAll(values);
        });
  m.def(
      "extern_elementwise",
      [](const std::string &symbol, const py::list &arguments, py::handle resultType,
         const std::vector<std::string> &libraries, const std::string &digest, bool isPure) {
        const char *op = "tl.extern_elementwise";
        const Type result = typeFromPython(resultType).scalar();
        return runOp(op, [&](Semantic &s) {
          return s.externElementwise({symbol, libraries, digest, isPure},
                                     valuesOf(s, arguments, op), result);
        });
      },
      py::arg("symbol"), py::arg("arguments"), py::arg("result_type"),
      py::arg("libraries") = std::vector<std::string>(), py::arg("digest") = "",
      py::arg("is_pure") = true);
}

void bindShape(py::module_ &m) {
  m.def("program_id", [](py::handle axis) {
    const char *op = "tl.program_id";
    return runOp(op, [&](Semantic &s) { return s.programId(intOf(axis, op, "axis")); });
  });
  m.def("num_programs", [](py::handle axis) {
    const char *op = "tl.num_programs";
    return runOp(op, [&](Semantic &s) { return s.numPrograms(intOf(axis, op, "axis")); });
  });
  m.def("arange", [](py::handle start, py::handle end) {
    const char *op = "tl.arange";
    return runOp(op, [&](Semantic &s) {
      return s.arange(intOf(start, op, "start"), intOf(end, op, "end"));
    });
  });
  m.def("expand_dims", [](py::handle x, py::handle axis) {
    const char *op = "tl.expand_dims";
    return runOp(op, [&](Semantic &s) {
      return s.expandDims(tensorOf(s, x, op, "input"), intOf(axis, op, "axis"));
    });
  });
  m.def("broadcast_to", [](py::handle x, py::handle shape) {
    const char *op = "tl.broadcast_to";
    return runOp(op, [&](Semantic &s) {
      return s.broadcastTo(tensorOf(s, x, op, "input"), intsOf(shape, op, "shape"));
    });
  });
  m.def("broadcast", [](py::handle x, py::handle y) {
    const char *op = "tl.broadcast";
    Semantic &s = currentSemantic(op);
    auto [a, b] = s.broadcast(tensorOf(s, x, op, "input"), tensorOf(s, y, op, "other"));
    finishOp(s);
    return py::make_tuple(wrapValue(a), wrapValue(b));
  });
  m.def("reshape", [](py::handle x, py::handle shape, bool canReorder) {
    const char *op = "tl.reshape";
    return runOp(op, [&](Semantic &s) {
      return s.reshape(tensorOf(s, x, op, "input"), intsOf(shape, op, "shape"), canReorder);
    });
  });
  m.def("permute", [](py::handle x, py::handle dims) {
    const char *op = "tl.permute";
    return runOp(op, [&](Semantic &s) {
      return s.permute(tensorOf(s, x, op, "input"), intsOf(dims, op, "dims"));
    });
  });
  m.def("trans", [](py::handle x) {
    const char *op = "tl.trans";
    return runOp(op, [&](Semantic &s) { return s.trans(tensorOf(s, x, op, "input")); });
  });
  bindPair(m, "join", "tl.join", &Semantic::join);
  m.def("split", [](py::handle x) {
    const char *op = "tl.split";
    Semantic &s = currentSemantic(op);
    auto [first, second] = s.split(tensorOf(s, x, op, "a"));
    finishOp(s);
    return py::make_tuple(wrapValue(first), wrapValue(second));
  });
  m.def("cat", [](py::handle x, py::handle y, bool canReorder, py::handle dim) {
    const char *op = "tl.cat";
    return runOp(op, [&](Semantic &s) {
      return s.cat(tensorOf(s, x, op, "input"), tensorOf(s, y, op, "other"), canReorder,
                   intOf(dim, op, "dim"));
    });
  });
  m.def("gather", [](py::handle source, py::handle index, py::handle axis) {
    const char *op = "tl.gather";
    return runOp(op, [&](Semantic &s) {
      return s.gather(tensorOf(s, source, op, "src"), tensorOf(s, index, op, "index"),
                      intOf(axis, op, "axis"));
    });
  });
}

std::string textOr(const char *otherwise, py::handle value, const char *op, const char *argument) {
  std::string text = textOf(value, op, argument);
  return text.empty() ? otherwise : text;
}

void bindMemory(py::module_ &m) {
  m.def("load", [](py::handle pointer, py::handle mask, py::handle other, py::handle cacheModifier,
                   py::handle evictionPolicy, py::handle isVolatile, bool isDescribed) {
    const char *op = "tl.load";
    return runOp(op, [&](Semantic &s) {
      Semantic::LoadOptions options;
      options.mask = optionalOperand(mask, op, "mask");
      options.other = optionalOperand(other, op, "other");
      options.cacheModifier = textOf(cacheModifier, op, "cache_modifier");
      options.evictionPolicy = textOf(evictionPolicy, op, "eviction_policy");
      options.isVolatile = boolOf(isVolatile, op, "volatile");
      options.isDescribed = isDescribed;
      return s.load(tensorOf(s, pointer, op, "pointer"), options);
    });
  });
  m.def("store", [](py::handle pointer, py::handle value, py::handle mask, py::handle cacheModifier,
                    py::handle evictionPolicy, bool isDescribed) {
    const char *op = "tl.store";
    runVoidOp(op, [&](Semantic &s) {
      Semantic::StoreOptions options;
      options.mask = optionalOperand(mask, op, "mask");
      options.cacheModifier = textOf(cacheModifier, op, "cache_modifier");
      options.evictionPolicy = textOf(evictionPolicy, op, "eviction_policy");
      options.isDescribed = isDescribed;
      s.store(tensorOf(s, pointer, op, "pointer"), operandOf(value, op, "value"), options);
    });
  });
  m.def("atomic_load", [](py::handle pointer, py::handle mask, py::handle sem, py::handle scope) {
    const char *op = "tl.atomic_load";
    return runOp(op, [&](Semantic &s) {
      return s.atomicLoad(tensorOf(s, pointer, op, "pointer"), optionalOperand(mask, op, "mask"),
                          textOr("acquire", sem, op, "sem"), textOr("gpu", scope, op, "scope"));
    });
  });
  m.def("atomic_store", [](py::handle pointer, py::handle value, py::handle mask, py::handle sem,
                           py::handle scope) {
    const char *op = "tl.atomic_store";
    runVoidOp(op, [&](Semantic &s) {
      s.atomicStore(tensorOf(s, pointer, op, "pointer"), operandOf(value, op, "val"),
                    optionalOperand(mask, op, "mask"), textOr("release", sem, op, "sem"),
                    textOr("gpu", scope, op, "scope"));
    });
  });
  m.def("global_timer",
        [] { return runOp("tl.global_timer", [](Semantic &s) { return s.globalTimer(); }); });
  static constexpr std::pair<const char *, const char *> kAtomics[] = {
      {"add", "tl.atomic_add"},  {"max", "tl.atomic_max"}, {"min", "tl.atomic_min"},
      {"and", "tl.atomic_and"},  {"or", "tl.atomic_or"},   {"xor", "tl.atomic_xor"},
      {"xchg", "tl.atomic_xchg"}};
  for (const auto &[kind, op] : kAtomics)
    m.def(op + 3, [kind = kind, op = op](py::handle pointer, py::handle value, py::handle mask,
                                         py::handle sem, py::handle scope) {
      return runOp(op, [&](Semantic &s) {
        return s.atomicRmw(kind, tensorOf(s, pointer, op, "pointer"), operandOf(value, op, "val"),
                           optionalOperand(mask, op, "mask"), textOr("acq_rel", sem, op, "sem"),
                           textOr("gpu", scope, op, "scope"));
      });
    });
  m.def("atomic_cas", [](py::handle pointer, py::handle compare, py::handle value, py::handle sem,
                         py::handle scope) {
    const char *op = "tl.atomic_cas";
    return runOp(op, [&](Semantic &s) {
      return s.atomicCas(tensorOf(s, pointer, op, "pointer"), operandOf(compare, op, "cmp"),
                         operandOf(value, op, "val"), textOr("acq_rel", sem, op, "sem"),
                         textOr("gpu", scope, op, "scope"));
    });
  });
}

void bindLinear(py::module_ &m) {
  m.def("dot", [](py::handle a, py::handle b, py::handle acc, const std::string &inputPrecision,
                  py::handle maxNumImpreciseAcc, py::handle outDType) {
    const char *op = "tl.dot";
    Semantic::DotOptions options;
    options.inputPrecision = inputPrecision;
    options.maxNumImpreciseAcc = optionalInt(maxNumImpreciseAcc, op, "max_num_imprecise_acc");
    options.outDType = typeFromPython(outDType).dtype;
    return runOp(op, [&](Semantic &s) {
      std::optional<Value> sum;
      if (!unwrapConstexpr(acc).is_none())
        sum = tensorOf(s, acc, op, "acc");
      return s.dot(tensorOf(s, a, op, "input"), tensorOf(s, b, op, "other"), sum, options);
    });
  });
  m.def("dot_scaled", [](py::handle lhs, py::handle lhsScale, py::handle lhsFormat, py::handle rhs,
                         py::handle rhsScale, py::handle rhsFormat, py::handle acc,
                         py::handle fastMath, py::handle lhsKPack, py::handle rhsKPack,
                         py::handle outDType) {
    const char *op = "tl.dot_scaled";
    const DType out = typeFromPython(outDType).dtype;
    return runOp(op, [&](Semantic &s) {
      const auto optionalTensor = [&](py::handle x, const char *name) -> std::optional<Value> {
        if (unwrapConstexpr(x).is_none())
          return std::nullopt;
        return tensorOf(s, x, op, name);
      };
      const Semantic::ScaledOperand left = {
          tensorOf(s, lhs, op, "lhs"), optionalTensor(lhsScale, "lhs_scale"),
          textOf(lhsFormat, op, "lhs_format"), boolOf(lhsKPack, op, "lhs_k_pack")};
      const Semantic::ScaledOperand right = {
          tensorOf(s, rhs, op, "rhs"), optionalTensor(rhsScale, "rhs_scale"),
          textOf(rhsFormat, op, "rhs_format"), boolOf(rhsKPack, op, "rhs_k_pack")};
      return s.dotScaled(left, right, optionalTensor(acc, "acc"), boolOf(fastMath, op, "fast_math"),
                         out);
    });
  });
}

void bindDebug(py::module_ &m) {
  m.def("hint", [](const std::string &kind, py::handle x, py::handle values) {
    const std::string op = "tl." + kind;
    return runOp(op.c_str(), [&](Semantic &s) {
      return s.hint(kind, tensorOf(s, x, op.c_str(), "input"),
                    intsOf(values, op.c_str(), "values"));
    });
  });
  m.def("assume", [](py::handle condition) {
    runVoidOp("tl.assume",
              [&](Semantic &s) { s.assume(operandOf(condition, "tl.assume", "cond")); });
  });
  m.def("debug_barrier", [] { runVoidOp("tl.debug_barrier", [](Semantic &s) { s.barrier(); }); });
  m.def("gdc_wait", [] { runVoidOp("tl.extra.cuda.gdc_wait", [](Semantic &s) { s.gdcWait(); }); });
  m.def("gdc_launch_dependents", [] {
    runVoidOp("tl.extra.cuda.gdc_launch_dependents", [](Semantic &s) { s.gdcLaunchDependents(); });
  });
  m.def("device_assert", [](py::handle condition, const std::string &message, py::handle mask) {
    const char *op = "tl.device_assert";
    runVoidOp(op, [&](Semantic &s) {
      s.deviceAssert(operandOf(condition, op, "cond"), message, optionalOperand(mask, op, "mask"));
    });
  });
  m.def("device_print", [](const std::string &prefix, const py::list &values, bool hex) {
    const char *op = "tl.device_print";
    runVoidOp(op, [&](Semantic &s) { s.devicePrint(prefix, valuesOf(s, values, op), hex); });
  });
  m.def("is_stepping", [] {
    const Emitter *emitter = currentEmitterOrNull();
    return emitter && emitter->isStepping();
  });
  m.def("has_payloads", [] {
    const Emitter *emitter = currentEmitterOrNull();
    return emitter && emitter->hasPayloads();
  });
  m.def("has_emitter", [] { return currentEmitterOrNull() != nullptr; });
}

} // namespace

void bindSemantic(py::module_ &module) {
  py::module_ m = module.def_submodule("semantic", "the rule book of the language");
  bindNumbers(m);
  bindElementwise(m);
  bindMath(m);
  bindShape(m);
  bindMemory(m);
  bindLinear(m);
  bindReductions(m);
  bindDebug(m);
}

} // namespace blockscope::python
