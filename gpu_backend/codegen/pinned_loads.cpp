// ptxas takes %nwarpid for a number that only the GPU knows; it is 64 at most.
#include "gpu_backend/codegen/pinned_loads.h"

#include "gpu_backend/codegen/ptx_lines.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

namespace blockscope::gpu {
namespace {

/// How a store names the type of a register.
llvm::StringRef typeOf(llvm::StringRef name) {
  return name.starts_with("%rs") ? "b16" : name.starts_with("%rd") ? "b64" : "b32";
}

} // namespace

std::string withPinnedLoads(llvm::StringRef ptx, int *groups) {
  if (groups)
    *groups = 0;
  const std::optional<PtxBody> body = bodyOf(ptx);
  if (!body)
    return ptx.str();
  llvm::SmallVector<llvm::StringRef> lines;
  ptx.slice(body->begin, body->end - 1).split(lines, '\n');
  std::string code, behind;
  llvm::StringSet<> loaded;
  llvm::SmallVector<llvm::StringRef> last; // of each load of the group, its last register
  std::string waiting;                     // lines behind the group's last load
  int count = 0;
  const auto close = [&] {
    if (last.size() > 1) {
      code += llvm::formatv("\tsetp.gt.u32 \t%pinned, %pinwarps, 65535;\n"
                            "\t@%pinned bra \t$L__pinned{0};\n",
                            count);
      behind += llvm::formatv("$L__pinned{0}:\n", count++);
      for (const llvm::StringRef name : last)
        behind += llvm::formatv("\tst.shared.{0} \t[%pinwarps], {1};\n", typeOf(name), name);
      behind += "\tret;\n";
    }
    code += waiting;
    waiting.clear();
    last.clear();
    loaded.clear();
  };
  bool isInAssembly = false;
  for (const llvm::StringRef line : lines) {
    const bool isComment = line.trim().starts_with("//");
    const bool beginsAssembly = line.contains(kBeginAssembly);
    const bool endsAssembly = line.contains(kEndAssembly);
    const bool isUse = !isComment && llvm::any_of(registersOf(line), [&](llvm::StringRef name) {
      return loaded.contains(name);
    });
    if (!last.empty() && (isUse || (!isLoadLine(line) && endsLoads(line))))
      close();
    if (isLoadLine(line)) {
      // Lines since the load before belong to the group.
      code += waiting;
      waiting.clear();
      llvm::StringRef results = line.substr(line.find("ld.global"));
      results = results.take_front(results.find('['));
      const auto names = registersOf(results);
      if (!names.empty()) {
        for (const llvm::StringRef name : names)
          loaded.insert(name);
        last.push_back(names.back());
      }
      code += (line + "\n").str();
    } else if (isInAssembly || endsAssembly) { // stays with what it belongs to
      (waiting.empty() ? code : waiting) += (line + "\n").str();
    } else {
      waiting += (line + "\n").str();
      if (last.empty()) {
        code += waiting;
        waiting.clear();
      }
    }
    isInAssembly = beginsAssembly || (isInAssembly && !endsAssembly);
  }
  close();
  if (groups)
    *groups = count;
  if (count == 0)
    return ptx.str();
  return (ptx.take_front(body->begin) +
          "\t.reg .pred \t%pinned;\n\t.reg .b32 \t%pinwarps;\n\tmov.u32 \t%pinwarps, %nwarpid;\n" +
          code + behind + ptx.drop_front(body->end))
      .str();
}

} // namespace blockscope::gpu
