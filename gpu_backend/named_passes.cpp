// Wraps the functions of passes/ as MLIR passes.
#include "gpu_backend/named_passes.h"

#include "core/ir/tl_dialect.h"
#include "core/passes/licm.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/passes/block_choices.h"
#include "gpu_backend/passes/joined_stores.h"
#include "gpu_backend/passes/merge_reductions.h"
#include "gpu_backend/passes/order_wgmma.h"
#include "gpu_backend/passes/passes.h"
#include "gpu_backend/passes/place_conversions.h"
#include "gpu_backend/passes/place_shared.h"
#include "gpu_backend/passes/read_only_loads.h"
#include "gpu_backend/passes/scalar_steps.h"
#include "gpu_backend/passes/share_vectors.h"
#include "gpu_backend/passes/shared_operands.h"
#include "gpu_backend/passes/sink_conversions.h"
#include "gpu_backend/passes/split_cluster.h"
#include "gpu_backend/passes/store_order.h"
#include "gpu_backend/pipelining/loop_copies.h"
#include "gpu_backend/pipelining/plan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

#include <mutex>

using namespace mlir;

namespace blockscope::gpu {
namespace {

constexpr llvm::StringLiteral kArchHelp = "the GPU architecture; empty: the module's";
constexpr llvm::StringLiteral kWarpsHelp = "warps of a program; 0: the module's";
constexpr llvm::StringLiteral kStagesHelp = "stages of a loop's ring; 0: the module's";
constexpr llvm::StringLiteral kExtraHelp = "rings may have a buffer more than stages";
constexpr llvm::StringLiteral kCopiesHelp =
    "loads of loops without a ring may be copies, which take more shared memory";
constexpr llvm::StringLiteral kRingHelp = "the most bytes of shared memory for the rings of a loop";
constexpr llvm::StringLiteral kPlanHelp = "print the plan of the loops to stdout";

int intOf(ModuleOp module, llvm::StringRef attribute, int given, int otherwise) {
  if (given != 0)
    return given;
  auto value = module->getAttrOfType<IntegerAttr>(attribute);
  return value ? static_cast<int>(value.getInt()) : otherwise;
}

/// A module pass. The module of a kernel has one function, so that inner pass managers would say
/// nothing and make pipelines harder to write.
template <typename Derived> struct ModulePass : PassWrapper<Derived, OperationPass<ModuleOp>> {
  using Base = PassWrapper<Derived, OperationPass<ModuleOp>>;
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<tl::TLDialect, tlg::TLGDialect, arith::ArithDialect, scf::SCFDialect>();
  }
  void runOnOperation() final {
    llvm::SmallVector<func::FuncOp> functions(this->getOperation().template getOps<func::FuncOp>());
    for (func::FuncOp function : functions)
      if (failed(static_cast<Derived *>(this)->runOn(function)))
        return this->signalPassFailure();
  }
};

struct ShareLoadsPass : ModulePass<ShareLoadsPass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ShareLoadsPass)

  llvm::StringRef getArgument() const final { return "tlg-share-loads"; }
  llvm::StringRef getDescription() const final {
    return "load once what is loaded twice or in each iteration, where no memory may change";
  }

  static LogicalResult runOn(func::FuncOp function) {
    shareLoads(function);
    loadBeforeLoops(function);
    return success();
  }
};

struct CountLoopsPass : ModulePass<CountLoopsPass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CountLoopsPass)

  llvm::StringRef getArgument() const final { return "tlg-count-loops"; }
  llvm::StringRef getDescription() const final {
    return "make for loops of while loops that count up to a number";
  }

  static LogicalResult runOn(func::FuncOp function) {
    countLoops(function);
    return success();
  }
};

struct UnrollLoopsPass : ModulePass<UnrollLoopsPass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(UnrollLoopsPass)

  llvm::StringRef getArgument() const final { return "tlg-unroll-loops"; }
  llvm::StringRef getDescription() const final {
    return "make several iterations one where tl.loop_unroll_factor says so, and of short loops "
           "all";
  }

  static LogicalResult runOn(func::FuncOp function) {
    unrollLoops(function);
    return success();
  }
};

