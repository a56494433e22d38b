// Which emitter the language's functions of this thread speak to.
#pragma once

#include "core/semantic/payload_emitter.h"
#include "core/semantic/semantic.h"
#include "python/src/tensor.h"

#include <functional>
#include <optional>

namespace blockscope::python {

/// Returns the rule book over the innermost `EmitterScope` of this thread.
///
/// Errors: throws Python's RuntimeError when there is none ("tl.load may be called only inside a
///         @jit kernel").
Semantic &currentSemantic(const char *op);
Emitter &currentEmitter();
/// The same, or null.
Emitter *currentEmitterOrNull();
/// Calls the scope's `afterOp`.
void runAfterOp();

/// Makes `emitter` the current one until the end of the scope. `afterOp` runs after every operation
/// of the language, with the GIL held; it throws (a Python exception) when the emitter has failed.
/// `checksOverflow` goes to the rule book. `hasPayloads`: arithmetic on floats is that of
/// core/semantic/payload_emitter.h.
class EmitterScope {
public:
  explicit EmitterScope(Emitter &emitter, std::function<void()> afterOp = {},
                        bool checksOverflow = false, bool hasPayloads = false);
  ~EmitterScope();
  EmitterScope(const EmitterScope &) = delete;
  EmitterScope &operator=(const EmitterScope &) = delete;

private:
  friend Semantic &currentSemantic(const char *op);
  friend Emitter *currentEmitterOrNull();
  friend void runAfterOp();
  std::optional<PayloadEmitter> payloads_;
  Semantic semantic_;
  std::function<void()> afterOp_;
  EmitterScope *outer_;
};

} // namespace blockscope::python
