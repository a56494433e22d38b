// From the GPU level to LLVM IR: the state of one kernel while its ops are lowered one by one.
//
// There is no dialect in between. A scalar is one LLVM value, the same in all threads; a block is
// one LLVM value for each register of its layout, in this thread. Ops are lowered in order by the
// function that the table names (one file per op family, with the name of its evaluators' file in
// interpreter/ops); structured control flow becomes basic blocks with a phi per register.
#pragma once

#include "gpu_backend/gpu_kernel.h"
#include "gpu_backend/gpu_options.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/layout/linear_layout.h"
#include "gpu_backend/passes/place_shared.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

#include <optional>

namespace blockscope::gpu {

using Registers = llvm::SmallVector<llvm::Value *, 8>;

/// The address spaces of the hardware.
inline constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3, kClusterSpace = 7;

/// The LLVM type of one element: fp8 as i8, pointers in their address space.
llvm::Type *elementType(mlir::Type type, llvm::LLVMContext &context);
/// The LLVM type of one element in memory, and of a parameter: i1 as i8.
llvm::Type *memoryType(mlir::Type type, llvm::LLVMContext &context);

class Lowering {
public:
  Lowering(llvm::Module &module, llvm::Function &function, const GpuTarget &target,
           const GpuOptions &options, GpuKernel &kernel);

  /// Lowers the ops of a block in order; the terminator is left to the caller.
  mlir::LogicalResult lowerBlock(mlir::Block &block);
  /// Ends the kernel: completes the debug information.
  void finish();
  /// Lowers one op; an error names the op and its line.
  mlir::LogicalResult lower(mlir::Operation *op);

  // -- values -----------------------------------------------------------------------------------
  /// The registers of a value that was lowered before.
  llvm::ArrayRef<llvm::Value *> get(mlir::Value value) const;
  /// Its only register, for scalars.
  llvm::Value *scalar(mlir::Value value) const;
  void set(mlir::Value value, Registers registers);
  void set(mlir::Value value, llvm::Value *scalar) { set(value, Registers{scalar}); }
  /// How many registers a thread has of a value of this type.
  static int registerCount(mlir::Type type);

  llvm::Type *elementType(mlir::Type type) const;
  llvm::Type *memoryType(mlir::Type type) const;
  static int elementBytes(mlir::Type type);

  // -- threads ----------------------------------------------------------------------------------
  llvm::Value *threadId();
  llvm::Value *laneId();
  llvm::Value *warpId();
  /// The same, and ptxas knows that a warp has one, so that it keeps what depends on it in uniform
  /// registers.
  llvm::Value *uniformWarpId();
  int numWarps() const { return options_.numWarps; }
  /// The CTAs that run a program together, and this one's number among them.
  int numCtas() const { return kernel_.numCtas; }
  llvm::Value *clusterRank();
  llvm::Value *programId(int axis);
  /// The element of this thread's register 0: XOR it with registerElement of the others.
  llvm::Value *threadElement(const LinearLayout &layout);
  /// The XOR of the bases of the bits that are set in `number`, an i32.
  llvm::Value *combined(llvm::ArrayRef<ElementBits> bases, llvm::Value *number);
  /// For each register the coordinate of its element along `dim`, as i32.
  Registers coordinates(mlir::RankedTensorType type, int dim);
  /// True in one thread of those that hold the same elements; null when each holds its own. Which
  /// registers are copies, freeBits(layout).registers says.
  llvm::Value *ownsElements(const LinearLayout &layout);
  /// True in thread 0.
  llvm::Value *isFirstThread();
  /// All threads of the program have come here, and see each other's memory.
  void barrier();
  /// The same of all CTAs of the program.
  void clusterBarrier();
  llvm::Value *shuffleXor(llvm::Value *value, int laneMask);
  /// The value of lane `lane` (an i32 of this thread's choice).
  llvm::Value *shuffle(llvm::Value *value, llvm::Value *lane);