struct CarryScalarsPass : ModulePass<CarryScalarsPass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CarryScalarsPass)

  llvm::StringRef getArgument() const final { return "tlg-carry-scalars"; }
  llvm::StringRef getDescription() const final {
    return "carry the number that is added to a block of a loop, instead of the block";
  }

  static LogicalResult runOn(func::FuncOp function) {
    carryStepsAsScalars(function);
    return success();
  }
};

struct SplitClusterPass : ModulePass<SplitClusterPass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SplitClusterPass)
  SplitClusterPass() = default;
  SplitClusterPass(const SplitClusterPass &other) : ModulePass(other) {}

  llvm::StringRef getArgument() const final { return "tlg-split-cluster"; }
  llvm::StringRef getDescription() const final {
    return "make a kernel for several CTAs that run a program together";
  }

  LogicalResult runOn(func::FuncOp function) {
    const int ctas = intOf(getOperation(), tlg::kNumCtasAttribute, numCtas, GpuOptions().numCtas);
    if (ctas > 1)
      splitCluster(function, ctas);
    return success();
  }

  Option<int> numCtas{*this, "num-ctas", llvm::cl::desc("CTAs of a program; 0: the module's"),
                      llvm::cl::init(0)};
};

struct AssignLayoutsPass : ModulePass<AssignLayoutsPass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AssignLayoutsPass)
  AssignLayoutsPass() = default;
  AssignLayoutsPass(const AssignLayoutsPass &other) : ModulePass(other) {}

  llvm::StringRef getArgument() const final { return "tlg-assign-layouts"; }
  llvm::StringRef getDescription() const final {
    return "give every block a layout, and convert where two do not fit";
  }

  LogicalResult runOn(func::FuncOp function) {
    ModuleOp module = getOperation();
    const std::optional<GpuTarget> target = targetOf(module, arch);
    if (!target)
      return failure();
    const bool hasLayouts = function
                                .walk([](Operation *op) {
                                  return llvm::any_of(op->getResultTypes(), tlg::hasLayout)
                                             ? WalkResult::interrupt()
                                             : WalkResult::advance();
                                })
                                .wasInterrupted();
    if (hasLayouts)
      return function.emitError("has layouts already; tlg-assign-layouts runs once");
    GpuOptions options;
    options.numWarps = numWarpsOf(module, numWarps);
    options.numStages = intOf(module, tlg::kNumStagesAttribute, numStages, options.numStages);
    if (options.numWarps < 1 || !llvm::isPowerOf2_32(static_cast<uint32_t>(options.numWarps)))
      return function.emitError("cannot have ")
             << options.numWarps << " warps, expected a power of two";
    module->setAttr(tlg::kArchAttribute, StringAttr::get(&getContext(), target->arch));
    module->setAttr(tlg::kNumWarpsAttribute,
                    Builder(&getContext()).getI32IntegerAttr(options.numWarps));
    return assignLayouts(function, *target, options);
  }

  Option<std::string> arch{*this, "arch", llvm::cl::desc(kArchHelp), llvm::cl::init("")};
  Option<int> numWarps{*this, "num-warps", llvm::cl::desc(kWarpsHelp), llvm::cl::init(0)};
  Option<int> numStages{*this, "num-stages", llvm::cl::desc(kStagesHelp), llvm::cl::init(0)};
};

struct PlaceConversionsPass : ModulePass<PlaceConversionsPass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlaceConversionsPass)

  llvm::StringRef getArgument() const final { return "tlg-place-conversions"; }
  llvm::StringRef getDescription() const final {
    return "convert layouts where elementwise ops leave the fewest bytes to move";
  }

  LogicalResult runOn(func::FuncOp function) {
    if (failed(requireLayouts(getOperation())))
      return failure();
    placeConversions(function, /*inPipelines=*/false);
    return success();
  }
};

struct ShareVectorsPass : ModulePass<ShareVectorsPass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ShareVectorsPass)

  llvm::StringRef getArgument() const final { return "tlg-share-vectors"; }
  llvm::StringRef getDescription() const final {
    return "share what is computed of small vectors among the threads that have copies of them";
  }

  LogicalResult runOn(func::FuncOp function) {
    if (failed(requireLayouts(getOperation())))
      return failure();
    shareVectors(function);
    return success();
  }
};

