// Elementwise ops: those of core/op_facts.def that have a kernel, comparisons and selection.
#include "interpreter/ops/element_type.h"

#include "llvm/ADT/StringSwitch.h"

namespace blockscope::interpreter {
namespace {

/// The predicate as a word ("slt", "oeq") or as upstream's number.
std::optional<ElementOp> integerPredicate(const Attributes &attributes) {
  using enum ElementOp;
  constexpr ElementOp kByNumber[] = {Eq, Ne, Slt, Sle, Sgt, Sge, Ult, Ule, Ugt, Uge};
  const Attribute *attribute = attributes.find("predicate");
  if (!attribute)
    return std::nullopt;
  if (const auto *number = std::get_if<int64_t>(attribute))
    return *number >= 0 && *number < 10 ? std::optional(kByNumber[*number]) : std::nullopt;
  const auto *word = std::get_if<std::string>(attribute);
  return llvm::StringSwitch<std::optional<ElementOp>>(word ? *word : "")
      .Case("eq", Eq)
      .Case("ne", Ne)
      .Case("slt", Slt)
      .Case("sle", Sle)
      .Case("sgt", Sgt)
      .Case("sge", Sge)
      .Case("ult", Ult)
      .Case("ule", Ule)
      .Case("ugt", Ugt)
      .Case("uge", Uge)
      .Default(std::nullopt);
}

std::optional<ElementOp> floatPredicate(const Attributes &attributes) {
  using enum ElementOp;
  constexpr ElementOp kByNumber[] = {CmpFalse, Oeq,  Ogt,  Oge,  Olt,  Ole,  One, Ord,
                                     Ueq,      Ugtf, Ugef, Ultf, Ulef, Unef, Uno, CmpTrue};
  const Attribute *attribute = attributes.find("predicate");
  if (!attribute)
    return std::nullopt;
  if (const auto *number = std::get_if<int64_t>(attribute))
    return *number >= 0 && *number < 16 ? std::optional(kByNumber[*number]) : std::nullopt;
  const auto *word = std::get_if<std::string>(attribute);
  constexpr llvm::StringLiteral kWords[] = {"false", "oeq", "ogt", "oge", "olt", "ole",
                                            "one",   "ord", "ueq", "ugt", "uge", "ult",
                                            "ule",   "une", "uno", "true"};
  for (size_t i = 0; i < std::size(kWords); ++i)
    if (word && kWords[i] == *word)
      return kByNumber[i];
  return std::nullopt;
}

EvaluatorOrError chooseComparison(const OpSignature &signature, std::optional<ElementOp> op) {
  if (!op)
    return {{}, signature.name.str() + " has no known predicate"};
  return chooseElement(signature, *op);
}

} // namespace

void addElementwiseEvaluators(EvaluatorTable &table) {
  const auto add = [&table](llvm::StringRef name, ElementOp op) {
    table.add(name, [op](const OpSignature &signature) { return chooseElement(signature, op); });
  };
#define BLK_INTEGER_OP(id, name, ...) add(name, ElementOp::id);
#define BLK_FLOAT_OP(id, name, ...) add(name, ElementOp::id);
#define BLK_MATH_OP(id, name, ...) add(name, ElementOp::id);
#include "core/op_facts.def"
  add("tl.hint", ElementOp::Copy);
  table.add("arith.cmpi", [](const OpSignature &signature) {
    return chooseComparison(signature, integerPredicate(signature.attributes));
  });
  table.add("arith.cmpf", [](const OpSignature &signature) {
    return chooseComparison(signature, floatPredicate(signature.attributes));
  });
  table.add("arith.select", [](const OpSignature &signature) {
    return chooseElement(signature, ElementOp::Select, 1);
  });
  table.add("tl.clamp", [](const OpSignature &signature) {
    const bool propagates = signature.attributes.getBool("propagate_nan");
    return chooseElement(signature, propagates ? ElementOp::ClampNanF : ElementOp::ClampF);
  });
}

} // namespace blockscope::interpreter
