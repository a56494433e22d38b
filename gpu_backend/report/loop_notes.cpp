// Loads that wait in every iteration for what a dot needs, as the plan of the loops says.
#include "gpu_backend/report/loop_notes.h"

#include "core/ir/convert.h"
#include "gpu_backend/report/kernel_notes.h"

#include "llvm/Support/FormatVariadic.h"

namespace blockscope::gpu {
namespace {

struct Advice {
  llvm::StringRef hint;
  Severity severity = Severity::Warning;
};

Advice adviceFor(LoadReason why) {
  switch (why) {
  case LoadReason::OneStage:
    return {"num_stages=3 and more", Severity::Note};
  case LoadReason::StoredTo:
    return {"move it behind the loop, or store to an argument of its own that the loop does not "
            "load"};
  case LoadReason::MemoryOrder:
    return {"move it out of the loop"};
  case LoadReason::Narrow:
    return {"say of what strides and bounds are multiples (tl.multiple_of), as the note "
            "narrow-access of this load has it, or pad them"};
  case LoadReason::Other:
    return {"other=0.0 or padding_option=\"zero\", and tl.where after the load"};
  case LoadReason::Address:
    return {"load indices for the next iteration one iteration before"};
  case LoadReason::NoMemory:
    return {"smaller tiles, or more warps and programs with less each; operands of 1 or 4 bytes "
            "that lie along K in memory need no turned copy"};
  case LoadReason::LoopInside:
    return {"", Severity::Note};
  case LoadReason::None:
  case LoadReason::NoDot:
  case LoadReason::Unsigned:
  case LoadReason::NotATile:
  case LoadReason::Volatile:
  case LoadReason::CacheModifier:
  case LoadReason::NoAsyncCopy:
    return {};
  }
  return {};
}

llvm::StringRef adviceFor(RoundReason why) {
  switch (why) {
  case RoundReason::Around:
    return "a `for` directly around the loop";
  case RoundReason::StoredTo:
    return "store to an argument of its own that the loop does not load";
  case RoundReason::MemoryOrder:
    return "move it out of the loop around";
  case RoundReason::Address:
    return "compute from the counter of the loop around where its loop begins";
  case RoundReason::TensorMap:
    return "make it before the loop around";
  case RoundReason::None:
    return "";
  }
  return "";
}

bool copiesForDots(const LoopPlan &loop) {
  return llvm::any_of(loop.loads,
                      [](const LoadPlan &load) { return load.feedsDot && load.isCopied(); });
}

/// The rounds of a loop, in a loop around it, which begin one after the other.
void noteRounds(const LoopPlan &loop, std::vector<Finding> &notes) {
  if (!loop.rounds || loop.beginsRoundsEarly() || !copiesForDots(loop))
    return;
  Finding &note =
      notes.emplace_back(noteAt(FindingCode::NotPipelined, fromMlirLocation(loop.loop->getLoc())));
  note.severity = Severity::Note;
  note.message =
      "the loop's first loads for its dots begin when all that comes before it is done: " +
      reasonText(*loop.rounds);
  note.cost = "every iteration of the loop around waits for memory once";
  note.hint = adviceFor(loop.rounds->why).str();
}

} // namespace

void noteLoops(const PipelinePlan &plan, std::vector<Finding> &notes) {
  for (const LoopPlan &loop : plan.loops) {
    noteRounds(loop, notes);
    for (const LoadPlan &load : loop.loads) {
      if (load.copy != CopyKind::InIteration || !load.feedsDot ||
          !mlir::isa<mlir::RankedTensorType>(load.load->getResult(0).getType()))
        continue;
      const Advice advice = adviceFor(load.why);
      Finding &note = notes.emplace_back(
          noteAt(FindingCode::NotPipelined, fromMlirLocation(load.load->getLoc())));
      note.severity = advice.severity;
      note.message =
          "what the dot needs is loaded in the iteration that uses it: " + reasonText(loop, load);
      note.cost = "every iteration waits for memory";
      note.hint = advice.hint.str();
    }
  }
}

std::vector<FewerBuffers> fewerBuffers(const PipelinePlan &plan) {
  std::vector<FewerBuffers> found;
  for (const LoopPlan &loop : plan.loops) {
    if (!loop.isPipelined())
      continue;
    const RingPlan &ring = loop.rings.front();
    int first = ring.ahead; // loads of addresses begin before the copies, and take stages
    for (const LoadPlan &load : loop.loads)
      first = std::max(first, load.addressAhead);
    if (ring.buffers + first - ring.ahead < loop.stages)
      found.push_back({fromMlirLocation(loop.loop->getLoc()), loop.stages, ring.buffers,
                       loop.ringBytes() / ring.buffers});
  }
  return found;
}

void noteFewerBuffers(llvm::ArrayRef<FewerBuffers> loops, GpuKernel &kernel) {
  for (const FewerBuffers &loop : loops) {
    const int64_t asked = kernel.sharedBytes + (loop.stages - loop.buffers) * loop.bytes;
    // Where there is memory for all, another CTA has the place of one.
    if (asked <= kernel.target.sharedBytes())
      continue;
    Finding &note = kernel.notes.emplace_back(noteAt(FindingCode::FewerBuffers, loop.place));
    note.measure = {loop.buffers, loop.stages};
    note.message = llvm::formatv(
        "num_stages is {0}, but the loop has {1} buffers: with {0} the kernel would take {2} bytes "
        "of shared memory, and a CTA of {3} has {4}",
        loop.stages, loop.buffers, asked, kernel.target.arch, kernel.target.sharedBytes());
    note.cost = "loads begin fewer iterations early; the code is that of fewer stages";
    note.hint = llvm::formatv("num_stages={0}, or smaller tiles", loop.buffers);
  }
}

} // namespace blockscope::gpu
