// ORC: a module for each function, with a loop over arrays of elements around the call.
#include "interpreter/bitcode/jit.h"

#include "core/bitcode.h"
#include "core/guarded.h"
#include "interpreter/bitcode/host_module.h"

#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/TargetSelect.h"

namespace blockscope::interpreter {
namespace {

constexpr llvm::StringLiteral kElement = "blockscope_element";
constexpr llvm::StringLiteral kLoop = "blockscope_loop";

/// The JIT, then what its code calls.
struct Kept {
  std::vector<Evaluator> evaluators;
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

/// As bitcode has an element; in memory a bool is a byte.
llvm::Type *elementType(const Type &type, llvm::LLVMContext &context) {
  switch (storageDType(type.dtype)) {
  case DType::Fp16:
    return llvm::Type::getHalfTy(context);
  case DType::Bf16:
    return llvm::Type::getBFloatTy(context);
  case DType::Fp32:
    return llvm::Type::getFloatTy(context);
  case DType::Fp64:
    return llvm::Type::getDoubleTy(context);
  case DType::Int1:
    return llvm::Type::getInt1Ty(context);
  default:
    return llvm::Type::getIntNTy(context, 8 * type.elementBytes());
  }
}

class LibraryCompiler {
public:
  LibraryCompiler(const LibraryFunction &function, std::string &error)
      : function_(function), error_(error) {}

  std::shared_ptr<const LibraryCode> run() {
    kept_ = std::make_shared<Kept>();
    if (!makeJit() || !makeElement() || !makeLoop())
      return nullptr;
    if (llvm::Error failure = kept_->jit->addIRModule(
            llvm::orc::ThreadSafeModule(std::move(module_), std::move(context_))))
      return fail(std::move(failure)), nullptr;
    auto found = kept_->jit->lookup(kLoop);
    if (!found)
      return fail(found.takeError()), nullptr;
    // The session lives on in what is kept, this object does not.
    kept_->jit->getExecutionSession().setErrorReporter(
        [](llvm::Error failure) { llvm::consumeError(std::move(failure)); });
    auto code = std::make_shared<LibraryCode>();
    code->loop = found->toPtr<ElementwiseFn>();
    code->keeper = kept_;
    return code;
  }

private:
  void fail(llvm::Error failure) {
    const std::string text = llvm::toString(std::move(failure));
    error_ = cannotRun() + (reported_.empty() ? text : reported_);
  }

  std::string cannotRun() const {
    return "'" + function_.symbol + "' of " + namesOfLibraries(function_.libraries) +
           " cannot run on the CPU: ";
  }

  bool makeJit() {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    auto host = llvm::orc::JITTargetMachineBuilder::detectHost();
    if (!host)
      return fail(host.takeError()), false;
    auto machine = host->createTargetMachine();
    if (!machine)
      return fail(machine.takeError()), false;
    machine_ = std::move(*machine);
    auto jit = llvm::orc::LLJITBuilder()
                   .setJITTargetMachineBuilder(std::move(*host))
                   .setLinkProcessSymbolsByDefault(false)
                   .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                   .create();
    if (!jit)
      return fail(jit.takeError()), false;
    (*jit)->getExecutionSession().setErrorReporter(
        [this](llvm::Error failure) { reported_ = llvm::toString(std::move(failure)); });
    // The C library's functions that LLVM's code generator calls.
    auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
        (*jit)->getDataLayout().getGlobalPrefix());
    if (!process)
      return fail(process.takeError()), false;
    (*jit)->getMainJITDylib().addGenerator(std::move(*process));
    kept_->jit = std::move(*jit);
    return true;
  }

  /// The function under the name `kElement`, with its libraries, made fit for the CPU.
  bool makeElement() {
    context_ = std::make_unique<llvm::LLVMContext>();
    module_ = std::make_unique<llvm::Module>(function_.symbol, *context_);
    module_->setTargetTriple(machine_->getTargetTriple());
    module_->setDataLayout(kept_->jit->getDataLayout());
    llvm::Function *callee =
        declareExtern(*module_, function_.symbol, function_.libraries, &error_);
    if (!callee)
      return false;
    llvm::SmallVector<llvm::Type *> types;
    for (const Type &type : function_.operands)
      types.push_back(elementType(type, *context_));
    llvm::Type *result = elementType(function_.result, *context_);
    element_ = llvm::Function::Create(llvm::FunctionType::get(result, types, false),
                                      llvm::Function::ExternalLinkage, kElement, *module_);
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(*context_, "entry", element_));
    llvm::SmallVector<llvm::Value *> arguments;
    for (llvm::Argument &argument : element_->args())
      arguments.push_back(&argument);
    llvm::Value *value = callExtern(builder, callee, arguments, result, &error_);
    if (!value)
      return false;
    builder.CreateRet(value);
    if (!linkBitcodes(*module_, function_.libraries, &error_))
      return false;
    if (const std::string unsafe = adaptToHost(*module_, *machine_, kept_->evaluators);
        !unsafe.empty()) {
      error_ = cannotRun() + "it " + unsafe;
      return false;
    }
    return true;
  }

