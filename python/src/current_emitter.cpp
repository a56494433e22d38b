// Which emitter the language's functions of this thread speak to.
#include "python/src/current_emitter.h"

#include <pybind11/pybind11.h>

namespace blockscope::python {
namespace {
thread_local EmitterScope *innermost = nullptr;
} // namespace

EmitterScope::EmitterScope(Emitter &emitter, std::function<void()> afterOp, bool checksOverflow,
                           bool hasPayloads)
    : payloads_(hasPayloads ? std::optional<PayloadEmitter>(std::in_place, emitter) : std::nullopt),
      semantic_(payloads_ ? static_cast<Emitter &>(*payloads_) : emitter, checksOverflow),
      afterOp_(std::move(afterOp)), outer_(innermost) {
  innermost = this;
}

EmitterScope::~EmitterScope() { innermost = outer_; }

Semantic &currentSemantic(const char *op) {
  if (!innermost) {
    PyErr_Format(PyExc_RuntimeError, "%s may be called only inside a @jit kernel", op);
    throw pybind11::error_already_set();
  }
  innermost->semantic_.begin(op);
  return innermost->semantic_;
}

Emitter *currentEmitterOrNull() { return innermost ? &innermost->semantic_.emitter() : nullptr; }

Emitter &currentEmitter() { return currentSemantic("this operation").emitter(); }

void runAfterOp() {
  if (innermost && innermost->afterOp_)
    innermost->afterOp_();
}

} // namespace blockscope::python
