// LLVM's part of the compiler. Its targets and options are global to the process, set once.
#include "gpu_backend/codegen/nvptx.h"

#include "core/bitcode.h"
#include "gpu_backend/codegen/bit_tests.h"
#include "gpu_backend/codegen/choice_trees.h"
#include "gpu_backend/codegen/chosen_constants.h"
#include "gpu_backend/codegen/clamped_shifts.h"
#include "gpu_backend/codegen/invariant_divisions.h"
#include "gpu_backend/codegen/kept_order.h"
#include "gpu_backend/codegen/lane_exchanges.h"
#include "gpu_backend/codegen/late_values.h"
#include "gpu_backend/codegen/loop_counters.h"
#include "gpu_backend/codegen/masks_in_bits.h"
#include "gpu_backend/codegen/packed_pairs.h"
#include "gpu_backend/codegen/parallel_pointers.h"
#include "gpu_backend/codegen/ptxas_mistakes.h"
#include "gpu_backend/codegen/scaled_constants.h"
#include "gpu_backend/codegen/stage_timer.h"
#include "gpu_backend/codegen/toolkit.h"
#include "gpu_backend/codegen/wgmma_waits.h"
#include "gpu_backend/codegen/whole_selects.h"
#include "gpu_backend/codegen/wide_products.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopStrengthReduce.h"
#include "llvm/Transforms/Scalar/SeparateConstOffsetFromGEP.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"

#include <array>
#include <mutex>

namespace blockscope::gpu {
namespace {

/// As on a command line: some options count only where they are given.
void setOption(llvm::StringRef name, llvm::StringRef value) {
  auto &options = llvm::cl::getRegisteredOptions();
  if (auto found = options.find(name); found != options.end())
    found->second->addOccurrence(0, name, value);
}

void initializeOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    // Shared addresses fit in 32 bits: half the registers and instructions.
    setOption("nvptx-short-ptr", "true");
    setOption("disable-lsr", "true"); // `optimize` decides
    // From a product and a sum, ptxas makes IMAD.WIDE of each address, which holds up the
    // dispatch of what comes behind it; from mad.wide a pair of LEA.
    setOption("nvptx-mad-wide-opt", "true");
    // Loops with a known number of iterations, too many to be unrolled as a whole, are unrolled
    // where lowering wishes it (lowering/control_flow.cpp). Of the others ptxas unrolls some
    // further than LLVM would, with the loads of several iterations before their uses, but leaves
    // what LLVM has unrolled in part as it is. Measured: where the number is not known, LLVM's
    // loops are faster.
    setOption("unroll-allow-partial", "false");
  });
}

std::unique_ptr<llvm::TargetMachine> makeMachine(const GpuTarget &target, const GpuOptions &chosen,
                                                 std::string *error) {
  initializeOnce();
  const llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!found) {
    *error = message;
    return nullptr;
  }
  llvm::TargetOptions options;
  options.AllowFPOpFusion =
      chosen.enableFpFusion ? llvm::FPOpFusion::Fast : llvm::FPOpFusion::Standard;
  const std::string features =
      "+ptx" + std::to_string(chosen.ptxVersion ? chosen.ptxVersion : target.ptxVersion);
  // Level 3 differs in global value numbering, twice, where level 2 has EarlyCSE: half of this
  // stage's time where many loads follow each other, for the same machine code of 281 of 290
  // public kernels.
  return std::unique_ptr<llvm::TargetMachine>(
      found->createTargetMachine(triple, target.arch, features, options, llvm::Reloc::PIC_,
                                 std::nullopt, llvm::CodeGenOptLevel::Default));
}

bool isLibdeviceCall(const llvm::Function &function) {
  return function.isDeclaration() && function.getName().starts_with("__nv_");
}

bool callsLibdevice(const llvm::Module &module) { return llvm::any_of(module, isLibdeviceCall); }

bool linkLibdevice(llvm::Module &module, const std::string &given, std::string *error) {
  const std::string path = findLibdevice(given, error);
  if (path.empty() || !linkBitcode(module, path, error))
    return false;
  for (const llvm::Function &function : module)
    if (isLibdeviceCall(function)) {
      *error = "'" + function.getName().str() + "' is not a function of " + path;
      return false;
    }
  return true;
}

/// Links users' libraries. Errors: false where they call what nobody has.
bool linkLibraries(llvm::Module &module, llvm::ArrayRef<std::string> libraries,
                   std::string *error) {
  constexpr std::array<llvm::StringRef, 5> kOfDriver = {"vprintf", "malloc", "free", "__assertfail",
                                                        "__nvvm_reflect"};
  if (!linkBitcodes(module, libraries, error))
    return false;
  for (const llvm::Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic() && !isLibdeviceCall(function) &&
        !llvm::is_contained(kOfDriver, function.getName())) {
      *error = "'" + function.getName().str() + "', which a library calls, is in none of " +
               namesOfLibraries(libraries);
      return false;
    }
  return true;
}

