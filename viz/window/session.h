// One viewing of a file: the open launch, the selection, and the wishes that frames leave behind.
#pragma once

#include "viz/model/selection.h"

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
  /// Errors: null, with the reason in `error`.
  static std::unique_ptr<Session> open(const std::string &path, std::optional<size_t> launch,
                                       std::string &error);

  const TraceModel &model() const { return *model_; }
  Selection &selection() { return selection_; }
  void draw();
  /// Carries out what the last frame asked for; false when it asked to quit.
  bool fulfil(const SessionHost &host);

private:
  void openLaunch(size_t launch);

  std::unique_ptr<TraceModel> model_;
  Selection selection_;
};

} // namespace blockscope::viz