struct SinkConversionsPass : ModulePass<SinkConversionsPass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SinkConversionsPass)

  llvm::StringRef getArgument() const final { return "tlg-sink-conversions"; }
  llvm::StringRef getDescription() const final {
    return "convert layouts behind a loop where they are used only there";
  }

  LogicalResult runOn(func::FuncOp function) {
    if (failed(requireLayouts(getOperation())))
      return failure();
    sinkConversions(function);
    return success();
  }
};

struct MergeReductionsPass : ModulePass<MergeReductionsPass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MergeReductionsPass)

  llvm::StringRef getArgument() const final { return "tlg-merge-reductions"; }
  llvm::StringRef getDescription() const final {
    return "reduce along two axes at once what is reduced along one after the other";
  }

  LogicalResult runOn(func::FuncOp function) {
    if (failed(requireLayouts(getOperation())))
      return failure();
    mergeReductions(function);
    return success();
  }
};

struct FindTmaPass : ModulePass<FindTmaPass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FindTmaPass)

  llvm::StringRef getArgument() const final { return "tlg-find-tma"; }
  llvm::StringRef getDescription() const final {
    return "mark the loads and stores of rectangles that TMA can do";
  }

  LogicalResult runOn(func::FuncOp function) {
    if (failed(requireLayouts(getOperation())))
      return failure();
    const std::optional<GpuTarget> target = targetOf(getOperation(), "");
    if (!target)
      return failure();
    findTmaAccesses(function, *target);
    return success();
  }
};

struct CopyByTmaPass : ModulePass<CopyByTmaPass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CopyByTmaPass)
  CopyByTmaPass() = default;
  CopyByTmaPass(const CopyByTmaPass &other) : ModulePass(other), report(other.report) {}

  llvm::StringRef getArgument() const final { return "tlg-copy-by-tma"; }
  llvm::StringRef getDescription() const final {
    return "copy what is not in a ring by TMA or cp.async: stores, operands of dots";
  }

  LogicalResult runOn(func::FuncOp function) {
    if (failed(requireLayouts(getOperation())))
      return failure();
    const std::optional<GpuTarget> target = targetOf(getOperation(), "");
    if (!target)
      return failure();
    const auto finish = [&](func::FuncOp kernel) {
      copyByTma(kernel, *target);
      stageOperands(kernel);
    };
    if (extraBuffers && copyInLoops(function, *target, finish) && report)
      report->hasExtraBuffers = true;
    copyByTma(function, *target);
    return success();
  }

  Option<bool> extraBuffers{*this, "extra-buffers", llvm::cl::desc(kCopiesHelp),
                            llvm::cl::init(true)};
  PipelineReport *report = nullptr; ///< of the caller, or null
};

struct PipelineLoopsPass : ModulePass<PipelineLoopsPass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PipelineLoopsPass)
  PipelineLoopsPass() = default;
  PipelineLoopsPass(const PipelineLoopsPass &other) : ModulePass(other), report(other.report) {}

  llvm::StringRef getArgument() const final { return "tlg-pipeline-loops"; }
  llvm::StringRef getDescription() const final {
    return "begin loads that feed dots iterations early, through rings in shared memory";
  }

  LogicalResult runOn(func::FuncOp function) {
    if (failed(requireLayouts(getOperation())))
      return failure();
    const std::optional<GpuTarget> target = targetOf(getOperation(), "");
    if (!target)
      return failure();
    const PipelineOptions options{
        intOf(getOperation(), tlg::kNumStagesAttribute, numStages, GpuOptions().numStages),
        extraBuffers, ringBytes < 0 ? std::nullopt : std::optional<int64_t>(ringBytes)};
    const PipelinePlan plan = planPipelines(function, *target, options);
    if (printPlan)
      llvm::outs() << "plan of '" << function.getName() << "'\n" << text(plan);
    if (report) {
      report->plan += text(plan);
      noteLoops(plan, report->notes);
      report->fewerBuffers = fewerBuffers(plan);
      report->hasExtraBuffers |= plan.hasExtraBuffers();
      report->ringBytes = std::max(report->ringBytes, plan.mostRingBytes());
      report->spareRingBytes = plan.spareRingBytes();
    }
    return writePipelines(function, plan);
  }

  Option<int> numStages{*this, "num-stages", llvm::cl::desc(kStagesHelp), llvm::cl::init(0)};
  Option<bool> extraBuffers{*this, "extra-buffers", llvm::cl::desc(kExtraHelp),
                            llvm::cl::init(true)};
  Option<int64_t> ringBytes{*this, "ring-bytes", llvm::cl::desc(kRingHelp), llvm::cl::init(-1)};
  Option<bool> printPlan{*this, "print-plan", llvm::cl::desc(kPlanHelp), llvm::cl::init(false)};
  PipelineReport *report = nullptr; ///< of the caller, or null
};

