// Tries other numbers of registers, other orders of loads, and what a clock says of them.
#include "gpu_backend/codegen/register_choice.h"

#include "gpu_backend/codegen/cta_counts.h"
#include "gpu_backend/codegen/loads_first.h"
#include "gpu_backend/codegen/pace.h"
#include "gpu_backend/codegen/pinned_loads.h"
#include "gpu_backend/codegen/ptxas.h"
#include "gpu_backend/codegen/register_demand.h"
#include "gpu_backend/codegen/wide_sums.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"

namespace blockscope::gpu {
namespace {

/// Has a kernel that spills nothing assembled with other numbers of registers, and takes what is
/// better: fewer, so that more CTAs run at the same time, or more, so that the loads of its loop do
/// not wait for registers. ptxas decides neither by how long memory takes. Kernels whose loops do
/// not load have a program for each piece of their data, and others of these hide what one waits.
class RegisterChoice {
public:
  RegisterChoice(const GpuKernel &kernel, const Pace &before, const GpuOptions &options)
      : kernel_(kernel), before_(before), ahead_(kernel, options) {}

  /// Better code, or nothing.
  std::optional<GpuKernel> run() {
    if (waitsInRounds(before_))
      sparesRounds();
    else
      sparesWork();
    return std::move(best_);
  }

private:
  static constexpr Limits kForLoads{.work = 0.94, .alone = kClearly},
      kForHalf{.work = 0.76, .alone = kClearly},
      kForCta{.work = 0.94, .alone = 1.01, .time = 0.945},
      kForThirdMore{.work = 0.94, .alone = 1.1, .time = 0.96},
      kForPtx{.work = 0.97, .alone = kClearly};

  void sparesRounds() {
    constexpr double kHalf = 0.65, kNext = 0.8;
    const std::optional<int> more = oneCtaMore(kernel_, kNext);
    const std::string pinned = withPinnedLoads(kernel_.ptx);
    if (more)
      ahead_.begin(withCtas(kernel_.ptx, *more));
    ahead_.begin(pinned);
    for (const int ctas : fewerCtas(kernel_)) {
      // Where so many fewer run, barriers and what the clock does not know are hidden by few.
      const std::optional<Pace> pace =
          tryCtas(ctas, ctas <= kHalf * ctasNow() ? kForHalf : kForLoads);
      // A warp alone is no quicker, for all its registers.
      if (!pace || static_cast<double>(pace->warp.cycles) >
                       kClearly * static_cast<double>(before_.warp.cycles))
        break;
    }
    if (more)
      tryCtas(*more, kForCta);
    // With as many registers ptxas may still begin loads one after the other.
    if (!best_)
      tryPtx(pinned, kForPtx);
  }

  void sparesWork() {
    const llvm::SmallVector<int, 2> fewer =
        before_.warp.loads != 0 ? nextToAllWarps(kernel_) : llvm::SmallVector<int, 2>();
    const Pinned pinned = before_.warp.loads == 0 ? pinnedStraightCode() : Pinned();
    ahead_.begin(pinned.ptx);
    if (isStraightInRounds())
      ahead_.begin(withCtas(kernel_.ptx, ctasNow()));
    if (fewer.size() > 1)
      ahead_.begin(withCtas(kernel_.ptx, fewer.back()));
    for (const int ctas : fewer)
      if (!best_)
        tryCtas(ctas, kForLoads, [&](const Pace &pace) { return isLessWork(pace, before_); });
    // Several small CTAs more: a scan over a sequence has hardly more programs than run at once
    // (kalman_attention/affine_scan: 1.19 times as fast on an H200).
    constexpr double kThirdMore = 1.3, kAbout = 1.03;
    if (const std::optional<int> ctas = fewer.empty() ? oneCtaMoreIfItFits(kernel_) : std::nullopt)
      tryCtas(*ctas, *ctas >= kThirdMore * ctasNow() ? kForThirdMore : kForCta,
              [&](const Pace &pace) {
                return *ctas > ctasNow() + 1 &&
                       static_cast<double>(pace.warp.instructions) <=
                           kAbout * static_cast<double>(before_.warp.instructions);
              });
    if (kernel_.loadsEarly && !best_ && waitsInEachIteration(before_))
      pinEarlyLoads();
    if (before_.warp.loads == 0) {
      leaveMasksTheirPredicates();
      useAllRegisters();
      pinLoadsOfStraightCode(pinned);
    }
  }

