// The words for who waits for whom; the text of reports and the viewer share them.
#include "core/report.h"

#include "llvm/Support/FormatVariadic.h"

#include <filesystem>

namespace blockscope {

namespace {

/// "line 11 (from line 23)": a place, and the statement of the kernel that led there.
std::string lineText(const Finding &finding, const SourceLocation &location) {
  const auto one = [&](const SourceLocation &each) {
    const std::string line = "line " + std::to_string(each.line);
    return each.file == finding.site.location.file
               ? line
               : std::filesystem::path(each.file).filename().string() + " " + line;
  };
  const SourceLocation *outermost = &location;
  while (outermost->caller)
    outermost = outermost->caller.get();
  return one(location) + (outermost == &location ? "" : " (from " + one(*outermost) + ")");
}

std::string holderText(const Finding &finding, const Holder &holder) {
  const std::string program = "program " + programName(holder.program, finding.launch->grid);
  const std::string place = " in " + lineText(finding, holder.location);
  const std::string did = holder.hasTaken ? "taken by " : "last changed by ";
  switch (holder.state) {
  case Holder::State::Ended:
    return did + program + place + ", which has ended";
  case Holder::State::Waits:
    return did + program + place + ", which waits, too";
  case Holder::State::Itself:
    return did + "itself" + place;
  }
  return "";
}

} // namespace

std::string programName(const std::array<int32_t, 3> &program, const std::array<int32_t, 3> &grid) {
  if (grid[1] == 1 && grid[2] == 1)
    return std::to_string(program[0]);
  return llvm::formatv("({0}, {1}, {2})", program[0], program[1], program[2]).str();
}

std::string waitText(const Finding &finding, const Wait &wait) {
  return "in " + lineText(finding, wait.location) + " for " + wait.element +
         (wait.value.empty() ? "" : " = " + wait.value);
}

std::string holderText(const Finding &finding, const Wait &wait) {
  if (wait.isUntouched)
    return "which no program of this launch has changed";
  return wait.holder ? holderText(finding, *wait.holder) : "";
}

} // namespace blockscope
