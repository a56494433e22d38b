// What the assembled kernel adds: spilled registers, wgmma that ptxas runs one by one.
#include "core/ir/convert.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/report/kernel_notes.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

constexpr int kFewSpillBytes =
    32; ///< stored and loaded; so few cost nothing that could be measured

void noteSpills(func::FuncOp function, const GpuOptions &options, GpuKernel &kernel) {
  if (kernel.spillBytes == 0)
    return;
  constexpr int kMost = GpuTarget::kThreadRegisters;
  const int limit = std::min(kernel.target.registersPerThread(options.numWarps),
                             options.maxRegisters.value_or(kMost));
  Finding &note =
      kernel.notes.emplace_back(noteAt(FindingCode::Spills, fromMlirLocation(function.getLoc())));
  if (kernel.spillBytes <= kFewSpillBytes)
    note.severity = Severity::Note;
  note.measure = {kernel.spillBytes, 0};
  const bool byOption = options.maxRegisters && limit == *options.maxRegisters;
  const std::string limitedBy = byOption ? " by maxnreg"
                                : limit < kMost
                                    ? llvm::formatv(" with {0} warps", options.numWarps).str()
                                    : "";
  note.message =
      llvm::formatv("{0} of each thread are stored to memory and loaded again: ptxas "
                    "gave it {1} registers, of at most {2}{3}",
                    counted(kernel.spillBytes, "byte"), kernel.registers, limit, limitedBy);
  note.cost = "local memory traffic where the values are used, above all in loops";
  if (kernel.registers + kernel.target.registerStep() < limit)
    note.hint = llvm::formatv("maxnreg={0}, or ptx_options without a limit of their own; else "
                              "smaller blocks",
                              limit);
  else if (byOption)
    note.hint = llvm::formatv("a larger maxnreg than {0}", limit);
  else if (limit < kMost)
    note.hint = "fewer warps (num_warps), so that each thread may have more registers; else "
                "smaller blocks";
  else
    note.hint = llvm::formatv("num_warps={0}, so that each thread holds half as much, or smaller "
                              "blocks",
                              2 * options.numWarps);
}

/// ptxas names the kernel, not the line: the first wgmma stands for all.
void noteSerialized(func::FuncOp function, GpuKernel &kernel) {
  const auto said = llvm::find_if(kernel.warnings, [](llvm::StringRef line) {
    return line.contains("(C75") && line.contains("serialized");
  });
  if (said == kernel.warnings.end())
    return;
  llvm::SmallVector<SourceLocation> dots;
  function.walk([&](tlg::WgmmaOp dot) { dots.push_back(fromMlirLocation(dot.getLoc())); });
  if (dots.empty())
    return;
  llvm::StringRef why = *said;
  why = why.split("serialized due to ").second;
  why = why.split(" in function").first.split(" in the function").first;
  Finding &note = kernel.notes.emplace_back(noteAt(FindingCode::SerializedWgmma, dots.front()));
  for (const SourceLocation &dot : llvm::drop_begin(dots))
    addPlace(note, dot);
  note.message = "ptxas runs the kernel's wgmma one by one" + (why.empty() ? "" : ": " + why.str());
  note.cost = "each waits for the one before it, so that the tensor cores stand still in between";
  note.hint = why.contains("register")
                  ? "fewer sums a thread: more warps (num_warps) or a smaller block"
                  : "no use of a dot's result before the loop's iteration ends";
}

} // namespace

void noteAssembled(func::FuncOp function, const GpuOptions &options, GpuKernel &kernel) {
  noteSpills(function, options, kernel);
  noteSerialized(function, kernel);
}

} // namespace blockscope::gpu
