// Attributes of an op: a short list with linear look-up.
#include "core/attributes.h"

namespace blockscope {
namespace {

template <typename T> const T *findAs(const Attributes &attributes, llvm::StringRef name) {
  const Attribute *attribute = attributes.find(name);
  return attribute ? std::get_if<T>(attribute) : nullptr;
}

} // namespace

void Attributes::set(llvm::StringRef name, Attribute value) {
  for (NamedAttribute &entry : list_)
    if (entry.name == name) {
      entry.value = std::move(value);
      return;
    }
  list_.push_back({name.str(), std::move(value)});
}

const Attribute *Attributes::find(llvm::StringRef name) const {
  for (const NamedAttribute &entry : list_)
    if (entry.name == name)
      return &entry.value;
  return nullptr;
}

bool Attributes::getBool(llvm::StringRef name, bool otherwise) const {
  const auto *value = findAs<bool>(*this, name);
  return value ? *value : otherwise;
}

int64_t Attributes::getInt(llvm::StringRef name, int64_t otherwise) const {
  const auto *value = findAs<int64_t>(*this, name);
  return value ? *value : otherwise;
}

double Attributes::getFloat(llvm::StringRef name, double otherwise) const {
  const auto *value = findAs<double>(*this, name);
  return value ? *value : otherwise;
}

llvm::StringRef Attributes::getString(llvm::StringRef name, llvm::StringRef otherwise) const {
  const auto *value = findAs<std::string>(*this, name);
  return value ? llvm::StringRef(*value) : otherwise;
}

llvm::ArrayRef<int64_t> Attributes::getInts(llvm::StringRef name) const {
  const auto *value = findAs<std::vector<int64_t>>(*this, name);
  return value ? llvm::ArrayRef<int64_t>(*value) : llvm::ArrayRef<int64_t>();
}

} // namespace blockscope
