// The envelope of a trace file: written last, read first.
#include "core/trace/trace_envelope.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
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

/// CRC-32 of bytes [begin, end) of the file, in 256 KiB reads: a file that shrinks meanwhile gives
/// an error, where a mapping would give SIGBUS.
bool crcOfRange(int fd, uint64_t begin, uint64_t end, uint32_t &crc) {
  std::vector<unsigned char> buffer(size_t{1} << 18);
  uLong value = crc32(0, nullptr, 0);
  for (uint64_t at = begin; at < end;) {
    const size_t want = std::min<uint64_t>(buffer.size(), end - at);
    const ssize_t got = pread(fd, buffer.data(), want, static_cast<off_t>(at));
    if (got <= 0)
      return false;
    value = crc32(value, buffer.data(), static_cast<uInt>(got));
    at += static_cast<uint64_t>(got);
  }
  crc = static_cast<uint32_t>(value);
  return true;
}

/// CRC-32 of everything after the envelope, by up to four threads.
bool crcOfBody(int fd, uint64_t fileBytes, uint32_t &crc) {
  const uint64_t bodyBytes = fileBytes - kTraceEnvelopeBytes;
  const uint64_t parts = bodyBytes < (uint64_t{4} << 20) ? 1 : 4;
  std::array<uint32_t, 4> crcs{};
  std::array<uint64_t, 5> bounds{};
  for (uint64_t part = 0; part <= parts; ++part)
    bounds[part] = kTraceEnvelopeBytes + bodyBytes * part / parts;
  std::array<char, 4> good{};
  std::vector<std::thread> threads;
  for (uint64_t part = 1; part < parts; ++part)
    threads.emplace_back([&, part] {
      good[part] = crcOfRange(fd, bounds[part], bounds[part + 1], crcs[part]) ? 1 : 0;
    });
  good[0] = crcOfRange(fd, bounds[0], bounds[1], crcs[0]) ? 1 : 0;
  for (std::thread &thread : threads)
    thread.join();
  uLong total = crcs[0];
  for (uint64_t part = 1; part < parts; ++part)
    total = crc32_combine(total, crcs[part], static_cast<z_off_t>(bounds[part + 1] - bounds[part]));
  crc = static_cast<uint32_t>(total);
  return std::all_of(good.begin(), good.begin() + parts, [](char each) { return each != 0; });
}

bool writeHeader(int fd, const std::string &text) {
  std::array<char, kTraceEnvelopeBytes> block{};
  std::copy(text.begin(), text.end(), block.begin());
  return pwrite(fd, block.data(), block.size(), 0) == static_cast<ssize_t>(block.size());
}

std::string finishedHeader(uint64_t fileBytes, uint32_t crc) {
  std::array<char, 128> text{};
  std::snprintf(text.data(), text.size(), "%s%d\nbytes %llu\ncrc32 %08x\nThe rest is HDF5.\n",
                std::string(kMagic).c_str(), kTraceFormatVersion,
                static_cast<unsigned long long>(fileBytes), crc);
  return text.data();
}

std::string withReason(const char *what) { return std::string(what) + ": " + std::strerror(errno); }

} // namespace

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
  const Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct stat info{};
  uint32_t crc = 0;
  if (file.get() < 0 || fstat(file.get(), &info) != 0 ||
      !crcOfBody(file.get(), static_cast<uint64_t>(info.st_size), crc)) {
    error = withReason("cannot read the file back for its checksum");
    return false;
  }
  if (writeHeader(file.get(), finishedHeader(static_cast<uint64_t>(info.st_size), crc)))
    return true;
  error = withReason("cannot write the header");
  return false;
}

bool checkEnvelope(const std::string &path, std::string &error) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info{};
  if (file.get() < 0 || fstat(file.get(), &info) != 0) {
    error = withReason("cannot open");
    return false;
  }
  if (!S_ISREG(info.st_mode)) {
    error = S_ISDIR(info.st_mode) ? "is a folder, not a trace file" : "is not a regular file";
    return false;
  }
  if (info.st_size == 0) {
    error = "is empty; a trace file was expected";
    return false;
  }
  std::array<char, kTraceEnvelopeBytes + 1> block{};
  const ssize_t got = pread(file.get(), block.data(), kTraceEnvelopeBytes, 0);
  const std::string_view head(block.data(), got > 0 ? static_cast<size_t>(got) : 0);
  if (!head.starts_with(kMagic.substr(0, std::max<size_t>(1, head.size())))) {
    error =
        head.starts_with(kHdf5Magic)
            ? "is an HDF5 file, but no Blockscope trace: the header 'BLOCKSCOPE TRACE' is missing"
            : "is no Blockscope trace: it does not begin with 'BLOCKSCOPE TRACE'";
    return false;
  }
  if (head.size() < kTraceEnvelopeBytes) {
    error = "is cut short: it has " + std::to_string(head.size()) + " bytes of a header of " +
            std::to_string(kTraceEnvelopeBytes);
    return false;
  }
  int version = 0;
  unsigned long long bytes = 0;
  unsigned crc = 0;
  const char *rest = block.data() + kMagic.size();
  if (std::strstr(rest, "unfinished") != nullptr) {
    error = "is an unfinished recording: the process that wrote it ended early";
    return false;
  }
  if (std::sscanf(rest, "%9d", &version) == 1 && version != kTraceFormatVersion) {
    error = "has format version " + std::to_string(version) + "; this program reads version " +
            std::to_string(kTraceFormatVersion);
    return false;
  }
  std::string expected;
  if (std::sscanf(rest, "%*d bytes %20llu crc32 %8x", &bytes, &crc) == 2)
    expected = finishedHeader(bytes, crc);
  expected.resize(kTraceEnvelopeBytes);
  if (head != expected) {
    error = "has a damaged header";
    return false;
  }
  if (bytes != static_cast<unsigned long long>(info.st_size)) {
    error = "is cut short or has something appended: it has " + std::to_string(info.st_size) +
            " bytes, its header says " + std::to_string(bytes);
    return false;
  }
  uint32_t found = 0;
  if (bytes < kTraceEnvelopeBytes || !crcOfBody(file.get(), bytes, found)) {
    error = withReason("cannot be read to its end");
    return false;
  }
  if (found != crc) {
    error = "is damaged or was changed after it was recorded: its checksum differs";
    return false;
  }
  return true;
}

} // namespace blockscope
