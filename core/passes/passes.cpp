// The pass pipeline of the block IR.
#include "core/passes/passes.h"

#include "core/ir/ir_emitter.h"
#include "core/ir/tl_dialect.h"
#include "core/passes/licm.h"
#include "core/passes/pass_dumps.h"
#include "core/settings.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/FoldUtils.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

#include <cstdlib>

using namespace mlir;

namespace blockscope {
namespace {

bool hasFloatResult(Operation *op) {
  return llvm::any_of(op->getResultTypes(), [](mlir::Type type) {
    return !isa<IntegerType, tl::PtrType>(getElementTypeOrSelf(type));
  });
}

/// Folding may compute integers, but a float only by taking over an operand.
bool mayFold(Operation *op) {
  if (op->hasTrait<OpTrait::ConstantLike>() || op->getName().getDialectNamespace() == "math")
    return false;
  if (op->getName().getDialectNamespace() != "arith" || !hasFloatResult(op))
    return true;
  return !llvm::all_of(op->getOperands(),
                       [](mlir::Value operand) { return matchPattern(operand, m_Constant()); });
}

/// Whether an op was folded.
bool foldAll(Operation *root) {
  llvm::SmallVector<Operation *> ops;
  root->walk([&](Operation *op) { // inner ops come first, so that no folded op is seen again
    if (op != root && mayFold(op))
      ops.push_back(op);
  });
  OperationFolder folder(root->getContext());
  bool folded = false;
  for (Operation *op : ops)
    folded |= succeeded(folder.tryToFold(op));
  return folded;
}

constexpr int kMostRounds = 8; // one for each of nested loops of one iteration

/// Patterns of float arithmetic may change the sign of a NaN, and those of math compute.
bool takesPatternsOf(RegisteredOperationName name) {
  static constexpr llvm::StringLiteral kFloatOps[] = {"arith.addf", "arith.subf", "arith.mulf",
                                                      "arith.divf", "arith.negf"};
  return name.getDialectNamespace() != "math" &&
         !llvm::is_contained(kFloatOps, name.getStringRef());
}

struct SimplifyPass : PassWrapper<SimplifyPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SimplifyPass)

  llvm::StringRef getArgument() const final { return "blk-simplify"; }
  llvm::StringRef getDescription() const final {
    return "fold and canonicalize without computing floats";
  }

  LogicalResult initialize(MLIRContext *context) final {
    RewritePatternSet set(context);
    for (Dialect *dialect : context->getLoadedDialects())
      dialect->getCanonicalizationPatterns(set);
    for (const RegisteredOperationName name : context->getRegisteredOperations())
      if (takesPatternsOf(name))
        name.getCanonicalizationPatterns(set, context);
    patterns = FrozenRewritePatternSet(std::move(set));
    return success();
  }

  void runOnOperation() final {
    GreedyRewriteConfig config;
    config.enableFolding(false).setMaxIterations(4).setUseTopDownTraversal(true);
    foldAll(getOperation());
    // What patterns leave may fold, and let patterns do more: a loop of one iteration is gone, then
    // its number is a constant, then a branch for the first iteration is.
    for (int round = 0; round < kMostRounds; ++round) {
      bool changed = false;
      (void)applyPatternsGreedily(getOperation(), patterns, config, &changed);
      if (!changed || !foldAll(getOperation()))
        break;
    }
  }

  FrozenRewritePatternSet patterns;
};

/// What `tl.multiple_of(x, 16)` claims holds for x, also where the result is not used: what comes
/// after it takes the result for x.
struct HintsPass : PassWrapper<HintsPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(HintsPass)

  llvm::StringRef getArgument() const final { return "blk-hints"; }
  llvm::StringRef getDescription() const final { return "use hinted values after their hints"; }

  void runOnOperation() final {
    getOperation()->walk([](tl::HintOp hint) {
      hint.getSource().replaceUsesWithIf(hint.getResult(), [&](OpOperand &use) {
        Operation *user = hint->getBlock()->findAncestorOpInBlock(*use.getOwner());
        return user && hint->isBeforeInBlock(user);
      });
    });
  }
};

constexpr llvm::StringLiteral kLoopMark = "blk.loop_mark";

/// MLIR removes loops whose results nobody uses, as if each of them ended. A kernel's loop may not:
/// one that changes no memory has a mark inside, an op that stays, while such passes run.
struct MarkLoopsPass : PassWrapper<MarkLoopsPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MarkLoopsPass)

  llvm::StringRef getArgument() const final { return "blk-mark-loops"; }
  llvm::StringRef getDescription() const final { return "keep loops that may never end"; }

  void runOnOperation() final {
    getOperation()->walk([](scf::WhileOp loop) {
      if (!wouldOpBeTriviallyDead(loop))
        return;
      OpBuilder builder(loop.getContext());
      builder.setInsertionPoint(loop.getAfterBody()->getTerminator());
      tl::BarrierOp::create(builder, loop.getLoc())->setAttr(kLoopMark, builder.getUnitAttr());
    });
  }
};

struct UnmarkLoopsPass : PassWrapper<UnmarkLoopsPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(UnmarkLoopsPass)

  llvm::StringRef getArgument() const final { return "blk-unmark-loops"; }
  llvm::StringRef getDescription() const final { return "take the marks of loops away"; }

  void runOnOperation() final {
    getOperation()->walk([](tl::BarrierOp barrier) {
      if (barrier->hasAttr(kLoopMark))
        barrier.erase();
    });
  }
};

void buildPipeline(OpPassManager &manager, bool hasCalls) {
  if (hasCalls) {
    manager.addPass(createInlinerPass({}, [](OpPassManager &) {}));
    manager.addPass(createSymbolDCEPass());
  }
  manager.addPass(std::make_unique<HintsPass>());
  const auto withMarks = [&](std::unique_ptr<Pass> pass) {
    manager.addPass(std::make_unique<MarkLoopsPass>());
    manager.addPass(std::move(pass));
    manager.addPass(std::make_unique<UnmarkLoopsPass>());
  };
  withMarks(std::make_unique<SimplifyPass>());
  withMarks(createCSEPass());
  manager.addPass(createLicmPass());
  withMarks(createCSEPass());
}

} // namespace

bool runPasses(ModuleOp module, std::string *errors) {
  std::string text;
  const ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    text += (text.empty() ? "" : "\n") + diagnostic.str();
    return success();
  });
  const bool hasCalls =
      module.walk([](func::CallOp) { return WalkResult::interrupt(); }).wasInterrupted();
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  manager.enableVerifier(flagOf(Setting::VerifyIr));
  buildPipeline(manager, hasCalls);
  auto functions = module.getOps<func::FuncOp>();
  const char *dumps = std::getenv("MLIR_ENABLE_DUMP");
  if (dumps && !functions.empty() && wantsPassDumps(dumps, (*functions.begin()).getName()))
    addPassDumps(manager, (*functions.begin()).getName());
  const bool succeeded = mlir::succeeded(manager.run(module));
  if (errors)
    *errors = text;
  return succeeded;
}

bool runPasses(IrEmitter &emitter, std::string *errors) {
  return runPasses(emitter.module(), errors);
}

void registerPasses() {
  registerTransformsPasses();
  PassRegistration<HintsPass>();
  PassRegistration<SimplifyPass>();
  registerPass(createLicmPass);
  PassPipelineRegistration<>("blk-cpu", "what every kernel goes through before it is run",
                             [](OpPassManager &manager) { buildPipeline(manager, true); });
}

} // namespace blockscope
