// Emits the block IR: one MLIR module for one kernel. No MLIR headers here, so that callers compile
// fast.
//
// Values are SSA values; the module owns them. Control flow is built from blocks that are emitted
// detached and then handed to createIf, createFor or createWhile.
#pragma once

#include "core/semantic/emitter.h"
#include "core/source_location.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
class MLIRContext;
} // namespace mlir

namespace blockscope {

/// A block that was emitted and not yet placed; the emitter owns it.
struct BlockHandle {
  void *block = nullptr;
};

/// What tl.range says about how to compile a loop; nothing: as the compiler finds best.
struct LoopHints {
  std::optional<int> numStages, unrollFactor;
  bool disableLicm = false, flatten = false, warpSpecialize = false;
};

/// A kernel's function as its text has it.
struct KernelSignature {
  struct Argument {
    std::string name; ///< empty where the text has none
    Type type;
  };
  std::string name;
  std::vector<Argument> arguments;
};

class IrEmitter final : public Emitter {
public:
  /// Called with every error of an op as it is emitted ("'tl.load' op has a mask of ...").
  using ErrorSink = std::function<void(llvm::StringRef message)>;

  explicit IrEmitter(ErrorSink onError = {});
  ~IrEmitter() override;
  IrEmitter(const IrEmitter &) = delete;
  IrEmitter &operator=(const IrEmitter &) = delete;

  bool isStepping() const override { return false; }
  ValueList emit(const OpRequest &request) override;
  Value intConstant(Type scalarType, int64_t value) override;
  Value floatConstant(Type scalarType, double value) override;
  ValueList reduce(llvm::ArrayRef<Value> operands, int axis, CombineFunction combine) override;
  ValueList map(llvm::ArrayRef<Value> operands, int64_t pack, MapFunction function) override;
  ValueList scan(llvm::ArrayRef<Value> operands, int axis, bool reverse,
                 CombineFunction combine) override;

  /// Takes the kernel from the text of a module; nothing is emitted then. What the text says of
  /// addresses that can be divided is left out: that is the launch's.
  ///
  /// Errors: nothing, with the line in `error`.
  std::optional<KernelSignature> read(llvm::StringRef text, std::string *error);

  /// Sets where the ops that follow come from.
  void setLocation(const SourceLocation &location);
  /// Begins an iteration of an unrolled loop, inside of `depth` others; -1 ends the loop. What
  /// follows the next `setLocation` is in it.
  void setUnrolled(size_t depth, int32_t iteration);
  /// Remembers the Python variable that a value was first assigned to.
  void nameValue(const Value &value, llvm::StringRef name);

  /// Begins the kernel's function and returns its arguments.
  ValueList beginFunction(llvm::StringRef name, llvm::ArrayRef<Type> argumentTypes,
                          llvm::ArrayRef<std::string> argumentNames);
  /// Ends it with a return.
  void finishFunction();
  /// Tells what an argument of the finished kernel can be divided by (`tl.divisibility`).
  ///
  /// Units: bytes for a pointer.
  void setDivisibility(unsigned argument, int32_t divisor);
  /// Puts 1 in place of an argument of the finished kernel, an integer, wherever it is used.
  void setOne(unsigned argument);

  /// Begins a detached block, emits into it, and returns its arguments.
  ValueList pushBlock(llvm::ArrayRef<Type> argumentTypes = {});
  /// Ends the detached block begun last; emits again where that began.
  BlockHandle popBlock();
  /// Deletes a block that was popped and is not wanted.
  void discardBlock(BlockHandle block);

  /// scf.if; an else block that is null means no else (then nothing is yielded).
  ValueList createIf(const Value &condition, BlockHandle thenBlock,
                     llvm::ArrayRef<Value> thenYields, BlockHandle elseBlock,
                     llvm::ArrayRef<Value> elseYields);
  /// scf.for with a positive step; the body's arguments are the counter and the carried values.
  ValueList createFor(const Value &lowerBound, const Value &upperBound, const Value &step,
                      llvm::ArrayRef<Value> initial, BlockHandle body, llvm::ArrayRef<Value> yields,
                      bool unsignedCompare, const LoopHints &hints = {});
  /// scf.while: `before` takes `initial` and gives condition and forwarded values; `after` takes
  /// these and yields the next ones for `before`.
  ValueList createWhile(llvm::ArrayRef<Value> initial, BlockHandle before, const Value &condition,
                        llvm::ArrayRef<Value> forwarded, BlockHandle after,
                        llvm::ArrayRef<Value> yields, bool disableLicm = false);
  /// Records that `callee`, which its author wants to stay a call, is inlined here.
  void noteInlinedCall(llvm::StringRef callee);

  /// Returns the module as text.
  std::string text(bool withLocations = false) const;
  /// Verifies the whole module; the text of all errors goes to `errors`.
  bool verify(std::string *errors = nullptr);
  mlir::ModuleOp module() const;
  mlir::MLIRContext &context() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace blockscope
