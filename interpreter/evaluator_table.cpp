// The table of all evaluators.
#include "interpreter/evaluator.h"

namespace blockscope::interpreter {

EvaluatorTable &EvaluatorTable::theOne() {
  static EvaluatorTable table = [] {
    EvaluatorTable filled;
    addElementwiseEvaluators(filled);
    addCastEvaluators(filled);
    addShapeEvaluators(filled);
    addDotEvaluators(filled);
    addSortEvaluators(filled);
    addHistogramEvaluators(filled);
    addGatherEvaluators(filled);
    addExternEvaluators(filled);
    addInlineAsmEvaluators(filled);
    addMemoryEvaluators(filled);
    addDebugEvaluators(filled);
    return filled;
  }();
  return table;
}

const EvaluatorTable &EvaluatorTable::instance() { return theOne(); }

void EvaluatorTable::addAtRunTime(llvm::StringRef name, EvaluatorFactory factory) {
  theOne().add(name, std::move(factory));
}

} // namespace blockscope::interpreter
