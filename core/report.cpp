// Findings as text for people; what is printed is decided here and nowhere else.
#include "core/report.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

namespace blockscope {

namespace {

constexpr FindingCode kCodes[] = {
#define BLK_FINDING(enumerator, code, severity, summary) {code, Severity::severity, summary},
#include "core/finding_codes.def"
#undef BLK_FINDING
};

constexpr llvm::StringLiteral kBold = "\033[1m", kRed = "\033[1;31m", kMagenta = "\033[1;35m",
                              kCyan = "\033[36m", kReset = "\033[0m";

/// Text with colours that are left out where they are not wanted.
class Printer {
public:
  explicit Printer(bool color) : color_(color) {}

  void line(llvm::StringRef label, const llvm::Twine &text) {
    text_ += "  ";
    style(kCyan, label);
    text_ += (": " + text + "\n").str();
  }
  void style(llvm::StringRef style, llvm::StringRef text) {
    if (color_)
      text_ += style;
    text_ += text;
    if (color_)
      text_ += kReset;
  }
  void add(const llvm::Twine &text) { text_ += text.str(); }
  std::string take() { return std::move(text_); }

private:
  bool color_;
  std::string text_;
};

std::string triple(const std::array<int32_t, 3> &values) {
  return llvm::formatv("({0}, {1}, {2})", values[0], values[1], values[2]).str();
}

std::string list(llvm::ArrayRef<int64_t> values) {
  return "[" +
         llvm::join(llvm::map_range(values, [](int64_t v) { return std::to_string(v); }), ", ") +
         "]";
}

std::string place(const SourceLocation &location) {
  if (!location.isKnown())
    return "<unknown>";
  return llvm::formatv("{0}:{1}:{2}", location.file, location.line, location.column).str();
}

/// Returns line `number` of a file, or nothing when the file cannot be read.
std::optional<std::string> sourceLine(const std::string &file, int32_t number) {
  auto buffer = llvm::MemoryBuffer::getFile(file, /*IsText=*/true);
  if (!buffer || number < 1)
    return std::nullopt;
  llvm::StringRef rest = (*buffer)->getBuffer(), line;
  for (int32_t i = 0; i < number; ++i) {
    if (rest.empty())
      return std::nullopt;
    std::tie(line, rest) = rest.split('\n');
  }
  return line.rtrim("\r").str();
}

void printSource(Printer &out, const SourceLocation &location) {
  const auto text = sourceLine(location.file, location.line);
  if (!text)
    return;
  const std::string number = std::to_string(location.line);
  out.add(llvm::Twine("  ") + number + " | " + *text + "\n");
  if (location.column < 1 || location.column > static_cast<int32_t>(text->size()) + 1)
    return;
  std::string lead = text->substr(0, location.column - 1);
  for (char &c : lead)
    c = c == '\t' ? '\t' : ' ';
  out.add(llvm::Twine("  ") + std::string(number.size(), ' ') + " | " + lead + "^\n");
}

void printCallers(Printer &out, const SourceLocation &location) {
  for (const SourceLocation *caller = location.caller.get(); caller; caller = caller->caller.get())
    out.line("called from",
             place(*caller) + (caller->function.empty() ? "" : " in " + caller->function));
}

std::string siteText(const AccessSite &site) {
  std::string text = "program " + triple(site.program);
  if (!site.blockShape.empty()) {
    text += ", lane " + std::to_string(site.lane);
    if (site.blockShape.size() > 1)
      text += " = " + list(site.laneIndex);
    text += " of block " + list(site.blockShape);
  }
  if (!site.loopIterations.empty())
    text += (site.loopIterations.size() == 1 ? ", loop at " : ", loops at ") +
            list(site.loopIterations);
  return text;
}

std::string tensorText(const Finding &finding) {
  const TensorInfo &tensor = *finding.tensor;
  std::string text = tensor.name + ", " + tensor.dtype + " " + list(tensor.shape);
  if (!tensor.strides.empty())
    text += ", strides " + list(tensor.strides);
  if (!finding.elementIndex.empty())
    text += "; element " + list(finding.elementIndex) + " at byte " +
            std::to_string(finding.byteOffset);
  if (finding.distanceBytes != 0)
    text += llvm::formatv(", {0} byte{1} {2}", std::abs(finding.distanceBytes),
                          std::abs(finding.distanceBytes) == 1 ? "" : "s",
                          finding.distanceBytes < 0 ? "before the start" : "past the end")
                .str();
  return text;
}

std::string pairs(llvm::ArrayRef<std::pair<std::string, std::string>> values) {
  return llvm::join(
      llvm::map_range(values, [](const auto &v) { return v.first + " = " + v.second; }), ", ");
}

void printOther(Printer &out, const AccessSite &other) {
  std::string text =
      (accessKindName(other.kind) + " at " + place(other.location)).str() + ", " + siteText(other);
  if (!other.semantics.empty())
    text += " (" + other.semantics + ")";
  if (!other.value.empty())
    text += ", value " + other.value;
  out.line("other side", text);
  printSource(out, other.location);
  printCallers(out, other.location);
}

} // namespace

llvm::ArrayRef<FindingCode> findingCodes() { return kCodes; }

std::optional<FindingCode> findFindingCode(llvm::StringRef code) {
  for (const FindingCode &known : kCodes)
    if (known.code == code)
      return known;
  return std::nullopt;
}

llvm::StringRef severityName(Severity severity) {
  switch (severity) {
  case Severity::Note:
    return "note";
  case Severity::Warning:
    return "warning";
  case Severity::Error:
    return "error";
  }
  return "error";
}

llvm::StringRef accessKindName(AccessKind kind) {
  switch (kind) {
  case AccessKind::Load:
    return "load";
  case AccessKind::Store:
    return "store";
  case AccessKind::AtomicRmw:
    return "atomic";
  case AccessKind::AtomicCas:
    return "atomic compare-and-swap";
  }
  return "access";
}

std::string findingAsText(const Finding &finding, bool color) {
  Printer out(color);
  out.style(kBold, place(finding.site.location));
  out.add(": ");
  out.style(finding.severity == Severity::Error ? kRed : kMagenta,
            (severityName(finding.severity) + "[" + finding.code + "]").str());
  out.add(": " + llvm::Twine(finding.message) + "\n");
  printSource(out, finding.site.location);
  printCallers(out, finding.site.location);
  out.line("where", "kernel '" + finding.kernel + "', " + siteText(finding.site) + ", grid " +
                        triple(finding.grid));
  if (finding.tensor)
    out.line("tensor", tensorText(finding));
  if (!finding.site.semantics.empty())
    out.line("order", finding.site.semantics);
  if (!finding.values.empty())
    out.line("values", pairs(finding.values));
  if (finding.other)
    printOther(out, *finding.other);
  if (!finding.model.empty())
    out.line("model", finding.model);
  if (!finding.metaParameters.empty())
    out.line("launch", "number " + llvm::Twine(finding.launchIndex) + " with " +
                           pairs(finding.metaParameters));
  if (finding.count > 1)
    out.line("count", llvm::Twine(finding.count) + " times, in " +
                          llvm::Twine(finding.programCount) +
                          (finding.programCount == 1 ? " program" : " programs"));
  if (!finding.hint.empty())
    out.line("hint", finding.hint);
  return out.take();
}

std::string findingsAsText(llvm::ArrayRef<Finding> findings, bool color) {
  std::string text;
  size_t errors = 0, warnings = 0;
  for (const Finding &finding : findings) {
    text += findingAsText(finding, color) + "\n";
    errors += finding.severity == Severity::Error;
    warnings += finding.severity == Severity::Warning;
  }
  text += llvm::formatv("{0} error{1}, {2} warning{3}", errors, errors == 1 ? "" : "s", warnings,
                        warnings == 1 ? "" : "s")
              .str();
  return text;
}

} // namespace blockscope
