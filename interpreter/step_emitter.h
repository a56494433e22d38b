// Runs every op at once on block values: step mode.
//
// Values are blocks (Value::handle is a shared Block). Evaluators are the same as the machine's,
// chosen once for each signature and kept.
#pragma once

#include "core/semantic/emitter.h"
#include "interpreter/block.h"
#include "interpreter/combine_region.h"
#include "interpreter/execution_context.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace blockscope::interpreter {

class StepEmitter final : public Emitter {
public:
  /// Says where the kernel stands; asked only when a finding, an observer or a print needs it. May
  /// call Python, and fails as the callbacks of LaunchState do.
  using LocationProvider = std::function<SourceLocation()>;

  StepEmitter(LaunchState &launch, LocationProvider location);

  bool isStepping() const override { return true; }
  ValueList emit(const OpRequest &request) override;
  Value intConstant(Type scalarType, int64_t value) override;
  Value floatConstant(Type scalarType, double value) override;
  ValueList reduce(llvm::ArrayRef<Value> operands, int axis, CombineFunction combine) override;
  ValueList map(llvm::ArrayRef<Value> operands, int64_t pack, MapFunction function) override;
  ValueList scan(llvm::ArrayRef<Value> operands, int axis, bool reverse,
                 CombineFunction combine) override;
  Value reduceByOp(llvm::StringRef combineOp, const Value &operand, int axis) override;
  Value scanByOp(llvm::StringRef combineOp, const Value &operand, int axis, bool reverse) override;
  void noteDecision(const Value &value) override;
  uint64_t integerOf(uint64_t pointer) const override { return launch_.memory.toInteger(pointer); }

  /// `hasAtomics`: as LaunchInfo says; true when in doubt.
  void beginLaunch(bool hasAtomics);
  void endLaunch();
  void beginProgram(std::array<int32_t, 3> program);
  void endProgram();

  /// Whether the op that ran last spun: an atomic or volatile load that saw what it saw before.
  /// Tells it once.
  bool takeSpin();
  /// Sets the running program aside, so that another can run; returns a number to resume it by.
  int suspendProgram();
  void resumeProgram(int number);
  /// Called at the begin of some iterations of a loop, one behind the other. But at the first,
  /// returns whether all that decides the loop, and memory, are what they were at the one before or
  /// at the first. `lines`: where what decides it may be loaded; none: memory does not count.
  bool goesOnForEver(llvm::ArrayRef<Value> deciding, uint64_t others, std::vector<int> lines,
                     bool isFirst);
  /// Whether it loaded in `lines` in between; then the program waits at the last of these loads.
  bool waitsByLoads();
  /// Reports the loop that the program is in, which nothing can end.
  void reportEndlessLoop(std::optional<EndlessLoop::Bounds> bounds = std::nullopt);
  size_t suspendedPrograms() const { return suspended_.size(); }
  /// Each time so many more programs are suspended, `tellNotResident` is to be called; nothing when
  /// it need not be.
  std::optional<int64_t> crowd() const;
  /// Tells that all programs that have begun are suspended, and another one has to begin.
  void tellNotResident();
  /// Reports that the running program and all suspended ones wait for ever.
  void reportDeadlock();

  /// Makes a scalar from its bits: an argument, or a device address.
  Value scalarFromBits(const Type &type, uint64_t bits);

  /// Returns why an op could not run ("tl.dot of ... is not supported"), and forgets it. Values
  /// made by such an op are null.
  std::string takeFailure();

  ExecutionContext &context() { return context_; }
  /// Begins an iteration of an unrolled loop, inside of `depth` others; -1 ends the loop.
  void setUnrolled(size_t depth, int32_t iteration);
  size_t unrolledDepth() const { return unrolled_.size(); }

private:
  ValueList run(const OpRequest &request);
  ValueList emitAssert(const OpRequest &request);
  void runInContext(const OpRequest &request, const Evaluator &evaluator, void *const *results,
                    const void *const *operands);
  const OpInfo *infoOfOp(llvm::StringRef name, bool isMasked = false, bool isUnsigned = false);
  /// What is known of the same access in the compiled kernel, where there is one.
  void takeFacts(OpInfo &info) const;
  /// What a program that is set aside comes back to.
  struct Suspended {
    ExecutionContext context;
    DeviceAddress spinAddress = 0;
    std::vector<int32_t> unrolled;
  };
  /// Tells observers of values what an op has made of its operands.
  void show(const OpSignature &signature, llvm::ArrayRef<Value> operands,
            llvm::ArrayRef<Value> results, bool isElementwise = false,
            const CombineRegion *region = nullptr);
  /// The same for an op that was not emitted by its name.
  void showAs(llvm::StringRef name, const Attributes &attributes, llvm::ArrayRef<Value> operands,
              llvm::ArrayRef<Value> results, const CombineRegion *region = nullptr);
  /// All suspended programs and these, in order of their numbers.
  std::vector<StuckProgram> suspendedAnd(std::vector<StuckProgram> stuck) const;
  void noteLoad(const OpInfo &load, const Value &pointer, const void *address);
  void locateErrors();
  ValueList fail(llvm::StringRef message, llvm::ArrayRef<Type> types);
  /// Runs a whole-block evaluator on one operand; null when there is none.
  Value runBlock(const Evaluator &evaluator, const Value &operand, const Type &result);
  /// Runs `walk` over the blocks with `combine` for its lanes.
  ValueList combineBlocks(llvm::StringRef name, const Attributes &attributes,
                          llvm::ArrayRef<Value> operands, llvm::ArrayRef<Type> resultTypes,
                          CombineFunction combine,
                          llvm::function_ref<void(llvm::ArrayRef<Type>, void *const *,
                                                  const void *const *, CombineLanes)>
                              walk);

  LaunchState &launch_;
  LocationProvider location_;
  ExecutionContext context_;
  DeviceAddress spinAddress_ = 0; ///< that the last spin looked at
  /// Programs set aside, and the addresses that they look at.
  std::map<int, Suspended> suspended_;
  std::vector<int32_t> unrolled_; ///< iterations of the unrolled loops around
  int nextSuspended_ = 0;
  int64_t begun_ = 0;                ///< programs
  std::vector<int> notedLines_;      ///< loads that these lines call are noted
  const OpInfo *lastLoad_ = nullptr; ///< since they are noted
  DeviceAddress lastLoadAddress_ = 0;
  std::map<std::string, std::unique_ptr<OpInfo>> infos_;
  std::string failure_;
  int combining_ = 0;   ///< inside combine functions, whose ops are not shown
  int opsCombined_ = 0; ///< run by the combine function that was called last
  llvm::StringRef lastCombined_;
  class RegionRecorder;
  RegionRecorder *recorder_ = nullptr; ///< of the combine function that runs, where it is wanted

  /// The latest comparisons, for the values that a failed assert shows.
  struct Comparison {
    std::shared_ptr<void> result;
    Value lhs, rhs;
  };
  std::array<Comparison, 8> comparisons_;
  size_t nextComparison_ = 0;
};

} // namespace blockscope::interpreter
