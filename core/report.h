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
