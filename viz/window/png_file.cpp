// Writing of PNG files with libpng's simple interface.
#include "viz/window/png_file.h"

#include <png.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace blockscope::viz {

bool writePng(const std::string &path, const std::vector<Rgba> &pixels, int width, int height,
              std::string &error) {
  std::vector<unsigned char> rows;
  rows.reserve(pixels.size() * 3);
  for (const Rgba pixel : pixels)
    rows.insert(rows.end(), {static_cast<unsigned char>(pixel & 255U),
                             static_cast<unsigned char>(pixel >> 8U & 255U),
                             static_cast<unsigned char>(pixel >> 16U & 255U)});
  std::FILE *file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) {
    error = "cannot write '" + path + "': " + std::strerror(errno);
    return false;
  }
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  const bool written = png_image_write_to_stdio(&image, file, 0, rows.data(), 0, nullptr) != 0;
  const bool closed = std::fclose(file) == 0;
  if (written && closed)
    return true;
  error = "cannot write '" + path + "': " + (written ? std::strerror(errno) : image.message);
  unlink(path.c_str());
  return false;
}

} // namespace blockscope::viz
