// Evaluators and the look-up of one by op name.
#include "interpreter/evaluator.h"

#include <algorithm>

namespace blockscope::interpreter {

Evaluator Evaluator::makeElementwise(ElementwiseFn fn, std::shared_ptr<const void> payload) {
  Evaluator evaluator;
  evaluator.form = Form::Elementwise;
  evaluator.elementwise = fn;
  evaluator.payload = std::move(payload);
  return evaluator;
}

Evaluator Evaluator::makeBlock(BlockFn fn, std::shared_ptr<const void> payload) {
  Evaluator evaluator;
  evaluator.form = Form::Block;
  evaluator.block = fn;
  evaluator.payload = std::move(payload);
  return evaluator;
}

Evaluator Evaluator::makeContext(ContextFn fn, std::shared_ptr<const void> payload) {
  Evaluator evaluator;
  evaluator.form = Form::Context;
  evaluator.context = fn;
  evaluator.payload = std::move(payload);
  return evaluator;
}

void EvaluatorTable::add(llvm::StringRef name, EvaluatorFactory factory) {
  factories_[name] = std::move(factory);
}

EvaluatorOrError EvaluatorTable::choose(const OpSignature &signature) const {
  const auto found = factories_.find(signature.name);
  if (found == factories_.end())
    return {{}, signature.name.str() + " cannot run on the CPU: there is no evaluator for it"};
  return found->second(signature);
}

std::vector<std::string> EvaluatorTable::names() const {
  std::vector<std::string> names;
  for (const auto &entry : factories_)
    names.push_back(entry.first().str());
  std::sort(names.begin(), names.end());
  return names;
}

} // namespace blockscope::interpreter
