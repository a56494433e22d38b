// The table of all evaluators.
#include "interpreter/evaluator.h"

namespace blockscope::interpreter {

const EvaluatorTable &EvaluatorTable::instance() {
  static const EvaluatorTable table = [] {
    EvaluatorTable filled;
    addElementwiseEvaluators(filled);
    addCastEvaluators(filled);
    addShapeEvaluators(filled);
    addDotEvaluators(filled);
    addSortEvaluators(filled);
    addHistogramEvaluators(filled);
    addGatherEvaluators(filled);
    addExternEvaluators(filled);
    addMemoryEvaluators(filled);
    addDebugEvaluators(filled);
    return filled;
  }();
  return table;
}

} // namespace blockscope::interpreter
