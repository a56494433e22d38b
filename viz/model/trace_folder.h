// The traces of a folder, and what is in each: read one by one, so that a list is there at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace blockscope::viz {

/// A file of the folder.
struct FolderEntry {
  std::string name;
  uint64_t bytes = 0;
  bool isRead = false;
  std::string problem; ///< why it cannot be shown; empty when it can
  std::string how;     ///< of a launch file: the command that records and shows it
  size_t launches = 0;
  std::vector<std::pair<std::string, size_t>> kernels; ///< name and launches, in order of the first
  size_t errors = 0;
  size_t warnings = 0;
  size_t notes = 0;
  bool hasMore = false; ///< launches that were not looked into: there are too many
};

class TraceFolder {
public:
  /// The files that are named like traces or launch files, or begin like a trace, in order of
  /// their names.
  /// Errors: null, with the reason in `error`; so for a folder that has none.
  static std::unique_ptr<TraceFolder> open(const std::string &path, std::string &error);

  const std::string &path() const { return path_; }
  /// From the root on, without a slash at the end.
  const std::string &fullPath() const { return fullPath_; }
  const std::vector<FolderEntry> &entries() const { return entries_; }
  /// Files that were left out: there are too many.
  size_t leftOut() const { return leftOut_; }
  std::string pathOf(size_t entry) const { return path_ + "/" + entries_[entry].name; }
  /// Reads the next file that was not read; false when all were.
  bool readNext();

private:
  std::string path_;
  std::string fullPath_;
  std::vector<FolderEntry> entries_;
  size_t leftOut_ = 0;
  size_t read_ = 0;
};

/// "softmax_kernel (3), add_kernel (1)"; of one kernel its name alone.
std::string kernelsText(const FolderEntry &entry);
/// "2 errors, 1 note", or "none".
std::string findingsText(const FolderEntry &entry);
std::string csvOf(const TraceFolder &folder);

} // namespace blockscope::viz
