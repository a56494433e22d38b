// Upload of pictures as OpenGL textures.
#include "viz/panels/pictures.h"

#include "viz/gl/functions.h"

#include <cstdint>

namespace blockscope::viz {
namespace {

/// Of a frame, for the way to a range of time.
constexpr std::chrono::microseconds kTimeBudget{1500};

ImTextureID handleOf(unsigned id) {
  return reinterpret_cast<ImTextureID>(static_cast<uintptr_t>(id));
}

} // namespace

Pictures::~Pictures() {
  for (const Texture *texture : {&heat_, &programs_, &colorBar_, &difference_})
    if (texture->id != 0)
      gl::DeleteTextures(1, &texture->id);
  for (const Texture &mark : marks_)
    if (mark.id != 0)
      gl::DeleteTextures(1, &mark.id);
}

void Pictures::Texture::upload(const std::vector<Rgba> &pixels, int width, int height) {
  if (id == 0)
    gl::GenTextures(1, &id);
  gl::BindTexture(GL_TEXTURE_2D, id);
  // One texel is one pixel of the screen.
  gl::TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  gl::TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  gl::TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
  gl::TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
  gl::PixelStorei(GL_UNPACK_ROW_LENGTH, 0);
  gl::TexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE,
                 pixels.data());
}

ImTextureID Pictures::heat(const TraceModel &model, const HeatRequest &request) {
  if (heat_.id == 0 || model_ != &model || isLate_ || !(heatRequest_ == request)) {
    heat_.upload(renderHeat(model, request, kTimeBudget), request.width, request.height);
    isLate_ = request.time &&
              !model.timedHeat(request.argument, request.slice, request.mode).isAt(*request.time);
    heatRequest_ = request;
    model_ = &model;
  }
  return handleOf(heat_.id);
}

ImTextureID Pictures::programs(const TraceModel &model, const ProgramRequest &request) {
  if (programs_.id == 0 || !(programRequest_ == request)) {
    programs_.upload(renderPrograms(model, request), request.width, request.height);
    programRequest_ = request;
  }
  return handleOf(programs_.id);
}

ImTextureID Pictures::colorBar(CountColors colors) {
  if (colorBar_.id == 0 || barColors_ != colors) {
    std::vector<Rgba> pixels(256);
    for (size_t index = 0; index < pixels.size(); ++index)
      pixels[index] = heatColor(1 - static_cast<float>(index) / 255.0F, colors);
    colorBar_.upload(pixels, 1, 256);
    barColors_ = colors;
  }
  return handleOf(colorBar_.id);
}

ImTextureID Pictures::difference(const DifferenceMap &map, const DifferenceRequest &request) {
  if (difference_.id == 0 || differenceMap_ != &map || !(differenceRequest_ == request)) {
    difference_.upload(renderDifference(map, request), request.area.width, request.area.height);
    differenceRequest_ = request;
    differenceMap_ = &map;
  }
  return handleOf(difference_.id);
}

ImTextureID Pictures::mark(MarkKind kind) {
  Texture &texture = marks_[static_cast<size_t>(kind)];
  if (texture.id == 0)
    texture.upload(renderMark(kind, kMarkSize), kMarkSize, kMarkSize);
  return handleOf(texture.id);
}

} // namespace blockscope::viz
