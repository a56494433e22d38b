// Prints findings, for people as text, for machines as JSON, and reads the JSON back.
#pragma once

#include "core/finding.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace blockscope {

/// Returns "load", "store", "atomic" or "atomic compare-and-swap".
llvm::StringRef accessKindName(AccessKind kind);

/// Returns what reports call a place beside the one of the finding: "other side", "born at", ...
llvm::StringRef labelOf(SiteRole role);

/// Names a program in a sentence: "3", or "(3, 1, 0)" where the grid has more than one dimension.
std::string programName(const std::array<int32_t, 3> &program, const std::array<int32_t, 3> &grid);
/// Says what a program of a deadlock waits for: "in line 12 for 'lock_ptr'[0] = 1".
std::string waitText(const Finding &finding, const Wait &wait);
/// Says who has it: "taken by program 0 in line 12, which has ended". Empty when nothing is known.
std::string holderText(const Finding &finding, const Wait &wait);

/// Returns the whole report of one finding: place, message, source line with a caret, then the
/// facts, one a line. Files are read to show their lines; a file that is gone is left out.
std::string findingAsText(const Finding &finding, bool color);
/// Returns all findings, and a last line that counts errors and warnings.
std::string findingsAsText(llvm::ArrayRef<Finding> findings, bool color);
/// Returns a JSON array with one object a finding; the schema is in docs/findings/README.md.
std::string findingsAsJson(llvm::ArrayRef<Finding> findings);
std::string findingAsJson(const Finding &finding);
/// Reads what findingAsJson has printed. Fields that are missing keep their defaults.
///
/// Errors: nothing when the text is no object of the schema or nested too deeply.
std::optional<Finding> findingFromJson(llvm::StringRef text);

} // namespace blockscope
