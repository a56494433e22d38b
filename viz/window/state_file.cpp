// The state of the window as lines of a name and its values.
#include "viz/window/state_file.h"

#include "viz/model/commands.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <unistd.h>

namespace blockscope::viz {
namespace {

constexpr const char *kHead = "blockscope-viewer 1";
constexpr size_t kMaxBytes = 4096;
constexpr int kMostPixels = 16384;

/// The bytes of a small file; nothing where there is none.
std::optional<std::string> contentOf(const std::string &path) {
  std::FILE *file = std::fopen(path.c_str(), "rb");
  if (file == nullptr)
    return std::nullopt;
  std::string content(kMaxBytes + 1, '\0');
  content.resize(std::fread(content.data(), 1, content.size(), file));
  std::fclose(file);
  return content;
}

bool readShares(std::istream &line, float &first, float &second) {
  return (line >> first >> second) && first >= 0 && first < 1 && second >= 0 && second < 1;
}

/// One line; false when its values are none that it may have.
bool readLine(const std::string &name, std::istream &line, WindowState &state) {
  std::string word;
  if (name == "place")
    return (line >> state.x >> state.y) && state.x >= -kMostPixels && state.x <= kMostPixels &&
           state.y >= -kMostPixels && state.y <= kMostPixels;
  if (name == "size")
    return (line >> state.width >> state.height) && state.width >= 640 && state.height >= 480 &&
           state.width <= kMostPixels && state.height <= kMostPixels;
  if (name == "text-size")
    return (line >> state.look.textPercent) && state.look.textPercent >= kLeastTextPercent &&
           state.look.textPercent <= kMostTextPercent;
  if (name == "colors") {
    line >> word;
    const std::optional<CountColors> colors = countColorsNamed(word);
    state.look.countColors = colors.value_or(CountColors::Viridis);
    return colors.has_value();
  }
  if (name == "difference-colors") {
    line >> word;
    const std::optional<DifferenceColors> colors = differenceColorsNamed(word);
    state.look.differenceColors = colors.value_or(DifferenceColors::BlueOrange);
    return colors.has_value();
  }
  if (name == "columns")
    return readShares(line, state.look.leftShare, state.look.rightShare);
  if (name == "rows")
    return readShares(line, state.look.leftSplit, state.look.rightSplit);
  return true; // of a later version
}

} // namespace

std::string stateFilePath() {
  const char *folder = std::getenv("XDG_STATE_HOME");
  if (folder != nullptr && folder[0] == '/')
    return std::string(folder) + "/blockscope/viewer";
  const char *home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + "/.local/state/blockscope/viewer"
                                           : "";
}

std::optional<WindowState> readState(const std::string &path, std::string &problem) {
  const std::optional<std::string> content = path.empty() ? std::nullopt : contentOf(path);
  if (!content)
    return std::nullopt;
  std::istringstream lines(*content);
  std::string text;
  if (content->size() > kMaxBytes || !std::getline(lines, text) || text != kHead) {
    problem = "it does not begin with '" + std::string(kHead) + "', or is too long";
    return std::nullopt;
  }
  WindowState state;
  for (int number = 2; std::getline(lines, text); ++number) {
    std::istringstream line(text);
    std::string name;
    line >> name;
    if (!readLine(name, line, state)) {
      problem = "line " + std::to_string(number) + " has a value that it cannot have";
      return std::nullopt;
    }
  }
  return state;
}

bool writeState(const std::string &path, const WindowState &state) {
  if (path.empty())
    return false;
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
  if (failed)
    return false;
  std::ostringstream text;
  const Look &look = state.look;
  text << kHead << "\n";
  if (state.x >= -kMostPixels && state.width > 0)
    text << "place " << state.x << " " << state.y << "\n"
         << "size " << state.width << " " << state.height << "\n";
  text << "text-size " << look.textPercent << "\n"
       << "colors " << colorsName(look.countColors) << "\n"
       << "difference-colors " << colorsName(look.differenceColors) << "\n"
       << "columns " << look.leftShare << " " << look.rightShare << "\n"
       << "rows " << look.leftSplit << " " << look.rightSplit << "\n";
  const std::string content = text.str();
  // Another viewer that ends now may write, too: each has a file of its own, and one stays.
  const std::string partial = path + "." + std::to_string(::getpid());
  std::FILE *file = std::fopen(partial.c_str(), "wb");
  if (file == nullptr)
    return false;
  const bool isWritten = std::fwrite(content.data(), 1, content.size(), file) == content.size();
  const bool isClosed = std::fclose(file) == 0;
  if (isWritten && isClosed && std::rename(partial.c_str(), path.c_str()) == 0)
    return true;
  ::unlink(partial.c_str());
  return false;
}

} // namespace blockscope::viz
