// PNG files.
#pragma once

#include "viz/model/color_map.h"

#include <string>
#include <vector>

namespace blockscope::viz {

/// Writes `height` rows of `width` pixels; alpha is left out.
/// Errors: false, with the reason in `error`; a half-written file is removed.
bool writePng(const std::string &path, const std::vector<Rgba> &pixels, int width, int height,
              std::string &error);

} // namespace blockscope::viz
