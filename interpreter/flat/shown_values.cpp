// Makes events of instructions, for observers of values.
#include "interpreter/flat/shown_values.h"

namespace blockscope::interpreter::flat {
namespace {

using Operands = llvm::SmallVector<ValueView, 4>;

Operands operandsOf(const ShownOp &shown, const void *const *pointers) {
  using Extent = ValueView::Extent;
  Operands operands;
  for (size_t i = 0; i < shown.signature.operands.size(); ++i) {
    const uint32_t bit = 1U << i;
    const Extent extent = shown.singleOperands & bit  ? Extent::One
                          : shown.wholeOperands & bit ? Extent::Whole
                                                      : Extent::Strip;
    operands.push_back({pointers[i], &shown.signature.operands[i], extent});
  }
  return operands;
}

} // namespace

void showValues(const ExecutionContext &context, const FlatProgram &program, uint32_t op,
                int64_t begin, int64_t count, void *const *pointers) {
  using Extent = ValueView::Extent;
  const ShownOp &shown = program.shown[op];
  const OpSignature &signature = shown.signature;
  llvm::SmallVector<ValueView, 2> results;
  for (const Type &type : signature.results)
    results.push_back({*pointers++, &type, shown.hasSingleResults ? Extent::One : Extent::Strip});
  const Operands operands = operandsOf(shown, pointers);
  const OpValues values{
      &program.ops[op], &signature, context.linearProgram,  context.worker,    begin, count,
      operands,         results,    context.loopIterations, shown.region.get()};
  for (Observer *observer : context.launch->observers)
    observer->onValues(values);
}

void showOperands(const ExecutionContext &context, const ShownOp &shown,
                  const void *const *operands) {
  const OpSignature &signature = shown.signature;
  const Operands views = operandsOf(shown, operands);
  const OpValues values{context.op,     &signature, context.linearProgram,
                        context.worker, 0,          signature.operands.front().numElements(),
                        views,          {},         context.loopIterations};
  for (Observer *observer : context.launch->observers)
    observer->onValues(values);
}

void showMove(const ExecutionContext &context, void *to, const void *from, int64_t bytes) {
  const ValueMove move{context.linearProgram, context.worker, from, to, bytes};
  for (Observer *observer : context.launch->observers)
    observer->onMove(move);
}

void showDecision(const ExecutionContext &context, const OpInfo &op, const Type &type,
                  llvm::ArrayRef<const void *> values) {
  llvm::SmallVector<ValueView, 3> views;
  for (const void *value : values)
    views.push_back({value, &type, ValueView::Extent::One});
  const ValueDecision decision{&op, context.linearProgram, context.worker, views,
                               context.loopIterations};
  for (Observer *observer : context.launch->observers)
    observer->onDecision(decision);
}

} // namespace blockscope::interpreter::flat
