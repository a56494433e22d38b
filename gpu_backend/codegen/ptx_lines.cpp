#include "gpu_backend/codegen/ptx_lines.h"

#include "llvm/ADT/StringExtras.h"

namespace blockscope::gpu {
namespace {

/// Where the line with the brace that ends a kernel begins; assembly of users may have such, too.
size_t endOfBody(llvm::StringRef ptx, size_t begin) {
  bool isInAssembly = false;
  for (size_t at = begin; at < ptx.size();) {
    const llvm::StringRef line = ptx.drop_front(at).split('\n').first;
    if (line == "}" && !isInAssembly)
      return at;
    isInAssembly = line.contains(kBeginAssembly) || (isInAssembly && !line.contains(kEndAssembly));
    at += line.size() + 1;
  }
  return llvm::StringRef::npos;
}

} // namespace

std::optional<PtxBody> bodyOf(llvm::StringRef ptx) {
  constexpr llvm::StringLiteral kAttribute = ".reqntid ", kBrace = "\n{\n";
  const size_t entry = ptx.find(kAttribute);
  const size_t brace = entry == llvm::StringRef::npos ? entry : ptx.find(kBrace, entry);
  if (brace == llvm::StringRef::npos)
    return std::nullopt;
  const size_t begin = brace + kBrace.size(), end = endOfBody(ptx, begin);
  if (end == llvm::StringRef::npos || ptx.find(kAttribute, begin) != llvm::StringRef::npos)
    return std::nullopt;
  return PtxBody{begin, end};
}

llvm::SmallVector<llvm::StringRef, 8> registersOf(llvm::StringRef line) {
  llvm::SmallVector<llvm::StringRef, 8> names;
  for (size_t at = line.find('%'); at != llvm::StringRef::npos; at = line.find('%', at + 1))
    names.push_back(line.substr(at).take_while(
        [](char c) { return c == '%' || llvm::isAlnum(c) || c == '_' || c == '.'; }));
  return names;
}

bool isLoadLine(llvm::StringRef line) { return line.contains("ld.global"); }

bool endsLoads(llvm::StringRef line) {
  const llvm::StringRef code = line.trim();
  if (code.starts_with("//"))
    return false;
  if (code.starts_with("$") && code.contains(':'))
    return !code.starts_with("$L__tmp"); // where nothing branches to
  for (const llvm::StringRef text :
       {"bra", "ret;", "st.", "bar.", "barrier", "atom", "red.", "call", "fence", "membar",
        "cp.async", "mma", "trap", "exit", "ld.acquire", "ld.relaxed", "ld.volatile"})
    if (code.contains(text))
      return true;
  return false;
}

} // namespace blockscope::gpu
