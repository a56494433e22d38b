// Fuzz target: the text of IR of both levels, as blk-opt reads it: parsed, verified, printed, and
// read again, which must give the same text.
#include "core/ir/ir_text.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/ir/tlg_dialect.h"

#include "mlir/IR/Diagnostics.h"

#include <cstdio>
#include <cstdlib>
#include <memory>

using namespace mlir;

namespace {

/// Types and attributes live as long as their context: a fresh one now and then bounds memory.
MLIRContext &freshContext() {
  constexpr int kInputsPerContext = 2000;
  static std::unique_ptr<MLIRContext> context;
  static int inputs = 0;
  if (inputs++ % kInputsPerContext == 0) {
    context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
    blockscope::tl::loadDialects(*context);
    context->loadDialect<blockscope::tlg::TLGDialect>();
  }
  return *context;
}

std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text;
}

[[noreturn]] void fail(const char *what, const std::string &first, const std::string &second) {
  std::fprintf(stderr, "%s\n--- first\n%s\n--- second\n%s\n", what, first.c_str(), second.c_str());
  std::abort();
}

} // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  MLIRContext &context = freshContext();
  std::string errors;
  const ScopedDiagnosticHandler collect(&context, [&](Diagnostic &diagnostic) {
    errors += diagnostic.str() + "\n";
    return success();
  });
  const OwningOpRef<ModuleOp> module = blockscope::readModule(text, context);
  if (!module)
    return 0;
  const std::string printed = textOf(*module);
  errors.clear();
  const OwningOpRef<ModuleOp> again = blockscope::readModule(printed, context);
  if (!again)
    fail("what was printed cannot be read", printed, errors);
  if (const std::string second = textOf(*again); second != printed)
    fail("what was printed reads as something else", printed, second);
  return 0;
}
