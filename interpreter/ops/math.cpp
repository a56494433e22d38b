// Elementary functions: math.*.
#include "interpreter/ops/element_type.h"

namespace blockscope::interpreter {
namespace {

struct Row {
  llvm::StringLiteral name;
  ElementOp op;
};

constexpr Row kRows[] = {
    {"math.exp", ElementOp::Exp},     {"math.exp2", ElementOp::Exp2},
    {"math.log", ElementOp::Log},     {"math.log2", ElementOp::Log2},
    {"math.sin", ElementOp::Sin},     {"math.cos", ElementOp::Cos},
    {"math.tan", ElementOp::Tan},     {"math.tanh", ElementOp::Tanh},
    {"math.erf", ElementOp::Erf},     {"math.sqrt", ElementOp::Sqrt},
    {"math.rsqrt", ElementOp::Rsqrt}, {"math.floor", ElementOp::Floor},
    {"math.ceil", ElementOp::Ceil},   {"math.roundeven", ElementOp::RoundEven},
    {"math.trunc", ElementOp::Trunc}, {"math.absf", ElementOp::AbsF},
    {"math.absi", ElementOp::AbsI},   {"math.fma", ElementOp::FmaF},
};

} // namespace

void addMathEvaluators(EvaluatorTable &table) {
  for (const Row &row : kRows)
    table.add(row.name,
              [op = row.op](const OpSignature &signature) { return chooseElement(signature, op); });
}

} // namespace blockscope::interpreter
