// The text of the user's Python files, for reports and traces.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace blockscope {

/// Returns the whole text of a file, or nothing when there is none.
using SourceProvider = std::function<std::optional<std::string>(const std::string &file)>;

/// Sets who is asked before the disk: Python also knows the cells of notebooks, and files as they
/// were when it compiled them. Once, when the process starts.
void setSourceProvider(SourceProvider provider);

/// Returns the text of a file; nothing when nobody has it. Thread safe; may call Python, so not
/// under a lock.
std::optional<std::string> sourceText(const std::string &file);
/// Returns line `number`, counted from 1, without its end.
std::optional<std::string> sourceLine(const std::string &file, int32_t number);

} // namespace blockscope
