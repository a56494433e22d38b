// Names of the places of findings, as in their JSON.
#pragma once

#include "core/finding.h"

#include <optional>
#include <string_view>

namespace blockscope {

/// Returns "here", "other", "born_at"...
std::string_view siteRoleName(SiteRole role);
/// Errors: nothing for another text.
std::optional<SiteRole> parseSiteRole(std::string_view name);

} // namespace blockscope