  /// An ElementwiseFn that calls `kElement` for each element.
  bool makeLoop() {
    llvm::IRBuilder<> builder(*context_);
    llvm::Type *i64 = builder.getInt64Ty(), *pointer = builder.getPtrTy();
    auto *type = llvm::FunctionType::get(
        builder.getVoidTy(), {i64, i64, pointer, pointer, builder.getInt32Ty(), pointer}, false);
    auto *loop = llvm::Function::Create(type, llvm::Function::ExternalLinkage, kLoop, *module_);
    auto *entry = llvm::BasicBlock::Create(*context_, "entry", loop);
    auto *body = llvm::BasicBlock::Create(*context_, "body", loop);
    auto *end = llvm::BasicBlock::Create(*context_, "end", loop);
    builder.SetInsertPoint(entry);
    llvm::Value *count = loop->getArg(0), *scalars = loop->getArg(4);
    llvm::SmallVector<llvm::Value *> bases, steps;
    for (unsigned i = 0; i < function_.operands.size(); ++i) {
      bases.push_back(
          builder.CreateLoad(pointer, builder.CreateConstGEP1_32(pointer, loop->getArg(3), i)));
      llvm::Value *isScalar = builder.CreateAnd(builder.CreateLShr(scalars, i), 1);
      steps.push_back(builder.CreateZExt(builder.CreateXor(isScalar, 1), i64));
    }
    llvm::Value *results = builder.CreateLoad(pointer, loop->getArg(2));
    builder.CreateCondBr(builder.CreateICmpSGT(count, builder.getInt64(0)), body, end);
    builder.SetInsertPoint(body);
    llvm::PHINode *at = builder.CreatePHI(i64, 2);
    at->addIncoming(builder.getInt64(0), entry);
    llvm::SmallVector<llvm::Value *> elements;
    for (const auto [i, operand] : llvm::enumerate(function_.operands))
      elements.push_back(load(builder, operand, bases[i], builder.CreateMul(at, steps[i])));
    store(builder, function_.result, builder.CreateCall(element_, elements), results, at);
    llvm::Value *next = builder.CreateAdd(at, builder.getInt64(1));
    at->addIncoming(next, body);
    builder.CreateCondBr(builder.CreateICmpSLT(next, count), body, end);
    builder.SetInsertPoint(end);
    builder.CreateRetVoid();
    element_->setLinkage(llvm::Function::InternalLinkage);
    element_->addFnAttr(llvm::Attribute::AlwaysInline);
    optimizeForHost(*module_, *machine_);
    return true;
  }

  llvm::Value *load(llvm::IRBuilder<> &builder, const Type &type, llvm::Value *base,
                    llvm::Value *at) {
    llvm::Type *element = elementType(type, *context_);
    if (!element->isIntegerTy(1))
      return builder.CreateLoad(element, builder.CreateGEP(element, base, at));
    llvm::Type *byte = builder.getInt8Ty();
    return builder.CreateIsNotNull(builder.CreateLoad(byte, builder.CreateGEP(byte, base, at)));
  }

  void store(llvm::IRBuilder<> &builder, const Type &type, llvm::Value *value, llvm::Value *base,
             llvm::Value *at) {
    if (value->getType()->isIntegerTy(1))
      value = builder.CreateZExt(value, builder.getInt8Ty());
    builder.CreateStore(value, builder.CreateGEP(value->getType(), base, at));
  }

  const LibraryFunction &function_;
  std::string &error_;
  std::string reported_; ///< by the JIT's session
  std::shared_ptr<Kept> kept_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  std::unique_ptr<llvm::LLVMContext> context_;
  std::unique_ptr<llvm::Module> module_;
  llvm::Function *element_ = nullptr;
};

} // namespace

std::shared_ptr<const LibraryCode> compileLibraryFunction(const LibraryFunction &function,
                                                          std::string *error) {
  std::shared_ptr<const LibraryCode> code;
  std::string fatal;
  // All that a fatal error leaves behind is on the other thread.
  if (!runGuarded([&] { code = LibraryCompiler(function, *error).run(); }, fatal))
    *error = "LLVM cannot compile '" + function.symbol + "' for the CPU: " + fatal;
  return code;
}

} // namespace blockscope::interpreter