struct StageOperandsPass : ModulePass<StageOperandsPass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StageOperandsPass)

  llvm::StringRef getArgument() const final { return "tlg-stage-operands"; }
  llvm::StringRef getDescription() const final {
    return "put the operands that dots read there into shared memory";
  }

  LogicalResult runOn(func::FuncOp function) {
    if (failed(requireLayouts(getOperation())))
      return failure();
    stageOperands(function);
    return success();
  }
};

struct BranchForBlocksPass : ModulePass<BranchForBlocksPass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BranchForBlocksPass)

  llvm::StringRef getArgument() const final { return "tlg-branch-for-blocks"; }
  llvm::StringRef getDescription() const final {
    return "make branches of choices between large blocks by a scalar";
  }

  static LogicalResult runOn(func::FuncOp function) {
    branchForBlocks(function);
    return success();
  }
};

struct DelayConversionsPass : ModulePass<DelayConversionsPass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DelayConversionsPass)

  llvm::StringRef getArgument() const final { return "tlg-delay-conversions"; }
  llvm::StringRef getDescription() const final {
    return "convert layouts where they are used, so that loads begin before and registers are free";
  }

  LogicalResult runOn(func::FuncOp function) {
    if (failed(requireLayouts(getOperation())))
      return failure();
    delayConversions(function);
    return success();
  }
};

struct OrderWgmmaPass : ModulePass<OrderWgmmaPass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OrderWgmmaPass)

  llvm::StringRef getArgument() const final { return "tlg-order-wgmma"; }
  llvm::StringRef getDescription() const final { return "begin wgmma early and wait for it late"; }

  LogicalResult runOn(func::FuncOp function) {
    const std::optional<GpuTarget> target = targetOf(getOperation(), "");
    if (!target)
      return failure();
    const int warps = intOf(getOperation(), tlg::kNumWarpsAttribute, 0, GpuOptions().numWarps);
    orderWgmma(function, target->registersPerThread(warps));
    return success();
  }
};

struct OrderStoresPass : ModulePass<OrderStoresPass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OrderStoresPass)

  llvm::StringRef getArgument() const final { return "tlg-order-stores"; }
  llvm::StringRef getDescription() const final {
    return "have stores wait for loads of the same memory by all warps";
  }

  LogicalResult runOn(func::FuncOp function) {
    if (failed(requireLayouts(getOperation())))
      return failure();
    if (numWarpsOf(getOperation(), 0) > 1)
      orderStores(function);
    return success();
  }
};

struct MarkReadOnlyPass : ModulePass<MarkReadOnlyPass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MarkReadOnlyPass)

  llvm::StringRef getArgument() const final { return "tlg-mark-read-only"; }
  llvm::StringRef getDescription() const final {
    return "mark loads of loops that load what the kernel never stores to";
  }

  LogicalResult runOn(func::FuncOp function) {
    if (failed(requireLayouts(getOperation())))
      return failure();
    markReadOnlyLoads(function);
    return success();
  }
};

struct JoinStoresPass : ModulePass<JoinStoresPass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(JoinStoresPass)

  llvm::StringRef getArgument() const final { return "tlg-join-stores"; }
  llvm::StringRef getDescription() const final {
    return "make one of stores whose elements lie side by side";
  }

  LogicalResult runOn(func::FuncOp function) {
    if (failed(requireLayouts(getOperation())))
      return failure();
    joinStores(function);
    return success();
  }
};

