// Wraps the functions of passes/ as MLIR passes.
#include "gpu_backend/named_passes.h"

#include "core/ir/tl_dialect.h"
#include "core/passes/licm.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/passes/block_choices.h"
#include "gpu_backend/passes/element_loops.h"
#include "gpu_backend/passes/joined_accesses.h"
#include "gpu_backend/passes/merge_reductions.h"
#include "gpu_backend/passes/order_wgmma.h"
#include "gpu_backend/passes/passes.h"
#include "gpu_backend/passes/place_conversions.h"
#include "gpu_backend/passes/place_shared.h"
#include "gpu_backend/passes/read_only_loads.h"
#include "gpu_backend/passes/reduce_after_loops.h"
#include "gpu_backend/passes/scalar_steps.h"
#include "gpu_backend/passes/share_vectors.h"
#include "gpu_backend/passes/shared_operands.h"
#include "gpu_backend/passes/sink_conversions.h"
#include "gpu_backend/passes/split_cluster.h"
#include "gpu_backend/passes/store_order.h"
#include "gpu_backend/passes/whole_tiles.h"
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
constexpr llvm::StringLiteral kOneHelp = "what threads read at once has one buffer in rings of two";
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

/// A pass without options that changes a function and does not fail.
struct FunctionPass {
  llvm::StringLiteral name; ///< in dumps, beside the argument
  llvm::StringLiteral argument, description;
  bool needsLayouts;
  void (*change)(func::FuncOp);
};

template <const FunctionPass &kPass> struct Named : ModulePass<Named<kPass>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Named)

  llvm::StringRef getName() const final { return kPass.name; }
  llvm::StringRef getArgument() const final { return kPass.argument; }
  llvm::StringRef getDescription() const final { return kPass.description; }

  LogicalResult runOn(func::FuncOp function) {
    if (kPass.needsLayouts && failed(requireLayouts(this->getOperation())))
      return failure();
    kPass.change(function);
    return success();
  }
};

constexpr FunctionPass kShareLoads{
    "ShareLoadsPass", "tlg-share-loads",
    "load once what is loaded twice or in each iteration, where that memory may not change",
    /*needsLayouts=*/false, [](func::FuncOp function) {
      shareLoads(function);
      loadBeforeLoops(function);
    }};

constexpr FunctionPass kCountLoops{"CountLoopsPass", "tlg-count-loops",
                                   "make for loops of while loops that count up to a number",
                                   /*needsLayouts=*/false, countLoops};

constexpr FunctionPass kUnrollLoops{
    "UnrollLoopsPass", "tlg-unroll-loops",
    "make several iterations one where tl.loop_unroll_factor says so, and of short loops all",
    /*needsLayouts=*/false, unrollLoops};

constexpr FunctionPass kLoopOverElements{
    "LoopOverElementsPass", "tlg-loop-over-elements",
    "do a few elements of a thread at a time where code for each is long",
    /*needsLayouts=*/false, loopOverElements};

constexpr FunctionPass kSplitWholeTiles{
    "SplitWholeTilesPass", "tlg-split-whole-tiles",
    "run without masks the iterations whose tiles are whole, where masks have threads load one by "
    "one",
    /*needsLayouts=*/false, splitWholeTiles};

constexpr FunctionPass kCarryScalars{
    "CarryScalarsPass", "tlg-carry-scalars",
    "carry the number that is added to a block of a loop, instead of the block",
    /*needsLayouts=*/false, carryStepsAsScalars};

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

constexpr FunctionPass kPlaceConversions{
    "PlaceConversionsPass", "tlg-place-conversions",
    "convert layouts where elementwise ops leave the fewest bytes to move",
    /*needsLayouts=*/true,
    [](func::FuncOp function) { placeConversions(function, /*inPipelines=*/false); }};

constexpr FunctionPass kShareVectors{
    "ShareVectorsPass", "tlg-share-vectors",
    "share what is computed of small vectors among the threads that have copies of them",
    /*needsLayouts=*/true, shareVectors};

constexpr FunctionPass kSinkConversions{
    "SinkConversionsPass", "tlg-sink-conversions",
    "convert layouts behind a loop where they are used only there",
    /*needsLayouts=*/true, sinkConversions};

constexpr FunctionPass kMergeReductions{
    "MergeReductionsPass", "tlg-merge-reductions",
    "reduce along two axes at once what is reduced along one after the other",
    /*needsLayouts=*/true, mergeReductions};

