// Collects notes and puts them in the order of the source.
#include "gpu_backend/report/kernel_notes.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
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
  const auto place = [](const SourceLocation &at) { return std::tie(at.file, at.line, at.column); };
  const auto isBefore = [&](const SourceLocation &a, const SourceLocation &b) {
    return place(a) < place(b);
  };
  llvm::sort(notes, [&](const KernelNote &a, const KernelNote &b) {
    return std::tuple_cat(place(a.location), std::tie(a.code, a.message)) <
           std::tuple_cat(place(b.location), std::tie(b.code, b.message));
  });
  std::map<std::pair<std::string, std::string>, size_t> known;
  std::vector<KernelNote> merged;
  for (KernelNote &note : notes) {
    const auto [first, isNew] = known.try_emplace({note.code, note.message}, merged.size());
    if (isNew) {
      merged.push_back(std::move(note));
      continue;
    }
    merged[first->second].also.push_back(note.location);
    llvm::append_range(merged[first->second].also, note.also);
  }
  for (KernelNote &note : merged) {
    llvm::sort(note.also, isBefore);
    const auto isSame = [&](const SourceLocation &a, const SourceLocation &b) {
      return place(a) == place(b);
    };
    note.also.erase(llvm::unique(note.also, isSame), note.also.end());
    llvm::erase_if(note.also,
                   [&](const SourceLocation &other) { return isSame(other, note.location); });
  }
  notes = std::move(merged);
}

} // namespace blockscope::gpu
