// Dumps of passes to stderr.
#include "core/passes/pass_dumps.h"

#include "core/no_fork.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>

using namespace mlir;

namespace blockscope {
namespace {

class PassDumps : public PassInstrumentation {
public:
  explicit PassDumps(llvm::StringRef kernel) : kernel_(kernel) {}

  void runAfterPass(Pass *pass, Operation *op) override { dump("After", pass, op); }
  void runAfterPassFailed(Pass *pass, Operation *op) override { dump("After Failed", pass, op); }

private:
  void dump(llvm::StringRef when, Pass *pass, Operation *op) const {
    if (pass->getArgument().empty()) // what runs passes on inner ops; they are dumped themselves
      return;
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::StringRef name = pass->getName(); // with all its namespaces
    if (const size_t last = name.rfind("::"); last != llvm::StringRef::npos)
      name = name.drop_front(last + 2);
    stream << "// -----// IR Dump " << when << " " << name << " (" << pass->getArgument()
           << ") of '" << kernel_ << "' //----- //\n";
    Operation *top = op;
    while (Operation *parent = top->getParentOp())
      top = parent;
    top->print(stream, OpPrintingFlags().printNameLocAsPrefix());
    stream << "\n\n";
    writeDump(text);
  }

  std::string kernel_;
};

} // namespace

bool wantsPassDumps(llvm::StringRef wanted, llvm::StringRef kernel) {
  const std::string lowered = wanted.lower();
  if (lowered.empty() || lowered == "0" || lowered == "false" || lowered == "off")
    return false;
  return lowered == "1" || lowered == "true" || lowered == "on" || wanted == kernel;
}

void addPassDumps(PassManager &manager, llvm::StringRef kernel) {
  manager.addInstrumentation(std::make_unique<PassDumps>(kernel));
}

void writeDump(llvm::StringRef text) {
  const NoFork whole;
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  llvm::errs() << text;
  llvm::errs().flush();
}

} // namespace blockscope
