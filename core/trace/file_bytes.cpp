// Reading of a file by pread.
#include "core/trace/file_bytes.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace blockscope {

FileBytes::FileBytes(FileBytes &&other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

FileBytes &FileBytes::operator=(FileBytes &&other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  return *this;
}

FileBytes::~FileBytes() {
  if (descriptor_ >= 0)
    close(descriptor_);
}

bool FileBytes::open(const std::string &path, std::string &error) {
  // Without O_NONBLOCK a pipe that nobody writes would be waited for.
  FileBytes opened;
  opened.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info{};
  if (opened.descriptor_ < 0 || fstat(opened.descriptor_, &info) != 0) {
    error = std::string("cannot open: ") + std::strerror(errno);
    return false;
  }
  if (!S_ISREG(info.st_mode)) {
    error = S_ISDIR(info.st_mode) ? "is a folder, not a trace file" : "is not a regular file";
    return false;
  }
  opened.size_ = static_cast<uint64_t>(info.st_size);
  *this = std::move(opened);
  return true;
}

bool FileBytes::read(uint64_t offset, std::span<unsigned char> to) const {
  if (offset > size_ || to.size() > size_ - offset)
    return false;
  while (!to.empty()) {
    const ssize_t got = pread(descriptor_, to.data(), to.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    to = to.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  return true;
}

} // namespace blockscope
