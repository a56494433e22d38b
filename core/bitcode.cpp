// Libraries are opened lazily: a function's type costs no more than the head of its file.
#include "core/bitcode.h"

#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Transforms/IPO/Internalize.h"

namespace blockscope {
namespace {

std::unique_ptr<llvm::Module> openLibrary(llvm::StringRef path, llvm::LLVMContext &context,
                                          std::string *error) {
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> library = llvm::getLazyIRFileModule(path, diagnostic, context);
  if (!library)
    *error = "cannot read '" + path.str() + "' as LLVM bitcode: " + diagnostic.getMessage().str();
  return library;
}

std::string textOf(llvm::ArrayRef<llvm::Type *> operands, llvm::Type *result) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "(";
  for (const auto [i, type] : llvm::enumerate(operands))
    stream << (i ? ", " : "") << *type;
  stream << ") -> " << *result;
  return text;
}

/// Whether one of the types is a float of 16 bits and the other an integer of as many, as which C++
/// has it.
bool isNarrowFloatAsInteger(llvm::Type *a, llvm::Type *b) {
  const auto isNarrow = [](llvm::Type *type) { return type->isHalfTy() || type->isBFloatTy(); };
  return (isNarrow(a) && b->isIntegerTy(16)) || (isNarrow(b) && a->isIntegerTy(16));
}

/// `value` as one of `type`; null where that is another type.
llvm::Value *asType(llvm::IRBuilderBase &builder, llvm::Value *value, llvm::Type *type) {
  if (value->getType() == type)
    return value;
  if (value->getType()->isPointerTy() && type->isPointerTy())
    return builder.CreateAddrSpaceCast(value, type);
  return isNarrowFloatAsInteger(value->getType(), type) ? builder.CreateBitCast(value, type)
                                                        : nullptr;
}

bool lacksFunctions(const llvm::Module &module) {
  return llvm::any_of(module, [](const llvm::Function &function) {
    return function.isDeclaration() && !function.isIntrinsic();
  });
}

} // namespace

std::string namesOfLibraries(llvm::ArrayRef<std::string> libraries) {
  std::string text;
  for (const auto [i, path] : llvm::enumerate(libraries))
    text += (i == 0 ? "'" : i + 1 == libraries.size() ? " and '" : ", '") + path + "'";
  return text;
}

llvm::Function *declareExtern(llvm::Module &module, llvm::StringRef symbol,
                              llvm::ArrayRef<std::string> libraries, std::string *error) {
  for (const std::string &path : libraries) {
    const std::unique_ptr<llvm::Module> library = openLibrary(path, module.getContext(), error);
    if (!library)
      return nullptr;
    const llvm::Function *found = library->getFunction(symbol);
    if (!found || found->isDeclaration() || found->hasLocalLinkage())
      continue;
    if (llvm::Function *known = module.getFunction(symbol))
      return known;
    auto *declared = llvm::Function::Create(found->getFunctionType(),
                                            llvm::Function::ExternalLinkage, symbol, module);
    declared->setAttributes(found->getAttributes());
    return declared;
  }
  *error = "'" + symbol.str() + "' is no function of " + namesOfLibraries(libraries);
  return nullptr;
}

llvm::Value *callExtern(llvm::IRBuilderBase &builder, llvm::Function *function,
                        llvm::ArrayRef<llvm::Value *> operands, llvm::Type *result,
                        std::string *error) {
  llvm::FunctionType *type = function->getFunctionType();
  llvm::SmallVector<llvm::Value *> arguments;
  if (type->getNumParams() == operands.size())
    for (const auto [operand, parameter] : llvm::zip(operands, type->params()))
      arguments.push_back(asType(builder, operand, parameter));
  const bool takesThem =
      arguments.size() == operands.size() && !llvm::is_contained(arguments, nullptr);
  if (takesThem) {
    llvm::CallInst *call = builder.CreateCall(function, arguments);
    call->setCallingConv(function->getCallingConv());
    if (llvm::Value *given = asType(builder, call, result))
      return given;
  }
  llvm::SmallVector<llvm::Type *> found;
  for (const llvm::Value *operand : operands)
    found.push_back(operand->getType());
  *error = "'" + function->getName().str() + "' of the library is " +
           textOf(type->params(), type->getReturnType()) + ", this call needs " +
           textOf(found, result);
  return nullptr;
}

bool linkBitcode(llvm::Module &module, llvm::StringRef path, std::string *error) {
  std::unique_ptr<llvm::Module> library = openLibrary(path, module.getContext(), error);
  if (!library)
    return false;
  library->setTargetTriple(module.getTargetTriple());
  library->setDataLayout(module.getDataLayout());
  const bool failed = llvm::Linker::linkModules(
      module, std::move(library), llvm::Linker::LinkOnlyNeeded,
      [](llvm::Module &linked, const llvm::StringSet<> &names) {
        llvm::internalizeModule(linked, [&](const llvm::GlobalValue &value) {
          return !value.hasName() || names.count(value.getName()) == 0;
        });
      });
  if (failed)
    *error = "cannot link '" + path.str() + "'";
  return !failed;
}

bool linkBitcodes(llvm::Module &module, llvm::ArrayRef<std::string> libraries, std::string *error) {
  for (size_t round = 0; round < libraries.size() && lacksFunctions(module); ++round)
    for (const std::string &path : libraries)
      if (!linkBitcode(module, path, error))
        return false;
  return true;
}

} // namespace blockscope
