// The one interface through which the rule book makes ops: into the IR, or run at once.
#pragma once

#include "core/attributes.h"
#include "core/type.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <memory>

namespace blockscope {

/// A value of the kernel while it is being emitted. The handle belongs to the emitter that made it:
/// an SSA value of the IR emitter (not owned), a block of the step emitter (shared).
struct Value {
  Type type;
  std::shared_ptr<void> handle;

  explicit operator bool() const { return handle != nullptr; }
};

using ValueList = llvm::SmallVector<Value, 2>;

/// One op to emit. `name` is the MLIR op name ("arith.addi", "tl.load") with static lifetime.
struct OpRequest {
  llvm::StringRef name;
  llvm::ArrayRef<Value> operands;
  const Attributes &attributes;
  llvm::ArrayRef<Type> resultTypes;
};

/// Called with the values of the two sides, n each; returns n combined values. In the IR they are
/// scalars (block arguments of the region), in step mode blocks of equal shape. A function that
/// asks for the value of one element, as a Python 'if' does, gives an empty list for blocks; step
/// mode then calls it again for each element, with scalars.
using CombineFunction =
    llvm::function_ref<ValueList(llvm::ArrayRef<Value> lhs, llvm::ArrayRef<Value> rhs)>;

/// Called with the elements that tl.map hands to its function, `pack` of each operand; returns
/// `pack` elements of each result. Scalars and blocks as for CombineFunction.
using MapFunction = llvm::function_ref<ValueList(llvm::ArrayRef<Value> elements)>;

/// Makes ops. Errors found while emitting (an evaluator that fails, a verifier) are reported
/// through `ErrorSink` of the emitter's owner; emit then returns values that must not be used.
class Emitter {
public:
  virtual ~Emitter() = default;

  /// True when values are concrete now, so that Python control flow decides on them.
  virtual bool isStepping() const = 0;
  /// True when arithmetic on floats is that on the integers that stand for them.
  virtual bool hasPayloads() const { return false; }

  virtual ValueList emit(const OpRequest &request) = 0;

  /// Makes a scalar constant. Integers are given by their bits, sign-extended.
  virtual Value intConstant(Type scalarType, int64_t value) = 0;
  virtual Value floatConstant(Type scalarType, double value) = 0;

  /// tl.reduce over `axis`: x[i] with x[i + n/2], then n/4, until one is left. Result types have
  /// the axis removed (scalar when none is left). All operands have one shape.
  virtual ValueList reduce(llvm::ArrayRef<Value> operands, int axis, CombineFunction combine) = 0;
  /// tl.scan over `axis`: inclusive, left to right (right to left when `reverse`), in steps:
  /// y[i] = combine(y[i - d], y[i]) for d = 1, 2, 4, ...
  virtual ValueList scan(llvm::ArrayRef<Value> operands, int axis, bool reverse,
                         CombineFunction combine) = 0;

  /// tl.map: `function` for each `pack` elements of the operands, which have one shape; the results
  /// have it too. Empty when the function failed.
  virtual ValueList map(llvm::ArrayRef<Value> operands, int64_t pack, MapFunction function) = 0;

  /// reduce and scan for a combine that is the one op `combineOp` ("arith.addf") on every element,
  /// with the same bits: null when the emitter has no faster way.
  virtual Value reduceByOp(llvm::StringRef combineOp, const Value &operand, int axis) { return {}; }
  virtual Value scanByOp(llvm::StringRef combineOp, const Value &operand, int axis, bool reverse) {
    return {};
  }

  /// Python's own control flow asks for the one element of `value`: in step mode.
  virtual void noteDecision(const Value & /*value*/) {}
  /// Returns what a pointer with these bits is as an integer: in step mode.
  virtual uint64_t integerOf(uint64_t pointer) const { return pointer; }
};

} // namespace blockscope
