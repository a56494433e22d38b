// The algebra of the instrumentation mode "fpsan": arithmetic on floats becomes arithmetic on the
// integers that stand for them, modulo 2^bits, where sums and products have no rounding and no
// order. Two kernels that compute the same formula then give the same bits.
//
// The rules are those of Triton 3.9. What only moves floats, compares or converts them from and to
// integers stays as it is.
#pragma once

#include "core/semantic/emitter.h"

#include <functional>

namespace blockscope {

/// Hands ops on to another emitter, those that compute floats as ops on payloads.
class PayloadEmitter final : public Emitter {
public:
  explicit PayloadEmitter(Emitter &inner) : inner_(inner) {}

  bool isStepping() const override { return inner_.isStepping(); }
  bool hasPayloads() const override { return true; }
  ValueList emit(const OpRequest &request) override;
  Value intConstant(Type scalarType, int64_t value) override;
  Value floatConstant(Type scalarType, double value) override;
  ValueList reduce(llvm::ArrayRef<Value> operands, int axis, CombineFunction combine) override;
  ValueList scan(llvm::ArrayRef<Value> operands, int axis, bool reverse,
                 CombineFunction combine) override;
  ValueList map(llvm::ArrayRef<Value> operands, int64_t pack, MapFunction function) override;
  Value reduceByOp(llvm::StringRef combineOp, const Value &operand, int axis) override;
  Value scanByOp(llvm::StringRef combineOp, const Value &operand, int axis, bool reverse) override;
  void noteDecision(const Value &value) override { inner_.noteDecision(value); }
  uint64_t integerOf(uint64_t pointer) const override { return inner_.integerOf(pointer); }

private:
  class Ring;

  ValueList emitDot(const OpRequest &request);
  ValueList emitAssembly(const OpRequest &request);
  /// Combines payloads as `combineOp` combines floats.
  std::function<ValueList(llvm::ArrayRef<Value>, llvm::ArrayRef<Value>)>
  combineBy(llvm::StringRef combineOp);

  Emitter &inner_;
};

} // namespace blockscope
