// The table of core/finding_codes.def.
#include "core/finding_codes.h"

namespace blockscope {
namespace {

constexpr FindingCodeInfo kCodes[] = {
    {FindingCode::Unknown, "unknown", Severity::Error, "a code of a later version", false},
#define BLK_FINDING(enumerator, code, severity, summary)                                           \
  {FindingCode::enumerator, code, Severity::severity, summary, false},
#define BLK_NOTE(enumerator, code, severity, summary)                                              \
  {FindingCode::enumerator, code, Severity::severity, summary, true},
#include "core/finding_codes.def"
#undef BLK_NOTE
#undef BLK_FINDING
};

} // namespace

std::span<const FindingCodeInfo> findingCodes() { return std::span(kCodes).subspan(1); }

const FindingCodeInfo &infoOf(FindingCode code) { return kCodes[static_cast<size_t>(code)]; }

std::string_view codeText(FindingCode code) { return infoOf(code).text; }

std::optional<FindingCode> parseFindingCode(std::string_view text) {
  for (const FindingCodeInfo &info : findingCodes())
    if (info.text == text)
      return info.code;
  return std::nullopt;
}

std::string_view severityName(Severity severity) {
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

std::optional<Severity> parseSeverity(std::string_view text) {
  for (const Severity severity : {Severity::Note, Severity::Warning, Severity::Error})
    if (severityName(severity) == text)
      return severity;
  return std::nullopt;
}

} // namespace blockscope
