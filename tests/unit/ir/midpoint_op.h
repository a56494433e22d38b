// An op that no file of core/, interpreter/ or gpu_backend/ knows: what one consists of, in one
// place, added at run time.
#pragma once

#include "core/op_facts.h"
#include "gpu_backend/lowering/each_register.h"
#include "interpreter/evaluator.h"

#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fixture {

/// (x + y) / 2 of each pair.
class MidpointOp
    : public mlir::Op<MidpointOp, mlir::OpTrait::ZeroRegions, mlir::OpTrait::OneResult,
                      mlir::OpTrait::ZeroSuccessors, mlir::OpTrait::NOperands<2>::Impl,
                      mlir::OpTrait::SameOperandsAndResultType, mlir::OpTrait::Elementwise,
                      mlir::ConditionallySpeculatable::Trait,
                      mlir::OpTrait::AlwaysSpeculatableImplTrait,
                      mlir::MemoryEffectOpInterface::Trait> {
public:
  using Op::Op;
  static llvm::StringRef getOperationName() { return "fixture.midpoint"; }
  static llvm::ArrayRef<llvm::StringRef> getAttributeNames() { return {}; }
  void getEffects(
      llvm::SmallVectorImpl<mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>> &) {}
};

class Dialect : public mlir::Dialect {
public:
  explicit Dialect(mlir::MLIRContext *context)
      : mlir::Dialect(getDialectNamespace(), context, mlir::TypeID::get<Dialect>()) {
    addOperations<MidpointOp>();
  }
  static llvm::StringRef getDialectNamespace() { return "fixture"; }
};

inline void evalMidpoint(int64_t n, int64_t, void *const *results, const void *const *operands,
                         uint32_t scalarOperands, const void *) {
  auto *out = static_cast<float *>(results[0]);
  const auto *x = static_cast<const float *>(operands[0]);
  const auto *y = static_cast<const float *>(operands[1]);
  for (int64_t i = 0; i < n; ++i)
    out[i] = (x[scalarOperands & 1 ? 0 : i] + y[scalarOperands & 2 ? 0 : i]) * 0.5F;
}

inline llvm::Value *lowerMidpoint(blockscope::gpu::Lowering &lowering, mlir::Operation *,
                                  blockscope::gpu::Operands x) {
  llvm::IRBuilder<> &builder = lowering.builder();
  return builder.CreateFMul(builder.CreateFAdd(x[0], x[1]),
                            llvm::ConstantFP::get(x[0]->getType(), 0.5));
}

/// Adds the op to the tables of this process, and to those alone.
inline void addMidpoint() {
  using namespace blockscope;
  addOpFacts({.name = MidpointOp::getOperationName(),
              .isElementwise = true,
              .operands = Operands::Float32,
              .error = {.cpu32 = 0.5, .gpu32 = 0.5}});
  interpreter::EvaluatorTable::addAtRunTime(
      MidpointOp::getOperationName(), [](const interpreter::OpSignature &) {
        return interpreter::EvaluatorOrError{interpreter::Evaluator::makeElementwise(evalMidpoint),
                                             ""};
      });
  gpu::addLowering(MidpointOp::getOperationName(), gpu::eachRegister<lowerMidpoint>);
}

} // namespace fixture
