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

/// What lets a kernel that spills keep more in registers. `most` is what the multiprocessor has for
/// a thread, `limit` what maxnreg leaves of it.
std::string spillHint(const GpuKernel &kernel, const GpuOptions &options, int most, int limit) {
  if (kernel.registers + kernel.target.registerStep() < limit) {
    if (!options.ptxasOptions.empty())
      return llvm::formatv("maxnreg={0}, or ptx_options without a limit of their own; else "
                           "smaller blocks",
                           limit);
    if (!options.maxRegisters)
      return llvm::formatv("smaller blocks; or maxnreg={0}, which lets ptxas take more registers, "
                           "and fewer CTAs may run at a time then",
                           limit);
  }
  if (limit < most)
    return llvm::formatv("a larger maxnreg than {0}", limit);
  if (most < GpuTarget::kThreadRegisters)
    return "fewer warps (num_warps), so that each thread may have more registers; else smaller "
           "blocks";
  if (kernel.target.registersPerThread(2 * options.numWarps) < most)
    // Twice the warps would have half of them each, for half of the work.
    return llvm::formatv("smaller blocks: {0} warps already have all registers of a "
                         "multiprocessor, and more warps get fewer each",
                         options.numWarps);
  return llvm::formatv("num_warps={0}, so that each thread holds half as much, or smaller blocks",
                       2 * options.numWarps);
}

void noteSpills(func::FuncOp function, const GpuOptions &options, GpuKernel &kernel) {
  if (kernel.spillBytes == 0)
    return;
  const int most = kernel.target.registersPerThread(options.numWarps);
  const int limit = std::min(most, options.maxRegisters.value_or(most));
  Finding &note =
      kernel.notes.emplace_back(noteAt(FindingCode::Spills, fromMlirLocation(function.getLoc())));
  if (kernel.spillBytes <= kFewSpillBytes)
    note.severity = Severity::Note;
  note.measure = {kernel.spillBytes, 0};
  const std::string limitedBy = limit < most ? " by maxnreg"
                                : most < GpuTarget::kThreadRegisters
                                    ? llvm::formatv(" with {0} warps", options.numWarps).str()
                                    : "";
  note.message =
      llvm::formatv("{0} of each thread are stored to memory and loaded again: ptxas "
                    "gave it {1} registers, of at most {2}{3}",
                    counted(kernel.spillBytes, "byte"), kernel.registers, limit, limitedBy);
  note.cost = "local memory traffic where the values are used, above all in loops";
  note.hint = spillHint(kernel, options, most, limit);
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
