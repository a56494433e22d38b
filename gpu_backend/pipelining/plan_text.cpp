// The plan in words, for people and for tests.
#include "gpu_backend/pipelining/plan.h"

#include "core/ir/convert.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// "at kernel.py:12:5", with the variable that is assigned to: "'x' at kernel.py:12:5".
std::string placeOf(Operation *op) {
  const SourceLocation at = fromMlirLocation(op->getLoc());
  const std::string name = at.variable.empty() ? "" : "'" + at.variable + "' ";
  return llvm::formatv("{0}at {1}:{2}:{3}", name, llvm::sys::path::filename(at.file), at.line,
                       at.column);
}

int lineOf(Operation *op) { return fromMlirLocation(op->getLoc()).line; }

llvm::StringRef extraText(ExtraBuffer extra) {
  switch (extra) {
  case ExtraBuffer::None:
    return "";
  case ExtraBuffer::IndependentWarpgroups:
    return " (one extra: a warpgroup can be ahead of another)";
  case ExtraBuffer::FewerWaits:
    return " (one extra: threads wait less for copies, and no CTA is lost)";
  }
  return "";
}

llvm::StringRef producerText(const LoopPlan &loop) {
  if (!loop.copies(CopyKind::Tma))
    return "all threads";
  return loop.copies(CopyKind::CpAsync) ? "thread 0 for TMA, all threads for cp.async" : "thread 0";
}

llvm::StringRef waitText(RingSync sync) {
  switch (sync) {
  case RingSync::CtaBarrier:
    return "each thread for its copies, then all at a CTA barrier";
  case RingSync::FilledMbarriers:
    return "all threads at the slot's mbarrier 'filled', then at a CTA barrier";
  case RingSync::FilledAndReleasedMbarriers:
    return "consumers at the slot's mbarrier 'filled', producers at its mbarrier 'released'";
  case RingSync::ClusterMbarriers:
    return "consumers at the slot's mbarrier 'filled', producers at its mbarrier 'released', which "
           "all CTAs of the cluster release";
  }
  return "";
}

/// Why a ring has more or fewer buffers than the loop has stages.
llvm::StringRef buffersText(const LoopPlan &loop, const RingPlan &ring) {
  if (ring.buffers >= loop.stages)
    return extraText(ring.extra);
  int first = ring.ahead; // so many iterations early the first load of an address begins
  for (const LoadPlan &load : loop.loads)
    first = std::max(first, load.addressAhead);
  return ring.buffers + first - ring.ahead < loop.stages
             ? " (shared memory has no place for more, or not beside another CTA)"
             : " (loads that addresses need take the other stages)";
}

std::string ringText(const LoopPlan &loop, const RingPlan &ring) {
  return llvm::formatv("  ring: {0} buffers{1}\n  copies: begun {2} iteration{3} ahead by {4}\n"
                       "  waits: {5}\n",
                       ring.buffers, buffersText(loop, ring), ring.ahead,
                       ring.ahead == 1 ? "" : "s", producerText(loop), waitText(ring.sync));
}

std::string aheadText(int iterations) {
  return llvm::formatv("into registers, {0} iterations early: addresses of copies need it",
                       iterations);
}

std::string loadText(const LoopPlan &loop, const LoadPlan &load) {
  std::string text = "  load " + placeOf(load.load) + ": ";
  if (load.copy == CopyKind::InIteration)
    return text +
           (load.addressAhead != 0 ? aheadText(load.addressAhead)
                                   : "in its iteration: " + reasonText(loop, load)) +
           "\n";
  if (load.copy == CopyKind::Registers)
    return text + "into registers, an iteration early" +
           (load.addressAhead != 0 ? ", and " + aheadText(load.addressAhead) : "") + "\n";
  text += load.copy == CopyKind::Tma ? "TMA" : "cp.async";
  text +=
      llvm::formatv(", {0} bytes a buffer{1}{2}\n", tlg::sharedLayoutOf(load.buffer).sizeBytes(),
                    load.isDelayed ? ", used an iteration later" : "",
                    load.hasOneBuffer ? ", which is filled again once it is read" : "");
  return text;
}

