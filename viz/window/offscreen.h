// Draws frames with no display and no GPU: EGL without a surface, Mesa's software rasterizer.
#pragma once

#include "viz/model/color_map.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace blockscope::viz {

/// An OpenGL and ImGui context that draws into memory. One at a time in a process.
class Offscreen {
public:
  /// Errors: null, with the reason in `error`.
  static std::unique_ptr<Offscreen> create(int width, int height, std::string &error,
                                           int textPercent = 100);
  ~Offscreen();

  /// Draws one frame; `draw` makes ImGui calls.
  void frame(const std::function<void()> &draw);
  void setTextSize(int textPercent);
  /// Pixels of the last frame, upper row first.
  std::vector<Rgba> pixels() const;
  int width() const;
  int height() const;

private:
  struct Impl;
  explicit Offscreen(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace blockscope::viz
