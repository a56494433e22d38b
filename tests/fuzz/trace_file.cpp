// Fuzz target: a whole trace file, through everything that the viewer reads of it.
//
// The input is the version of the file, then its HDF5 part (tests/fuzz/zero_runs.h). The envelope
// is made right, as an attacker would.
#include "core/trace/trace_envelope.h"
#include "core/trace/trace_reader.h"
#include "tests/fuzz/explore_model.h"
#include "tests/fuzz/zero_runs.h"

#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

using namespace blockscope;

namespace {

constexpr size_t kMostBytes = size_t{1} << 19;
constexpr size_t kMostLaunches = 3;

std::vector<unsigned char> withEnvelope(const std::vector<unsigned char> &body, int version) {
  const uLong crc = crc32(crc32(0, nullptr, 0), body.data(), static_cast<uInt>(body.size()));
  const std::string text =
      finishedEnvelope(version, kTraceEnvelopeBytes + body.size(), static_cast<uint32_t>(crc));
  std::vector<unsigned char> file(text.begin(), text.end());
  file.resize(kTraceEnvelopeBytes);
  file.insert(file.end(), body.begin(), body.end());
  return file;
}

/// A file in memory with these bytes.
std::string pathOf(const std::vector<unsigned char> &bytes) {
  static const int file = memfd_create("trace", 0);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes.size())) != 0 ||
      pwrite(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    std::abort();
  return "/proc/self/fd/" + std::to_string(file);
}

} // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  const std::string path =
      pathOf(withEnvelope(fuzz::expandZeros({data + 1, size - 1}, kMostBytes), 1 + data[0] % 2));
  std::string error;
  const auto reader = TraceReader::open(path, error, fuzz::smallLimits());
  if (!reader)
    return 0;
  for (size_t launch = 0; launch < std::min(reader->launchCount(), kMostLaunches); ++launch)
    if (const auto model = viz::TraceModel::open(path, launch, error, fuzz::smallLimits()))
      fuzz::explore(*model);
  viz::TraceModel::open(path, std::nullopt, error, fuzz::smallLimits());
  return 0;
}
