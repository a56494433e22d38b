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

constexpr std::array<Rgba, 9> kViridis = {
    rgba(0x44, 0x01, 0x54), rgba(0x47, 0x2d, 0x7b), rgba(0x3b, 0x52, 0x8b),
    rgba(0x2c, 0x72, 0x8e), rgba(0x21, 0x91, 0x8c), rgba(0x28, 0xae, 0x80),
    rgba(0x5e, 0xc9, 0x62), rgba(0xad, 0xdc, 0x30), rgba(0xfd, 0xe7, 0x25)};
constexpr std::array<Rgba, 9> kCividis = {
    rgba(0x00, 0x2a, 0x6e), rgba(0x1c, 0x3c, 0x6d), rgba(0x3f, 0x4d, 0x6b),
    rgba(0x57, 0x5f, 0x6e), rgba(0x70, 0x71, 0x73), rgba(0x8a, 0x86, 0x79),
    rgba(0xa7, 0x9d, 0x75), rgba(0xc8, 0xb8, 0x66), rgba(0xfe, 0xe8, 0x38)};
constexpr std::array<Rgba, 2> kGrey = {rgba(0x4a, 0x4a, 0x4a), rgba(0xff, 0xff, 0xff)};

using Table = std::array<Rgba, 256>;

/// Hue from the stops; lightness replaced by a straight line between the first and the last.
template <size_t count> Table makeTable(const std::array<Rgba, count> &stops) {
  Table table{};
  const float darkest = toOklab(stops.front()).l;
  const float brightest = toOklab(stops.back()).l;
  for (size_t index = 0; index < table.size(); ++index) {
    const float position = static_cast<float>(index) / 255.0F;
    const float at = position * (count - 1);
    const auto stop = std::min<size_t>(static_cast<size_t>(at), count - 2);
    const float part = at - static_cast<float>(stop);
    const Lab left = toOklab(stops[stop]);
    const Lab right = toOklab(stops[stop + 1]);
    table[index] =
        fromOklab({darkest + (brightest - darkest) * position, left.a + (right.a - left.a) * part,
                   left.b + (right.b - left.b) * part});
  }
  return table;
}

constexpr Rgba kNoDifference = rgba(206, 207, 205);

/// From one end over the neutral colour to the other.
Rgba between(Rgba below, Rgba above, float position) {
  const Lab middle = toOklab(kNoDifference);
  const Lab end = toOklab(position < 0 ? below : above);
  // The first step away from zero is to be seen: colour rises faster than darkness.
  const float far = std::min(1.0F, std::abs(position));
  const float vivid = std::sqrt(far);
  return fromOklab({middle.l + (end.l - middle.l) * far, middle.a + (end.a - middle.a) * vivid,
                    middle.b + (end.b - middle.b) * vivid});
}

} // namespace

std::string_view colorsName(CountColors colors) {
  switch (colors) {
  case CountColors::Viridis:
    return "viridis";
  case CountColors::Cividis:
    return "cividis";
  case CountColors::Grey:
    return "grey";
  }
  return "";
}

std::string_view colorsName(DifferenceColors colors) {
  switch (colors) {
  case DifferenceColors::BlueOrange:
    return "blue-orange";
  case DifferenceColors::PurpleGreen:
    return "purple-green";
  }
  return "";
}

std::optional<CountColors> countColorsNamed(std::string_view name) {
  for (int colors = 0; colors < kCountColors; ++colors)
    if (colorsName(static_cast<CountColors>(colors)) == name)
      return static_cast<CountColors>(colors);
  return std::nullopt;
}

std::optional<DifferenceColors> differenceColorsNamed(std::string_view name) {
  for (int colors = 0; colors < kDifferenceColors; ++colors)
    if (colorsName(static_cast<DifferenceColors>(colors)) == name)
      return static_cast<DifferenceColors>(colors);
  return std::nullopt;
}

Rgba heatColor(float position, CountColors colors) {
  static const std::array<Table, kCountColors> tables = {makeTable(kViridis), makeTable(kCividis),
                                                         makeTable(kGrey)};
  return tables[static_cast<size_t>(colors)]
               [static_cast<size_t>(std::clamp(position, 0.0F, 1.0F) * 255.0F + 0.5F)];
}

Rgba differenceColor(float position, DifferenceColors colors) {
  switch (colors) {
  case DifferenceColors::BlueOrange:
    return between(rgba(0x0f, 0x52, 0xa8), rgba(0xb0, 0x4e, 0x00), position);
  case DifferenceColors::PurpleGreen:
    return between(rgba(0x6b, 0x2c, 0x91), rgba(0x1a, 0x6b, 0x36), position);
  }
  return kNoDifference;
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
