// Maps, reductions and scans for Python: known combine functions, and functions of the user.
#include "python/src/semantic_calls.h"

#include <exception>

namespace py = pybind11;

namespace blockscope::python {
namespace {

//===-- Combine functions -------------------------------------------------------------------===//

/// Whether a function took a block for a number: an 'if', a 'while', int().
bool asksForOneElement(const py::error_already_set &error) {
  return error.matches(py::module_::import("blockscope.errors").attr("BlockValueError"));
}

/// Calls a Python combine function; remembers its exception, because emitters know none.
class PythonCombine {
public:
  PythonCombine(Semantic &semantic, py::object function, const char *op)
      : semantic_(semantic), function_(std::move(function)), op_(op) {}

  ValueList operator()(llvm::ArrayRef<Value> lhs, llvm::ArrayRef<Value> rhs) {
    if (!exception_) {
      try {
        return call(lhs, rhs);
      } catch (const py::error_already_set &error) {
        if (lhs.front().type.isBlock() && asksForOneElement(error))
          return {}; // called again with scalars
        exception_ = std::current_exception();
      } catch (...) {
        exception_ = std::current_exception();
      }
    }
    return ValueList(lhs.begin(), lhs.end()); // right types; thrown away by `rethrow`
  }

  void rethrow() {
    if (exception_)
      std::rethrow_exception(exception_);
  }

private:
  ValueList call(llvm::ArrayRef<Value> lhs, llvm::ArrayRef<Value> rhs) {
    py::tuple arguments(lhs.size() + rhs.size());
    for (size_t i = 0; i < lhs.size(); ++i) {
      arguments[i] = wrapValue(lhs[i]);
      arguments[lhs.size() + i] = wrapValue(rhs[i]);
    }
    const py::object returned = unwrapConstexpr(function_(*arguments));
    semantic_.begin(op_);
    ValueList results;
    if (isTensor(returned.ptr()) || !py::isinstance<py::iterable>(returned)) {
      results.push_back(tensorOf(semantic_, returned, op_, "the combined value"));
    } else {
      for (py::handle one : returned)
        results.push_back(tensorOf(semantic_, one, op_, "the combined value"));
    }
    if (results.size() != lhs.size())
      semantic_.typeError("the combine function returned " + std::to_string(results.size()) +
                          " values, expected " + std::to_string(lhs.size()));
    for (size_t i = 0; i < results.size() && !semantic_.failed(); ++i) {
      const Type &expected = lhs[i].type, found = results[i].type;
      if (found.isFloating() && expected.isFloating())
        results[i] = semantic_.cast(results[i], expected.dtype);
      else if (found.scalar() != expected.scalar())
        semantic_.typeError("the combine function returned " + typeText(found) + ", expected " +
                            typeText(expected));
      results[i] = semantic_.broadcastTo(results[i], expected.shape);
    }
    finishOp(semantic_);
    return results;
  }

  Semantic &semantic_;
  py::object function_;
  const char *op_;
  std::exception_ptr exception_;
};

/// Calls the function of a map; remembers its exception.
class PythonMap {
public:
  PythonMap(Semantic &semantic, py::object function, size_t pack)
      : semantic_(semantic), function_(std::move(function)), pack_(pack) {}

  ValueList operator()(llvm::ArrayRef<Value> elements) {
    try {
      return call(elements);
    } catch (const py::error_already_set &error) {
      if (!elements.front().type.isBlock() || !asksForOneElement(error))
        exception_ = std::current_exception();
    } catch (...) {
      exception_ = std::current_exception();
    }
    return {};
  }

  void rethrow() {
    if (exception_)
      std::rethrow_exception(exception_);
  }
  /// Whether the function returned one value that is no tuple.
  bool isSingle() const { return isSingle_; }

private:
  ValueList call(llvm::ArrayRef<Value> elements) {
    py::tuple arguments(elements.size());
    for (size_t i = 0; i < elements.size(); ++i)
      arguments[i] = wrapValue(elements[i]);
    const py::object returned = unwrapConstexpr(function_(*arguments));
    semantic_.begin(kOp);
    ValueList results;
    isSingle_ = isTensor(returned.ptr()) || !py::isinstance<py::iterable>(returned);
    if (isSingle_)
      results.push_back(tensorOf(semantic_, returned, kOp, "the function's result"));
    else
      for (py::handle one : returned)
        results.push_back(tensorOf(semantic_, one, kOp, "the function's result"));
    if (results.empty() || results.size() % pack_ != 0)
      semantic_.typeError("the function returned " + std::to_string(results.size()) +
                          " values, expected " + std::to_string(pack_) + " for each result");
    for (size_t i = 0; i < results.size() && !semantic_.failed(); ++i)
      if (const Value &first = results[i - i % pack_];
          results[i].type.scalar() != first.type.scalar())
        semantic_.typeError("the function returned " + typeText(results[i].type) + " and " +
                            typeText(first.type) + " for elements of one result");
    finishOp(semantic_);
    return results;
  }

