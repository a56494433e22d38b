// Makes one subprogram per Python function, and locations with their chain of calls.
#include "gpu_backend/lowering/debug_scopes.h"

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/Support/Path.h"

namespace blockscope::gpu {

Lowering::DebugScopes::DebugScopes(llvm::Module &module, llvm::Function &function)
    : builder_(module), function_(function) {
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
}

llvm::DIFile *Lowering::DebugScopes::file(const std::string &path) {
  return builder_.createFile(llvm::sys::path::filename(path), llvm::sys::path::parent_path(path));
}

llvm::DISubprogram *Lowering::DebugScopes::scope(const SourceLocation &location) {
  llvm::DISubprogram *&known = scopes_[{location.file, location.function}];
  if (known)
    return known;
  llvm::DIFile *source = file(location.file);
  if (!unit_)
    unit_ = builder_.createCompileUnit(llvm::DISourceLanguageName(llvm::dwarf::DW_LANG_C), source,
                                       "blockscope", /*isOptimized=*/true, "", 0, "",
                                       llvm::DICompileUnit::DebugDirectivesOnly);
  known = builder_.createFunction(
      source, location.function, location.function, source, location.line,
      builder_.createSubroutineType({}), location.line, llvm::DINode::FlagZero,
      llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
  if (!kernel_) {
    kernel_ = known;
    function_.setSubprogram(kernel_);
  }
  return known;
}

llvm::DILocation *Lowering::DebugScopes::at(const SourceLocation &location) {
  llvm::LLVMContext &context = function_.getContext();
  if (!location.isKnown())
    return kernel_ ? llvm::DILocation::get(context, 0, 0, kernel_) : nullptr;
  if (location.caller && location.caller->isKnown()) {
    llvm::DILocation *caller = at(*location.caller);
    return llvm::DILocation::get(context, location.line, location.column, scope(location), caller);
  }
  llvm::DISubprogram *outer = scope(location);
  if (outer == kernel_)
    return llvm::DILocation::get(context, location.line, location.column, kernel_);
  // Code without a caller that is not the kernel's own, for example a combine function.
  return llvm::DILocation::get(context, location.line, location.column, outer,
                               llvm::DILocation::getDistinct(context, 0, 0, kernel_));
}

} // namespace blockscope::gpu
