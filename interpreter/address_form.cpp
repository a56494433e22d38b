// Computes the scalars of address forms, in 64 bits; and the key of an access.
#include "interpreter/address_form.h"

#include "interpreter/flat/flat_program.h"

#include <algorithm>
#include <limits>

namespace blockscope::interpreter {
namespace {

int64_t wrapped(__int128 value) { return static_cast<int64_t>(static_cast<uint64_t>(value)); }

int64_t argumentOf(const ScalarStep &step, uint64_t bits) {
  const int shift = 64 - step.bits;
  return static_cast<int64_t>(bits << shift) >> shift;
}

} // namespace

bool AddressForm::compute(const ScalarPlace &place, llvm::SmallVectorImpl<int64_t> &values) const {
  using enum ScalarStep::Kind;
  values.resize_for_overwrite(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    const ScalarStep &step = steps[i];
    const auto operand = [&](int number) { return values[step.operands[number]]; };
    const auto at = static_cast<size_t>(step.value);
    int64_t &result = values[i];
    switch (step.kind) {
    case Constant:
      result = step.value;
      break;
    case Argument:
      if (at >= place.arguments.size())
        return false;
      result = argumentOf(step, place.arguments[at]);
      break;
    case ProgramId:
      result = place.program[at];
      break;
    case NumPrograms:
      result = place.grid[at];
      break;
    case LoopCounter:
      if (at >= place.loopIterations.size())
        return false;
      result = place.loopIterations[at];
      break;
    case Add:
      result = wrapped(static_cast<__int128>(operand(0)) + operand(1));
      break;
    case Sub:
      result = wrapped(static_cast<__int128>(operand(0)) - operand(1));
      break;
    case Mul:
      result = wrapped(static_cast<__int128>(operand(0)) * operand(1));
      break;
    case Div:
    case Rem:
      if (operand(1) == 0 || operand(0) == std::numeric_limits<int64_t>::min())
        return false;
      result = step.kind == Div ? operand(0) / operand(1) : operand(0) % operand(1);
      break;
    case Min:
      result = std::min(operand(0), operand(1));
      break;
    case Max:
      result = std::max(operand(0), operand(1));
      break;
    case And:
      result = operand(0) & operand(1);
      break;
    case Or:
      result = operand(0) | operand(1);
      break;
    case Xor:
      result = operand(0) ^ operand(1);
      break;
    case ShiftLeft:
    case ShiftRight:
      if (operand(1) < 0 || operand(1) > 62)
        return false;
      result = step.kind == ShiftRight ? operand(0) >> operand(1)
                                       : wrapped(static_cast<__int128>(operand(0)) << operand(1));
      break;
    case Less:
      result = operand(0) < operand(1);
      break;
    case LessEqual:
      result = operand(0) <= operand(1);
      break;
    case Equal:
      result = operand(0) == operand(1);
      break;
    case NotEqual:
      result = operand(0) != operand(1);
      break;
    case Select:
      result = operand(0) ? operand(1) : operand(2);
      break;
    }
  }
  return true;
}

std::string accessKey(llvm::StringRef name, const SourceLocation &location,
                      llvm::ArrayRef<int32_t> iterations) {
  std::string key = name.str() + "|" + placeKey(location);
  for (const int32_t iteration : iterations)
    key += std::to_string(iteration) + ",";
  return key;
}

} // namespace blockscope::interpreter
