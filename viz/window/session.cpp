// Files, clipboard and launches of a viewing.
#include "viz/window/session.h"

#include "viz/model/csv.h"
#include "viz/model/gpu_view.h"
#include "viz/panels/compare_view.h"
#include "viz/panels/folder_view.h"
#include "viz/panels/pictures.h"
#include "viz/panels/tour_overlay.h"
#include "viz/panels/viewer.h"
#include "viz/panels/widgets.h"
#include "viz/window/png_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>
#include <utility>

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

std::unique_ptr<Session> Session::openFolder(const std::string &path, std::string &error) {
  auto session = std::make_unique<Session>();
  session->folder_ = TraceFolder::open(path, error);
  return session->folder_ ? std::move(session) : nullptr;
}

std::unique_ptr<Session> Session::openComparison(const std::string &pathA, const std::string &pathB,
                                                 std::optional<size_t> launchOfA,
                                                 std::string &error) {
  auto session = std::make_unique<Session>();
  session->comparison_ = Comparison::open(pathA, pathB, launchOfA, error);
  if (!session->comparison_)
    return nullptr;
  session->compareView_ = firstView(*session->comparison_);
  return session;
}

std::unique_ptr<Session> Session::openTour(const std::string &path, size_t step,
                                           std::string &error) {
  std::unique_ptr<Session> session = open(path, std::nullopt, error);
  if (!session)
    return nullptr;
  if (!isTourTrace(*session->model_)) {
    error = "trace file '" + path + "' is not that of the tour: blockscope view --tour records it";
    return nullptr;
  }
  session->tour_ = Tour();
  session->selection_.isGuided = true;
  goToStep(*session->model_, session->selection_, *session->tour_, step);
  return session;
}

Selection &Session::selection() {
  return comparison_ ? compareView_.shared : model_ ? selection_ : folderView_.shared;
}

std::string Session::title() const {
  return (comparison_ ? comparison_->run(Side::A).launch().kernel + ", two runs"
          : model_    ? model_->launch().kernel
                      : folder_->path()) +
         " - Blockscope";
}

void Session::openLaunch(size_t launch) {
  std::string error;
  std::unique_ptr<TraceModel> other = TraceModel::open(model_->path(), launch, error);
  if (!other) {
    selection_.notice = error;
    return;
  }
  const Selection before = std::exchange(selection_, firstSelection(*other)); // its textures go
  selection_.look = before.look;
  selection_.mode = before.mode;
  selection_.logScale = before.logScale;
  model_ = std::move(other);
}

void Session::openPair(int step) {
  Selection &shared = compareView_.shared;
  const std::optional<size_t> pair = comparison_->nextPair(step);
  std::string error;
  if (!pair) {
    shared.notice = "there is no further pair of launches";
    return;
  }
  if (!comparison_->openPair(*pair, error)) {
    shared.notice = error;
    return;
  }
  const CompareView before = std::exchange(compareView_, firstView(*comparison_));
  compareView_.shared.look = before.shared.look;
  compareView_.shared.mode = before.shared.mode;
  compareView_.shared.logScale = before.shared.logScale;
}

void Session::openFromFolder() {
  std::string error;
  const FolderEntry &entry = folder_->entries()[folderView_.row];
  if (entry.isRead && !entry.problem.empty()) {
    folderView_.shared.notice = entry.name + ": " + entry.problem;
    return;
  }
  if (!entry.how.empty()) {
    folderView_.shared.notice = "a launch file: " + entry.how + " records and shows it";
    return;
  }
  std::unique_ptr<TraceModel> opened =
      TraceModel::open(folder_->pathOf(folderView_.row), std::nullopt, error);
  if (!opened) {
    folderView_.shared.notice = error;
    return;
  }
  selection_ = firstSelection(*opened);
  selection_.look = folderView_.shared.look;
  selection_.notice = "b  back to the list of the folder";
  model_ = std::move(opened);
}

