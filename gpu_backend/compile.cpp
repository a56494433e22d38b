// Compiles a kernel for the GPU: layouts, LLVM IR, PTX, cubin.
#include "gpu_backend/compile.h"

#include "core/guarded.h"
#include "core/ir/ir_emitter.h"
#include "core/passes/pass_dumps.h"
#include "gpu_backend/codegen/assemble.h"
#include "gpu_backend/codegen/nvptx.h"
#include "gpu_backend/codegen/stage_timer.h"
#include "gpu_backend/codegen/write_file.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/kernel_names.h"
#include "gpu_backend/lowering/lower_kernel.h"
#include "gpu_backend/lowering/lowering.h"
#include "gpu_backend/passes/place_shared.h"
#include "gpu_backend/report/access_plan.h"
#include "gpu_backend/report/kernel_notes.h"
#include "gpu_backend/reproducer.h"
#include "gpu_backend/run_pipeline.h"

#include "core/ir/convert.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace blockscope {
namespace {

constexpr int kSchedulers = 4; // of a multiprocessor

using gpu::StageTimer;

std::string printed(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  OpPrintingFlags flags;
  flags.printNameLocAsPrefix();
  module.print(stream, flags);
  return text;
}

/// "file:line: message" for every error that passes and lowering report.
class ErrorCollector {
public:
  ErrorCollector(MLIRContext *context, std::string *text)
      : handler_(context, [text](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
            return success();
          const SourceLocation location = fromMlirLocation(diagnostic.getLocation());
          if (!text->empty())
            *text += "\n";
          if (location.isKnown())
            *text += llvm::formatv("{0}:{1}:{2}: ", location.file, location.line, location.column);
          *text += diagnostic.str();
          return success();
        }) {}

private:
  ScopedDiagnosticHandler handler_;
};

void dumpLlvm(const GpuOptions &options, const llvm::Module &code, llvm::StringRef when) {
  if (!options.dumpLlvm)
    return;
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "; *** LLVM IR of '" << code.getName() << "' " << when << " ***\n" << code << "\n";
  writeDump(text);
}

/// One kernel on its way. `error` has what went wrong, or what passes and lowering reported.
class Compilation {
public:
  Compilation(ModuleOp module, std::string tl, const GpuTarget &target, const GpuOptions &options,
              std::string &error)
      : module_(module), tl_(std::move(tl)), target_(target), options_(options), given_(options),
        error_(error), source_(functionOf(module).getName().str()) {
    // Python tells of a signal once, but each run of ptxas has to end by it.
    if (given_.isInterrupted)
      options_.isInterrupted = [this] {
        return wasInterrupted_ = wasInterrupted_ || given_.isInterrupted();
      };
  }

  std::unique_ptr<GpuKernel> run() {
    if (!dump("tl", tl_) || !build())
      return nullptr;
    if (makeRoomForMoreCtas()) {
      const auto times = kernel_->times;
      restart();
      if (!build())
        return nullptr;
      kernel_->times.insert(kernel_->times.begin(), times.begin(), times.end());
    }
    gpu::noteAssembled(functionOf(module_), options_, *kernel_);
    gpu::sortNotes(kernel_->notes);
    return std::move(kernel_);
  }

private:
  static func::FuncOp functionOf(ModuleOp module) { return *module.getOps<func::FuncOp>().begin(); }

  /// All the way: `kernel_` has its cubin.
  bool build() {
    bool isDone = false;
    std::string fatal;
    if (!runGuarded([&] { isDone = makePtx(); }, fatal))
      error_ = llvm::StringRef(fatal).contains("does not support target")
                   ? "ptxas is too old for " + target_.arch.str() + ": " + fatal
                   : "LLVM cannot compile it (a mistake in blockscope): " + fatal + reproducer();
    if (!isDone || !dump("ptx", kernel_->ptx))
      return false;
    const StageTimer timer(kernel_->times, "ptxas");
    return gpu::assemble(*kernel_, options_, &error_) && dump("ptx", kernel_->ptx) &&
           dump("cubin", kernel_->cubin);
  }

  /// The passes and LLVM: `kernel_` has its PTX.
  bool makePtx() {
    before_ = module_.clone();
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> code = lower(context);
    while (code && (takeLessMemory() || makeRoomForCta())) {
      restart();
      code = lower(context);
    }
    return code && emit(*code);
  }

