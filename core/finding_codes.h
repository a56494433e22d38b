// The kinds of findings: what checks find in a run, and what the GPU compiler notes of a kernel. No
// LLVM here: the viewer includes this.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace blockscope {

enum class Severity : uint8_t { Note, Warning, Error };

/// One of core/finding_codes.def.
enum class FindingCode : uint8_t {
  Unknown, ///< of a trace that a later version wrote
#define BLK_FINDING(enumerator, code, severity, summary) enumerator,
#define BLK_NOTE(enumerator, code, severity, summary) enumerator,
#include "core/finding_codes.def"
#undef BLK_NOTE
#undef BLK_FINDING
};

struct FindingCodeInfo {
  FindingCode code;
  std::string_view text; ///< "oob-load"
  Severity severity;     ///< unless a finding says otherwise
  std::string_view summary;
  bool isNote; ///< of the GPU compiler: what may cost speed
};

/// Returns all codes but `Unknown`, in the order of core/finding_codes.def.
std::span<const FindingCodeInfo> findingCodes();
const FindingCodeInfo &infoOf(FindingCode code);
/// Returns "oob-load"; "unknown" for `Unknown`.
std::string_view codeText(FindingCode code);
/// Errors: nothing for a text that is no code.
std::optional<FindingCode> parseFindingCode(std::string_view text);

/// Returns "error", "warning" or "note".
std::string_view severityName(Severity severity);
/// Errors: nothing for another text.
std::optional<Severity> parseSeverity(std::string_view text);

} // namespace blockscope
