// What is unsafe is looked for when all is inlined and optimised, so that only code that can be
// reached counts, and addresses are seen to be those of a function's own variables.
#include "interpreter/bitcode/host_module.h"

#include "core/dtype.h"
#include "interpreter/bitcode/nvvm_intrinsics.h"

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Passes/PassBuilder.h"

namespace blockscope::interpreter {
namespace {

DType dtypeOf(const llvm::Type *type) {
  if (type->isFloatTy())
    return DType::Fp32;
  if (type->isDoubleTy())
    return DType::Fp64;
  if (type->isHalfTy())
    return DType::Fp16;
  switch (type->isIntegerTy() ? type->getIntegerBitWidth() : 0) {
  case 16:
    return DType::Int16;
  case 32:
    return DType::Int32;
  case 64:
    return DType::Int64;
  default:
    return DType::Void;
  }
}

llvm::Value *addressOf(llvm::IRBuilder<> &builder, const void *pointer) {
  return builder.CreateIntToPtr(builder.getInt64(reinterpret_cast<uint64_t>(pointer)),
                                builder.getPtrTy());
}

/// The interpreter's function of this name and type.
EvaluatorOrError libdeviceFunction(const llvm::Function &function) {
  OpSignature signature{"tl.extern_elementwise", {}, {}, {{"symbol", function.getName().str()}}};
  for (const llvm::Type *type : function.getFunctionType()->params())
    signature.operands.push_back(Type::get(dtypeOf(type)));
  signature.results.push_back(Type::get(dtypeOf(function.getReturnType())));
  return EvaluatorTable::instance().choose(signature);
}

/// Gives a function of libdevice a body that calls the interpreter's, which takes arrays.
void callInterpreter(llvm::Function &function, const Evaluator &evaluator) {
  function.deleteBody();
  function.setLinkage(llvm::Function::InternalLinkage);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(function.getContext(), "entry", &function));
  llvm::Type *pointer = builder.getPtrTy();
  llvm::Value *operands = builder.CreateAlloca(pointer, builder.getInt32(function.arg_size()));
  for (llvm::Argument &argument : function.args()) {
    llvm::Value *place = builder.CreateAlloca(argument.getType());
    builder.CreateStore(&argument, place);
    builder.CreateStore(place, builder.CreateConstGEP1_32(pointer, operands, argument.getArgNo()));
  }
  llvm::Value *result = builder.CreateAlloca(function.getReturnType());
  llvm::Value *results = builder.CreateAlloca(pointer);
  builder.CreateStore(result, results);
  llvm::Type *i64 = builder.getInt64Ty();
  auto *type = llvm::FunctionType::get(
      builder.getVoidTy(), {i64, i64, pointer, pointer, builder.getInt32Ty(), pointer}, false);
  llvm::CallInst *call = builder.CreateCall(
      type, addressOf(builder, reinterpret_cast<const void *>(evaluator.elementwise)),
      {builder.getInt64(1), builder.getInt64(0), results, operands, builder.getInt32(0),
       addressOf(builder, evaluator.payload.get())});
  call->addFnAttr(llvm::Attribute::get(function.getContext(), "blockscope-known"));
  builder.CreateRet(builder.CreateLoad(function.getReturnType(), result));
}

/// Has a division by zero, and the one that overflows, divide by 1: a CPU would trap.
void guardDivision(llvm::BinaryOperator &division) {
  llvm::IRBuilder<> builder(&division);
  llvm::Value *divisor = division.getOperand(1);
  llvm::Type *type = divisor->getType();
  llvm::Value *isBad = builder.CreateICmpEQ(divisor, llvm::ConstantInt::get(type, 0));
  const bool isSigned = division.getOpcode() == llvm::Instruction::SDiv ||
                        division.getOpcode() == llvm::Instruction::SRem;
  if (isSigned) {
    const unsigned bits = type->getScalarSizeInBits();
    llvm::Value *least = llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(bits));
    isBad = builder.CreateOr(
        isBad,
        builder.CreateAnd(builder.CreateICmpEQ(builder.CreateFreeze(division.getOperand(0)), least),
                          builder.CreateICmpEQ(divisor, llvm::ConstantInt::getAllOnesValue(type))));
  }
  division.setOperand(1, builder.CreateSelect(isBad, llvm::ConstantInt::get(type, 1), divisor));
}

