// Listing of a folder.
#include "viz/model/trace_folder.h"

#include "core/trace/trace_reader.h"
#include "viz/model/csv.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace blockscope::viz {
namespace {

constexpr size_t kMaxFiles = 1000;
constexpr size_t kMaxLaunches = 1000; ///< of a file, that are looked into
constexpr std::string_view kHead = "BLOCKSCOPE TRACE";

bool beginsLikeTrace(const std::string &path) {
  std::FILE *file = std::fopen(path.c_str(), "rb");
  if (file == nullptr)
    return false;
  std::array<char, kHead.size()> head{};
  const size_t count = std::fread(head.data(), 1, head.size(), file);
  std::fclose(file);
  return std::string_view(head.data(), count) == kHead;
}

/// The reader's sentence without the file, which the list names already.
std::string withoutPath(const std::string &error, const std::string &path) {
  const size_t at = error.find(path);
  if (at == std::string::npos)
    return error;
  const size_t rest = error.find_first_not_of("':, ", at + path.size());
  return rest == std::string::npos ? error : error.substr(rest);
}

void countFindings(const TraceLaunch &launch, FolderEntry &entry) {
  for (const TraceFinding &finding : launch.findings)
    ++(finding.severity == Severity::Error     ? entry.errors
       : finding.severity == Severity::Warning ? entry.warnings
                                               : entry.notes);
}

void readEntry(const std::string &path, FolderEntry &entry) {
  if (entry.name.ends_with(".blk")) {
    entry.how = "blockscope view " + entry.name;
    return;
  }
  std::string error;
  const std::unique_ptr<TraceReader> reader = TraceReader::open(path, error);
  if (!reader) {
    entry.problem = withoutPath(error, path);
    return;
  }
  entry.launches = reader->launchCount();
  if (entry.launches == 0)
    entry.problem = "holds no launch";
  entry.hasMore = entry.launches > kMaxLaunches;
  for (size_t number = 0; number < std::min(entry.launches, kMaxLaunches); ++number) {
    const std::optional<TraceLaunch> launch = reader->readLaunch(number, error);
    if (!launch) {
      entry.problem = withoutPath(error, path);
      return;
    }
    const auto known = std::find_if(entry.kernels.begin(), entry.kernels.end(),
                                    [&](const auto &each) { return each.first == launch->kernel; });
    if (known == entry.kernels.end())
      entry.kernels.emplace_back(launch->kernel, 1);
    else
      ++known->second;
    countFindings(*launch, entry);
  }
}

} // namespace

std::unique_ptr<TraceFolder> TraceFolder::open(const std::string &path, std::string &error) {
  auto folder = std::make_unique<TraceFolder>();
  folder->path_ = path;
  std::error_code failed;
  const auto full = std::filesystem::absolute(path, failed).lexically_normal();
  folder->fullPath_ = (full.has_filename() ? full : full.parent_path()).string();
  for (std::filesystem::directory_iterator at(path, failed), end; !failed && at != end;
       at.increment(failed)) {
    std::error_code ignored;
    if (!at->is_regular_file(ignored))
      continue;
    FolderEntry entry;
    entry.name = at->path().filename().string();
    entry.bytes = at->file_size(ignored);
    if (entry.name.ends_with(".h5") || entry.name.ends_with(".blk") ||
        beginsLikeTrace(at->path().string()))
      folder->entries_.push_back(std::move(entry));
  }
  if (failed) {
    error = "folder '" + path + "' cannot be read: " + failed.message();
    return nullptr;
  }
  if (folder->entries_.empty()) {
    error = "folder '" + path + "' holds no trace file (T.h5, written by blockscope trace)";
    return nullptr;
  }
  std::sort(
      folder->entries_.begin(), folder->entries_.end(),
      [](const FolderEntry &left, const FolderEntry &right) { return left.name < right.name; });
  if (folder->entries_.size() > kMaxFiles) {
    folder->leftOut_ = folder->entries_.size() - kMaxFiles;
    folder->entries_.resize(kMaxFiles);
  }
  return folder;
}

bool TraceFolder::readNext() {
  if (read_ >= entries_.size())
    return false;
  readEntry(pathOf(read_), entries_[read_]);
  entries_[read_].isRead = true;
  ++read_;
  return true;
}

std::string kernelsText(const FolderEntry &entry) {
  std::string text;
  for (const auto &[name, launches] : entry.kernels)
    text += (text.empty() ? "" : ", ") + name +
            (entry.kernels.size() > 1 ? " (" + std::to_string(launches) + ")" : "");
  return text;
}

std::string findingsText(const FolderEntry &entry) {
  std::string text;
  const auto put = [&text](size_t count, const char *noun) {
    if (count > 0)
      text +=
          (text.empty() ? "" : ", ") + std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
  };
  put(entry.errors, "error");
  put(entry.warnings, "warning");
  put(entry.notes, "note");
  return (text.empty() ? "none" : text) +
         (entry.hasMore ? " in the first " + std::to_string(kMaxLaunches) + " launches" : "");
}

std::string csvOf(const TraceFolder &folder) {
  std::string text = "file,bytes,launches,kernels,errors,warnings,notes,problem,how\n";
  for (const FolderEntry &entry : folder.entries())
    text +=
        csvLine({entry.name, std::to_string(entry.bytes), std::to_string(entry.launches),
                 kernelsText(entry), std::to_string(entry.errors), std::to_string(entry.warnings),
                 std::to_string(entry.notes), entry.problem, entry.how});
  return text;
}

} // namespace blockscope::viz
