// Hints to the compiler, and assert and print in the kernel.
#include "core/semantic/semantic.h"

namespace blockscope {
namespace {

/// The prefix as it is shown: with values it ends in ": ", and begins with a space when it has more
/// than that.
std::string shownPrefix(llvm::StringRef prefix, bool hasValues) {
  std::string result = prefix.str();
  if (hasValues && !prefix.ends_with(": ")) {
    if (prefix.ends_with(" ")) // "x " shows as "x: ", and "x:" has its colon already
      result.pop_back();
    result += prefix.ends_with(":") ? " " : ": ";
  }
  if (result.size() > 2 && result.front() != ' ')
    result.insert(0, " ");
  return result;
}

} // namespace

Value Semantic::hint(llvm::StringRef kind, const Value &x, llvm::ArrayRef<int64_t> values) {
  if (failed())
    return {};
  const size_t expected = std::max<size_t>(1, x.type.shape.size());
  if (values.size() != expected)
    return valueError("values has " + std::to_string(values.size()) + " entries, expected " +
                      std::to_string(expected) + ", one for each dimension of " + typeText(x.type));
  return emit1(
      "tl.hint", {x}, x.type,
      {{"kind", kind.str()}, {"values", std::vector<int64_t>(values.begin(), values.end())}});
}

void Semantic::assume(const Operand &condition) {
  const Value value = toCondition(toTensor(condition));
  emit0("tl.assume", {value});
}

void Semantic::barrier() { emit0("tl.barrier", {}); }

void Semantic::gdcWait() { emit0("tl.gdc_wait", {}); }

void Semantic::gdcLaunchDependents() { emit0("tl.gdc_launch_dependents", {}); }

void Semantic::deviceAssert(const Operand &condition, llvm::StringRef message,
                            const std::optional<Operand> &mask) {
  Value value = toCondition(toTensor(condition));
  llvm::SmallVector<Value, 2> operands = {value};
  if (mask) {
    Value active = toTensor(*mask);
    if (!failed() && !active.type.isBool() && mask->isValue()) {
      typeError("mask is " + typeText(active.type) + ", expected int1");
      return;
    }
    std::tie(operands[0], active) = broadcast(value, toCondition(active));
    operands.push_back(active);
  }
  emit0("tl.assert", operands, {{"message", message.str()}, {"has_mask", mask.has_value()}});
}

void Semantic::devicePrint(llvm::StringRef prefix, llvm::ArrayRef<Value> values, bool hex) {
  std::vector<int64_t> isSignedValue;
  for (const Value &value : values)
    isSignedValue.push_back(value.type.isInteger() && isSigned(value.type.dtype) ? 1 : 0);
  emit0("tl.print", values,
        {{"prefix", shownPrefix(prefix, !values.empty())},
         {"hex", hex},
         {"is_signed", std::move(isSignedValue)}});
}

} // namespace blockscope
