// Builds a kernel's function anew beside the old one, op by op: what passes have in common that
// change the type of nearly every block.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace blockscope::gpu {

class KernelRewriter {
public:
  virtual ~KernelRewriter();
  KernelRewriter(const KernelRewriter &) = delete;
  KernelRewriter &operator=(const KernelRewriter &) = delete;

protected:
  explicit KernelRewriter(mlir::func::FuncOp function);

  /// Makes the new function; `begin` is called where its body begins.
  mlir::func::FuncOp rewriteFunction(llvm::function_ref<void()> begin = {});

  /// Makes an op other than control flow anew, where the builder stands.
  virtual void rewriteOp(mlir::Operation *op) = 0;
  /// The new type of a loop's variable, or of a result of control flow.
  virtual mlir::Type newType(mlir::Value value) = 0;
  /// The new value of an old one, as the variable or result `target` wants it.
  virtual mlir::Value newValue(mlir::Value value, mlir::Value target) = 0;
  /// Notes the new value of a variable, or of a result of control flow.
  virtual void define(mlir::Value before, mlir::Value after) = 0;

  /// The op again, with its attributes and copies of its regions; a constant block in its new type.
  mlir::Operation *createAgain(mlir::Operation *op, mlir::ValueRange operands,
                               mlir::TypeRange types);

  mlir::func::FuncOp old_;
  mlir::OpBuilder builder_;
  mlir::IRMapping scalars_; ///< the new values of old scalars

private:
  void rewriteBlock(mlir::Block &block);
  void rewriteFor(mlir::scf::ForOp loop);
  void rewriteWhile(mlir::scf::WhileOp loop);
  void rewriteIf(mlir::scf::IfOp branch);
  void beginRegion(mlir::Region &region, mlir::ValueRange oldArguments);
  llvm::SmallVector<mlir::Type> newTypes(mlir::ValueRange values);
  llvm::SmallVector<mlir::Value> newValues(mlir::ValueRange values, mlir::ValueRange targets);
  void defineAll(mlir::ValueRange before, mlir::ValueRange after);
};

} // namespace blockscope::gpu
