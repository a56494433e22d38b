// Reads instructions of 16 bytes, then walks through them with a clock.
#include "gpu_backend/codegen/warp_time.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <array>

namespace blockscope::gpu {
namespace {

constexpr int kBarriers = 6;
constexpr int64_t kOther = 30; // cycles of what is not memory and takes its time
constexpr size_t kInstructionBytes = 16;

// The low 12 bits of an instruction.
constexpr uint32_t kBranch = 0x947, kExit = 0x94d;
/// Loads from global memory and atomics, with and without a descriptor.
constexpr std::array<uint32_t, 8> kMemoryOps = {0x381, 0x981, 0x980, 0x983,
                                                0x3a8, 0x9a8, 0x98a, 0x98e};

struct Instruction {
  uint32_t op = 0;
  bool isAlways = false; ///< has no predicate
  int cycles = 1;        ///< until the next one
  int sets = kBarriers, reads = kBarriers;
  uint32_t waits = 0;  ///< a bit for each barrier
  int64_t target = -1; ///< of a branch

  bool isMemory() const { return llvm::is_contained(kMemoryOps, op); }
};

using Code = llvm::SmallVector<Instruction, 0>;

Code decoded(llvm::StringRef text, bool branchesByWords) {
  Code code;
  for (size_t at = 0; at + kInstructionBytes <= text.size(); at += kInstructionBytes) {
    const uint64_t low = llvm::support::endian::read64le(text.data() + at),
                   high = llvm::support::endian::read64le(text.data() + at + 8);
    Instruction &next = code.emplace_back();
    next.op = low & 0xfff;
    next.isAlways = ((low >> 12) & 0xf) == 7;
    const uint64_t control = high >> 41;
    next.cycles = std::max<int>(1, control & 0xf);
    next.sets = (control >> 5) & 7;
    next.reads = (control >> 8) & 7;
    next.waits = (control >> 11) & 0x3f;
    if (next.op != kBranch)
      continue;
    // From the next instruction; eight bits of a number of words are in another place.
    const uint64_t upper = high & 0x3ffff;
    const int64_t offset =
        branchesByWords
            ? llvm::SignExtend64<56>((upper << 30 | low >> 34) << 8 | ((low >> 16) & 0xff)) * 4
            : llvm::SignExtend64<50>(upper << 32 | low >> 32);
    next.target = static_cast<int64_t>(code.size()) + offset / int64_t{kInstructionBytes};
    if (next.target < 0 || next.target > static_cast<int64_t>(text.size() / kInstructionBytes))
      return {};
  }
  return code;
}

struct Loop {
  int64_t first = 0, last = -1, loads = 0;
};

/// The innermost loop with the most loads; an empty one where no loop loads.
Loop mainLoop(const Code &code) {
  llvm::SmallVector<Loop> loops;
  for (auto [i, instruction] : llvm::enumerate(code))
    if (instruction.target >= 0 && instruction.target < static_cast<int64_t>(i))
      loops.push_back({instruction.target, static_cast<int64_t>(i)});
  Loop main;
  for (const Loop &loop : loops) {
    const bool isInnermost = llvm::none_of(loops, [&](const Loop &other) {
      return other.first >= loop.first && other.last <= loop.last &&
             (other.first != loop.first || other.last != loop.last);
    });
    const int64_t loads =
        std::count_if(code.begin() + loop.first, code.begin() + loop.last + 1,
                      [](const Instruction &instruction) { return instruction.isMemory(); });
    if (isInnermost && loads > main.loads)
      main = {loop.first, loop.last, loads};
  }
  return main;
}

/// Whether code between a branch ahead and its target, behind which the main loop is, ends the
/// kernel or goes past the loop: what returns early does not stand for the others.
bool leadsToMain(const Code &code, int64_t at, const Loop &main) {
  const int64_t target = code[at].target;
  return target > at && target <= main.first &&
         std::any_of(code.begin() + at, code.begin() + target, [&](const Instruction &between) {
           return between.isAlways && (between.op == kExit || between.target > main.last);
         });
}

WarpTime walk(const Code &code, int64_t answer) {
  const Loop main = mainLoop(code);
  WarpTime time;
  time.loads = main.loads;
  int64_t waited = 0;                     // for memory, in the main loop
  std::array<int64_t, kBarriers> ready{}; // when each barrier is free
  std::array<bool, kBarriers> isMemory{}; // whether it is memory that it waits for
  llvm::SmallVector<int> trips(code.size(), 0);
  for (int64_t at = 0; at < static_cast<int64_t>(code.size());) {
    const Instruction &now = code[at];
    const int64_t before = time.cycles;
    bool forMemory = false;
    for (int barrier = 0; barrier < kBarriers; ++barrier)
      if (((now.waits >> barrier) & 1) != 0 && ready[barrier] > time.cycles) {
        time.cycles = ready[barrier];
        forMemory = isMemory[barrier];
      }
    const bool isInLoop = at >= main.first && at <= main.last;
    if (forMemory && isInLoop)
      waited += time.cycles - before;
    ++time.instructions;
    (isInLoop ? time.inLoop.loads : time.loadsElsewhere) += now.isMemory();
    const auto occupy = [&](int barrier, int64_t cycles, bool memory) {
      if (barrier >= kBarriers || ready[barrier] >= time.cycles + cycles)
        return;
      ready[barrier] = time.cycles + cycles;
      isMemory[barrier] = memory;
    };
    occupy(now.sets, now.isMemory() ? answer : kOther, now.isMemory());
    occupy(now.reads, kOther, false);
    time.cycles += now.cycles;
    if (isInLoop) {
      ++time.inLoop.instructions;
      time.inLoop.cycles += time.cycles - before;
    }
    if (now.op == kExit && now.isAlways)
      break;
    const bool isBack = now.target >= 0 && now.target <= at;
    if (isBack) {
      const bool isMain = at == main.last && now.target == main.first;
      if (isMain && ++trips[at] < WarpTime::kTrips) {
        at = now.target;
        continue;
      }
      if (now.target == at) // the padding behind the kernel
        break;
    } else if (now.target >= 0 && (now.isAlways || leadsToMain(code, at, main))) {
      at = now.target;
      continue;
    }
    ++at;
  }
  time.inRounds = std::max<int64_t>(0, waited - WarpTime::kTrips * answer);
  return time;
}

} // namespace

WarpTime WarpTime::forLoadsOf(const WarpTime &other) const {
  constexpr double kAbout = 1.25; // loads that ptxas leaves out or begins again
  const int64_t left = other.inLoop.loads + other.loadsElsewhere - loadsElsewhere;
  if (inLoop.loads == 0 || left <= 0)
    return *this;
  const double times = static_cast<double>(left) / static_cast<double>(inLoop.loads);
  if (times < kAbout && times * kAbout > 1)
    return *this;
  WarpTime scaled = *this;
  const auto scale = [&](int64_t &all, int64_t part) {
    all += static_cast<int64_t>((times - 1) * static_cast<double>(part));
  };
  scale(scaled.instructions, inLoop.instructions);
  scale(scaled.cycles, inLoop.cycles);
  scale(scaled.inRounds, inRounds);
  scale(scaled.inLoop.instructions, inLoop.instructions);
  scale(scaled.inLoop.cycles, inLoop.cycles);
  scale(scaled.inLoop.loads, inLoop.loads);
  return scaled;
}

std::optional<WarpTime> warpTime(llvm::StringRef text, bool branchesByWords, int64_t answer) {
  const Code code = decoded(text, branchesByWords);
  if (code.empty())
    return std::nullopt;
  return walk(code, answer);
}

} // namespace blockscope::gpu
