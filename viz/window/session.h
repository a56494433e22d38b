// One viewing of a file: the open launch, the selection, and the wishes that frames leave behind.
#pragma once

#include "viz/model/compare_commands.h"
#include "viz/model/selection.h"
#include "viz/model/tour.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace blockscope::viz {

/// What a window lends to a session.
struct SessionHost {
  std::function<std::vector<Rgba>(int &width, int &height)> pixels; ///< of the last frame
  std::function<void(const std::string &)> copy;                    ///< to the clipboard
};

class Session {
public:
  /// Errors: null, with the reason in `error`; so for the next three.
  static std::unique_ptr<Session> open(const std::string &path, std::optional<size_t> launch,
                                       std::string &error);
  /// A list from which traces are opened.
  static std::unique_ptr<Session> openFolder(const std::string &path, std::string &error);
  static std::unique_ptr<Session> openComparison(const std::string &pathA, const std::string &pathB,
                                                 std::optional<size_t> launchOfA,
                                                 std::string &error);

  /// A tour through its trace, from a step on.
  static std::unique_ptr<Session> openTour(const std::string &path, size_t step,
                                           std::string &error);

  /// The trace that is shown; only where `hasModel()`.
  const TraceModel &model() const { return *model_; }
  bool hasModel() const { return model_ != nullptr; }
  Comparison *comparison() { return comparison_.get(); }
  CompareView &compareView() { return compareView_; }
  /// The tour that is gone through, or null.
  const Tour *tour() const { return tour_ ? &*tour_ : nullptr; }
  const TraceFolder *folder() const { return folder_.get(); }
  /// Of what is shown; a folder and a comparison use a part of it.
  Selection &selection();
  /// What the window is called.
  std::string title() const;
  void draw();
  /// The picture changes with the next frame, whatever the user does.
  bool isMoving() const;
  void act(Command command);
  /// Reads on in a folder; false when there is nothing more to be read.
  bool readOn();
  /// Carries out what the last frame asked for; false when it asked to quit.
  bool fulfil(const SessionHost &host);
  /// Lets go of the textures, before the context goes.
  void dropPictures();

private:
  void openLaunch(size_t launch);
  void openPair(int step);
  void openFromFolder();
  /// The table of what is shown, and the start of a file's name for it.
  std::string table();
  /// Whether the panel has no table, which a notice then says.
  bool lacksTable();
  std::string tableName();
  std::string stem() const;

  std::unique_ptr<TraceModel> model_;
  Selection selection_;
  std::optional<Tour> tour_;
  std::unique_ptr<Comparison> comparison_;
  CompareView compareView_;
  std::unique_ptr<TraceFolder> folder_;
  FolderView folderView_;
};

} // namespace blockscope::viz
