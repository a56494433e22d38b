// Asks the provider, then the disk.
#include "core/source_text.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <utility>

namespace blockscope {
namespace {

SourceProvider &provider() {
  static SourceProvider provider;
  return provider;
}

} // namespace

void setSourceProvider(SourceProvider newProvider) { provider() = std::move(newProvider); }

std::optional<std::string> sourceText(const std::string &file) {
  if (provider())
    if (std::optional<std::string> text = provider()(file))
      return text;
  const auto buffer = llvm::MemoryBuffer::getFile(file, /*IsText=*/true);
  return buffer ? std::optional((*buffer)->getBuffer().str()) : std::nullopt;
}

std::optional<std::string> sourceLine(const std::string &file, int32_t number) {
  const std::optional<std::string> text = number < 1 ? std::nullopt : sourceText(file);
  if (!text)
    return std::nullopt;
  llvm::StringRef rest = *text, line;
  for (int32_t i = 0; i < number; ++i) {
    if (rest.empty())
      return std::nullopt;
    std::tie(line, rest) = rest.split('\n');
  }
  return line.rtrim("\r").str();
}

} // namespace blockscope