  /// Code with pinned loads, and which share of a warp's time alone it may take; none if empty.
  struct Pinned {
    std::string ptx;
    double quicker = 0;
  };

  /// Loads of straight code that ptxas begins in more rounds than they need. Code in whose loops
  /// the clock finds no loads counts as straight, too. Where uses are between them, loads go first.
  Pinned pinnedStraightCode() {
    constexpr double kQuicker = 0.95, kClearlyQuicker = 0.85;
    constexpr double kWords = 0.6; // of the registers, for what was loaded
    if (std::string ptx = withFewerRounds(kernel_.ptx); !ptx.empty())
      return {std::move(ptx), kQuicker};
    const int most = static_cast<int>(kWords * registersFor(kernel_, ctasNow()));
    return {withFewerRounds(withLoadsFirst(kernel_.ptx, most)), kClearlyQuicker};
  }

  /// The code with pinned loads, if a warp waits for more rounds than it has groups of them.
  std::string withFewerRounds(llvm::StringRef ptx) {
    constexpr double kMoreRounds = 1.9;
    int groups = 0;
    std::string pinned = withPinnedLoads(ptx, &groups);
    return groups != 0 && roundsOf(before_) >= groups + kMoreRounds ? pinned : std::string();
  }

  void pinLoadsOfStraightCode(const Pinned &pinned) {
    constexpr double kAbout = 1.03;
    tryPtx(pinned.ptx, kForPtx, [&](const Pace &pace) {
      return pace.warps >= before_.warps &&
             static_cast<double>(pace.warp.cycles) <=
                 pinned.quicker * static_cast<double>(before_.warp.cycles) &&
             static_cast<double>(pace.warp.instructions) <=
                 kAbout * static_cast<double>(before_.warp.instructions);
    });
  }

  /// Whether loads of straight code wait for others, or for registers, again and again.
  bool isStraightInRounds() const {
    constexpr double kMany = 4.5;
    return before_.warp.loads == 0 && roundsOf(before_) >= kMany;
  }

  /// Asked for as many CTAs as run anyway, ptxas sometimes gives loads all registers that these
  /// leave, where by itself it aims at fewer and begins loads in more rounds
  /// (akshay_kernels/partial_rotation: three for six).
  void useAllRegisters() {
    constexpr double kQuicker = 0.82, kAbout = 1.03;
    if (isStraightInRounds())
      tryCtas(ctasNow(), kForPtx, [&](const Pace &pace) {
        return pace.warps >= before_.warps &&
               static_cast<double>(pace.warp.cycles) <=
                   kQuicker * static_cast<double>(before_.warp.cycles) &&
               static_cast<double>(pace.warp.instructions) <=
                   kAbout * static_cast<double>(before_.warp.instructions);
      });
  }

  /// Of an address and its offset ptxas makes two additions by mad.wide, with a carry in one of the
  /// seven predicates of a thread. Where masks need these, loads wait for each other, or masks
  /// become bits of registers.
  void leaveMasksTheirPredicates() {
    constexpr size_t kMany = 5;
    constexpr double kFewer = 0.92;
    if (masksOfLoads(kernel_.ptx) < kMany ||
        llvm::StringRef(kernel_.ptx).count("mad.wide.") < kMany)
      return;
    tryPtx(withWideSumsApart(kernel_.ptx), kForPtx, [&](const Pace &pace) {
      return pace.warp.instructions <= kFewer * static_cast<double>(before_.warp.instructions) &&
             pace.fromMemory <= before_.fromMemory && pace.fromCache <= before_.fromCache;
    });
  }

