// Tells observers of values what an instruction has just done.
#pragma once

#include "interpreter/execution_context.h"
#include "interpreter/flat/flat_program.h"

namespace blockscope::interpreter::flat {

/// An op has made elements [begin, begin + count) of its results. `pointers` are those of its
/// results, then of its operands.
void showValues(const ExecutionContext &context, const FlatProgram &program, uint32_t op,
                int64_t begin, int64_t count, void *const *pointers);
/// The op that runs now has these operands; its results are not shown.
void showOperands(const ExecutionContext &context, const ShownOp &shown,
                  const void *const *operands);
void showMove(const ExecutionContext &context, void *to, const void *from, int64_t bytes);
/// `values` are scalars of `type`.
void showDecision(const ExecutionContext &context, const OpInfo &op, const Type &type,
                  llvm::ArrayRef<const void *> values);

} // namespace blockscope::interpreter::flat
