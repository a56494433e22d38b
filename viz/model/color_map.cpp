// A perceptually even colour map from a small table.
#include "viz/model/color_map.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace blockscope::viz {
namespace {

struct Lab {
  float l;
  float a;
  float b;
};

float toLinear(float value) {
  return value <= 0.04045F ? value / 12.92F : std::pow((value + 0.055F) / 1.055F, 2.4F);
}

float fromLinear(float value) {
  value = std::clamp(value, 0.0F, 1.0F);
  return value <= 0.0031308F ? value * 12.92F : 1.055F * std::pow(value, 1.0F / 2.4F) - 0.055F;
}

Lab toOklab(Rgba color) {
  const float r = toLinear(static_cast<float>(color & 255U) / 255.0F);
  const float g = toLinear(static_cast<float>(color >> 8U & 255U) / 255.0F);
  const float b = toLinear(static_cast<float>(color >> 16U & 255U) / 255.0F);
  const float l = std::cbrt(0.4122214708F * r + 0.5363325363F * g + 0.0514459929F * b);
  const float m = std::cbrt(0.2119034982F * r + 0.6806995451F * g + 0.1073969566F * b);
  const float s = std::cbrt(0.0883024619F * r + 0.2817188376F * g + 0.6299787005F * b);
  return {0.2104542553F * l + 0.7936177850F * m - 0.0040720468F * s,
          1.9779984951F * l - 2.4285922050F * m + 0.4505937099F * s,
          0.0259040371F * l + 0.7827717662F * m - 0.8086757660F * s};
}

Rgba fromOklab(const Lab &lab) {
  const auto cube = [](float value) { return value * value * value; };
  const float l = cube(lab.l + 0.3963377774F * lab.a + 0.2158037573F * lab.b);
  const float m = cube(lab.l - 0.1055613458F * lab.a - 0.0638541728F * lab.b);
  const float s = cube(lab.l - 0.0894841775F * lab.a - 1.2914855480F * lab.b);
  const auto byte = [](float value) {
    return static_cast<uint32_t>(std::lround(fromLinear(value) * 255.0F));
  };
  return rgba(byte(4.0767416621F * l - 3.3077115913F * m + 0.2309699292F * s),
              byte(-1.2684380046F * l + 2.6097574011F * m - 0.3413193965F * s),
              byte(-0.0041960863F * l - 0.7034186147F * m + 1.7076147010F * s));
}

constexpr std::array<Rgba, 9> kStops = {
    rgba(0x44, 0x01, 0x54), rgba(0x47, 0x2d, 0x7b), rgba(0x3b, 0x52, 0x8b),
    rgba(0x2c, 0x72, 0x8e), rgba(0x21, 0x91, 0x8c), rgba(0x28, 0xae, 0x80),
    rgba(0x5e, 0xc9, 0x62), rgba(0xad, 0xdc, 0x30), rgba(0xfd, 0xe7, 0x25)};

/// Hue from the stops; lightness replaced by a straight line between the first and the last.
std::array<Rgba, 256> makeTable() {
  std::array<Rgba, 256> table{};
  const float darkest = toOklab(kStops.front()).l;
  const float brightest = toOklab(kStops.back()).l;
  for (size_t index = 0; index < table.size(); ++index) {
    const float position = static_cast<float>(index) / 255.0F;
    const float at = position * (kStops.size() - 1);
    const auto stop = std::min<size_t>(static_cast<size_t>(at), kStops.size() - 2);
    const float part = at - static_cast<float>(stop);
    const Lab left = toOklab(kStops[stop]);
    const Lab right = toOklab(kStops[stop + 1]);
    table[index] =
        fromOklab({darkest + (brightest - darkest) * position, left.a + (right.a - left.a) * part,
                   left.b + (right.b - left.b) * part});
  }
  return table;
}

} // namespace

Rgba heatColor(float position) {
  static const std::array<Rgba, 256> table = makeTable();
  return table[static_cast<size_t>(std::clamp(position, 0.0F, 1.0F) * 255.0F + 0.5F)];
}

float perceivedLightness(Rgba color) { return toOklab(color).l; }

Rgba dimmed(Rgba color) {
  const uint32_t red = color & 255U;
  const uint32_t green = color >> 8U & 255U;
  const uint32_t blue = color >> 16U & 255U;
  const uint32_t grey = (red * 3 + green * 6 + blue) / 10;
  const auto mix = [grey](uint32_t channel) { return (channel + 2 * grey) / 9 + 14; };
  return rgba(mix(red), mix(green), mix(blue), color >> 24U);
}

} // namespace blockscope::viz
