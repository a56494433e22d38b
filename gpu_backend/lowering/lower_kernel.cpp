// The kernel's function: parameters, attributes, body.
#include "gpu_backend/lowering/lower_kernel.h"

#include "core/ir/tl_dialect.h"
#include "gpu_backend/kernel_names.h"
#include "gpu_backend/lowering/debug.h"
#include "gpu_backend/lowering/debug_scopes.h"
#include "gpu_backend/lowering/lowering.h"
#include "gpu_backend/passes/one_warp.h"
#include "gpu_backend/passes/place_shared.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

constexpr uint64_t kMapBytes = 128, kMapAlignment = 64;

std::vector<std::string> texts(DictionaryAttr map, llvm::StringRef name) {
  std::vector<std::string> result;
  for (const auto text : map.getAs<ArrayAttr>(name).getAsRange<StringAttr>())
    result.push_back(text.str());
  return result;
}

/// What the launcher has to encode.
std::vector<TensorMap> tensorMapsOf(func::FuncOp function) {
  std::vector<TensorMap> result;
  const auto maps = function->getAttrOfType<ArrayAttr>(tlg::kTensorMapsAttribute);
  for (const auto map : maps ? maps.getValue() : llvm::ArrayRef<Attribute>()) {
    const auto fields = cast<DictionaryAttr>(map);
    const auto number = [&](llvm::StringRef name) {
      return static_cast<int>(fields.getAs<IntegerAttr>(name).getInt());
    };
    result.push_back({number("element_bytes"), number("swizzle_bytes"),
                      fields.getAs<DenseI64ArrayAttr>("box").asArrayRef().vec(),
                      fields.getAs<StringAttr>("base").str(), texts(fields, "sizes"),
                      texts(fields, "strides")});
  }
  return result;
}

std::vector<std::pair<int, int>> disjointOf(func::FuncOp function) {
  std::vector<std::pair<int, int>> result;
  if (const auto pairs = function->getAttrOfType<ArrayAttr>(tlg::kDisjointAttribute))
    for (const auto pair : pairs.getAsRange<DenseI32ArrayAttr>())
      result.emplace_back(pair[0], pair[1]);
  return result;
}

std::vector<std::array<int, 3>> atLeastOf(func::FuncOp function) {
  std::vector<std::array<int, 3>> result;
  if (const auto pairs = function->getAttrOfType<ArrayAttr>(tlg::kAtLeastAttribute))
    for (const auto pair : pairs.getAsRange<DenseI32ArrayAttr>()) {
      const unsigned width = function.getArgumentTypes()[pair[0]].getIntOrFloatBitWidth();
      result.push_back({pair[0], static_cast<int>(width), pair[1]});
    }
  return result;
}

llvm::Function *declare(func::FuncOp function, llvm::Module &module, const GpuOptions &options,
                        const GpuKernel &kernel) {
  llvm::LLVMContext &context = module.getContext();
  llvm::SmallVector<llvm::Type *> types;
  for (Type type : function.getArgumentTypes())
    types.push_back(memoryType(type, context));
  if (kernel.globalScratchBytes != 0)
    types.push_back(llvm::PointerType::get(context, kGlobalSpace));
  if (kernel.takesDebugBuffer)
    types.push_back(llvm::PointerType::get(context, kGlobalSpace));
  types.append(kernel.tensorMaps.size(), llvm::PointerType::get(context, 0));
  auto *result = llvm::Function::Create(
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, /*isVarArg=*/false),
      llvm::Function::ExternalLinkage, kernel.name, module);
  result->setCallingConv(llvm::CallingConv::PTX_Kernel);
  result->addFnAttr("nvvm.reqntid", std::to_string(32 * options.numWarps));
  if (kernel.numCtas > 1)
    result->addFnAttr("nvvm.cluster_dim", std::to_string(kernel.numCtas) + ",1,1");
  if (options.maxRegisters)
    result->addFnAttr("nvvm.maxnreg", std::to_string(*options.maxRegisters));
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    llvm::Argument &argument = *result->getArg(i);
    const auto divisibility =
        function.getArgAttrOfType<IntegerAttr>(i, tlg::kDivisibilityAttribute);
    if (argument.getType()->isPointerTy() && divisibility)
      argument.addAttr(llvm::Attribute::getWithAlignment(
          context, llvm::Align(std::max<int64_t>(1, divisibility.getInt()))));
  }
  // TMA reads a map in constant memory, where parameters are: it must not be copied first.
  auto *mapType = llvm::ArrayType::get(llvm::Type::getInt8Ty(context), kMapBytes);
  for (size_t i = types.size() - kernel.tensorMaps.size(); i < types.size(); ++i) {
    llvm::Argument &argument = *result->getArg(static_cast<unsigned>(i));
    argument.addAttr(llvm::Attribute::getWithByValType(context, mapType));
    argument.addAttr(llvm::Attribute::getWithAlignment(context, llvm::Align(kMapAlignment)));
    argument.addAttr(llvm::Attribute::get(context, "nvvm.grid_constant"));
  }
  return result;
}

/// Lets all warps but the first return.
void endOtherWarps(Lowering &lowering) {
  llvm::IRBuilder<> &builder = lowering.builder();
  llvm::Function *function = builder.GetInsertBlock()->getParent();
  auto *others = llvm::BasicBlock::Create(builder.getContext(), "", function);
  auto *first = llvm::BasicBlock::Create(builder.getContext(), "", function);
  builder.CreateCondBr(builder.CreateICmpEQ(lowering.warpId(), lowering.i32(0)), first, others);
  builder.SetInsertPoint(others);
  builder.CreateRetVoid();
  builder.SetInsertPoint(first);
}

} // namespace

std::unique_ptr<llvm::Module> lowerKernel(func::FuncOp function, llvm::LLVMContext &context,
                                          const GpuTarget &target, const GpuOptions &options,
                                          GpuKernel &kernel) {
  auto module = std::make_unique<llvm::Module>(function.getName(), context);
  module->setTargetTriple(llvm::Triple("nvptx64-nvidia-cuda"));
  kernel.name = symbolOf(function.getName());
  if (const auto ctas = function->getAttrOfType<IntegerAttr>(tlg::kClusterAttribute))
    kernel.numCtas = static_cast<int>(ctas.getInt());
  kernel.takesDebugBuffer = takesDebugBuffer(function, options);
  kernel.tensorMaps = tensorMapsOf(function);
  function.walk([&](tlg::MakeTensorMapOp) { kernel.globalScratchBytes += kMapBytes; });
  kernel.disjoint = disjointOf(function);
  kernel.atLeast = atLeastOf(function);
  llvm::Function *result = declare(function, *module, options, kernel);
  Lowering lowering(*module, *result, target, options, kernel);
  for (auto [argument, value] : llvm::zip(function.getArguments(), result->args())) {
    llvm::Value *given = &value;
    llvm::Type *wanted = lowering.elementType(argument.getType());
    if (wanted->isIntegerTy(1))
      given = lowering.builder().CreateICmpNE(given, lowering.builder().getInt8(0));
    lowering.set(argument, given);
  }
  lowering.reserveShared(SharedPlaces(function));
  if (function->hasAttr(kOneWarpAttribute) && options.numWarps > 1)
    endOtherWarps(lowering);
  if (failed(lowering.lowerBlock(function.getBody().front())))
    return nullptr;
  lowering.builder().CreateRetVoid();
  lowering.finish();
  kernel.sharedBytes = static_cast<int>(lowering.sharedBytes());
  return module;
}

} // namespace blockscope::gpu