  static constexpr const char *kOp = "tl.map_elementwise";
  Semantic &semantic_;
  py::object function_;
  size_t pack_;
  std::exception_ptr exception_;
  bool isSingle_ = false;
};

/// Returns the results and whether they are one value that the function did not put into a tuple.
std::pair<py::object, bool> mapWith(const py::list &operands, int64_t pack, py::object function) {
  const char *op = "tl.map_elementwise";
  Semantic &semantic = currentSemantic(op);
  const ValueList inputs = valuesOf(semantic, operands, op);
  PythonMap map(semantic, std::move(function), static_cast<size_t>(pack < 1 ? 1 : pack));
  const ValueList results =
      semantic.map(inputs, pack, [&](llvm::ArrayRef<Value> elements) { return map(elements); });
  map.rethrow();
  finishOp(semantic);
  return {wrapAll(results), map.isSingle()};
}

py::object reduceWith(const py::list &operands, py::object axis, bool keepDims,
                      py::object function) {
  const char *op = "tl.reduce";
  Semantic &semantic = currentSemantic(op);
  PythonCombine combine(semantic, std::move(function), op);
  const ValueList results = semantic.reduce(
      valuesOf(semantic, operands, op), optionalInt(axis, op, "axis"), keepDims,
      [&](llvm::ArrayRef<Value> lhs, llvm::ArrayRef<Value> rhs) { return combine(lhs, rhs); });
  combine.rethrow();
  finishOp(semantic);
  return wrapAll(results);
}

py::object scanWith(const py::list &operands, py::object axis, bool reverse, py::object function) {
  const char *op = "tl.associative_scan";
  Semantic &semantic = currentSemantic(op);
  PythonCombine combine(semantic, std::move(function), op);
  const ValueList results = semantic.scan(
      valuesOf(semantic, operands, op), intOf(axis, op, "axis"), reverse,
      [&](llvm::ArrayRef<Value> lhs, llvm::ArrayRef<Value> rhs) { return combine(lhs, rhs); });
  combine.rethrow();
  finishOp(semantic);
  return wrapAll(results);
}

const NamedCombine &namedCombine(const std::string &name) {
  if (const NamedCombine *combine = findNamedCombine(name))
    return *combine;
  throw py::value_error("there is no combine function '" + name + "'");
}

} // namespace

void bindReductions(py::module_ &m) {
  m.def("map", &mapWith);
  m.def("reduce", &reduceWith);
  m.def("scan", &scanWith);
  m.def("reduce_named",
        [](const std::string &kind, const char *op, py::handle x, py::handle axis, bool keepDims) {
          return runOp(op, [&](Semantic &s) {
            return s.reduceNamed(namedCombine(kind), tensorOf(s, x, op, "input"),
                                 optionalInt(axis, op, "axis"), keepDims);
          });
        });
  m.def("scan_named",
        [](const std::string &kind, const char *op, py::handle x, py::handle axis, bool reverse) {
          return runOp(op, [&](Semantic &s) {
            return s.scanNamed(namedCombine(kind), tensorOf(s, x, op, "input"),
                               intOf(axis, op, "axis"), reverse);
          });
        });
  m.def("sort", [](py::handle x, py::handle dim, bool descending) {
    const char *op = "tl.sort";
    return runOp(op, [&](Semantic &s) {
      return s.sort(tensorOf(s, x, op, "x"), intOf(dim, op, "dim"), descending);
    });
  });
  m.def("histogram", [](py::handle x, py::handle bins, py::handle mask) {
    const char *op = "tl.histogram";
    return runOp(op, [&](Semantic &s) {
      std::optional<Value> active;
      if (!unwrapConstexpr(mask).is_none())
        active = tensorOf(s, mask, op, "mask");
      return s.histogram(tensorOf(s, x, op, "input"), intOf(bins, op, "num_bins"), active);
    });
  });
}

} // namespace blockscope::python
