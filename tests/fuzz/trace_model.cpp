// Fuzz target: the data of one launch, as values and not as a file, through the checks and then
// through everything that the viewer computes. It reaches what the checksums of deflate keep
// trace_file from.
#include "core/trace/trace_check.h"
#include "tests/fuzz/explore_model.h"

#include <fuzzer/FuzzedDataProvider.h>

#include <limits>

using namespace blockscope;

namespace {

class LaunchMaker {
public:
  LaunchMaker(const uint8_t *data, size_t size) : data_(data, size) {}

  TraceLaunch launch();
  TraceAccesses accesses(const TraceLaunch &launch);
  std::vector<TraceSource> sources();

private:
  /// Mostly a number that makes sense, now and then any.
  template <typename T> T number(T least, T most) {
    return data_.ConsumeIntegral<uint8_t>() < 8
               ? data_.ConsumeIntegral<T>()
               : static_cast<T>(data_.ConsumeIntegralInRange<T>(least, most));
  }
  std::string text() { return data_.ConsumeRandomLengthString(12); }
  TraceArgument argument();
  TraceRun run(const TraceLaunch &launch);

  FuzzedDataProvider data_;
};

TraceArgument LaunchMaker::argument() {
  TraceArgument made;
  made.name = text();
  made.elementBytes = number<int64_t>(0, 8);
  made.storageBytes = number<int64_t>(0, 4096);
  made.baseOffsetBytes = number<int64_t>(-64, 64);
  const auto rank = data_.ConsumeIntegralInRange<size_t>(0, 5);
  for (size_t dim = 0; dim < rank; ++dim) {
    made.shape.push_back(number<int64_t>(0, 9));
    made.strides.push_back(number<int64_t>(-20, 40));
  }
  return made;
}

TraceLaunch LaunchMaker::launch() {
  TraceLaunch made;
  for (int64_t &extent : made.grid)
    extent = number<int64_t>(1, 5);
  for (int count = data_.ConsumeIntegralInRange(1, 4); count > 0; --count)
    made.arguments.push_back(argument());
  for (int count = data_.ConsumeIntegralInRange(1, 4); count > 0; --count)
    made.ops.push_back({text(), static_cast<TraceOpKind>(number<uint8_t>(0, 3)),
                        number<int32_t>(-1, 1), number<int32_t>(0, 9), number<int32_t>(0, 9),
                        text(), text()});
  for (int count = data_.ConsumeIntegralInRange(0, 3); count > 0; --count) {
    TraceFinding finding;
    // Always one of the table: the file has the code as text, which the reader looks up.
    finding.code =
        static_cast<FindingCode>(data_.ConsumeIntegralInRange<size_t>(0, findingCodes().size()));
    finding.op = number<int32_t>(-1, 3);
    finding.argument = number<int32_t>(-1, 3);
    finding.program = number<int64_t>(-1, 9);
    finding.source = number<int32_t>(-1, 1);
    finding.site.location.line = number<int32_t>(0, 9);
    finding.count = number<int64_t>(0, 9);
    made.findings.push_back(std::move(finding));
  }
  return made;
}

TraceRun LaunchMaker::run(const TraceLaunch &launch) {
  TraceRun made;
  made.program = number<uint32_t>(0, 3);
  made.op = number<uint32_t>(0, static_cast<uint32_t>(launch.ops.size() - 1));
  made.argument = number<int32_t>(-1, static_cast<int32_t>(launch.arguments.size() - 1));
  made.offsetBytes = number<int64_t>(-64, 512);
  made.elementBytes = number<uint8_t>(0, 8);
  made.innerCount = number<uint32_t>(0, 40);
  made.innerStrideBytes = number<int64_t>(-16, 16);
  made.outerCount = number<uint32_t>(1, 8);
  made.outerStrideBytes = number<int64_t>(-64, 128);
  made.maskedLanes = number<uint32_t>(0, 9);
  made.kind = static_cast<TraceAccessKind>(number<uint8_t>(0, 2));
  made.flags = number<uint8_t>(0, 7);
  return made;
}

TraceAccesses LaunchMaker::accesses(const TraceLaunch &launch) {
  constexpr size_t kMostRows = 200;
  std::vector<TraceRun> runs;
  while (data_.remaining_bytes() > 0 && runs.size() < kMostRows)
    runs.push_back(run(launch));
  TraceAccesses made;
  made.rows = runs.size();
  forEachAccessColumn([&](const char *, auto defaultValue, auto member, auto valueOf) {
    std::vector<decltype(defaultValue)> values;
    for (const TraceRun &each : runs)
      values.push_back(valueOf(each));
    made.*member = TraceColumn<decltype(defaultValue)>(std::move(values));
  });
  return made;
}

std::vector<TraceSource> LaunchMaker::sources() {
  return {{text(), data_.ConsumeRandomLengthString(60), number<int32_t>(1, 9)}, {text(), "", 1}};
}

} // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  LaunchMaker maker(data, size);
  std::vector<TraceSource> sources = maker.sources();
  TraceLaunch launch = maker.launch();
  TraceAccesses accesses = maker.accesses(launch);
  if (!problemOf(sources).empty() || !problemOf(launch, sources.size()).empty() ||
      !problemOf(accesses, launch).empty())
    return 0;
  std::string error;
  if (const auto model = viz::TraceModel::make(std::move(launch), std::move(accesses),
                                               std::move(sources), fuzz::smallLimits(), error))
    fuzz::explore(*model);
  return 0;
}