  /// Loads that are to begin an iteration early, and do not. Such a loop carries what it computes
  /// from one iteration to the next: a launch often has as many programs of it as run at once.
  void pinEarlyLoads() {
    constexpr double kAboutAsMany = 0.85;
    tryPtx(withPinnedLoads(kernel_.ptx), kForPtx);
    if (best_ && ctasAtATime(*best_, best_->registers) < kAboutAsMany * ctasNow())
      best_.reset();
  }

  int ctasNow() const { return ctasAtATime(kernel_, kernel_.registers); }

  /// How many predicates the loads have.
  static size_t masksOfLoads(llvm::StringRef ptx) {
    llvm::StringSet<> masks;
    while (!ptx.empty()) {
      llvm::StringRef line;
      std::tie(line, ptx) = ptx.split('\n');
      const size_t at = line.find('@');
      if (at != llvm::StringRef::npos && line.contains("ld.global"))
        masks.insert(line.substr(at).take_until([](char c) { return c == ' '; }));
    }
    return masks.size();
  }

  using IsGood = llvm::function_ref<bool(const Pace &)>;

  std::optional<Pace> tryCtas(int ctas, Limits limits, IsGood isGood = {}) {
    return tryPtx(withCtas(kernel_.ptx, ctas), limits, isGood);
  }

  /// Keeps the result if it is the best so far. Returns its pace, if it does not spill.
  std::optional<Pace> tryPtx(std::string ptx, Limits limits, IsGood isGood = {}) {
    std::optional<GpuKernel> other = ahead_.take(std::move(ptx));
    std::optional<Pace> pace =
        other && other->spillBytes == 0 ? paceOf(*other, &before_) : std::nullopt;
    if (!pace)
      return std::nullopt;
    const std::optional<double> share =
        isGood && isGood(*pace) ? kClearly : shareOfTime(*pace, before_, limits);
    if (share && *share < share_) {
      share_ = *share;
      best_ = std::move(other);
    }
    return pace;
  }

  const GpuKernel &kernel_;
  const Pace &before_;
  AheadAssemblies ahead_;
  std::optional<GpuKernel> best_;
  double share_ = 1; ///< of the kernel's time
};

} // namespace

void chooseRegisters(GpuKernel &kernel, const GpuOptions &options) {
  const std::optional<Pace> before = paceOf(kernel);
  if (!before)
    return;
  if (std::optional<GpuKernel> better = RegisterChoice(kernel, *before, options).run())
    kernel = std::move(*better);
}

void pinLoads(GpuKernel &kernel, const GpuOptions &options) {
  const std::optional<Pace> before = paceOf(kernel);
  if (!before || !waitsInRounds(*before))
    return;
  std::optional<GpuKernel> other = assembledFrom(kernel, withPinnedLoads(kernel.ptx), options);
  const std::optional<Pace> after = other ? paceOf(*other, &*before) : std::nullopt;
  if (after &&
      static_cast<double>(after->warp.cycles) <=
          kClearly * static_cast<double>(before->warp.cycles) &&
      isLessWork(*after, *before))
    kernel = std::move(*other);
}

void makeRoomForWarps(GpuKernel &kernel, const GpuOptions &options) {
  constexpr int kFewWarps = 8;       // of a multiprocessor
  constexpr int kNextToNothing = 64; // bytes
  constexpr double kFew = 0.65;      // of the registers
  constexpr double kHopeless = 1.5;  // times what they may be
  const int now = ctasAtATime(kernel, kernel.registers);
  if (now == 0 || now * kernel.numWarps > kFewWarps)
    return;
  const double about = now == 1 ? 1.08 : 1.05; // twice the warps are worth more
  const int allowed = registersFor(kernel, now + 1);
  if (allowed < kFew * kernel.registers || registerDemand(kernel.ptx) > kHopeless * allowed)
    return;
  std::optional<GpuKernel> other = assembledFrom(kernel, withCtas(kernel.ptx, now + 1), options);
  if (other && other->registers <= allowed && other->spillBytes <= kNextToNothing &&
      other->warnings.size() <= kernel.warnings.size() &&
      static_cast<double>(codeBytesOf(*other)) <= about * static_cast<double>(codeBytesOf(kernel)))
    kernel = std::move(*other);
}

} // namespace blockscope::gpu