  /// Whether the kernel needs more shared memory than there is, and may need less when it is
  /// compiled again: without extra buffers, then with as many fewer as have to go, in the end
  /// without rings. What no ring has room for may still be copied in its iteration. Blocks that
  /// were loaded before their loops hold their bytes all the time: if nothing else helps they stay
  /// there.
  bool takeLessMemory() {
    const int64_t excess = kernel_->sharedBytes - target_.sharedBytes();
    if (excess <= 0)
      return false;
    if (!hasExtraBuffers_ && ringBytes_ == 0) {
      if (!module_->hasAttr(tlg::kBlocksLeftLoopsAttribute))
        return false;
      (*before_)->setAttr(tlg::kKeepBlocksAttribute, UnitAttr::get(module_.getContext()));
      options_.extraBuffers = given_.extraBuffers;
      options_.ringBytes = given_.ringBytes;
      return true;
    }
    if (hasExtraBuffers_)
      options_.extraBuffers = false;
    else
      options_.ringBytes = std::max<int64_t>(0, ringBytes_ - excess);
    return true;
  }

  /// Whether a multiprocessor has room for one CTA of four warps or fewer, so that each of its
  /// schedulers has one warp and idles where that waits, and would have room for two if the rings
  /// had a buffer less, or some of their loads had, whatever the kernel takes of registers.
  bool makeRoomForCta() {
    if (options_.ringBytes || options_.numWarps > kSchedulers ||
        ctas(GpuTarget::kThreadRegisters, 0) != 1)
      return false;
    if (spareRing_.wgmmas == 0 && spareRing_.isLong() &&
        ctas(GpuTarget::kThreadRegisters, spareRing_.iterationBytes) >= 2) {
      takeFewerBuffers(1);
      return true;
    }
    // One barrier more, for twice the warps: attention with a bias for each score took 217 us with
    // two buffers of biases, 135 with one (H200).
    if (options_.oneBuffer || ctas(GpuTarget::kThreadRegisters, oneBufferBytes_) < 2)
      return false;
    return options_.oneBuffer = true;
  }

  /// The same in the registers that the kernel takes. For products by threads, which wait for what
  /// they read from shared memory, where two CTAs have room, whose two warps of a scheduler do not
  /// hide that, and a third one would. For others where a third more CTAs would have room: a
  /// mixture of experts by mma.sync took 97 us with three buffers and three CTAs, 81 with two and
  /// four (H200). With wgmma where one CTA runs alone, and nothing hides what it waits for:
  /// attention of grouped heads took 1836 us with three buffers and one CTA, 1230 with two and two
  /// (H200).
  bool makeRoomForMoreCtas() {
    // Registers were estimated when buffers were placed.
    if (kernel_->spillBytes == 0 && ctas(kernel_->registers, 0) == 1 &&
        ctas(kernel_->registers, apartBytes_) > 1) {
      (*before_)->setAttr(tlg::kTogetherAttribute, UnitAttr::get(module_.getContext()));
      return true;
    }
    if (options_.ringBytes || spareRing_.iterationBytes == 0 || !hasMoreCtas())
      return false;
    takeFewerBuffers(1);
    return true;
  }

  /// Whether a buffer less is worth the CTAs that then have room.
  bool hasMoreCtas() const {
    constexpr double kMore = 1.3;
    // What is kept apart now shares bytes where that makes room.
    const int now = ctas(kernel_->registers, 0),
              then = ctas(kernel_->registers, spareRing_.iterationBytes + apartBytes_);
    const bool spills = kernel_->spillBytes != 0;
    if (spareRing_.wgmmas != 0) // one dot with so many sums that they spill needs no second CTA
      return now == 1 && then > now && (!spills || spareRing_.wgmmas > 1);
    if (spills)
      return false;
    return multipliesByThreads_
               ? spareRing_.isLong() && now == 2 && then > now && options_.numWarps <= kSchedulers
               : then >= kMore * now;
  }

  /// How many CTAs a multiprocessor has room for, with so many bytes fewer in the ring.
  int ctas(int registers, int64_t fewerBytes) const {
    return target_.ctasAtATime(options_.numWarps, registers, kernel_->sharedBytes - fewerBytes);
  }

  void takeFewerBuffers(int count) {
    options_.ringBytes = ringBytes_ - count * spareRing_.iterationBytes;
  }

  /// Has the kernel be as it was before the passes.
  void restart() {
    again_ = before_->clone();
    module_ = *again_;
  }

