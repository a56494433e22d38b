// Writes the IR of a failure together with the command that shows it again.
#include "gpu_backend/reproducer.h"

#include "gpu_backend/codegen/write_file.h"
#include "gpu_backend/kernel_names.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace blockscope::gpu {

bool isOurMistake(llvm::StringRef error) { return error.contains("mistake in blockscope)"); }

std::string writeReproducer(llvm::StringRef ir, llvm::StringRef pipeline, llvm::StringRef kernel,
                            llvm::StringRef error, const GpuOptions &options) {
  llvm::SmallString<128> model(options.dumpDir), path;
  std::error_code code;
  if (model.empty())
    llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, model);
  else
    code = llvm::sys::fs::create_directories(model);
  llvm::sys::path::append(model, "blockscope-" + fileStem(kernel) + "-%%%%%%.mlir");
  if (!code)
    code = llvm::sys::fs::createUniqueFile(model, path);
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "// blk-opt " << path << " --pass-pipeline='" << pipeline << "'\n";
  llvm::SmallVector<llvm::StringRef> lines;
  error.split(lines, '\n');
  for (const llvm::StringRef line : lines)
    stream << "// " << line << "\n";
  stream << ir << "\n";
  if (!code)
    code = writeFile(path, text);
  if (code)
    return "\n(the IR that reproduces this could not be written to " + model.str().str() + ": " +
           code.message() + ")";
  return "\nblk-opt reproduces this from " + path.str().str() + ", its first line says how";
}

} // namespace blockscope::gpu
