// Describes stuck programs.
#include "interpreter/flat/deadlock.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

namespace blockscope::interpreter::flat {
namespace {

constexpr size_t kMostListed = 16;

AccessKind kindOf(const std::string &name) {
  if (name == "tl.atomic_cas")
    return AccessKind::AtomicCas;
  return name == "tl.atomic_rmw" ? AccessKind::AtomicRmw : AccessKind::Load;
}

AccessSite siteOf(const ExecutionContext &context) {
  AccessSite site;
  site.location = context.op->location;
  site.kind = kindOf(context.op->name);
  site.program = context.program;
  // How often the innermost loop has spun says nothing and changes from run to run.
  const llvm::ArrayRef<int64_t> loops = context.loopIterations;
  const llvm::ArrayRef<int64_t> outer = loops.empty() ? loops : loops.drop_back();
  site.loopIterations.assign(outer.begin(), outer.end());
  return site;
}

std::string join(llvm::ArrayRef<int64_t> numbers) {
  std::string text;
  for (const int64_t number : numbers)
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text;
}

std::string elementName(const LaunchState &launch, DeviceAddress address) {
  const Allocation *allocation = launch.memory.find(address);
  if (!allocation)
    return llvm::formatv("address {0:x}", address);
  const int64_t offset = MemoryMap::offsetIn(*allocation, address);
  return llvm::formatv("'{0}'[{1}]", allocation->info.name, join(allocation->elementIndex(offset)));
}

std::string programName(const std::array<int32_t, 3> &program) {
  return llvm::formatv("program ({0}, {1}, {2})", program[0], program[1], program[2]);
}

Finding describe(const LaunchState &launch, llvm::ArrayRef<StuckProgram> stuck,
                 llvm::ArrayRef<AccessSite> sites) {
  Finding finding;
  finding.code = "deadlock";
  finding.message = llvm::formatv(
      "{0} programs wait for memory that nobody will change: {1} waits for {2}", stuck.size(),
      programName(sites[0].program), elementName(launch, stuck[0].address));
  if (stuck.size() == 1)
    finding.message =
        llvm::formatv("{0} waits for {1}, which nobody will change", programName(sites[0].program),
                      elementName(launch, stuck[0].address));
  finding.kernel = launch.info.kernel;
  finding.grid = launch.info.grid;
  finding.metaParameters = launch.info.metaParameters;
  finding.launchIndex = launch.info.launchIndex;
  finding.site = sites[0];
  finding.programCount = static_cast<int64_t>(stuck.size());
  if (const Allocation *allocation = launch.memory.find(stuck[0].address)) {
    finding.tensor = allocation->info;
    finding.byteOffset = MemoryMap::offsetIn(*allocation, stuck[0].address);
    finding.elementIndex = allocation->elementIndex(finding.byteOffset);
  }
  for (size_t i = 0; i < std::min(stuck.size(), kMostListed); ++i)
    finding.values.push_back(
        {programName(sites[i].program),
         llvm::formatv("waits for {0} at {1}:{2}", elementName(launch, stuck[i].address),
                       sites[i].location.file, sites[i].location.line)});
  return finding;
}

} // namespace

void reportDeadlock(LaunchState &launch, llvm::ArrayRef<StuckProgram> stuck) {
  std::vector<AccessSite> sites;
  for (const StuckProgram &program : stuck)
    sites.push_back(siteOf(*program.context));
  bool recorded = false;
  for (Observer *observer : launch.observers) {
    observer->onDeadlock(sites);
    recorded |= observer->handlesBadLanes();
  }
  if (recorded)
    return;
  const std::lock_guard lock(launch.errorMutex);
  launch.errors.push_back(describe(launch, stuck, sites));
}

} // namespace blockscope::interpreter::flat