/// A pass that leaves the control flow of each function as it is.
template <void (*kChange)(llvm::Function &)>
struct ChangePass : llvm::PassInfoMixin<ChangePass<kChange>> {
  static llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &) {
    kChange(function);
    llvm::PreservedAnalyses kept;
    kept.preserveSet<llvm::CFGAnalyses>();
    return kept;
  }
};

struct InvariantDivisionsPass : llvm::PassInfoMixin<InvariantDivisionsPass> {
  static llvm::PreservedAnalyses run(llvm::Function &function,
                                     llvm::FunctionAnalysisManager &analyses) {
    if (!mayMultiplyByInverses(function))
      return llvm::PreservedAnalyses::all();
    // Inverses are made in the blocks before loops. Others keep their blocks as they are: ptxas
    // gives a kernel that spills other registers for the least change.
    llvm::LoopSimplifyPass().run(function, analyses);
    multiplyByInverses(function);
    return llvm::PreservedAnalyses::none();
  }
};

struct ScaledConstantsPass : llvm::PassInfoMixin<ScaledConstantsPass> {
  static llvm::PreservedAnalyses run(llvm::Function &function,
                                     llvm::FunctionAnalysisManager &analyses) {
    if (!takeOutScaledConstants(function))
      return llvm::PreservedAnalyses::all();
    llvm::EarlyCSEPass().run(function, analyses); // what is left of the rows' indices is one
    llvm::PreservedAnalyses kept;
    kept.preserveSet<llvm::CFGAnalyses>();
    return kept;
  }
};

struct ParallelPointersPass : llvm::PassInfoMixin<ParallelPointersPass> {
  static llvm::PreservedAnalyses run(llvm::Function &function,
                                     llvm::FunctionAnalysisManager &analyses) {
    llvm::LoopInfo &loops = analyses.getResult<llvm::LoopAnalysis>(function);
    auto &evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
    moveSumsIntoStarts(loops, evolution);
    mergeParallelPointers(loops, evolution);
    llvm::PreservedAnalyses kept;
    kept.preserveSet<llvm::CFGAnalyses>();
    return kept;
  }
};

struct LoopCountersPass : llvm::PassInfoMixin<LoopCountersPass> {
  static llvm::PreservedAnalyses run(llvm::Function &function,
                                     llvm::FunctionAnalysisManager &analyses) {
    llvm::LoopInfo &loops = analyses.getResult<llvm::LoopAnalysis>(function);
    widenCounters(loops);
    testNextCounts(loops);
    llvm::PreservedAnalyses kept;
    kept.preserveSet<llvm::CFGAnalyses>();
    return kept;
  }
};

void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.SLPVectorization = true;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  // Before comparisons become other ones.
  builder.registerPipelineStartEPCallback(
      [](llvm::ModulePassManager &ofModule, llvm::OptimizationLevel) {
        ofModule.addPass(llvm::createModuleToFunctionPassAdaptor(ChangePass<chooseResults>()));
      });
  // Behind what takes masks out of loops, before tests of two words or bits become one of a vector.
  builder.registerVectorizerStartEPCallback(
      [](llvm::FunctionPassManager &ofFunction, llvm::OptimizationLevel) {
        ofFunction.addPass(ChangePass<chooseByBits>());
        ofFunction.addPass(ChangePass<shareShiftsOfBitTests>());
        ofFunction.addPass(ChangePass<noteOrder>());
      });
  llvm::ModulePassManager passes =
      builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3);
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(ChangePass<keepOrder>()));
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(ChangePass<nameLaneExchanges>()));
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(ChangePass<computePairsAtOnce>()));
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(ChangePass<chooseWholeRegisters>()));
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(InvariantDivisionsPass()));
  // What is constant in an address is apart from the rest before anything looks at sums: it writes
  // them anew and forgets that they do not wrap, else each access has an address of its own.
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(ScaledConstantsPass()));
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(llvm::SeparateConstOffsetFromGEPPass()));
  // A pointer kept and bumped for each address is quick, and costs registers in every iteration.
  const bool needsRegisters = llvm::any_of(module, [](const llvm::Function &function) {
    return function.hasFnAttribute(kNeedsRegisters);
  });
  if (!needsRegisters)
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(
        llvm::createFunctionToLoopPassAdaptor(llvm::LoopStrengthReducePass())));
  // Those that this makes, and those that the kernel itself bumps.
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(ParallelPointersPass()));
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(LoopCountersPass()));
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(ChangePass<multiplyWide>()));
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(ChangePass<shiftByAnyNumber>()));
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(ChangePass<keepMasksInBits>()));
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(ChangePass<makeValuesLate>()));
  passes.run(module, modules);
}

