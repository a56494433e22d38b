// The machine code of each function is kept for the process, under its libraries' contents.
#include "interpreter/bitcode/library_function.h"

#include "core/bitcode.h"
#include "interpreter/bitcode/jit.h"

#include "llvm/ADT/StringMap.h"

#include <mutex>

namespace blockscope::interpreter {
namespace {

struct Known {
  std::shared_ptr<const LibraryCode> code; ///< null where there is an error
  std::string error;
};

/// For the form that runs whole blocks.
struct WholeBlock {
  std::shared_ptr<const LibraryCode> code;
  int64_t elements = 1;
};

std::string keyOf(const LibraryFunction &function, llvm::StringRef digest) {
  std::string key = function.symbol + "\n" + digest.str() + "\n" + function.result.str();
  for (const Type &type : function.operands)
    key += "," + type.str();
  for (const std::string &path : function.libraries)
    key += "\n" + path;
  return key;
}

Known compileOnce(const LibraryFunction &function, llvm::StringRef digest) {
  static std::mutex mutex;
  static auto *known = new llvm::StringMap<Known>; // code may run until the process ends
  const std::string key = keyOf(function, digest);
  {
    const std::lock_guard lock(mutex);
    if (const auto found = known->find(key); found != known->end())
      return found->second;
  }
  Known made;
  made.code = compileLibraryFunction(function, &made.error);
  const std::lock_guard lock(mutex);
  return known->try_emplace(key, std::move(made)).first->second;
}

} // namespace

EvaluatorOrError chooseLibraryFunction(const OpSignature &signature) {
  LibraryFunction function;
  function.symbol = signature.attributes.getString("symbol").str();
  if (const Attribute *libraries = signature.attributes.find("libraries"))
    function.libraries = std::get<std::vector<std::string>>(*libraries);
  const auto isPointer = [](const Type &type) { return type.isPointer(); };
  if (llvm::any_of(signature.operands, isPointer) || llvm::any_of(signature.results, isPointer))
    return {{},
            "'" + function.symbol + "' of " + namesOfLibraries(function.libraries) +
                " cannot run on the CPU: it takes or gives pointers, and memory that a library "
                "uses is not checked here"};
  for (const Type &type : signature.operands)
    function.operands.push_back(type.scalar());
  function.result = signature.results[0].scalar();
  const Known known = compileOnce(function, signature.attributes.getString("digest"));
  if (!known.code)
    return {{}, known.error};
  if (signature.name == "tl.extern_elementwise")
    return {Evaluator::makeElementwise(known.code->loop, known.code), {}};
  auto whole =
      std::make_shared<WholeBlock>(WholeBlock{known.code, signature.results[0].numElements()});
  return {Evaluator::makeBlock(
              [](void *const *results, const void *const *operands, const void *payload) {
                const auto *op = static_cast<const WholeBlock *>(payload);
                op->code->loop(op->elements, 0, results, operands, 0, nullptr);
              },
              std::move(whole)),
          {}};
}

} // namespace blockscope::interpreter
