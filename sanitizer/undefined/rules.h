// How each op makes undefined results of undefined operands.
//
// An element is undefined where any choice of the undefined bits could change it. Integer ops that
// work on bits say so bit by bit (x & 0, x * 0 and select are defined whatever x is); all others
// make an undefined element of an undefined operand. What an op is comes from its facts
// (core/op_facts.def); the table in rules.cpp has the ops that need more.
#pragma once

#include "core/attributes.h"
#include "sanitizer/undefined/shadow_values.h"

namespace blockscope::sanitizer {

/// Where each element of an op's results came from, for ops that move elements: by the signature of
/// the op, by result. Elements are numbered through all operands.
using Moves = llvm::DenseMap<const OpSignature *, std::vector<std::vector<int32_t>>>;
constexpr int32_t kNoElement = -1; ///< where an index of a gather is outside of the axis

/// By result: the numbers of the elements that an op of shapes, or a gather, puts there. Empty
/// where that is not known. Which indices a gather has differs each time; all other moves are the
/// same in each execution.
const std::vector<std::vector<int32_t>> &movesOf(const OpValues &values, Moves &moves);

/// Sets the shadows of an op's results. Not for ops of memory.
void followOp(const OpValues &values, ShadowValues &shadows, OriginRules &origins, Moves &moves);

/// The predicate of a comparison as a word ("slt"): the IR has numbers, the rule book both.
llvm::StringRef predicateOf(const Attributes &attributes);

// Rules of ops that work on whole blocks (block_rules.cpp). The results come in the order of the
// op's; an empty list says that there is no rule, and all results are undefined.
using Shadows = llvm::SmallVector<Shadow, 2>;
struct RuleInput {
  const OpValues &values;
  llvm::ArrayRef<ShadowedView> operands;
  OriginRules &origins;
  Moves &moves;
};
/// By the table, for ops that move elements or work on whole blocks; empty where there is no rule.
Shadows followBlocks(const RuleInput &input);
using BlockRule = Shadows (*)(const RuleInput &);

Shadows moveElements(const RuleInput &input); ///< each result element is one of the operands'
Shadows gatherElements(const RuleInput &input);
Shadows reduceAlongAxis(const RuleInput &input);
Shadows scanAlongAxis(const RuleInput &input);
Shadows mapGroups(const RuleInput &input);
Shadows dotRows(const RuleInput &input);
Shadows sortRows(const RuleInput &input);
Shadows countAll(const RuleInput &input);    ///< histogram
Shadows runAssembly(const RuleInput &input); ///< inline assembly (asm_rules.cpp)

/// Of a reduction or scan: without the elements that its function leaves out, where that is several
/// ops (combine_rules.cpp). `shadows` has a shadow of all elements for each result.
Shadows withoutDropped(const RuleInput &input, Shadows shadows);

} // namespace blockscope::sanitizer
