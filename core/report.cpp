// Findings as text for people; what is printed is decided here and nowhere else.
#include "core/report.h"

#include "core/source_text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <filesystem>

namespace blockscope {

namespace {

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

/// Files below the current folder by their path from there, as the script's own.
llvm::StringRef shortPath(llvm::StringRef file) {
  std::error_code error;
  const std::string folder = std::filesystem::current_path(error).string() + "/";
  llvm::StringRef rest = file;
  return !error && rest.consume_front(folder) ? rest : file;
}

std::string place(const SourceLocation &location) {
  if (!location.isKnown())
    return "<unknown>";
  return llvm::formatv("{0}:{1}:{2}", shortPath(location.file), location.line, location.column)
      .str();
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

std::string executionText(const Execution &ran) {
  std::string text = "program " + triple(ran.program);
  if (!ran.blockShape.empty()) {
    text += ", lane " + std::to_string(ran.lane);
    if (ran.blockShape.size() > 1)
      text += " = " + list(ran.laneIndex);
    text += " of block " + list(ran.blockShape);
  }
  if (ran.loopIterations.size() == 1)
    text += ", iteration " + std::to_string(ran.loopIterations.front()) + " of the loop";
  else if (!ran.loopIterations.empty())
    text += ", iterations " + list(ran.loopIterations) + " of the loops";
  return text;
}

/// Where an access of some bytes is, seen from the nearest valid byte.
std::string distanceText(int64_t distanceBytes, int64_t accessBytes) {
  const auto bytes = [](int64_t count) {
    return std::to_string(count) + (count == 1 ? " byte " : " bytes ");
  };
  if (distanceBytes < 0)
    return bytes(-distanceBytes) + "before the start";
  const int64_t begin = distanceBytes - accessBytes; // from the end to the first byte
  if (begin < 0)
    return "the last " + bytes(distanceBytes) + "past the end";
  return begin == 0 ? "right past the end" : bytes(begin) + "past the end";
}

std::string elementText(const Element &element, int64_t accessBytes) {
  const TensorInfo &tensor = element.tensor;
  std::string text = tensor.name + ", " + tensor.dtype + " " + list(tensor.shape);
  if (!tensor.strides.empty())
    text += ", strides " + list(tensor.strides);
  if (!element.index.empty())
    text += "; element " + list(element.index) + " at byte " + std::to_string(element.byteOffset);
  if (element.distanceBytes != 0)
    text += ", " + distanceText(element.distanceBytes, accessBytes);
  return text;
}

std::string pairs(llvm::ArrayRef<std::pair<std::string, std::string>> values) {
  return llvm::join(
      llvm::map_range(values, [](const auto &v) { return v.first + " = " + v.second; }), ", ");
}

/// One place beside the one of the finding, with its line.
void printRelated(Printer &out, const Site &site) {
  std::string text = place(site.location);
  if (const std::optional<Execution> &ran = site.execution) {
    if (ran->access)
      text = (accessKindName(*ran->access) + " at " + text).str();
    text += ", " + executionText(*ran);
    if (!ran->semantics.empty())
      text += " (" + ran->semantics + ")";
    if (!ran->value.empty())
      text += ", value " + ran->value;
  }
  out.line(labelOf(site.role), text);
  printSource(out, site.location);
  printCallers(out, site.location);
}

/// "line 12, other.py:3:1": where the same holds too.
std::string alsoText(const Finding &finding) {
  const SourceLocation &here = finding.site.location;
  const std::string hereText = "line " + std::to_string(here.line);
  std::vector<std::string> places;
  for (const Site &site : finding.related) {
    if (site.role != SiteRole::Here)
      continue;
    std::string text = site.location.file == here.file
                           ? "line " + std::to_string(site.location.line)
                           : place(site.location);
    if (text != hereText && !llvm::is_contained(places, text))
      places.push_back(std::move(text));
  }
  return llvm::join(places, ", ");
}

/// "62 %", "under 1 %".
std::string percent(double share) {
  return share < 0.01 ? "under 1 %" : llvm::formatv("{0:F0} %", share * 100).str();
}

constexpr size_t kMostOfALine = 72; // of a line that is shown beside others

/// The lines that bring an error, with their text.
void printShares(Printer &out, const Finding &finding) {
  if (finding.shares.empty())
    return;
  out.style(kCyan, "  error from");
  out.add(":\n");
  double rest = 1;
  for (const ErrorShare &each : finding.shares) {
    rest -= each.share;
    const bool isHere = each.location.file == finding.site.location.file;
    const std::string where =
        (isHere ? "" : std::filesystem::path(each.location.file).filename().string() + " ") +
        "line " + std::to_string(each.location.line);
    auto text = sourceLine(each.location.file, each.location.line);
    if (text && llvm::StringRef(*text).trim().size() > kMostOfALine)
      text = (llvm::StringRef(*text).trim().take_front(kMostOfALine - 3) + "...").str();
    out.add(llvm::formatv("    {0,9}  {1}, {2}", percent(each.share), where, each.what).str());
    out.add(text ? ":  " + llvm::StringRef(*text).trim() + "\n" : llvm::Twine("\n"));
  }
  if (rest >= 0.01)
    out.add(llvm::formatv("    {0,9}  other lines\n", percent(rest)).str());
}

/// Who waits for whom; programs that wait for the same are in one line.
void printWaits(Printer &out, const Finding &finding) {
  if (!finding.waiting || !finding.launch)
    return;
  const std::vector<Wait> &waits = finding.waiting->waits;
  const auto textOf = [&](const Wait &wait) {
    const std::string holder = holderText(finding, wait);
    return waitText(finding, wait) + (holder.empty() ? "" : ", " + holder);
  };
  out.style(kCyan, "  waiting");
  out.add(":\n");
  for (size_t begin = 0, end = 0; begin < waits.size(); begin = end) {
    const std::string text = textOf(waits[begin]);
    std::string names;
    for (; end < waits.size() && textOf(waits[end]) == text; ++end)
      names += (end == begin ? "" : ", ") + programName(waits[end].program, finding.launch->grid);
    out.add("    program" + llvm::Twine(end - begin == 1 ? " " : "s ") + names + " " + text + "\n");
  }
  if (const int64_t more = finding.waiting->programs - static_cast<int64_t>(waits.size()); more > 0)
    out.add("    and " + llvm::Twine(more) + " more\n");
}

/// The launch, and the execution that found it.
void printRun(Printer &out, const Finding &finding) {
  const LaunchFacts &launch = *finding.launch;
  std::string where = "kernel '" + launch.kernel + "', ";
  if (finding.site.execution)
    where += executionText(*finding.site.execution) + ", ";
  out.line("where", where + "grid " + triple(launch.grid));
}

} // namespace

llvm::StringRef labelOf(SiteRole role) {
  switch (role) {
  case SiteRole::Here:
    return "also";
  case SiteRole::OtherSide:
    return "other side";
  case SiteRole::AllocatedAt:
    return "allocated at";
  case SiteRole::BornAt:
    return "born at";
  case SiteRole::Through:
    return "through";
  case SiteRole::ReadAt:
    return "read at";
  case SiteRole::ArrivesAt:
    return "arrives at";
  case SiteRole::UsedAt:
    return "used at";
  case SiteRole::ChangedAt:
    return "last changed at";
  }
  return "";
}

llvm::StringRef accessKindName(AccessKind kind) {
  switch (kind) {
  case AccessKind::Load:
    return "load";
  case AccessKind::Store:
    return "store";
  case AccessKind::AtomicLoad:
    return "atomic load";
  case AccessKind::AtomicStore:
    return "atomic store";
  case AccessKind::AtomicRmw:
    return "atomic";
  case AccessKind::AtomicCas:
    return "atomic compare-and-swap";
  }
  return "access";
}

std::string findingAsText(const Finding &finding, bool color) {
  Printer out(color);
  const std::optional<Execution> &ran = finding.site.execution;
  out.style(kBold, place(finding.site.location));
  out.add(": ");
  out.style(finding.severity == Severity::Error ? kRed : kMagenta,
            std::string(severityName(finding.severity)) + "[" +
                std::string(codeText(finding.code)) + "]");
  out.add(": " + llvm::Twine(finding.message) + "\n");
  printSource(out, finding.site.location);
  printCallers(out, finding.site.location);
  if (finding.launch)
    printRun(out, finding);
  if (finding.element)
    out.line("tensor", elementText(*finding.element, ran ? ran->accessBytes : 0));
  if (ran && !ran->semantics.empty())
    out.line("order", ran->semantics);
  if (!finding.values.empty())
    out.line("values", pairs(finding.values));
  printWaits(out, finding);
  for (const Site &site : finding.related)
    if (site.role != SiteRole::Here)
      printRelated(out, site);
  printShares(out, finding);
  if (const std::string also = alsoText(finding); !also.empty())
    out.line(labelOf(SiteRole::Here), also);
  if (!finding.model.empty())
    out.line("model", finding.model);
  if (finding.launch) {
    const NamedValues &values = finding.launch->metaParameters;
    out.line("launch", "number " + llvm::Twine(finding.launch->index) +
                           (values.empty() ? "" : " with " + pairs(values)));
  }
  if (finding.count > 1 && finding.programCount == 0)
    out.line("count",
             llvm::Twine(finding.count) + (finding.code == FindingCode::UndefinedValue
                                               ? " reads by the host, those of copies included"
                                           : finding.element ? " elements"
                                                             : " times"));
  else if (finding.count > 1)
    out.line("count", llvm::Twine(finding.count) + " times, in " +
                          llvm::Twine(finding.programCount) +
                          (finding.programCount == 1 ? " program" : " programs"));
  if (!finding.cost.empty())
    out.line("cost", finding.cost);
  if (!finding.hint.empty())
    out.line("hint", finding.hint);
  return out.take();
}

std::string findingsAsText(llvm::ArrayRef<Finding> findings, bool color) {
  std::string text;
  size_t errors = 0, warnings = 0, notes = 0;
  for (const Finding &finding : findings) {
    text += findingAsText(finding, color) + "\n";
    errors += finding.severity == Severity::Error;
    warnings += finding.severity == Severity::Warning;
    notes += finding.severity == Severity::Note;
  }
  text += llvm::formatv("{0} error{1}, {2} warning{3}", errors, errors == 1 ? "" : "s", warnings,
                        warnings == 1 ? "" : "s")
              .str();
  if (notes != 0)
    text += llvm::formatv(", {0} note{1}", notes, notes == 1 ? "" : "s").str();
  return text;
}

} // namespace blockscope