std::string loopText(const LoopPlan &loop) {
  if (loop.loop->hasAttr(tlg::kOfElementsAttribute))
    return "elements " + placeOf(loop.loop) +
           ": a few of a thread at a time, as code for each is long\n";
  std::string text = "loop " + placeOf(loop.loop) + ": ";
  if (loop.why != LoadReason::None)
    return text + "not pipelined: " + reasonText(loop, {}) + "\n";
  text += loop.isPipelined()  ? llvm::formatv("{0} stages\n", loop.stages).str()
          : loop.loadsEarly() ? "no ring\n"
                              : "not pipelined: no load of it can begin early\n";
  for (const RingPlan &ring : loop.rings)
    text += ringText(loop, ring);
  for (const LoadPlan &load : loop.loads)
    text += loadText(loop, load);
  if (loop.delayedDot)
    text += "  dot " + placeOf(loop.delayedDot->second) + ": an iteration later, beside the dot " +
            placeOf(loop.delayedDot->first) + "\n";
  if (loop.rounds)
    text +=
        loop.beginsRoundsEarly()
            ? "  rounds: the first copies of each begin behind the iterations of the one before\n"
            : "  rounds: the first copies of each begin with it: " + reasonText(*loop.rounds) +
                  "\n";
  for (const auto [loaded, stored] : loop.disjoint)
    text += llvm::formatv("  arguments {0} and {1} must not overlap\n", loaded, stored);
  return text;
}

} // namespace

std::string reasonText(const LoopPlan &loop, const LoadPlan &load) {
  switch (load.load ? load.why : loop.why) {
  case LoadReason::None:
    return "";
  case LoadReason::NoDot:
    return "no dot of its iteration uses it, and the loop itself asks for no stages "
           "(tl.range with num_stages)";
  case LoadReason::OneStage:
    return llvm::formatv("num_stages is {0}", loop.stages);
  case LoadReason::Unsigned:
    return "the loop's counter is unsigned";
  case LoadReason::LoopInside:
    return "a loop inside the loop is pipelined";
  case LoadReason::StoredTo:
    return llvm::formatv(
        "line {0} of the loop writes to global memory, and a later iteration might "
        "load that",
        lineOf(load.because));
  case LoadReason::MemoryOrder:
    return llvm::formatv("line {0} of the loop orders accesses to memory", lineOf(load.because));
  case LoadReason::NotATile:
    return "it loads one element, or has no layout";
  case LoadReason::Narrow:
    return llvm::formatv("it loads by pieces of {0} byte{1}, asynchronous copies take at least 4",
                         load.pieceBytes, load.pieceBytes == 1 ? "" : "s");
  case LoadReason::Volatile:
    return "the load is volatile";
  case LoadReason::CacheModifier:
    return "asynchronous copies do not have its cache_modifier";
  case LoadReason::Other:
    return "its 'other' (of a descriptor or block pointer, its padding_option) is not zero, which "
           "is all that asynchronous copies can fill in";
  case LoadReason::Address:
    return "its addresses or its mask come from a load that cannot be done earlier, from an "
           "atomic, "
           "or from a loop inside the loop";
  case LoadReason::NoAsyncCopy:
    return "the target has no asynchronous copies";
  case LoadReason::NoMemory:
    return "shared memory has no place for two buffers of what the loop loads, beside what else "
           "the kernel holds there";
  }
  return "";
}

std::string reasonText(const RoundPlan &rounds) {
  switch (rounds.why) {
  case RoundReason::None:
    return "";
  case RoundReason::Around:
    return "what is directly around the loop is no loop with a known step";
  case RoundReason::StoredTo:
    return llvm::formatv("line {0} of the loop around it writes to global memory, and the next "
                         "round might load that",
                         lineOf(rounds.because));
  case RoundReason::MemoryOrder:
    return llvm::formatv("line {0} of the loop around it orders accesses to memory",
                         lineOf(rounds.because));
  case RoundReason::Address:
    return "the number of iterations, or where they load, comes from what the round before does";
  case RoundReason::TensorMap:
    return "the loop around it makes the descriptor";
  }
  return "";
}

std::string text(const PipelinePlan &plan) {
  std::string result;
  for (const LoopPlan &loop : plan.loops)
    result += loopText(loop);
  return result;
}

} // namespace blockscope::gpu