/// Lowering gives out memory by itself too, because it has to know which buffers share bytes: the
/// pass shows the same places.
struct PlaceSharedPass : ModulePass<PlaceSharedPass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlaceSharedPass)

  llvm::StringRef getArgument() const final { return "tlg-place-shared"; }
  llvm::StringRef getDescription() const final {
    return "give every buffer in shared memory its offset";
  }

  static LogicalResult runOn(func::FuncOp function) {
    const SharedPlaces places(function);
    return success();
  }
};

struct GpuPipelineOptions : PassPipelineOptions<GpuPipelineOptions> {
  Option<std::string> arch{*this, "arch", llvm::cl::desc(kArchHelp), llvm::cl::init("")};
  Option<int> numWarps{*this, "num-warps", llvm::cl::desc(kWarpsHelp), llvm::cl::init(0)};
  Option<int> numStages{*this, "num-stages", llvm::cl::desc(kStagesHelp), llvm::cl::init(0)};
  Option<bool> printPlan{*this, "print-plan", llvm::cl::desc(kPlanHelp), llvm::cl::init(false)};
};

void build(OpPassManager &manager, llvm::StringRef arch, int numWarps, int numStages,
           bool printPlan) {
  manager.addPass(std::make_unique<ShareLoadsPass>());
  manager.addPass(std::make_unique<CountLoopsPass>());
  manager.addPass(std::make_unique<UnrollLoopsPass>());
  manager.addPass(std::make_unique<CarryScalarsPass>());
  manager.addPass(std::make_unique<SplitClusterPass>());
  auto layouts = std::make_unique<AssignLayoutsPass>();
  layouts->arch = arch.str();
  layouts->numWarps = numWarps;
  layouts->numStages = numStages;
  manager.addPass(std::move(layouts));
  manager.addPass(createCSEPass());
  manager.addPass(createLicmPass());
  manager.addPass(std::make_unique<FindTmaPass>());
  manager.addPass(std::make_unique<PlaceConversionsPass>());
  manager.addPass(std::make_unique<ShareVectorsPass>());
  manager.addPass(std::make_unique<SinkConversionsPass>());
  manager.addPass(std::make_unique<MergeReductionsPass>());
  auto loops = std::make_unique<PipelineLoopsPass>();
  loops->numStages = numStages;
  loops->printPlan = printPlan;
  manager.addPass(std::move(loops));
  manager.addPass(std::make_unique<CopyByTmaPass>());
  manager.addPass(std::make_unique<StageOperandsPass>());
  manager.addPass(createCSEPass());
  manager.addPass(createLicmPass());
  manager.addPass(std::make_unique<BranchForBlocksPass>());
  manager.addPass(std::make_unique<DelayConversionsPass>());
  manager.addPass(std::make_unique<OrderWgmmaPass>());
  manager.addPass(std::make_unique<OrderStoresPass>());
  manager.addPass(std::make_unique<MarkReadOnlyPass>());
  manager.addPass(std::make_unique<JoinStoresPass>());
  manager.addPass(std::make_unique<PlaceSharedPass>());
}

} // namespace

void registerGpuPasses() {
  static std::once_flag once;
  std::call_once(once, [] {
    registerTransformsPasses();
    registerPass(createLicmPass);
    PassRegistration<ShareLoadsPass>();
    PassRegistration<CountLoopsPass>();
    PassRegistration<UnrollLoopsPass>();
    PassRegistration<CarryScalarsPass>();
    PassRegistration<SplitClusterPass>();
    PassRegistration<AssignLayoutsPass>();
    PassRegistration<PlaceConversionsPass>();
    PassRegistration<ShareVectorsPass>();
    PassRegistration<SinkConversionsPass>();
    PassRegistration<MergeReductionsPass>();
    PassRegistration<FindTmaPass>();
    PassRegistration<PipelineLoopsPass>();
    PassRegistration<CopyByTmaPass>();
    PassRegistration<StageOperandsPass>();
    PassRegistration<BranchForBlocksPass>();
    PassRegistration<DelayConversionsPass>();
    PassRegistration<OrderWgmmaPass>();
    PassRegistration<OrderStoresPass>();
    PassRegistration<MarkReadOnlyPass>();
    PassRegistration<JoinStoresPass>();
    PassRegistration<PlaceSharedPass>();
    PassPipelineRegistration<GpuPipelineOptions>(
        "tlg-pipeline", "what every kernel for a GPU goes through before it is lowered",
        [](OpPassManager &manager, const GpuPipelineOptions &options) {
          build(manager, options.arch, options.numWarps, options.numStages, options.printPlan);
        });
  });
}

