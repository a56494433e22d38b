// The IR before a failing pass is not kept while passes run, it would cost every launch: a failure
// is run again from the text of the block IR, with copies.
#include "gpu_backend/run_pipeline.h"

#include "core/ir/ir_text.h"
#include "core/ir/tl_dialect.h"
#include "core/passes/pass_dumps.h"
#include "core/settings.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/named_passes.h"
#include "gpu_backend/reproducer.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// Adds the pipeline that the options name. False with the text in `error` when it is not one.
bool addPasses(PassManager &manager, const GpuTarget &target, const GpuOptions &options,
               std::string &error) {
  if (options.passPipeline.empty()) {
    buildGpuPipeline(manager, target, options);
    return true;
  }
  registerGpuPasses();
  llvm::StringRef text = llvm::StringRef(options.passPipeline).trim();
  if (text.consume_front("builtin.module("))
    text.consume_back(")");
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (succeeded(parsePassPipeline(text, manager, stream)))
    return true;
  error = "'" + options.passPipeline +
          "' is not a pipeline of passes: " + llvm::StringRef(problem).trim().str();
  return false;
}

/// Keeps the module as it was before the pass that runs now.
class Before : public PassInstrumentation {
public:
  Before(std::string &ir, std::string &pass) : ir_(ir), pass_(pass) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    if (!isa<ModuleOp>(op) || failed_)
      return;
    ir_.clear();
    pass_.clear();
    llvm::raw_string_ostream ir(ir_), text(pass_);
    op->print(ir);
    pass->printAsTextualPipeline(text);
  }
  void runAfterPassFailed(Pass *, Operation *) override { failed_ = true; }

private:
  std::string &ir_, &pass_;
  bool failed_ = false;
};

std::string reproduce(const GpuTarget &target, const GpuOptions &options, const GpuKernel &kernel,
                      const std::string &error) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  tl::loadDialects(context);
  context.loadDialect<tlg::TLGDialect>();
  const ScopedDiagnosticHandler silence(&context, [](Diagnostic &) { return success(); });
  std::string ir = kernel.tl, passes, ignored;
  OwningOpRef<ModuleOp> module = readModule(kernel.tl, context);
  PassManager manager(&context, ModuleOp::getOperationName());
  if (!addPasses(manager, target, options, ignored))
    return {};
  if (module) {
    setTarget(*module, target, options);
    manager.addInstrumentation(std::make_unique<Before>(ir, passes));
    if (failed(manager.run(*module)))
      return writeReproducer(ir, "builtin.module(" + passes + ")", kernel.name, error, options);
  }
  passes.clear();
  llvm::raw_string_ostream stream(passes);
  manager.printAsTextualPipeline(stream);
  return writeReproducer(kernel.tl, passes, kernel.name, error, options);
}

} // namespace

bool runGpuPipeline(ModuleOp module, const GpuTarget &target, const GpuOptions &options,
                    const GpuKernel &kernel, PipelineReport &report, std::string &error) {
  setTarget(module, target, options);
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  manager.enableVerifier(flagOf(Setting::VerifyIr));
  if (!addPasses(manager, target, options, error))
    return false;
  connectPipelineReport(manager, options, report);
  if (wantsPassDumps(options.dumpPasses, kernel.name))
    addPassDumps(manager, kernel.name);
  if (succeeded(manager.run(module)))
    return succeeded(requireLayouts(module)); // a pipeline of the user's may leave them out
  if (error.empty())
    error = "a pass of the GPU level failed without a word (a mistake in blockscope)";
  error += reproduce(target, options, kernel, error);
  return false;
}

} // namespace blockscope::gpu
