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
  const auto found = llvm::find_if(
      table(), [&](const SanitizerInfo &info) { return !name.empty() && info.name == name; });
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