constexpr FunctionPass kReduceAfterLoops{
    "ReduceAfterLoopsPass", "tlg-reduce-after-loops",
    "reduce behind a loop what each of its iterations combines with a variable",
    /*needsLayouts=*/true, reduceAfterLoops};

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
        extraBuffers, ringBytes < 0 ? std::nullopt : std::optional<int64_t>(ringBytes), oneBuffer};
    const PipelinePlan plan = planPipelines(function, *target, options);
    if (printPlan)
      llvm::outs() << "plan of '" << function.getName() << "'\n" << text(plan);
    if (report) {
      report->plan += text(plan);
      noteLoops(plan, report->notes);
      report->fewerBuffers = fewerBuffers(plan);
      report->hasExtraBuffers |= plan.hasExtraBuffers();
      report->loadsEarly = plan.loadsEarly();
      report->ringBytes = std::max(report->ringBytes, plan.mostRingBytes());
      report->spareRing = plan.spareRing();
      report->oneBufferBytes = plan.oneBufferBytes();
    }
    return writePipelines(function, plan);
  }

  Option<int> numStages{*this, "num-stages", llvm::cl::desc(kStagesHelp), llvm::cl::init(0)};
  Option<bool> extraBuffers{*this, "extra-buffers", llvm::cl::desc(kExtraHelp),
                            llvm::cl::init(true)};
  Option<int64_t> ringBytes{*this, "ring-bytes", llvm::cl::desc(kRingHelp), llvm::cl::init(-1)};
  Option<bool> oneBuffer{*this, "one-buffer", llvm::cl::desc(kOneHelp), llvm::cl::init(false)};
  Option<bool> printPlan{*this, "print-plan", llvm::cl::desc(kPlanHelp), llvm::cl::init(false)};
  PipelineReport *report = nullptr; ///< of the caller, or null
};

constexpr FunctionPass kStageOperands{"StageOperandsPass", "tlg-stage-operands",
                                      "put the operands that dots read there into shared memory",
                                      /*needsLayouts=*/true, stageOperands};

constexpr FunctionPass kBranchForBlocks{"BranchForBlocksPass", "tlg-branch-for-blocks",
                                        "make branches of choices between large blocks by a scalar",
                                        /*needsLayouts=*/false,
                                        [](func::FuncOp function) { branchForBlocks(function); }};

constexpr FunctionPass kBranchForSums{"BranchForSumsPass", "tlg-branch-for-sums",
                                      "have a loop wait for its sums in the branch that uses them",
                                      /*needsLayouts=*/false, [](func::FuncOp function) {
                                        branchForBlocks(function, /*onlyForSums=*/true);
                                      }};

constexpr FunctionPass kDelayConversions{
    "DelayConversionsPass", "tlg-delay-conversions",
    "convert layouts where they are used, so that loads begin before and registers are free",
    /*needsLayouts=*/true, delayConversions};

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

constexpr FunctionPass kOrderStores{"OrderStoresPass", "tlg-order-stores",
                                    "have accesses wait for those of the same memory by all warps",
                                    /*needsLayouts=*/true, [](func::FuncOp function) {
                                      if (numWarpsOf(function->getParentOfType<ModuleOp>(), 0) > 1)
                                        orderStores(function);
                                    }};

constexpr FunctionPass kMarkReadOnly{
    "MarkReadOnlyPass", "tlg-mark-read-only",
    "mark loads of loops that load what the kernel never stores to",
    /*needsLayouts=*/true, markReadOnlyLoads};

constexpr FunctionPass kJoinAccesses{"JoinAccessesPass", "tlg-join-accesses",
                                     "make one of loads or stores whose elements lie side by side",
                                     /*needsLayouts=*/true, joinAccesses};

constexpr FunctionPass kKeepApart{
    "KeepBuffersApartPass", "tlg-keep-buffers-apart",
    "have buffers that one iteration fills one behind the other share no bytes",
    /*needsLayouts=*/false, [](func::FuncOp function) {
      const auto module = function->getParentOfType<ModuleOp>();
      if (const std::optional<GpuTarget> target = targetOf(module, "");
          target && !module->hasAttr(tlg::kTogetherAttribute))
        keepBuffersApart(function, *target, numWarpsOf(module, 0));
    }};

/// Lowering gives out memory by itself too, because it has to know which buffers share bytes: the
/// pass shows the same places.
constexpr FunctionPass kPlaceShared{
    "PlaceSharedPass", "tlg-place-shared", "give every buffer in shared memory its offset",
    /*needsLayouts=*/false, [](func::FuncOp function) { const SharedPlaces places(function); }};