  // -- shared memory ----------------------------------------------------------------------------
  /// Scratch memory for the op that is being lowered, as a pointer aligned to 16 bytes; later ops
  /// may have the same bytes. All threads come here: where an earlier op's threads may still read
  /// the bytes, this is a barrier. The caller puts a barrier between writing and reading.
  llvm::Value *scratch(int64_t sizeBytes) { return sharedPointer(i32(scratchOffset(sizeBytes))); }
  /// The same as an offset in shared memory, in bytes.
  int64_t scratchOffset(int64_t sizeBytes);
  /// How many bytes of what the kernel holds anyway are nobody's at the op that is being lowered.
  int64_t freeBytes() const { return places_.freeBytes(current_); }
  int64_t sharedBytes() const { return std::max(scratchBase_ + scratchBytes_, largeBytes_); }
  /// Buffers of the kernel lie below the scratch. A large scratch takes the bytes of buffers that
  /// are not needed any more.
  void reserveShared(SharedPlaces places);
  const SharedPlaces &sharedPlaces() const { return places_; }
  llvm::Value *sharedPointer(llvm::Value *offsetBytes);
  /// The same place in the shared memory of another CTA of the cluster, for loads and stores.
  llvm::Value *pointerOfCta(llvm::Value *cta, llvm::Value *shared);

  // -- code -------------------------------------------------------------------------------------
  llvm::IRBuilder<> &builder() { return builder_; }
  llvm::LLVMContext &context() { return builder_.getContext(); }
  llvm::Module &module() { return module_; }
  llvm::Function &function() { return function_; }
  const GpuTarget &target() const { return target_; }
  const GpuOptions &options() const { return options_; }
  GpuKernel &kernel() { return kernel_; }
  /// The op that is being lowered.
  mlir::Operation *currentOp() const { return current_; }
  llvm::Value *i32(int64_t value) { return builder_.getInt32(static_cast<uint32_t>(value)); }
  /// Runs `body` only where `condition` holds; null means always.
  void onlyIf(llvm::Value *condition, llvm::function_ref<void()> body);
  /// PTX with operands; `constraints` as LLVM writes them.
  llvm::Value *assembly(llvm::Type *result, llvm::StringRef text, llvm::StringRef constraints,
                        llvm::ArrayRef<llvm::Value *> operands, bool hasSideEffects = true);
  /// Lowers the region of a reduce or scan on scalars: `arguments` for its block's arguments.
  mlir::FailureOr<Registers> inlineRegion(mlir::Region &region,
                                          llvm::ArrayRef<llvm::Value *> arguments);

private:
  /// A special register, read in the entry block, so that every use is after it.
  llvm::Value *readAtEntry(unsigned intrinsic);
  void forgetScratch();
  void setLocation(mlir::Location location);
  int64_t freeScratch(int64_t sizeBytes) const;
  /// The op that is being lowered uses these bytes of the scratch.
  void noteScratch(int64_t begin, int64_t end);

  /// Scratch bytes that threads may still read, because no barrier came since `op` used them.
  struct ScratchUse {
    int64_t begin, end;
    mlir::Operation *op;
  };
  void noteUse(const ScratchUse &use);

  llvm::Module &module_;
  llvm::Function &function_;
  const GpuTarget &target_;
  const GpuOptions &options_;
  GpuKernel &kernel_;
  llvm::IRBuilder<> builder_;
  llvm::DenseMap<mlir::Value, Registers> values_;
  llvm::Value *threadId_ = nullptr, *laneId_ = nullptr, *warpId_ = nullptr,
              *uniformWarpId_ = nullptr, *clusterRank_ = nullptr;
  llvm::GlobalVariable *shared_ = nullptr;
  SharedPlaces places_;
  int64_t scratchBase_ = 0, scratchBytes_ = 0, largeBytes_ = 0;
  llvm::SmallVector<ScratchUse> scratchUses_; ///< by where they begin
  /// Control flow meets here: any scratch bytes may still be read.
  bool isScratchUnknown_ = false;
  int scratchRequests_ = 0;
  mlir::Operation *current_ = nullptr; ///< the op that is being lowered
  struct DebugScopes;
  std::shared_ptr<DebugScopes> debug_;
};

using LowerFunction = mlir::LogicalResult (*)(Lowering &, mlir::Operation *);

/// What lowers an op, by its name; null for an op that the GPU does not have yet.
LowerFunction findLowering(llvm::StringRef opName);
/// Adds an op that was added at run time (addOpFacts). Call it before kernels are compiled: the
/// table has no lock.
void addLowering(llvm::StringRef opName, LowerFunction function);
/// All op names that can be lowered, in order.
std::vector<std::string> loweredOps();

} // namespace blockscope::gpu
