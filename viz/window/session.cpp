// Files, clipboard and launches of a viewing.
#include "viz/window/session.h"

#include "viz/model/csv.h"
#include "viz/panels/viewer.h"
#include "viz/panels/widgets.h"
#include "viz/window/png_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace blockscope::viz {
namespace {

/// The first of "name.end", "name-2.end", ... in the current folder that does not exist.
std::string freeName(const std::string &name, const std::string &end) {
  std::string path = name + end;
  for (int number = 2; access(path.c_str(), F_OK) == 0; ++number)
    path = name + "-" + std::to_string(number) + end;
  return path;
}

std::string stemOf(const std::string &path) {
  const std::string name = fileName(path);
  return name.substr(0, name.rfind('.'));
}

std::string saveText(const std::string &path, const std::string &text) {
  std::FILE *file = std::fopen(path.c_str(), "wb");
  const bool written =
      file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = file != nullptr && std::fclose(file) == 0;
  return written && closed ? "saved " + path
                           : "cannot write '" + path + "': " + std::strerror(errno);
}

} // namespace

std::unique_ptr<Session> Session::open(const std::string &path, std::optional<size_t> launch,
                                       std::string &error) {
  auto session = std::make_unique<Session>();
  session->model_ = TraceModel::open(path, launch, error);
  if (!session->model_)
    return nullptr;
  session->selection_ = firstSelection(*session->model_);
  return session;
}

void Session::openLaunch(size_t launch) {
  std::string error;
  std::unique_ptr<TraceModel> other = TraceModel::open(model_->path(), launch, error);
  if (!other) {
    selection_.notice = error;
    return;
  }
  const HeatMode mode = selection_.mode;
  const bool logScale = selection_.logScale;
  selection_ = firstSelection(*other); // the textures of the old launch go with it
  selection_.mode = mode;
  selection_.logScale = logScale;
  model_ = std::move(other);
}

void Session::draw() { drawViewer(*model_, selection_); }

bool Session::fulfil(const SessionHost &host) {
  const Wish wish = std::exchange(selection_.wish, Wish::None);
  const size_t launch = model_->launchIndex();
  switch (wish) {
  case Wish::None:
    return true;
  case Wish::Quit:
    return false;
  case Wish::SavePng: {
    const std::string path = freeName(stemOf(model_->path()), ".png");
    std::string error;
    int width = 0;
    int height = 0;
    const std::vector<Rgba> pixels = host.pixels(width, height);
    selection_.notice = writePng(path, pixels, width, height, error) ? "saved " + path : error;
    return true;
  }
  case Wish::CopyCsv:
    host.copy(csvOf(*model_, selection_, selection_.focus));
    selection_.notice =
        "copied the table of " + csvName(*model_, selection_, selection_.focus) + " as CSV";
    return true;
  case Wish::SaveCsv:
    selection_.notice = saveText(
        freeName(stemOf(model_->path()) + "-" + csvName(*model_, selection_, selection_.focus),
                 ".csv"),
        csvOf(*model_, selection_, selection_.focus));
    return true;
  case Wish::NextLaunch:
  case Wish::PreviousLaunch:
    if (wish == Wish::NextLaunch && launch + 1 < model_->launchCount())
      openLaunch(launch + 1);
    else if (wish == Wish::PreviousLaunch && launch > 0)
      openLaunch(launch - 1);
    else
      selection_.notice =
          model_->launchCount() == 1 ? "the file holds one launch" : "there is no further launch";
    return true;
  }
  return true;
}

} // namespace blockscope::viz
