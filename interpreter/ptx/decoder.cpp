// Operands and modifiers of instructions.
#include "interpreter/ptx/decoder.h"

#include "llvm/ADT/STLExtras.h"

namespace blockscope::interpreter::ptx {
namespace {

using blockscope::ptx::typeBits;

/// The bits of a number as an operand of `type`; false when the type has no such number.
bool bitsOf(const Operand &operand, llvm::StringRef type, uint64_t &bits) {
  const bool isDouble = type == "f64";
  bits = operand.bits;
  switch (operand.kind) {
  case Operand::Kind::Integer:
    if (type == "f32" || type == "f64")
      bits = 0; // a plain 0 only: other integers are no floats
    return operand.bits == 0 || !(type == "f32" || type == "f64");
  case Operand::Kind::Single:
    if (isDouble)
      bits = std::bit_cast<uint64_t>(
          double(std::bit_cast<float>(static_cast<uint32_t>(operand.bits))));
    return true;
  case Operand::Kind::Float:
  case Operand::Kind::Double:
    if (!isDouble && typeBits(type) == 32)
      bits = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(operand.bits)));
    return typeBits(type) >= 32;
  default:
    return false;
  }
}

} // namespace

bool Decoder::take(llvm::StringRef modifier) {
  const auto found = llvm::find(rest_, modifier);
  if (found == rest_.end())
    return false;
  rest_.erase(found);
  return true;
}

std::string Decoder::takeType() {
  if (rest_.empty()) {
    fail("a type is missing");
    return "";
  }
  std::string type = rest_.front();
  rest_.erase(rest_.begin());
  return type;
}

std::string Decoder::takeOneOf(std::initializer_list<llvm::StringRef> names) {
  for (const llvm::StringRef name : names)
    if (take(name))
      return name.str();
  return "";
}

bool Decoder::expectOperands(size_t count) {
  if (operandCount() == count)
    return true;
  fail("it has " + std::to_string(operandCount()) + " operands, expected " + std::to_string(count));
  return false;
}

void Decoder::out(const Operand &operand, llvm::StringRef type, bool mayBeWider) {
  if (operand.kind == Operand::Kind::Discard) {
    step_.outs.push_back(-1);
    return;
  }
  if (operand.kind != Operand::Kind::Register || operand.isNegated)
    return fail("its result is no register");
  const auto &reg = program_.registers[operand.reg];
  const int bits = typeBits(reg.type), wanted = typeBits(type);
  if (bits != wanted && !(mayBeWider && bits > wanted))
    return fail("'" + reg.name + "' has " + std::to_string(bits) + " bits, and '." + type.str() +
                "' has " + std::to_string(wanted));
  step_.outs.push_back(operand.reg);
}

void Decoder::in(const Operand &operand, llvm::StringRef type, bool mayBeWider) {
  if (operand.kind == Operand::Kind::Register) {
    const auto &reg = program_.registers[operand.reg];
    const int bits = typeBits(reg.type), wanted = typeBits(type);
    if (bits != wanted && !(mayBeWider && bits > wanted) && reg.type != "constant")
      return fail("'" + reg.name + "' has " + std::to_string(bits) + " bits, and '." + type.str() +
                  "' has " + std::to_string(wanted));
    if (operand.isNegated)
      return fail("'!' is not possible here");
    step_.ins.push_back(operand.reg);
    return;
  }
  uint64_t bits = 0;
  if (!bitsOf(operand, type, bits))
    return fail("an operand is neither a register nor a number of type '." + type.str() + "'");
  in(bits);
}

void Decoder::in(uint64_t constant) {
  step_.ins.push_back(static_cast<int>(program_.registers.size() + constants_.size()));
  constants_.push_back({constant});
}

bool Decoder::plain(llvm::StringRef result, llvm::ArrayRef<llvm::StringRef> types,
                    bool mayBeWider) {
  if (!expectOperands(types.size() + 1))
    return false;
  out(operand(0), result, mayBeWider);
  for (size_t i = 0; i < types.size(); ++i)
    in(operand(i + 1), types[i], mayBeWider);
  return error_.empty();
}

void Decoder::fail(const std::string &what) {
  if (error_.empty())
    error_ = what;
}

std::string Decoder::finish() {
  if (error_.empty() && !step_.kernel) {
    std::string whole = one_.name;
    for (const std::string &modifier : one_.modifiers)
      whole += "." + modifier;
    error_ = "the instruction '" + whole + "' is not supported on the CPU";
  } else if (error_.empty() && !rest_.empty())
    error_ = "'." + rest_.front() + "' is not supported on the CPU";
  if (error_.empty() && (step_.ins.size() > static_cast<size_t>(kMostInputs) ||
                         step_.outs.size() > static_cast<size_t>(kMostOutputs)))
    error_ = "it has too many operands";
  return error_.empty() ? "" : "in '" + one_.text + "': " + error_;
}

} // namespace blockscope::interpreter::ptx
