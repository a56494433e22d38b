// Names are read in parts: llvm.nvvm.OP.ROUNDING.ftz.TYPE.
#include "interpreter/bitcode/nvvm_intrinsics.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"

namespace blockscope::interpreter {
namespace {

using llvm::StringRef;
using llvm::Value;
using llvm::Intrinsic::ID;

struct Call {
  llvm::IRBuilder<> &builder;
  llvm::CallInst *call;
  StringRef op;                         ///< "ex2"
  llvm::SmallVector<StringRef, 4> rest; ///< "approx", "ftz", "f"

  Value *operand(unsigned i) const { return call->getArgOperand(i); }
  bool has(StringRef part) const { return llvm::is_contained(rest, part); }
};

/// Whether the intrinsic does no more than its name without these parts does.
bool isPlain(const Call &call) {
  return llvm::all_of(call.rest, [](StringRef part) {
    for (const char *known : {"rn", "approx", "full", "ftz", "f", "d", "f16", "bf16", "f32", "f64",
                              "i", "ui", "ll", "ull", "s", "us", "nan"})
      if (part == known)
        return true;
    return false;
  });
}

ID unaryOf(StringRef op) {
  static constexpr struct {
    llvm::StringLiteral name;
    ID id;
  } kRows[] = {
      {"ex2", llvm::Intrinsic::exp2},        {"lg2", llvm::Intrinsic::log2},
      {"sin", llvm::Intrinsic::sin},         {"cos", llvm::Intrinsic::cos},
      {"tanh", llvm::Intrinsic::tanh},       {"sqrt", llvm::Intrinsic::sqrt},
      {"fabs", llvm::Intrinsic::fabs},       {"floor", llvm::Intrinsic::floor},
      {"ceil", llvm::Intrinsic::ceil},       {"trunc", llvm::Intrinsic::trunc},
      {"round", llvm::Intrinsic::roundeven},
  };
  for (const auto &row : kRows)
    if (row.name == op)
      return row.id;
  return llvm::Intrinsic::not_intrinsic;
}

Value *binary(const Call &call) {
  llvm::IRBuilder<> &builder = call.builder;
  if (call.op == "add")
    return builder.CreateFAdd(call.operand(0), call.operand(1));
  if (call.op == "mul")
    return builder.CreateFMul(call.operand(0), call.operand(1));
  if (call.op == "div")
    return builder.CreateFDiv(call.operand(0), call.operand(1));
  if (call.op == "fmin" || call.op == "fmax") {
    const bool isMin = call.op == "fmin";
    const ID id = call.has("nan") ? (isMin ? llvm::Intrinsic::minimum : llvm::Intrinsic::maximum)
                                  : (isMin ? llvm::Intrinsic::minnum : llvm::Intrinsic::maxnum);
    return builder.CreateBinaryIntrinsic(id, call.operand(0), call.operand(1));
  }
  if (call.op != "mulhi")
    return nullptr;
  const bool isUnsigned = call.rest.back().starts_with("u");
  const unsigned bits = call.call->getType()->getIntegerBitWidth();
  llvm::Type *wide = builder.getIntNTy(2 * bits);
  const auto extend = [&](Value *value) {
    return isUnsigned ? builder.CreateZExt(value, wide) : builder.CreateSExt(value, wide);
  };
  Value *product = builder.CreateMul(extend(call.operand(0)), extend(call.operand(1)));
  return builder.CreateTrunc(builder.CreateLShr(product, bits), call.call->getType());
}

/// Floats to integers and back: d2ull.rz, i2f.rn.
Value *conversion(const Call &call) {
  llvm::IRBuilder<> &builder = call.builder;
  llvm::Type *to = call.call->getType();
  const auto [from, name] = call.op.split('2');
  if (name.empty() || call.call->arg_size() != 1 || call.rest.empty())
    return nullptr;
  const auto isInteger = [](StringRef part) {
    return part == "i" || part == "ui" || part == "ll" || part == "ull";
  };
  const StringRef rounding = call.rest.front();
  Value *x = call.operand(0);
  if (isInteger(from) && (name == "f" || name == "d") && rounding == "rn")
    return from.starts_with("u") ? builder.CreateUIToFP(x, to) : builder.CreateSIToFP(x, to);
  if (call.op == "d2f" && rounding == "rn")
    return builder.CreateFPTrunc(x, to);
  if ((from != "f" && from != "d") || !isInteger(name))
    return nullptr;
  const ID rounds = rounding == "rn"   ? llvm::Intrinsic::roundeven
                    : rounding == "rm" ? llvm::Intrinsic::floor
                    : rounding == "rp" ? llvm::Intrinsic::ceil
                                       : llvm::Intrinsic::trunc;
  return builder.CreateIntrinsic(name.starts_with("u") ? llvm::Intrinsic::fptoui_sat
                                                       : llvm::Intrinsic::fptosi_sat,
                                 {to, x->getType()}, {builder.CreateUnaryIntrinsic(rounds, x)});
}

Value *replacement(const Call &call) {
  llvm::IRBuilder<> &builder = call.builder;
  if (Value *converted = conversion(call))
    return converted;
  if (!isPlain(call))
    return nullptr;
  const unsigned count = call.call->arg_size();
  llvm::Type *type = call.call->getType();
  if (count == 3 && call.op == "fma")
    return builder.CreateIntrinsic(llvm::Intrinsic::fma, {type},
                                   {call.operand(0), call.operand(1), call.operand(2)});
  if (count == 2)
    return binary(call);
  if (count != 1)
    return nullptr;
  Value *x = call.operand(0);
  if (const ID id = unaryOf(call.op))
    return builder.CreateUnaryIntrinsic(id, x);
  if (call.op == "rsqrt")
    x = builder.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
  if (call.op == "rsqrt" || call.op == "rcp")
    return builder.CreateFDiv(llvm::ConstantFP::get(type, 1), x);
  if (call.op == "saturate") // a NaN gives 0
    return builder.CreateMinNum(builder.CreateMaxNum(x, llvm::ConstantFP::get(type, 0)),
                                llvm::ConstantFP::get(type, 1));
  return nullptr;
}

/// What code asks of its compilation: __nvvm_reflect("__CUDA_ARCH").
Value *reflected(llvm::CallInst *call) {
  StringRef question;
  if (call->arg_empty() || !llvm::getConstantStringInfo(call->getArgOperand(0), question))
    return nullptr;
  return llvm::ConstantInt::get(call->getType(), question == "__CUDA_ARCH" ? 800 : 0);
}

Value *replacementOf(llvm::CallInst *call) {
  const llvm::Function *callee = call->getCalledFunction();
  if (!callee)
    return nullptr;
  StringRef name = callee->getName();
  if (name == "__nvvm_reflect" || name.starts_with("llvm.nvvm.reflect"))
    return reflected(call);
  if (!name.consume_front("llvm.nvvm."))
    return nullptr;
  llvm::IRBuilder<> builder(call);
  Call parts{builder, call, {}, {}};
  std::tie(parts.op, name) = name.split('.');
  name.split(parts.rest, '.', -1, /*KeepEmpty=*/false);
  return replacement(parts);
}

} // namespace

void replaceNvvmIntrinsics(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function)))
      if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction))
        if (Value *value = replacementOf(call)) {
          call->replaceAllUsesWith(value);
          call->eraseFromParent();
        }
}

} // namespace blockscope::interpreter
