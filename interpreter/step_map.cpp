// The function of a stepped tl.map, called with whole blocks, or for each element once it has asked
// for one.
#include "interpreter/step_emitter.h"
#include "interpreter/step_values.h"

#include "llvm/Support/SaveAndRestore.h"

#include <cstring>

namespace blockscope::interpreter {
namespace {

/// Copies elements: `to` one after the other, `from` every `pack`th, or the other way round.
void copyEvery(int64_t count, int64_t bytes, std::byte *to, int64_t toStep, const std::byte *from,
               int64_t fromStep) {
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * toStep * bytes, from + i * fromStep * bytes, bytes);
}

} // namespace

ValueList StepEmitter::map(llvm::ArrayRef<Value> operands, int64_t pack, MapFunction function) {
  if (!allKnown(operands))
    return {};
  const llvm::SmallVector<int64_t, 4> shape(operands.front().type.shape);
  const int64_t groups = operands.front().type.numElements() / pack;
  ValueList results;
  // `count` groups from `first` on, as blocks or, where `isOne`, as scalars.
  const auto call = [&](int64_t first, int64_t count, bool isOne) {
    ValueList elements;
    for (const Value &operand : operands)
      for (int64_t k = 0; k < pack; ++k) {
        const Type type = operand.type.withShape(isOne ? llvm::ArrayRef<int64_t>() : count);
        std::shared_ptr<Block> block = allocateBlock(type);
        const int64_t bytes = type.elementBytes();
        copyEvery(count, bytes, block->as<std::byte>(), 1,
                  static_cast<const std::byte *>(blockOf(operand).data) +
                      (first * pack + k) * bytes,
                  pack);
        elements.push_back(wrapBlock(std::move(block), type));
      }
    const ValueList made = function(elements);
    if (made.empty() || !allKnown(made))
      return false;
    for (size_t i = 0; results.size() * pack < made.size(); i += pack) {
      const Type type = made[i].type.withShape(shape);
      results.push_back(wrapBlock(allocateBlock(type), type));
    }
    for (size_t i = 0; i < made.size(); ++i) {
      const Type &type = made[i].type;
      if (made.size() != results.size() * pack ||
          type.scalar() != results[i / pack].type.scalar()) {
        fail("the function gives values of other types for other elements", {});
        return false;
      }
      const Value &result = results[i / pack];
      const int64_t bytes = type.elementBytes();
      copyEvery(count, bytes,
                blockOf(result).as<std::byte>() +
                    (first * pack + static_cast<int64_t>(i % pack)) * bytes,
                pack, blockOf(made[i]).as<std::byte>(), type.isBlock() ? 1 : 0);
    }
    return true;
  };
  bool isDone;
  {
    const llvm::SaveAndRestore isInside(combining_, combining_ + 1);
    isDone = groups > 1 && call(0, groups, /*isOne=*/false);
    if (!isDone && failure_.empty()) {
      results.clear();
      isDone = true;
      for (int64_t group = 0; group < groups && isDone; ++group)
        isDone = call(group, 1, /*isOne=*/true);
    }
  }
  if (!isDone)
    return {};
  showAs("tl.map", {{"pack", pack}}, operands, results);
  return results;
}

} // namespace blockscope::interpreter
