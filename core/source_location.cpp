// Places as keys.
#include "core/source_location.h"

namespace blockscope {

std::string placeKey(const SourceLocation &location) {
  std::string key;
  for (const SourceLocation *at = &location; at; at = at->caller.get())
    key += at->file + ":" + std::to_string(at->line) + ":" + std::to_string(at->column) + "|";
  return key;
}

} // namespace blockscope
