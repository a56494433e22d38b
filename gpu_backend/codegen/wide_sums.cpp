// Line by line: an instruction of LLVM's stands alone in its line.
#include "gpu_backend/codegen/wide_sums.h"

#include "gpu_backend/codegen/ptx_lines.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <optional>

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

namespace {

/// A mul.wide by a power of two: mul.wide.s32 %rd1, %r2, 8;
struct WideProduct {
  llvm::StringRef type, result, factor;
  unsigned shift = 0;
};

std::optional<WideProduct> wideProductOf(llvm::StringRef line) {
  line = line.trim();
  llvm::SmallVector<llvm::StringRef, 4> operands;
  if (!line.consume_front("mul.wide.") || !line.consume_back(";"))
    return std::nullopt;
  line.drop_front(3).split(operands, ',');
  uint64_t by = 0;
  if (operands.size() != 3 || operands[2].trim().getAsInteger(10, by) || !llvm::isPowerOf2_64(by) ||
      !operands[0].trim().starts_with("%rd"))
    return std::nullopt;
  return WideProduct{line.take_front(3), operands[0].trim(), operands[1].trim(), llvm::Log2_64(by)};
}

/// Lines from a label to the last branch back to it.
struct LineRange {
  size_t begin, end;
};

/// Of the loops that have wgmma themselves or around them.
llvm::SmallVector<LineRange> loopsOfWgmma(llvm::ArrayRef<llvm::StringRef> lines) {
  llvm::StringMap<size_t> labels;
  llvm::SmallVector<LineRange> loops;
  for (auto [i, line] : llvm::enumerate(lines)) {
    if (line.starts_with("$L__BB"))
      labels[line.split(':').first] = i;
    else if (line.contains("bra"))
      if (const auto label =
              labels.find(line.split("bra").second.trim().rtrim(';').ltrim(".uni \t"));
          label != labels.end())
        loops.push_back({label->second, i});
  }
  llvm::erase_if(loops, [&](const LineRange &loop) {
    return llvm::none_of(lines.slice(loop.begin, loop.end - loop.begin),
                         [](llvm::StringRef line) { return line.contains("wgmma.mma_async"); });
  });
  return loops;
}

} // namespace

std::string withOffsetsShifted(llvm::StringRef ptx) {
  if (!ptx.contains("wgmma.mma_async"))
    return ptx.str();
  llvm::SmallVector<llvm::StringRef> lines;
  ptx.split(lines, '\n');
  const llvm::SmallVector<LineRange> loops = loopsOfWgmma(lines);
  llvm::StringSet<> used;
  for (const LineRange &loop : loops)
    for (size_t i = loop.begin; i < loop.end; ++i)
      for (const llvm::StringRef name : registersOf(lines[i]))
        used.insert(name);
  const auto isInLoop = [&](size_t at) {
    return llvm::any_of(loops,
                        [&](const LineRange &loop) { return loop.begin <= at && at < loop.end; });
  };
  // ptxas makes what is before a loop again in it, sums of products too.
  for (size_t i = lines.size(); i-- > 0;) {
    const llvm::StringRef line = lines[i].trim();
    if (isInLoop(i) || !(line.starts_with("add.s64") || line.starts_with("sub.s64") ||
                         line.starts_with("mov.b64") || line.starts_with("mad.wide.")))
      continue;
    const auto names = registersOf(line);
    if (!names.empty() && used.contains(names.front()))
      for (const llvm::StringRef name : llvm::drop_begin(names))
        used.insert(name);
  }
  std::string result;
  result.reserve(ptx.size());
  for (auto [i, line] : llvm::enumerate(lines)) {
    const auto product = wideProductOf(line);
    if (product && (isInLoop(i) || used.contains(product->result)))
      result += llvm::formatv("\tcvt.{0}64.{1} \t{2}, {3};\n\tshl.b64 \t{2}, {2}, {4};",
                              product->type.take_front(), product->type, product->result,
                              product->factor, product->shift);
    else
      result += line;
    if (i + 1 < lines.size())
      result += '\n';
  }
  return result;
}

} // namespace blockscope::gpu
