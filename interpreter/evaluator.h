// Evaluators: how one op computes, chosen once per (op, types, attributes), shared by both CPU
// modes.
#pragma once

#include "core/attributes.h"
#include "core/type.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

#include <functional>
#include <memory>
#include <string>

namespace blockscope::interpreter {

class ExecutionContext;

/// Everything that an evaluator is chosen by. `name` is the MLIR op name ("arith.addi"). Types have
/// storage dtypes (signless).
struct OpSignature {
  llvm::StringRef name;
  llvm::SmallVector<Type, 4> operands;
  llvm::SmallVector<Type, 1> results;
  Attributes attributes;
};

/// Computes `n` elements that begin at element `begin` of the block. Pointers are to the first of
/// these n elements, except that an operand with its bit set in `scalarOperands` is one element.
/// A result may be the same memory as an operand of the same element size (in place).
using ElementwiseFn = void (*)(int64_t n, int64_t begin, void *const *results,
                               const void *const *operands, uint32_t scalarOperands,
                               const void *payload);
/// Computes whole blocks. Results never alias operands.
using BlockFn = void (*)(void *const *results, const void *const *operands, const void *payload);
/// Needs the running program: ids, memory, printing, asserting.
using ContextFn = void (*)(ExecutionContext &context, void *const *results,
                           const void *const *operands, const void *payload);

/// How one op of one signature computes. `payload` is what the factory prepared (shapes,
/// attributes).
struct Evaluator {
  enum class Form : uint8_t { Elementwise, Block, Context };
  Form form = Form::Block;
  ElementwiseFn elementwise = nullptr;
  BlockFn block = nullptr;
  ContextFn context = nullptr;
  std::shared_ptr<const void> payload;

  static Evaluator makeElementwise(ElementwiseFn fn, std::shared_ptr<const void> payload = {});
  static Evaluator makeBlock(BlockFn fn, std::shared_ptr<const void> payload = {});
  static Evaluator makeContext(ContextFn fn, std::shared_ptr<const void> payload = {});
};

/// Either an evaluator or why there is none ("tl.dot of fp64 and fp32 is not supported").
struct EvaluatorOrError {
  Evaluator evaluator;
  std::string error; ///< empty when there is one
};

using EvaluatorFactory = std::function<EvaluatorOrError(const OpSignature &)>;

/// All evaluators by op name. A registry: filled once by `add*Evaluators` of interpreter/ops/*.cpp.
class EvaluatorTable {
public:
  static const EvaluatorTable &instance();
  /// Adds an evaluator for an op that was added at run time (addOpFacts). Call it before kernels
  /// are compiled: the table has no lock.
  static void addAtRunTime(llvm::StringRef name, EvaluatorFactory factory);

  void add(llvm::StringRef name, EvaluatorFactory factory);
  /// Errors: no such op, or the factory's own text.
  EvaluatorOrError choose(const OpSignature &signature) const;
  bool contains(llvm::StringRef name) const { return factories_.contains(name); }
  std::vector<std::string> names() const;

private:
  static EvaluatorTable &theOne();

  llvm::StringMap<EvaluatorFactory> factories_;
};

// One per file of interpreter/ops, called by EvaluatorTable::instance().
void addElementwiseEvaluators(EvaluatorTable &table); // arith.*, math.*
void addCastEvaluators(EvaluatorTable &table);        // tl.fp_cast, tl.float_to_int, ...
void addShapeEvaluators(EvaluatorTable &table);       // tl.program_id, tl.range, tl.splat, ...
void addDotEvaluators(EvaluatorTable &table);
void addSortEvaluators(EvaluatorTable &table);
void addHistogramEvaluators(EvaluatorTable &table);
void addGatherEvaluators(EvaluatorTable &table);
void addExternEvaluators(EvaluatorTable &table);    // tl.extern_elementwise by symbol
void addInlineAsmEvaluators(EvaluatorTable &table); // interpreted PTX
void addMemoryEvaluators(EvaluatorTable &table);    // tl.load, tl.store, atomics, barriers
void addDebugEvaluators(EvaluatorTable &table);     // tl.assume, tl.assert, tl.print

/// Combines `n` lanes of two sides into `out` (k arrays each, k = number of reduced values).
/// `out[k]` may be `lhs[k]`.
using CombineLanes = llvm::function_ref<void(int64_t n, void *const *out, const void *const *lhs,
                                             const void *const *rhs)>;

/// Reduces `operands` over `axis` in the documented order (see Emitter::reduce) with any combine.
/// Lives in interpreter/ops/reduce.cpp; both modes call it.
void reduceBlocks(llvm::ArrayRef<Type> operandTypes, int axis, void *const *results,
                  const void *const *operands, CombineLanes combine);
/// Scans `operands` over `axis`, inclusive, left to right or right to left, in steps over the whole
/// block: y[i] = combine(y[i - d], y[i]) for d = 1, 2, 4, ... (`lhs` is what the scan met first).
/// Lives in interpreter/ops/scan.cpp; both modes call it.
void scanBlocks(llvm::ArrayRef<Type> operandTypes, int axis, bool reverse, void *const *results,
                const void *const *operands, CombineLanes combine);

/// Vectorised reduce for a combine that is one known op ("arith.addf", "arith.maxnumf", ...), in
/// the same order and with the same bits as reduceBlocks; a null evaluator when there is none.
Evaluator chooseKnownReduce(llvm::StringRef combineOp, const Type &operandType, int axis);
Evaluator chooseKnownScan(llvm::StringRef combineOp, const Type &operandType, int axis,
                          bool reverse);

} // namespace blockscope::interpreter
