// Where in the user's Python an op comes from, with the chain of calls through nested @jit
// functions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace blockscope {

/// One position; `caller` is the call that inlined the function this position is in.
///
/// Units: line and column count from 1; 0 is unknown.
struct SourceLocation {
  std::string file;
  int32_t line = 0;
  int32_t column = 0;
  std::string function;
  std::string variable; ///< the Python name that the op's result was assigned to, or empty
  std::shared_ptr<const SourceLocation> caller;

  bool isKnown() const { return line != 0; }
};

/// Returns "file:line:column|" for a place and each of its callers: what tells two causes apart.
std::string placeKey(const SourceLocation &location);

} // namespace blockscope
