#include "gpu_backend/codegen/register_demand.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

namespace blockscope::gpu {
namespace {

/// The lines that name a register, of those in which `ptx` is counted.
struct Life {
  int64_t first = -1, last = -1;
};

/// Of "rd" and the like: registers of 32 bits that one of them takes. Predicates have their own.
int64_t wordsOf(llvm::StringRef kind) {
  if (kind == "p")
    return 0;
  return kind.ends_with("d") ? 2 : 1;
}

} // namespace

int64_t registerDemand(llvm::StringRef ptx) {
  llvm::StringMap<llvm::SmallVector<Life, 0>> lives; // by kind, then by number
  int64_t lineCount = 0;
  for (llvm::StringRef rest = ptx; !rest.empty(); ++lineCount) {
    llvm::StringRef line;
    std::tie(line, rest) = rest.split('\n');
    for (size_t at = line.find('%'); at != llvm::StringRef::npos; at = line.find('%')) {
      line = line.drop_front(at + 1);
      const llvm::StringRef kind = line.take_while(llvm::isAlpha);
      line = line.drop_front(kind.size());
      size_t number = 0;
      if (line.consumeInteger(10, number) || line.starts_with("<")) // %tid.x; a declaration
        continue;
      auto &ofKind = lives[kind];
      if (number >= ofKind.size())
        ofKind.resize(number + 1);
      Life &life = ofKind[number];
      life.first = life.first < 0 ? lineCount : life.first;
      life.last = lineCount;
    }
  }
  llvm::SmallVector<int64_t, 0> change(lineCount + 1, 0);
  for (const auto &[kind, ofKind] : lives)
    for (const Life &life : ofKind)
      if (life.first >= 0) {
        change[life.first] += wordsOf(kind);
        change[life.last] -= wordsOf(kind);
      }
  int64_t live = 0, most = 0;
  for (const int64_t words : change)
    most = std::max(most, live += words);
  return most;
}

} // namespace blockscope::gpu
