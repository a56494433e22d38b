// The type of a value of the language.
#include "core/type.h"

namespace blockscope {

int64_t Type::numElements() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

Type Type::scalar() const { return withShape({}); }

Type Type::withShape(llvm::ArrayRef<int64_t> shape) const {
  Type result = *this;
  result.shape.assign(shape.begin(), shape.end());
  return result;
}

Type Type::withDType(DType dtype) const { return get(dtype, shape); }

Type Type::pointee() const {
  Type result = *this;
  if (result.pointerDepth > 0 && --result.pointerDepth == 0) {
    result.addressSpace = 1;
    result.pointeeIsConst = false;
  }
  return result;
}

Type Type::pointerTo() const {
  Type result = *this;
  ++result.pointerDepth;
  return result;
}

std::string Type::str() const {
  std::string element;
  for (int depth = 0; depth < pointerDepth; ++depth)
    element += pointeeIsConst && depth == 0 ? "const_pointer<" : "pointer<";
  element += dtypeName(dtype);
  element.append(pointerDepth, '>');
  if (shape.empty())
    return element;
  std::string text = "<[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i == 0 ? "'" : ", '") + std::to_string(shape[i]) + "'";
  return text + "], " + element + ">";
}

Type Type::get(DType dtype, llvm::ArrayRef<int64_t> shape) {
  Type result;
  result.dtype = dtype;
  result.shape.assign(shape.begin(), shape.end());
  return result;
}

bool Type::operator==(const Type &other) const {
  return dtype == other.dtype && pointerDepth == other.pointerDepth &&
         addressSpace == other.addressSpace && pointeeIsConst == other.pointeeIsConst &&
         shape == other.shape;
}

} // namespace blockscope