  /// The passes of the GPU level and the way to LLVM IR.
  std::unique_ptr<llvm::Module> lower(llvm::LLVMContext &context) {
    kernel_ = std::make_unique<GpuKernel>();
    kernel_->name = source_;
    kernel_->tl = tl_;
    kernel_->target = target_;
    kernel_->numWarps = options_.numWarps;
    gpu::PipelineReport report;
    {
      const StageTimer timer(kernel_->times, "tlg");
      if (!gpu::runGpuPipeline(module_, target_, options_, *kernel_, report, error_))
        return nullptr;
    }
    kernel_->tlg = printed(module_);
    kernel_->plan = std::move(report.plan);
    kernel_->notes = std::move(report.notes);
    gpu::noteOptions(functionOf(*before_), kernel_->notes);
    gpu::noteEmulation(functionOf(*before_), target_, kernel_->notes);
    hasExtraBuffers_ = report.hasExtraBuffers;
    kernel_->loadsEarly = report.loadsEarly;
    ringBytes_ = report.ringBytes;
    spareRing_ = report.spareRing;
    oneBufferBytes_ = report.oneBufferBytes;
    if (!dump("tlg", kernel_->tlg) || !dump("plan", kernel_->plan))
      return nullptr;
    func::FuncOp function = functionOf(module_); // passes made a new one
    apartBytes_ = gpu::apartBytes(function);
    multipliesByThreads_ = false;
    function.walk([&](tlg::FmaOp) { multipliesByThreads_ = true; });
    {
      const StageTimer timer(kernel_->times, "notes");
      gpu::noteKernel(function, target_, options_, *kernel_);
      kernel_->memory.accesses = gpu::planAccesses(function, options_.numWarps);
    }
    const StageTimer timer(kernel_->times, "lower");
    auto code = gpu::lowerKernel(function, context, target_, options_, *kernel_);
    gpu::noteFewerBuffers(report.fewerBuffers, *kernel_);
    if (!code && gpu::isOurMistake(error_))
      error_ += reproducer();
    return code;
  }

  bool emit(llvm::Module &code) {
    if (!gpu::prepareModule(code, target_, &error_))
      return false;
    dumpLlvm(options_, code, "as lowered");
    kernel_->ptx =
        gpu::emitPtx(code, target_, options_, kernel_->libraries, kernel_->times, &error_);
    llvm::raw_string_ostream stream(kernel_->llir);
    code.print(stream, nullptr);
    dumpLlvm(options_, code, "optimised");
    if (kernel_->ptx.empty() && gpu::isOurMistake(error_))
      error_ += reproducer();
    return dump("ll", kernel_->llir) && !kernel_->ptx.empty();
  }

  /// Where the IR is that shows an error of ours again: as it was before the passes, or behind
  /// them.
  std::string reproducer() const {
    const bool hasPassed = kernel_ && !kernel_->tlg.empty();
    const std::string emit = llvm::formatv("tlg-emit{{debug={0} fp-fusion={1}}", options_.debug,
                                           options_.enableFpFusion);
    const std::string passes =
        hasPassed ? emit
                  : llvm::formatv("tlg-pipeline{{arch={0} num-warps={1} num-stages={2}},{3}",
                                  target_.arch, options_.numWarps, options_.numStages, emit)
                        .str();
    return gpu::writeReproducer(hasPassed ? kernel_->tlg : tl_, "builtin.module(" + passes + ")",
                                source_, error_, options_);
  }

  /// Writes a stage to the folder of dumps, if there is one.
  bool dump(llvm::StringRef suffix, llvm::StringRef stage) {
    if (options_.dumpDir.empty())
      return true;
    llvm::SmallString<128> path(options_.dumpDir);
    llvm::sys::path::append(path, gpu::fileStem(source_) + "." + suffix);
    std::error_code code = llvm::sys::fs::create_directories(options_.dumpDir);
    if (!code)
      code = gpu::writeFile(path, stage);
    if (code)
      error_ += llvm::formatv("cannot write '{0}' into the folder of dumps: {1}", path.str(),
                              code.message());
    return !code;
  }

  ModuleOp module_;
  OwningOpRef<ModuleOp> before_; ///< the passes
  OwningOpRef<ModuleOp> again_;  ///< what is compiled with less memory
  std::string tl_;
  const GpuTarget &target_;
  GpuOptions options_, given_; ///< with fewer buffers, or as they were given
  std::string &error_;
  std::string source_;           ///< the kernel's name in Python
  bool hasExtraBuffers_ = false; ///< so that it may need too much shared memory
  int64_t ringBytes_ = 0;        ///< of the loop whose rings take most
  gpu::SpareRing spareRing_;     ///< of that loop
  int64_t oneBufferBytes_ = 0;   ///< that it can do without
  int64_t apartBytes_ = 0;       ///< of buffers that could share them
  bool multipliesByThreads_ = false;
  bool wasInterrupted_ = false;
  std::unique_ptr<GpuKernel> kernel_;
};

} // namespace

std::unique_ptr<GpuKernel> compileForGpu(IrEmitter &emitter, const GpuTarget &target,
                                         const GpuOptions &options, std::string *error) {
  std::string ignored;
  std::string &text = error ? *error : ignored;
  text.clear();
  ModuleOp module = emitter.module();
  module.getContext()->loadDialect<tlg::TLGDialect>();
  const ErrorCollector collector(module.getContext(), &text);
  return Compilation(module, emitter.text(), target, options, text).run();
}

std::vector<std::string> gpuOps() { return gpu::loweredOps(); }

} // namespace blockscope