void Session::draw() {
  if (comparison_)
    drawComparison(*comparison_, compareView_);
  else if (model_)
    drawViewer(*model_, selection_);
  else
    drawFolder(*folder_, folderView_);
  if (tour_ && !tour_->isOver)
    drawTour(*model_, selection_, *tour_);
}

void Session::act(Command command) {
  if (comparison_)
    apply(command, *comparison_, compareView_);
  else if (tour_ && !tour_->isOver)
    apply(command, *model_, selection_, *tour_);
  else if (model_)
    apply(command, *model_, selection_);
  else
    apply(command, *folder_, folderView_);
}

bool Session::readOn() { return folder_ && !model_ && folder_->readNext(); }

void Session::dropPictures() {
  selection_.pictures.reset();
  for (auto &each : compareView_.pictures)
    each.reset();
}

std::string Session::table() {
  return comparison_ ? csvOf(*comparison_, compareView_, CompareTable::Heat)
         : model_    ? csvOf(*model_, selection_, selection_.focus)
                     : csvOf(*folder_);
}

bool Session::lacksTable() {
  const bool ofGpu =
      model_ && (selection_.focus == PanelKind::Traffic || selection_.focus == PanelKind::Roofline);
  if (!ofGpu || model_->launch().gpu.isThere())
    return false;
  selection_.notice = std::string("nothing was predicted: ") + kHowToPredict;
  return true;
}

std::string Session::tableName() {
  if (!comparison_)
    return model_ ? csvName(*model_, selection_, selection_.focus) : "traces";
  const Side side = sideWithTensor(*comparison_, compareView_);
  return csvName(comparison_->run(side), selectionOf(*comparison_, compareView_, side),
                 PanelKind::Heatmap) +
         "-difference";
}

std::string Session::stem() const {
  return stemOf(comparison_ ? comparison_->run(Side::A).path()
                : model_    ? model_->path()
                            : "traces.h5");
}

bool Session::isMoving() const {
  return selection_.time.isPlaying || (selection_.pictures && selection_.pictures->isLate());
}

bool Session::fulfil(const SessionHost &host) {
  Selection &shown = selection();
  const Wish wish = std::exchange(shown.wish, Wish::None);
  switch (wish) {
  case Wish::None:
    return true;
  case Wish::Quit:
    return false;
  case Wish::SavePng: {
    const std::string path = freeName(stem(), ".png");
    std::string error;
    int width = 0;
    int height = 0;
    const std::vector<Rgba> pixels = host.pixels(width, height);
    shown.notice = writePng(path, pixels, width, height, error) ? "saved " + path : error;
    return true;
  }
  case Wish::CopyCsv:
    if (lacksTable())
      return true;
    host.copy(table());
    shown.notice = "copied the table of " + tableName() + " as CSV";
    return true;
  case Wish::SaveCsv:
    if (lacksTable())
      return true;
    shown.notice = saveText(
        freeName(folder_ && !model_ ? "traces" : stem() + "-" + tableName(), ".csv"), table());
    return true;
  case Wish::NextLaunch:
  case Wish::PreviousLaunch: {
    if (comparison_) {
      openPair(wish == Wish::NextLaunch ? 1 : -1);
      return true;
    }
    const size_t launch = model_->launchIndex();
    if (wish == Wish::NextLaunch && launch + 1 < model_->launchCount())
      openLaunch(launch + 1);
    else if (wish == Wish::PreviousLaunch && launch > 0)
      openLaunch(launch - 1);
    else
      shown.notice =
          model_->launchCount() == 1 ? "the file holds one launch" : "there is no further launch";
    return true;
  }
  case Wish::OpenTrace:
    openFromFolder();
    return true;
  case Wish::ShowFolder:
    if (!folder_) {
      shown.notice = "the trace was not opened from a folder: blockscope view FOLDER";
      return true;
    }
    folderView_.shared.look = selection_.look;
    selection_ = Selection(); // its textures go
    model_.reset();
    return true;
  }
  return true;
}

} // namespace blockscope::viz
