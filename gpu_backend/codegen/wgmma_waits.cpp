// LLVM moves arithmetic freely between inline assembly, of which waits are.
#include "gpu_backend/codegen/wgmma_waits.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

namespace blockscope::gpu {
namespace {

/// Whether a line of PTX only computes in registers.
bool isArithmetic(llvm::StringRef line) {
  line = line.trim();
  if (line.empty() || line.starts_with("//") || line.starts_with(".loc"))
    return !line.contains("asm"); // "begin inline asm"
  return line.ends_with(";") && !line.starts_with("@") && !line.starts_with("{") &&
         !line.starts_with("ld.") && !line.starts_with("st.") && !line.starts_with("bar") &&
         !line.starts_with("bra") && !line.starts_with("call") && !line.starts_with("ret");
}

} // namespace

std::string withWaitsFirst(llvm::StringRef ptx, bool inLoops) {
  constexpr llvm::StringLiteral kWait = "wgmma.wait_group.sync.aligned 0;";
  constexpr size_t kFew = 8;
  llvm::SmallVector<llvm::StringRef> lines, result;
  ptx.split(lines, '\n');
  llvm::StringSet<> labels;
  bool isBehindLoop = false;
  size_t begin = 0, count = 0; // of the arithmetic that ends `result`
  for (size_t i = 0; i < lines.size(); ++i) {
    const bool isLabel = lines[i].starts_with("$L__BB");
    if (isLabel) {
      labels.insert(lines[i].split(':').first);
      const llvm::StringRef before = result.empty() ? llvm::StringRef() : result.back();
      isBehindLoop = labels.contains(before.split("bra").second.trim().rtrim(';'));
    }
    if (i + 2 < lines.size() && lines[i].contains("begin inline asm") &&
        lines[i + 1].trim() == kWait && count > 0 && (isBehindLoop || (inLoops && count <= kFew))) {
      result.insert(result.begin() + static_cast<ptrdiff_t>(begin),
                    {lines[i], lines[i + 1], lines[i + 2]});
      i += 2;
      begin += 3;
      continue;
    }
    result.push_back(lines[i]);
    if (isLabel || !isArithmetic(lines[i])) {
      isBehindLoop = isBehindLoop && isLabel;
      begin = result.size();
      count = 0;
    } else if (lines[i].trim().ends_with(";")) {
      ++count;
    }
  }
  return llvm::join(result, "\n");
}

} // namespace blockscope::gpu
