// The op families: each file of this folder adds its rows to the one table.
#pragma once

#include "gpu_backend/lowering/lowering.h"

namespace blockscope::gpu {

struct LoweringRow {
  llvm::StringLiteral opName;
  LowerFunction function;
};

llvm::ArrayRef<LoweringRow> atomicsRows();
llvm::ArrayRef<LoweringRow> castRows();
llvm::ArrayRef<LoweringRow> clusterRows();
llvm::ArrayRef<LoweringRow> controlFlowRows();
llvm::ArrayRef<LoweringRow> convertLayoutRows();
llvm::ArrayRef<LoweringRow> debugRows();
llvm::ArrayRef<LoweringRow> dotRows();
llvm::ArrayRef<LoweringRow> elementwiseRows();
llvm::ArrayRef<LoweringRow> externLibdeviceRows();
llvm::ArrayRef<LoweringRow> inlineAsmRows();
llvm::ArrayRef<LoweringRow> mapRows();
llvm::ArrayRef<LoweringRow> mathRows();
llvm::ArrayRef<LoweringRow> gatherRows();
llvm::ArrayRef<LoweringRow> histogramRows();
llvm::ArrayRef<LoweringRow> memoryRows();
llvm::ArrayRef<LoweringRow> mmaRows();
llvm::ArrayRef<LoweringRow> reduceRows();
llvm::ArrayRef<LoweringRow> scanRows();
llvm::ArrayRef<LoweringRow> shapeRows();
llvm::ArrayRef<LoweringRow> sortRows();
llvm::ArrayRef<LoweringRow> sharedMemoryRows();
llvm::ArrayRef<LoweringRow> tmaRows();
llvm::ArrayRef<LoweringRow> wgmmaRows();

} // namespace blockscope::gpu
