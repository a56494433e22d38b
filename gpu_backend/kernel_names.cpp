// A changed name ends with a hash of the whole one, so that two kernels never share one.
#include "gpu_backend/kernel_names.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

namespace blockscope::gpu {
namespace {

std::string withHash(llvm::StringRef changed, llvm::StringRef name) {
  const auto hash = static_cast<uint32_t>(llvm::xxh3_64bits(name));
  return (changed + "_" + llvm::utohexstr(hash, /*LowerCase=*/true, 8)).str();
}

/// `name` with an underscore for each byte that is no letter, digit or underscore of ASCII.
std::string plain(llvm::StringRef name) {
  std::string result;
  for (const char c : name)
    result += llvm::isAlnum(c) || c == '_' ? c : '_';
  return result;
}

/// Whether PTX, or the code that we add to a kernel, has this name for something else.
bool isTaken(llvm::StringRef name) {
  return name == "_" || name == "WARP_SZ" || name == "shared_memory" || name.starts_with("__nv_");
}

} // namespace

std::string fileStem(llvm::StringRef name) {
  constexpr size_t kMostBytes = 100; // of 255 that file systems allow
  if (name.size() <= kMostBytes)
    return name.str();
  return withHash(plain(name.take_front(kMostBytes)), name);
}

std::string symbolOf(llvm::StringRef name) {
  const std::string symbol = plain(name);
  return symbol == name && !isTaken(name) ? symbol : withHash(symbol, name);
}

} // namespace blockscope::gpu
