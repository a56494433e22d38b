// The envelope of a trace file: written last, read first.
#include "core/trace/trace_envelope.h"

#include "core/trace/parallel.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <span>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace blockscope {
namespace {

constexpr std::string_view kMagic = "BLOCKSCOPE TRACE ";
constexpr std::string_view kHdf5Magic = "\x89HDF\r\n\x1a\n";

/// Owns a file descriptor.
class Descriptor {
public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0)
      close(fd_);
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  int get() const { return fd_; }

private:
  int fd_;
};

/// CRC-32 of bytes [begin, end) of the file.
bool crcOfRange(const FileBytes &file, uint64_t begin, uint64_t end, uint32_t &crc) {
  std::vector<unsigned char> buffer(std::min(uint64_t{1} << 18, end - begin));
  uLong value = crc32(0, nullptr, 0);
  for (uint64_t at = begin; at < end;) {
    const std::span<unsigned char> part(buffer.data(), std::min<uint64_t>(buffer.size(), end - at));
    if (!file.read(at, part))
      return false;
    value = crc32(value, part.data(), static_cast<uInt>(part.size()));
    at += part.size();
  }
  crc = static_cast<uint32_t>(value);
  return true;
}

/// CRC-32 of everything after the envelope, by up to four threads.
bool crcOfBody(const FileBytes &file, uint32_t &crc) {
  const uint64_t bodyBytes = file.size() - kTraceEnvelopeBytes;
  const uint64_t parts = bodyBytes < (uint64_t{4} << 20) ? 1 : 4;
  std::array<uint32_t, 4> crcs{};
  std::array<uint64_t, 5> bounds{};
  for (uint64_t part = 0; part <= parts; ++part)
    bounds[part] = kTraceEnvelopeBytes + bodyBytes * part / parts;
  std::atomic<bool> good{true};
  forEachInParallel(parts, parts, [&](size_t part) {
    if (!crcOfRange(file, bounds[part], bounds[part + 1], crcs[part]))
      good = false;
  });
  uLong total = crcs[0];
  for (uint64_t part = 1; part < parts; ++part)
    total = crc32_combine(total, crcs[part], static_cast<z_off_t>(bounds[part + 1] - bounds[part]));
  crc = static_cast<uint32_t>(total);
  return good;
}

bool writeHeader(int fd, const std::string &text) {
  std::array<char, kTraceEnvelopeBytes> block{};
  std::copy(text.begin(), text.end(), block.begin());
  return pwrite(fd, block.data(), block.size(), 0) == static_cast<ssize_t>(block.size());
}

std::string withReason(const char *what) { return std::string(what) + ": " + std::strerror(errno); }

} // namespace

std::string finishedEnvelope(int version, uint64_t fileBytes, uint32_t crc) {
  std::array<char, 128> text{};
  std::snprintf(text.data(), text.size(), "%s%d\nbytes %llu\ncrc32 %08x\nThe rest is HDF5.\n",
                std::string(kMagic).c_str(), version, static_cast<unsigned long long>(fileBytes),
                crc);
  return text.data();
}

bool writeUnfinishedEnvelope(const std::string &path, std::string &error) {
  const Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (file.get() >= 0 &&
      writeHeader(file.get(), std::string(kMagic) + std::to_string(kTraceFormatVersion) +
                                  "\nunfinished: the process that recorded this ended early\n"))
    return true;
  error = withReason("cannot write the header");
  return false;
}

bool writeFinishedEnvelope(const std::string &path, std::string &error) {
  FileBytes body;
  uint32_t crc = 0;
  if (!body.open(path, error))
    return false;
  if (body.size() < kTraceEnvelopeBytes || !crcOfBody(body, crc)) {
    error = withReason("cannot read the file back for its checksum");
    return false;
  }
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() >= 0 &&
      writeHeader(file.get(), finishedEnvelope(kTraceFormatVersion, body.size(), crc)))
    return true;
  error = withReason("cannot write the header");
  return false;
}

int checkEnvelope(const FileBytes &file, std::string &error) {
  if (file.size() == 0) {
    error = "is empty; a trace file was expected";
    return 0;
  }
  std::array<char, kTraceEnvelopeBytes + 1> block{};
  const uint64_t headBytes = std::min(file.size(), kTraceEnvelopeBytes);
  if (!file.read(0, {reinterpret_cast<unsigned char *>(block.data()), headBytes})) {
    error = withReason("cannot be read");
    return 0;
  }
  const std::string_view head(block.data(), headBytes);
  if (!head.starts_with(kMagic.substr(0, head.size()))) {
    error =
        head.starts_with(kHdf5Magic)
            ? "is an HDF5 file, but no Blockscope trace: the header 'BLOCKSCOPE TRACE' is missing"
            : "is no Blockscope trace: it does not begin with 'BLOCKSCOPE TRACE'";
    return 0;
  }
  if (head.size() < kTraceEnvelopeBytes) {
    error = "is cut short: it has " + std::to_string(head.size()) + " bytes of a header of " +
            std::to_string(kTraceEnvelopeBytes);
    return 0;
  }
  int version = 0;
  unsigned long long bytes = 0;
  unsigned crc = 0;
  const char *rest = block.data() + kMagic.size();
  if (std::strstr(rest, "unfinished") != nullptr) {
    error = "is an unfinished recording: the process that wrote it ended early";
    return 0;
  }
  if (std::sscanf(rest, "%9d", &version) == 1 && (version < 1 || version > kTraceFormatVersion)) {
    error = "has format version " + std::to_string(version) +
            "; this program reads versions 1 to " + std::to_string(kTraceFormatVersion);
    return 0;
  }
  std::string expected;
  if (std::sscanf(rest, "%*d bytes %19llu crc32 %8x", &bytes, &crc) == 2)
    expected = finishedEnvelope(version, bytes, crc);
  expected.resize(kTraceEnvelopeBytes);
  if (head != expected) {
    error = "has a damaged header";
    return 0;
  }
  if (bytes != file.size()) {
    error = "is cut short or has something appended: it has " + std::to_string(file.size()) +
            " bytes, its header says " + std::to_string(bytes);
    return 0;
  }
  uint32_t found = 0;
  if (!crcOfBody(file, found)) {
    error = withReason("cannot be read to its end");
    return 0;
  }
  if (found != crc) {
    error = "is damaged or was changed after it was recorded: its checksum differs";
    return 0;
  }
  return version;
}

} // namespace blockscope
