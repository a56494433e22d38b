// Matches the constraints of inline assembly with its arguments and results.
#include "core/ptx/constraints.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

namespace blockscope::ptx {
namespace {

/// Bits of the registers of a letter; 0 for letters that are none.
int bitsOfLetter(char letter) {
  switch (letter) {
  case 'b':
    return 1;
  case 'c':
  case 'h':
    return 16;
  case 'r':
  case 'f':
    return 32;
  case 'l':
  case 'N':
  case 'd':
    return 64;
  default:
    return 0;
  }
}

int elementBits(const Type &type) { return type.isPointer() ? 64 : bitWidth(type.dtype); }

/// Errors: a value without a number of bits.
void checkKinds(std::string &error, const char *what, llvm::ArrayRef<Type> types) {
  for (const auto &[i, type] : llvm::enumerate(types))
    if (error.empty() && type.isVoid())
      error = what + std::to_string(i) + " is neither a number nor a pointer";
}

/// One slot for each register that holds elements of one value.
void addSlots(std::vector<Slot> &slots, const Type &type, int value, bool isResult, int64_t pack) {
  const int bits = elementBits(type);
  const int64_t shared = std::min<int64_t>(pack, bits < 32 ? 32 / bits : 1);
  for (int64_t element = 0; element < pack; element += shared)
    slots.push_back({.isResult = isResult,
                     .value = value,
                     .element = static_cast<int>(element),
                     .elements = static_cast<int>(std::min(shared, pack - element)),
                     .elementBits = bits});
}

std::string counted(int64_t count, llvm::StringRef what) {
  return (llvm::Twine(count) + " " + what + (count == 1 ? "" : "s")).str();
}

/// The constraint of one slot; an error or "".
std::string readSlot(llvm::StringRef text, llvm::ArrayRef<Slot> results, Slot &slot) {
  const std::string quoted = "'" + text.str() + "'";
  if (!slot.isResult && !text.getAsInteger(10, slot.tiedTo)) {
    if (slot.tiedTo < 0 || slot.tiedTo >= static_cast<int>(results.size()))
      return "constraint " + quoted + " names a result that is not there";
    slot.letter = results[slot.tiedTo].letter;
    slot.bits = results[slot.tiedTo].bits;
  } else if (!slot.isResult && (text == "n" || text == "i")) {
    slot.isImmediate = true;
    slot.letter = 'n';
    slot.bits = std::max(32, slot.elementBits * slot.elements);
  } else if (text.size() == 1 && bitsOfLetter(text[0]) != 0) {
    slot.letter = text[0];
    slot.bits = bitsOfLetter(text[0]);
  } else {
    return "constraint " + quoted +
           " is not known, expected h, r, l, f, d, b, n or the number of a result";
  }
  // A result that nobody reads may be wider than its register: its upper bits are zeros.
  const int needed = slot.elementBits * slot.elements;
  const bool isFloat = slot.letter == 'f' || slot.letter == 'd';
  if (isFloat ? needed != slot.bits : needed > slot.bits && (!slot.isResult || slot.elements > 1))
    return "constraint " + quoted + " is a register of " + std::to_string(slot.bits) +
           " bits, and " + (slot.isResult ? "result " : "argument ") + std::to_string(slot.value) +
           " needs " + std::to_string(needed) +
           (needed == 64   ? " ('l')"
            : needed == 32 ? " ('r')"
                           : "");
  return "";
}

} // namespace

std::string Slot::type() const {
  return isImmediate ? "constant" : bits == 1 ? "pred" : "b" + std::to_string(bits);
}

Constraints readConstraints(llvm::StringRef text, llvm::ArrayRef<Type> arguments,
                            llvm::ArrayRef<Type> results, int64_t pack) {
  Constraints made;
  if (pack < 1 || pack > mostPack || !llvm::isPowerOf2_64(static_cast<uint64_t>(pack)))
    made.error = "pack is " + std::to_string(pack) + ", expected a power of two up to " +
                 std::to_string(mostPack);
  checkKinds(made.error, "result ", results);
  checkKinds(made.error, "argument ", arguments);
  if (!made.error.empty())
    return made;
  std::string plain;
  for (const char c : text)
    if (!llvm::isSpace(c))
      plain += c;
  made.llvmText = plain;
  for (const auto &[i, type] : llvm::enumerate(results))
    addSlots(made.slots, type, static_cast<int>(i), true, pack);
  const size_t resultCount = made.slots.size();
  for (const auto &[i, type] : llvm::enumerate(arguments))
    addSlots(made.slots, type, static_cast<int>(i), false, pack);

  llvm::SmallVector<llvm::StringRef> outputs, inputs, all;
  llvm::StringRef(made.llvmText).split(all, ',', -1, false);
  for (llvm::StringRef one : all)
    if (one.consume_front("="))
      outputs.push_back((one.consume_front("&"), one));
    else if (!one.starts_with("~"))
      inputs.push_back(one);
  const size_t inputCount = made.slots.size() - resultCount;
  if (outputs.size() != resultCount || inputs.size() != inputCount) {
    made.error = "constraints '" + text.str() + "' have " + counted(outputs.size(), "output") +
                 " and " + counted(inputs.size(), "input") + ", expected " +
                 counted(resultCount, "output") + " and " + counted(inputCount, "input") +
                 ", a register for each element, or for 32 bits of narrower ones";
    return made;
  }
  const llvm::MutableArrayRef<Slot> slots(made.slots);
  for (size_t i = 0; i < slots.size() && made.error.empty(); ++i)
    made.error = readSlot(i < resultCount ? outputs[i] : inputs[i - resultCount],
                          slots.take_front(resultCount), slots[i]);
  return made;
}

} // namespace blockscope::ptx