struct GpuPipelineOptions : PassPipelineOptions<GpuPipelineOptions> {
  Option<std::string> arch{*this, "arch", llvm::cl::desc(kArchHelp), llvm::cl::init("")};
  Option<int> numWarps{*this, "num-warps", llvm::cl::desc(kWarpsHelp), llvm::cl::init(0)};
  Option<int> numStages{*this, "num-stages", llvm::cl::desc(kStagesHelp), llvm::cl::init(0)};
  Option<bool> printPlan{*this, "print-plan", llvm::cl::desc(kPlanHelp), llvm::cl::init(false)};
};

void build(OpPassManager &manager, llvm::StringRef arch, int numWarps, int numStages,
           bool printPlan) {
  manager.addPass(std::make_unique<Named<kShareLoads>>());
  manager.addPass(std::make_unique<Named<kCountLoops>>());
  manager.addPass(std::make_unique<Named<kUnrollLoops>>());
  manager.addPass(std::make_unique<Named<kLoopOverElements>>());
  manager.addPass(std::make_unique<Named<kSplitWholeTiles>>());
  manager.addPass(std::make_unique<Named<kCarryScalars>>());
  manager.addPass(std::make_unique<SplitClusterPass>());
  auto layouts = std::make_unique<AssignLayoutsPass>();
  layouts->arch = arch.str();
  layouts->numWarps = numWarps;
  layouts->numStages = numStages;
  manager.addPass(std::move(layouts));
  manager.addPass(createCSEPass());
  manager.addPass(createLicmPass());
  manager.addPass(std::make_unique<FindTmaPass>());
  manager.addPass(std::make_unique<Named<kPlaceConversions>>());
  manager.addPass(std::make_unique<Named<kShareVectors>>());
  manager.addPass(std::make_unique<Named<kSinkConversions>>());
  manager.addPass(std::make_unique<Named<kMergeReductions>>());
  manager.addPass(std::make_unique<Named<kReduceAfterLoops>>());
  manager.addPass(std::make_unique<Named<kBranchForSums>>());
  auto loops = std::make_unique<PipelineLoopsPass>();
  loops->numStages = numStages;
  loops->printPlan = printPlan;
  manager.addPass(std::move(loops));
  manager.addPass(std::make_unique<CopyByTmaPass>());
  manager.addPass(std::make_unique<Named<kStageOperands>>());
  manager.addPass(createCSEPass());
  manager.addPass(createLicmPass());
  manager.addPass(std::make_unique<Named<kBranchForBlocks>>());
  manager.addPass(std::make_unique<Named<kDelayConversions>>());
  manager.addPass(std::make_unique<OrderWgmmaPass>());
  manager.addPass(std::make_unique<Named<kOrderStores>>());
  manager.addPass(std::make_unique<Named<kMarkReadOnly>>());
  manager.addPass(std::make_unique<Named<kJoinAccesses>>());
  manager.addPass(std::make_unique<Named<kKeepApart>>());
  manager.addPass(std::make_unique<Named<kPlaceShared>>());
}

} // namespace

void registerGpuPasses() {
  static std::once_flag once;
  std::call_once(once, [] {
    registerTransformsPasses();
    registerPass(createLicmPass);
    PassRegistration<Named<kShareLoads>>();
    PassRegistration<Named<kCountLoops>>();
    PassRegistration<Named<kUnrollLoops>>();
    PassRegistration<Named<kLoopOverElements>>();
    PassRegistration<Named<kSplitWholeTiles>>();
    PassRegistration<Named<kCarryScalars>>();
    PassRegistration<SplitClusterPass>();
    PassRegistration<AssignLayoutsPass>();
    PassRegistration<Named<kPlaceConversions>>();
    PassRegistration<Named<kShareVectors>>();
    PassRegistration<Named<kSinkConversions>>();
    PassRegistration<Named<kMergeReductions>>();
    PassRegistration<Named<kReduceAfterLoops>>();
    PassRegistration<FindTmaPass>();
    PassRegistration<PipelineLoopsPass>();
    PassRegistration<CopyByTmaPass>();
    PassRegistration<Named<kStageOperands>>();
    PassRegistration<Named<kBranchForSums>>();
    PassRegistration<Named<kBranchForBlocks>>();
    PassRegistration<Named<kDelayConversions>>();
    PassRegistration<OrderWgmmaPass>();
    PassRegistration<Named<kOrderStores>>();
    PassRegistration<Named<kMarkReadOnly>>();
    PassRegistration<Named<kJoinAccesses>>();
    PassRegistration<Named<kKeepApart>>();
    PassRegistration<Named<kPlaceShared>>();
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
      loops.oneBuffer = options.oneBuffer;
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