void buildGpuPipeline(OpPassManager &manager, const GpuTarget &target, const GpuOptions &options) {
  // 1 is "no ring"; 0 would mean the module's.
  build(manager, target.arch, options.numWarps, std::max(1, options.numStages),
        /*printPlan=*/false);
}

void connectPipelineReport(OpPassManager &manager, const GpuOptions &options,
                           PipelineReport &report) {
  for (Pass &pass : manager.getPasses())
    if (pass.getTypeID() == TypeID::get<PipelineLoopsPass>()) {
      auto &loops = static_cast<PipelineLoopsPass &>(pass);
      loops.extraBuffers = options.extraBuffers;
      loops.ringBytes = options.ringBytes.value_or(-1);
      loops.report = &report;
    } else if (pass.getTypeID() == TypeID::get<CopyByTmaPass>()) {
      auto &copies = static_cast<CopyByTmaPass &>(pass);
      copies.extraBuffers = options.extraBuffers;
      copies.report = &report;
    }
}

void setTarget(ModuleOp module, const GpuTarget &target, const GpuOptions &options) {
  Builder builder(module.getContext());
  module->setAttr(tlg::kArchAttribute, builder.getStringAttr(target.arch));
  module->setAttr(tlg::kNumWarpsAttribute, builder.getI32IntegerAttr(options.numWarps));
  module->setAttr(tlg::kNumStagesAttribute,
                  builder.getI32IntegerAttr(std::max(1, options.numStages)));
  if (options.numCtas > 1 && target.hasClusters)
    module->setAttr(tlg::kNumCtasAttribute, builder.getI32IntegerAttr(options.numCtas));
  if (!options.tma)
    module->setAttr(tlg::kNoTmaAttribute, builder.getUnitAttr());
  if (options.mayOverlap) {
    module->setAttr(tlg::kMayOverlapAttribute, builder.getUnitAttr());
    llvm::SmallVector<Attribute> pairs;
    for (const auto [first, second] : options.knownDisjoint)
      pairs.push_back(builder.getDenseI32ArrayAttr({first, second}));
    if (!pairs.empty())
      module->setAttr(tlg::kKnownDisjointAttribute, builder.getArrayAttr(pairs));
  }
  if (options.mayBeNegative)
    module->setAttr(tlg::kMayBeNegativeAttribute, builder.getUnitAttr());
}

std::optional<GpuTarget> targetOf(ModuleOp module, llvm::StringRef arch) {
  if (auto own = module->getAttrOfType<StringAttr>(tlg::kArchAttribute); own && arch.empty())
    arch = own.getValue();
  std::string error = ("no GPU architecture: give arch= to the pass, or '" + tlg::kArchAttribute +
                       "' to the module")
                          .str();
  const std::optional<GpuTarget> target =
      arch.empty() ? std::nullopt : GpuTarget::parse(arch, &error);
  if (!target)
    module.emitError(error);
  return target;
}

int numWarpsOf(ModuleOp module, int numWarps) {
  return intOf(module, tlg::kNumWarpsAttribute, numWarps, GpuOptions().numWarps);
}

LogicalResult requireLayouts(ModuleOp module) {
  const WalkResult result = module.walk([](Operation *op) -> WalkResult {
    for (const Type type : op->getResultTypes())
      if (isa<RankedTensorType>(type) && !tlg::hasLayout(type)) {
        op->emitError("has a block without a layout; tlg-assign-layouts has to come before");
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

} // namespace blockscope::gpu
