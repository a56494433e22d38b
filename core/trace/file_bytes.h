// The bytes of an open file, held to the size that it had when it was opened.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace blockscope {

/// One regular file, open for reading. Copies of its bytes are read: a file that changes meanwhile
/// gives other bytes or an error, where a mapping would give SIGBUS. Calls from several threads at
/// once are fine.
class FileBytes {
public:
  FileBytes() = default;
  FileBytes(FileBytes &&other) noexcept;
  FileBytes &operator=(FileBytes &&other) noexcept;
  ~FileBytes();

  /// Errors: false, with the reason in `error`: it cannot be opened, or is a folder or a device.
  bool open(const std::string &path, std::string &error);
  uint64_t size() const { return size_; }

  /// Reads all of `to`, from the byte at `offset` of the file.
  /// Errors: false when the file ends before that, or cannot be read.
  bool read(uint64_t offset, std::span<unsigned char> to) const;

private:
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

} // namespace blockscope
