// The table of what can be lowered.
#include "gpu_backend/lowering/families.h"

#include "llvm/ADT/StringMap.h"

namespace blockscope::gpu {
namespace {

llvm::StringMap<LowerFunction> &table() {
  static llvm::StringMap<LowerFunction> functions = [] {
    llvm::StringMap<LowerFunction> map;
    for (const auto rows : {atomicsRows,     castRows,          clusterRows,
                            controlFlowRows, convertLayoutRows, debugRows,
                            dotRows,         elementwiseRows,   externLibdeviceRows,
                            gatherRows,      histogramRows,     inlineAsmRows,
                            mapRows,         mathRows,          memoryRows,
                            mmaRows,         reduceRows,        scanRows,
                            shapeRows,       sharedMemoryRows,  sortRows,
                            tmaRows,         wgmmaRows})
      for (const LoweringRow &row : rows())
        map[row.opName] = row.function;
    return map;
  }();
  return functions;
}

} // namespace

LowerFunction findLowering(llvm::StringRef opName) { return table().lookup(opName); }

void addLowering(llvm::StringRef opName, LowerFunction function) { table()[opName] = function; }

std::vector<std::string> loweredOps() {
  std::vector<std::string> names;
  for (const auto &entry : table())
    names.push_back(entry.getKey().str());
  llvm::sort(names);
  return names;
}

} // namespace blockscope::gpu