/// Attributes of a GPU's functions, and calls that a GPU makes its own way.
void makeOrdinary(llvm::Function &function) {
  function.setCallingConv(llvm::CallingConv::C);
  for (const char *name : {"target-cpu", "target-features", "denormal-fp-math",
                           "denormal-fp-math-f32", "nvptx-f32ftz"})
    function.removeFnAttr(name);
  function.removeFnAttr(llvm::Attribute::NoInline);
  function.removeFnAttr(llvm::Attribute::OptimizeNone);
  function.removeFnAttr(llvm::Attribute::Convergent);
  if (!function.isDeclaration())
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  for (llvm::Instruction &instruction : llvm::instructions(function)) {
    if (auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
      call->setCallingConv(llvm::CallingConv::C);
      call->removeFnAttr(llvm::Attribute::NoInline);
    }
    if (auto *division = llvm::dyn_cast<llvm::BinaryOperator>(&instruction);
        division && division->isIntDivRem())
      guardDivision(*division);
  }
}

/// The pointer of an instruction that is an access to memory; null for others.
const llvm::Value *addressOf(const llvm::Instruction &instruction) {
  if (const llvm::Value *pointer = llvm::getLoadStorePointerOperand(&instruction))
    return pointer;
  if (const auto *atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
    return atomic->getPointerOperand();
  if (const auto *atomic = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction))
    return atomic->getPointerOperand();
  return nullptr;
}

bool isOwnMemory(const llvm::Value *pointer) {
  llvm::SmallVector<const llvm::Value *> objects;
  llvm::getUnderlyingObjects(pointer, objects);
  return llvm::all_of(objects, [](const llvm::Value *object) {
    if (const auto *global = llvm::dyn_cast<llvm::GlobalVariable>(object))
      return !global->isDeclaration();
    return llvm::isa<llvm::AllocaInst>(object);
  });
}

std::string unsafeCall(const llvm::CallBase &call) {
  if (call.isInlineAsm())
    return "has inline assembly";
  if (call.hasFnAttr("blockscope-known"))
    return "";
  const llvm::Function *callee = call.getCalledFunction();
  if (!callee)
    return "calls a function through a pointer";
  const std::string name = callee->getName().str();
  if (!callee->isIntrinsic())
    return callee->isDeclaration() ? "calls '" + name + "', which is in no library" : "";
  if (callee->getName().starts_with("llvm.nvvm.") || callee->getName().contains("trap"))
    return "calls '" + name + "'";
  for (const llvm::Value *operand : call.args())
    if (llvm::isa<llvm::AnyMemIntrinsic>(call) && operand->getType()->isPointerTy() &&
        !isOwnMemory(operand))
      return "uses memory that is not its own";
  return "";
}

std::string findUnsafe(const llvm::Module &module) {
  for (const llvm::Function &function : module)
    for (const llvm::Instruction &instruction : llvm::instructions(function)) {
      if (const auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction))
        if (std::string found = unsafeCall(*call); !found.empty())
          return found;
      if (const llvm::Value *pointer = addressOf(instruction); pointer && !isOwnMemory(pointer))
        return "uses memory that is not its own";
    }
  return "";
}

} // namespace

std::string adaptToHost(llvm::Module &module, llvm::TargetMachine &machine,
                        std::vector<Evaluator> &kept) {
  for (const llvm::GlobalVariable &global : module.globals())
    if (global.getAddressSpace() == 3)
      return "uses shared memory ('" + global.getName().str() + "')";
  for (llvm::Function &function : module)
    if (function.getName().starts_with("__nv_"))
      if (EvaluatorOrError known = libdeviceFunction(function); known.error.empty()) {
        callInterpreter(function, known.evaluator);
        kept.push_back(std::move(known.evaluator));
      }
  replaceNvvmIntrinsics(module);
  for (llvm::Function &function : module)
    makeOrdinary(function);
  optimizeForHost(module, machine);
  return findUnsafe(module);
}

void optimizeForHost(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

} // namespace blockscope::interpreter
