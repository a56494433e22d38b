// Keeps the table in order, whatever the order in which files were started.
#include "sanitizer/sanitizer.h"

#include "llvm/ADT/STLExtras.h"

#include <tuple>
#include <vector>

namespace blockscope::sanitizer {
namespace {

std::vector<SanitizerInfo> &table() {
  static std::vector<SanitizerInfo> table; // made by the first registration
  return table;
}

} // namespace

bool SanitizerContext::isOn(llvm::StringRef name) const {
  return llvm::any_of(
      checks, [&](const std::string &each) { return findSanitizer(each) == findSanitizer(name); });
}

uint64_t HostElements::count() const {
  uint64_t count = 1;
  for (const int64_t size : shape)
    count *= static_cast<uint64_t>(size);
  return count;
}

void HostElements::forEachRun(llvm::function_ref<bool(uint64_t, uint64_t)> visit) const {
  if (count() == 0)
    return;
  // The inner dimensions that run on in memory are one run.
  size_t outer = shape.size();
  auto runBytes = static_cast<int64_t>(elementBytes);
  while (outer > 0 && (shape[outer - 1] == 1 || strides[outer - 1] == runBytes))
    runBytes *= shape[--outer];
  std::vector<int64_t> index(outer);
  for (uint64_t at = address;;) {
    if (visit(at, at + static_cast<uint64_t>(runBytes)))
      return;
    size_t dim = outer;
    while (dim > 0 && ++index[dim - 1] == shape[dim - 1]) {
      --dim;
      at -= static_cast<uint64_t>((shape[dim] - 1) * strides[dim]);
      index[dim] = 0;
    }
    if (dim == 0)
      return;
    at += static_cast<uint64_t>(strides[dim - 1]);
  }
}

Registration::Registration(const SanitizerInfo &info) {
  const auto key = [](const SanitizerInfo &each) {
    return std::tuple(!each.isInEveryCheck, each.name);
  };
  const auto place =
      llvm::find_if(table(), [&](const SanitizerInfo &other) { return key(info) < key(other); });
  table().insert(place, info);
}

llvm::ArrayRef<SanitizerInfo> sanitizers() { return table(); }

const SanitizerInfo *findSanitizer(llvm::StringRef name) {
  const auto found = llvm::find_if(table(), [&](const SanitizerInfo &info) {
    return !name.empty() && (info.name == name || info.alias == name);
  });
  return found != table().end() ? &*found : nullptr;
}

const SanitizerOption *findOption(llvm::StringRef name) {
  for (const SanitizerInfo &info : table())
    for (const SanitizerOption &option : info.options)
      if (option.name == name)
        return &option;
  return nullptr;
}

} // namespace blockscope::sanitizer
