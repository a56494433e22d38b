// Collects notes and puts them in the order of the source.
#include "gpu_backend/report/kernel_notes.h"

#include "llvm/ADT/STLExtras.h"

#include <tuple>

using namespace mlir;

namespace blockscope::gpu {

std::string counted(int64_t count, llvm::StringRef noun) {
  return std::to_string(count) + " " + noun.str() + (count == 1 ? "" : "s");
}

void noteKernel(func::FuncOp function, const GpuTarget &target, const GpuOptions &options,
                GpuKernel &kernel) {
  noteAccesses(function, kernel.notes);
  noteProducts(function, target, options, kernel.notes);
}

void sortNotes(std::vector<KernelNote> &notes) {
  const auto key = [](const KernelNote &note) {
    const SourceLocation &at = note.location;
    return std::tie(at.file, at.line, at.column, note.code, note.message);
  };
  const auto isBefore = [](const SourceLocation &a, const SourceLocation &b) {
    return std::tie(a.file, a.line, a.column) < std::tie(b.file, b.line, b.column);
  };
  for (KernelNote &note : notes) {
    llvm::sort(note.also, isBefore);
    llvm::erase_if(note.also, [&](const SourceLocation &other) {
      return !isBefore(note.location, other) && !isBefore(other, note.location);
    });
    note.also.erase(
        llvm::unique(note.also, [&](const SourceLocation &a,
                                    const SourceLocation &b) { return !isBefore(a, b); }),
        note.also.end());
  }
  llvm::sort(notes, [&](const KernelNote &a, const KernelNote &b) { return key(a) < key(b); });
  notes.erase(llvm::unique(notes, [&](const KernelNote &a,
                                      const KernelNote &b) { return key(a) == key(b); }),
              notes.end());
}

} // namespace blockscope::gpu
