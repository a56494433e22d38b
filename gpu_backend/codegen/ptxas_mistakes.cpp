// Line by line: an instruction of LLVM's stands alone in its line.
#include "gpu_backend/codegen/ptxas_mistakes.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace blockscope::gpu {
namespace {

/// "a, b" of "neg.s16 a, b;" as its parts; empty where the line is another one.
llvm::SmallVector<llvm::StringRef, 4> operandsOf(llvm::StringRef line, llvm::StringRef opcode) {
  llvm::SmallVector<llvm::StringRef, 4> operands;
  line = line.trim();
  if (!line.consume_front(opcode) || line.ltrim().size() == line.size())
    return operands;
  if (!line.consume_back(";") || line.contains(';'))
    return operands;
  line.split(operands, ',');
  for (llvm::StringRef &operand : operands)
    operand = operand.trim();
  return operands;
}

bool isFloat(llvm::StringRef operand) {
  return operand.starts_with("0f") || operand.starts_with("0d");
}

bool isNegativeZero(llvm::StringRef operand) {
  return operand == "0f80000000" || operand == "0d8000000000000000";
}

/// A float constant as the bits it stands for: 0f80000000 as 0x80000000.
std::string asBits(llvm::StringRef operand) {
  return isFloat(operand) ? "0x" + operand.drop_front(2).str() : operand.str();
}

/// What takes the place of a line of PTX with or without lop3; empty where it stays.
std::string mended(llvm::StringRef line, bool hasLop3) {
  for (const llvm::StringRef type : {"b32", "s32", "u32"}) {
    const auto isZero = hasLop3 ? operandsOf(line, ("setp.eq." + type).str())
                                : llvm::SmallVector<llvm::StringRef, 4>();
    if (isZero.size() == 3 && isZero[2] == "0")
      return llvm::formatv("\tsetp.lt.u32 \t{0}, {1}, 1;", isZero[0], isZero[1]);
  }
  if (const auto neg = operandsOf(line, "neg.s16"); neg.size() == 2)
    return llvm::formatv("\tmul.lo.s16 \t{0}, {1}, -1;", neg[0], neg[1]);
  // In place, as inline assembly of users may be, its operand would be gone.
  if (const auto abs = operandsOf(line, "abs.s16"); abs.size() == 2 && abs[0] != abs[1])
    return llvm::formatv("\tmul.lo.s16 \t{0}, {1}, -1;\n\tmax.s16 \t{0}, {0}, {1};", abs[0],
                         abs[1]);
  for (const llvm::StringRef bits : {"32", "64"}) {
    const auto select = operandsOf(line, ("selp.f" + bits).str());
    if (select.size() == 4 && (isNegativeZero(select[1]) || isNegativeZero(select[2])))
      return llvm::formatv("\tselp.b{0} \t{1}, {2}, {3}, {4};", bits, select[0], asBits(select[1]),
                           asBits(select[2]), select[3]);
  }
  return {};
}

} // namespace

std::string withoutPtxasMistakes(llvm::StringRef ptx) {
  const bool hasLop3 = ptx.contains("lop3.b32");
  std::string result;
  result.reserve(ptx.size());
  while (!ptx.empty()) {
    const auto [line, rest] = ptx.split('\n');
    const std::string other = mended(line, hasLop3);
    result += other.empty() ? line : llvm::StringRef(other);
    if (line.size() < ptx.size())
      result += '\n';
    ptx = rest;
  }
  return result;
}

} // namespace blockscope::gpu
