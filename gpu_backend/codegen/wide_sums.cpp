// Line by line: an instruction of LLVM's stands alone in its line.
#include "gpu_backend/codegen/wide_sums.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace blockscope::gpu {

std::string withWideSumsApart(llvm::StringRef ptx) {
  std::string result;
  result.reserve(ptx.size());
  while (!ptx.empty()) {
    const size_t end = ptx.find('\n');
    const llvm::StringRef line = ptx.take_front(end == llvm::StringRef::npos ? end : end + 1);
    ptx = ptx.drop_front(line.size());
    llvm::StringRef rest = line.trim();
    llvm::SmallVector<llvm::StringRef, 5> operands;
    if (rest.consume_front("mad.wide.") && rest.consume_back(";"))
      rest.drop_front(3).split(operands, ',');
    for (llvm::StringRef &operand : operands)
      operand = operand.trim();
    // The result is where the product waits for its sum, so it must not be what is added.
    if (operands.size() == 4 && operands[0] != operands[3] && operands[0].starts_with("%rd"))
      result +=
          llvm::formatv("\tmul.wide.{0} \t{1}, {2}, {3};\n\tadd.s64 \t{1}, {4}, {1};\n",
                        rest.take_front(3), operands[0], operands[1], operands[2], operands[3]);
    else
      result += line;
  }
  return result;
}

} // namespace blockscope::gpu
