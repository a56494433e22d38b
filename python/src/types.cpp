// Types between Python (dtype, pointer_type, block_type of the language) and C++ (Type).
#include "python/src/made_once.h"
#include "python/src/tensor.h"

#include "core/numeric/scalar.h"

#include <cstring>
#include <map>
#include <tuple>

namespace py = pybind11;

namespace blockscope::python {
namespace {

/// The classes of blockscope.language.core, registered at import.
struct LanguageClasses {
  py::object constexprClass, dtypeClass, pointerClass, blockClass;
  std::vector<py::object> scalars; ///< by DType
  std::map<std::tuple<DType, int, int, bool>, py::object> pointers;
};
LanguageClasses &classes() {
  static constinit MadeOnce<LanguageClasses> made;
  return made.get();
}

constexpr int kDTypeCount = static_cast<int>(DType::Fp64) + 1;

py::list dtypeFacts() {
  py::list rows;
  for (int code = 0; code < kDTypeCount; ++code) {
    const DType dtype = static_cast<DType>(code);
    rows.append(py::make_tuple(code, dtypeName(dtype).str(), languageName(dtype).str(),
                               bitWidth(dtype), byteSize(dtype), isFloating(dtype),
                               isSigned(dtype)));
  }
  return rows;
}

/// Returns the bits of a kernel argument as its dtype stores them, in the low bytes.
uint64_t scalarBits(const Type &type, py::handle value) {
  uint64_t bits = 0;
  if (type.isFloating()) {
    numeric::writeDouble(type.dtype, value.cast<double>(), &bits);
    return bits;
  }
  if (type.isBool())
    return value.cast<bool>() ? 1 : 0;
  const py::object number = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  if (!number)
    throw py::error_already_set();
  const int width = bitWidth(type.dtype);
  const py::int_ one(1);
  const py::object low =
      isSigned(type.dtype) ? -(one << py::int_(width - 1)) : py::object(py::int_(0));
  const py::object high = one << py::int_(isSigned(type.dtype) ? width - 1 : width);
  if (number < low || number >= high) {
    PyErr_Format(PyExc_OverflowError, "%S is out of range for %s", number.ptr(),
                 dtypeName(type.dtype).data());
    throw py::error_already_set();
  }
  bits = PyLong_AsUnsignedLongLongMask(number.ptr());
  return width == 64 ? bits : bits & ((uint64_t{1} << width) - 1);
}

Type namedType(const std::string &name) {
  if (std::optional<DType> dtype = parseDType(name))
    return Type::get(*dtype);
  throw py::type_error("'" + name + "' is no dtype");
}

} // namespace

py::object unwrapConstexpr(py::handle object) {
  py::object result = py::reinterpret_borrow<py::object>(object);
  while (isConstexpr(result))
    result = result.attr("value");
  return result;
}

bool isConstexpr(py::handle object) {
  return py::type::handle_of(object).is(classes().constexprClass);
}

bool isScalarDtype(py::handle object) {
  return py::type::handle_of(object).is(classes().dtypeClass);
}

py::object makeConstexpr(py::object value) { return classes().constexprClass(std::move(value)); }

Type typeFromPython(py::handle object) {
  const py::object type = unwrapConstexpr(object);
  if (py::isinstance<py::str>(type)) {
    if (std::optional<DType> dtype = parseDType(type.cast<std::string>()))
      return Type::get(*dtype);
    throw py::type_error("'" + type.cast<std::string>() + "' is no dtype");
  }
  LanguageClasses &known = classes();
  if (py::isinstance(type, known.pointerClass)) {
    Type pointer = typeFromPython(type.attr("element_ty"));
    const int depth = pointer.pointerDepth + 1;
    if (pointer.isBlock())
      throw py::type_error("a pointer to a block is not a type of a value");
    pointer.pointerDepth = static_cast<uint8_t>(depth);
    pointer.addressSpace = type.attr("address_space").cast<uint8_t>();
    pointer.pointeeIsConst = type.attr("const").cast<bool>();
    return pointer;
  }
  if (py::isinstance(type, known.blockClass)) {
    Type element = typeFromPython(type.attr("element_ty"));
    for (py::handle size : type.attr("shape"))
      element.shape.push_back(unwrapConstexpr(size).cast<int64_t>());
    return element;
  }
  if (py::isinstance(type, known.dtypeClass))
    return Type::get(static_cast<DType>(type.attr("_code").cast<int>()));
  throw py::type_error("expected a dtype such as tl.float32, got " +
                       py::repr(type).cast<std::string>());
}

py::object typeToPython(const Type &type) {
  LanguageClasses &known = classes();
  if (type.isBlock()) {
    py::list shape;
    for (int64_t size : type.shape)
      shape.append(size);
    return known.blockClass(typeToPython(type.scalar()), shape);
  }
  if (type.isPointer()) {
    py::object &cached =
        known.pointers[{type.dtype, type.pointerDepth, type.addressSpace, type.pointeeIsConst}];
    if (!cached) {
      Type element = type;
      element.pointerDepth -= 1;
      element.pointeeIsConst = false;
      cached = known.pointerClass(typeToPython(element), type.addressSpace, type.pointeeIsConst);
    }
    return cached;
  }
  return known.scalars.at(static_cast<size_t>(type.dtype));
}

void bindTypes(py::module_ &module) {
  module.def("dtype_facts", &dtypeFacts,
             "(code, name, language name, bits, bytes, is floating, is signed) of every dtype");
  module.def("scalar_type", &namedType, "the dtype of either of its names");
  module.def(
      "pointer_type",
      [](const std::string &name, bool isConst) {
        Type pointer = namedType(name).pointerTo();
        pointer.pointeeIsConst = isConst;
        return pointer;
      },
      "a pointer to elements of the named dtype");
  module.def("scalar_bits", &scalarBits, "the bits of a scalar argument");
  module.def(
      "register_language",
      [](py::object constexprClass, py::object dtypeClass, py::object pointerClass,
         py::object blockClass, const py::list &scalars) {
        LanguageClasses &known = classes();
        known.constexprClass = std::move(constexprClass);
        known.dtypeClass = std::move(dtypeClass);
        known.pointerClass = std::move(pointerClass);
        known.blockClass = std::move(blockClass);
        known.scalars.clear();
        known.pointers.clear();
        for (py::handle scalar : scalars)
          known.scalars.push_back(py::reinterpret_borrow<py::object>(scalar));
      },
      "tells C++ the classes of blockscope.language.core");
}

} // namespace blockscope::python
