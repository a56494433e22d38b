// Textures of pictures that the model renders, made again only when what they show has changed.
#pragma once

#include "viz/model/color_map.h"
#include "viz/model/difference_map.h"
#include "viz/model/heat_image.h"
#include "viz/model/program_image.h"

#include <imgui.h>

#include <array>
#include <vector>

namespace blockscope::viz {

/// The textures of one viewer; needs a current OpenGL context for as long as it lives.
class Pictures {
public:
  Pictures() = default;
  ~Pictures();
  Pictures(const Pictures &) = delete;
  Pictures &operator=(const Pictures &) = delete;

  /// A range of time is counted for a part of a frame at most.
  ImTextureID heat(const TraceModel &model, const HeatRequest &request);
  /// The picture of the heat map has not come to its range of time yet: another frame goes on.
  bool isLate() const { return isLate_; }
  ImTextureID programs(const TraceModel &model, const ProgramRequest &request);
  ImTextureID colorBar(CountColors colors);
  ImTextureID difference(const DifferenceMap &map, const DifferenceRequest &request);
  /// A square of the legend.
  ImTextureID mark(MarkKind kind);
  static constexpr int kMarkSize = 16;

private:
  struct Texture {
    unsigned id = 0;
    void upload(const std::vector<Rgba> &pixels, int width, int height);
  };
  const TraceModel *model_ = nullptr;
  HeatRequest heatRequest_;
  bool isLate_ = false;
  ProgramRequest programRequest_;
  Texture heat_;
  Texture programs_;
  Texture colorBar_;
  CountColors barColors_ = CountColors::Viridis;
  const DifferenceMap *differenceMap_ = nullptr;
  DifferenceRequest differenceRequest_;
  Texture difference_;
  std::array<Texture, kMarkKinds> marks_;
};

} // namespace blockscope::viz