/// Keeps LLVM's errors, at which it would end the process, in a text. Wishes that it cannot grant,
/// such as to unroll a loop with barriers, are only wishes.
void keepErrors(llvm::LLVMContext &context, std::string &text) {
  context.setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo *info, void *kept) {
        if (info->getSeverity() != llvm::DS_Error)
          return;
        llvm::raw_string_ostream stream(*static_cast<std::string *>(kept));
        llvm::DiagnosticPrinterRawOStream printer(stream);
        info->print(printer);
        stream << "\n";
      },
      &text);
}

/// How many pairs of sums, products and addresses of a function have an operand in common.
size_t pairsWithOneOperand(const llvm::Function &function) {
  llvm::DenseMap<const llvm::Value *, size_t> uses;
  for (const llvm::BasicBlock &block : function)
    for (const llvm::Instruction &instruction : block)
      if (instruction.getOpcode() == llvm::Instruction::Add ||
          instruction.getOpcode() == llvm::Instruction::Mul ||
          llvm::isa<llvm::GetElementPtrInst>(instruction))
        for (const llvm::Value *operand : instruction.operands())
          ++uses[operand];
  size_t pairs = 0;
  for (const auto &[operand, count] : uses)
    pairs += count * count;
  return pairs;
}

size_t accessesOf(const llvm::BasicBlock &block) {
  return llvm::count_if(block, [](const llvm::Instruction &instruction) {
    return llvm::isa<llvm::LoadInst, llvm::StoreInst>(instruction);
  });
}

/// Keeps passes from very large functions, as sorts and whatever else is unrolled give, where they
/// take quadratic time.
class LargeFunctions : public llvm::OptPassGate {
public:
  explicit LargeFunctions(const llvm::Module &module) {
    for (const llvm::Function &function : module) {
      pairs_ = std::max(pairs_, pairsWithOneOperand(function));
      for (const llvm::BasicBlock &block : function)
        renumbered_ = std::max(renumbered_, block.size() * accessesOf(block));
    }
  }

  bool isEnabled() const override { return true; }
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) const override {
    // It numbers the block anew for each group of accesses that it merges, 1 ns an instruction.
    if (pass == "load-store-vectorizer")
      return renumbered_ < size_t{1} << 29;
    // Straight line strength reduction asks ScalarEvolution about each pair, 2 us and more. Public
    // kernels that do not spill hundreds of registers have up to 132,000 pairs.
    if (pass == "slsr")
      return pairs_ < size_t{5} << 15;
    return true;
  }

private:
  size_t renumbered_ = 0; ///< instructions of a block, for each access in it
  size_t pairs_ = 0;
};

} // namespace

bool prepareModule(llvm::Module &module, const GpuTarget &target, std::string *error) {
  const std::unique_ptr<llvm::TargetMachine> machine = makeMachine(target, GpuOptions(), error);
  if (!machine)
    return false;
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  return true;
}

std::string emitPtx(llvm::Module &module, const GpuTarget &target, const GpuOptions &options,
                    llvm::ArrayRef<std::string> libraries, std::vector<StageTime> &times,
                    std::string *error) {
  const std::unique_ptr<llvm::TargetMachine> machine = makeMachine(target, options, error);
  if (!machine)
    return {};
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(module, &stream)) {
    *error = "the LLVM IR is not valid (this is a mistake in blockscope): " + problem;
    return {};
  }
  keepErrors(module.getContext(), problem);
  const llvm::scope_exit noLonger(
      [&] { module.getContext().setDiagnosticHandlerCallBack(nullptr); });
  {
    const StageTimer timer(times, "llvm");
    if (!libraries.empty() && !linkLibraries(module, libraries, error))
      return {};
    if (callsLibdevice(module) && !linkLibdevice(module, options.libdevicePath, error))
      return {};
    optimize(module, *machine);
  }
  const StageTimer timer(times, "ptx");
  LargeFunctions gate(module);
  llvm::OptPassGate &gateBefore = module.getContext().getOptPassGate();
  module.getContext().setOptPassGate(gate);
  const llvm::scope_exit noGate([&] { module.getContext().setOptPassGate(gateBefore); });
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream output(text);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, output, nullptr, llvm::CodeGenFileType::AssemblyFile)) {
    *error = "LLVM cannot emit PTX";
    return {};
  }
  passes.run(module);
  if (problem.empty())
    return withoutPtxasMistakes(withWaitsFirst(text));
  *error = "LLVM cannot emit PTX: " + problem;
  return {};
}

} // namespace blockscope::gpu
