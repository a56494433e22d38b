// Atomics as PTX atomics: each element once, by a thread that owns it; sums of floats in vectors.
//
// The program is one thread of the language, so its order covers all its threads: with release the
// threads meet before the atomic, with acquire after it. A thread that does several atomics orders
// them by a fence before and one behind instead of at each. What an atomic has found and nobody
// looks at acquires nothing. What the hardware does not have (minimum and maximum of floats) loops
// over compare-and-swap.
#include "gpu_backend/lowering/combine.h"
#include "gpu_backend/lowering/families.h"
#include "gpu_backend/lowering/payload.h"
#include "gpu_backend/lowering/words.h"

#include "core/ir/tl_dialect.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// Memory orders and scope of one op, as PTX names them.
struct Order {
  std::string sem, scope;
  bool acquires() const { return sem == "acquire" || sem == "acq_rel"; }
  bool releases() const { return sem == "release" || sem == "acq_rel"; }
  /// ".acq_rel.gpu.global."
  std::string text() const { return "." + sem + "." + scope + ".global."; }
};

/// The atomics of one op; a function of it makes one, given its registers (of consecutive elements)
/// and who takes part, and gives the result of each.
class Atomics {
public:
  using MakeOne =
      llvm::function_ref<Registers(llvm::ArrayRef<uint32_t> run, llvm::Value *predicate)>;

  Atomics(Lowering &lowering, Operation *op, Order order)
      : lowering_(lowering), builder_(lowering.builder()), op_(op), order_(std::move(order)),
        isBlock_(op->getNumOperands() != 0 && tlg::hasLayout(op->getOperand(0).getType())) {
    meetsBehind_ = order_.acquires();
    if (isa<tl::AtomicRmwOp>(op) && !isResultUsed())
      order_.sem = order_.releases() ? "release" : "relaxed";
    if (!isBlock_)
      return;
    auto type = cast<RankedTensorType>(op->getOperand(0).getType());
    layout_ = tlg::layoutOf(type);
    free_ = freeBits(layout_);
    const auto vector = op->getAttrOfType<DenseI32ArrayAttr>(tlg::kVectorAttribute);
    const int dim = static_cast<int>(vector ? vector[0] : type.getRank() - 1);
    runs_ = contiguity(layout_, ShapeBits(type.getShape()), dim, vector ? vector[1] : 1);
  }

  bool isResultUsed() const { return !op_->use_empty(); }
  /// The order at each atomic: relaxed when there are fences around them all.
  const Order &order() const { return order_; }

  /// Orders the op with what is before and behind, and gives its result to all threads.
  void emit(Value mask, bool hasLoops, MakeOne makeOne) {
    const bool isFenced = hasLoops || runs_.distinct > runs_.length;
    const Order whole = order_;
    if (whole.releases())
      lowering_.barrier();
    llvm::Value *owner = isBlock_ ? lowering_.ownsElements(layout_) : lowering_.isFirstThread();
    // Threads meet on both sides, so that the fences of those that do atomics order all.
    const auto fenceOfOwners = [&] { lowering_.onlyIf(owner, [&] { fence(); }); };
    if (isFenced && whole.releases())
      fenceOfOwners();
    if (isFenced)
      order_.sem = "relaxed";
    Registers results(isBlock_ ? layout_.registerCount() : 1);
    for (int i = 0; i < runs_.distinct; i += runs_.length) {
      const auto run = llvm::ArrayRef(runs_.order).slice(i, runs_.length);
      llvm::Value *predicate = owner;
      if (mask) {
        const llvm::ArrayRef<llvm::Value *> masks = lowering_.get(mask);
        llvm::Value *active = masks[masks.size() == 1 ? 0 : run.front()];
        predicate = predicate ? builder_.CreateAnd(predicate, active) : active;
      }
      const Registers made = makeOne(run, predicate);
      for (auto [reg, result] : llvm::zip(run, made))
        results[reg] = result;
    }
    order_ = whole;
    if (isFenced && whole.acquires())
      fenceOfOwners();
    const bool met = isResultUsed() && share(results);
    if (meetsBehind_ && !met)
      lowering_.barrier();
    if (isResultUsed())
      lowering_.set(op_->getResult(0), results);
  }

  void fence() {
    lowering_.assembly(builder_.getVoidTy(), "fence.acq_rel." + order_.scope + ";", "~{memory}",
                       {});
  }

private:
  /// Gives the owners' results to the threads that hold copies. Returns whether all threads met.
  bool share(Registers &results) {
    for (size_t i = runs_.distinct; i < runs_.order.size(); ++i)
      results[runs_.order[i]] = results[runs_.order[i % runs_.distinct]];
    const bool isOneWarp = lowering_.numWarps() == 1;
    if (!isBlock_ && isOneWarp) {
      results[0] = lowering_.shuffle(results[0], lowering_.i32(0));
      return false;
    }
    if (isBlock_ && (free_.lanes | free_.warps) == 0)
      return false;
    if (isBlock_ && free_.warps == 0 && areCopiesPlain()) {
      llvm::Value *lane = builder_.CreateAnd(lowering_.laneId(), lowering_.i32(31 & ~free_.lanes));
      for (llvm::Value *&result : results)
        result = lowering_.shuffle(result, lane);
      return false;
    }
    shareThroughMemory(results);
    return true;
  }

  void shareThroughMemory(Registers &results) {
    int64_t count = 1;
    if (isBlock_)
      count = cast<RankedTensorType>(op_->getResult(0).getType()).getNumElements();
    Slots slots(lowering_, op_->getResults(), count);
    llvm::Value *thread = isBlock_ ? lowering_.threadElement(layout_) : lowering_.i32(0);
    const auto slot = [&](int reg) {
      return isBlock_ ? builder_.CreateXor(thread, lowering_.i32(layout_.registerElement(reg)))
                      : lowering_.i32(0);
    };
    slots.storeEach(isBlock_ ? lowering_.ownsElements(layout_) : lowering_.isFirstThread(),
                    runs_.distinct, [&](size_t i) {
                      const int reg = static_cast<int>(runs_.order[i]);
                      return std::pair(slot(reg), Elements{results[reg]});
                    });
    lowering_.barrier();
    for (int reg = 0; reg < static_cast<int>(results.size()); ++reg)
      results[reg] = madeHere(lowering_, slots.load(slot(reg))[0]);
  }

  /// Whether a lane that holds copies differs from the owner in its free bits only.
  bool areCopiesPlain() const {
    for (auto [bit, basis] : llvm::enumerate(layout_.lanes))
      if ((free_.lanes >> bit) & 1 && basis != 0)
        return false;
    return true;
  }

  Lowering &lowering_;
  llvm::IRBuilder<> &builder_;
  Operation *op_;
  Order order_;
  bool isBlock_;
  LinearLayout layout_;
  InputBits free_;
  RegisterRuns runs_{1, {0}, 1};
  bool meetsBehind_ = false; ///< threads meet behind it, even if nothing is acquired
};

// -- one atomic -----------------------------------------------------------------------------------

llvm::StringRef letterOf(unsigned bits) { return bits == 64 ? "l" : bits == 32 ? "r" : "h"; }

llvm::Value *toBits(Lowering &lowering, llvm::Value *value) {
  llvm::Type *type = value->getType();
  if (type->isIntegerTy())
    return value;
  return lowering.builder().CreateBitCast(
      value, lowering.builder().getIntNTy(type->getPrimitiveSizeInBits()));
}

/// "atom.relaxed.gpu.global.add.u32 $0, [pointer], operands;" on bits; 0 where it takes no part.
/// Without a result it is a `red`.
llvm::Value *atomicInstruction(Lowering &lowering, const Order &order, llvm::StringRef operation,
                               llvm::Value *pointer, llvm::ArrayRef<llvm::Value *> values,
                               llvm::Value *predicate, bool hasResult = true) {
  llvm::IRBuilder<> &builder = lowering.builder();
  llvm::Type *type = values.front()->getType();
  const llvm::StringRef letter = letterOf(type->getIntegerBitWidth());
  llvm::SmallVector<llvm::Value *> operands;
  std::string constraints;
  int next = 0;
  if (hasResult) {
    constraints = ("=" + letter + ",").str();
    next = 1;
    if (predicate) {
      constraints += "0,";
      operands.push_back(llvm::ConstantInt::get(type, 0));
      next = 2;
    }
  }
  std::string text = (hasResult ? "atom" : "red") + order.text() + operation.str() +
                     (hasResult ? " $0," : "") + llvm::formatv(" [${0}]", next).str();
  operands.push_back(pointer);
  constraints += "l";
  for (llvm::Value *value : values) {
    operands.push_back(value);
    constraints += ("," + letter).str();
    text += llvm::formatv(", ${0}", ++next).str();
  }
  if (predicate) {
    operands.push_back(predicate);
    constraints += ",b";
    text = llvm::formatv("@${0} ", ++next).str() + text;
  }
  return lowering.assembly(hasResult ? type : builder.getVoidTy(), text + ";",
                           constraints + ",~{memory}", operands);
}

/// Replaces what is in memory by `next` of it, and gives what was there; 0 where it takes no part.
/// What would stay as it is needs no swap: of many numbers that go to one maximum, few do.
llvm::Value *compareAndSwapLoop(Lowering &lowering, const Order &order, llvm::Value *pointer,
                                llvm::Type *type, llvm::Value *predicate,
                                llvm::function_ref<llvm::Value *(llvm::Value *)> next) {
  llvm::IRBuilder<> &builder = lowering.builder();
  const auto newBlock = [&](const char *name) {
    return llvm::BasicBlock::Create(lowering.context(), name, &lowering.function());
  };
  const unsigned bits = type->getIntegerBitWidth();
  llvm::BasicBlock *before = builder.GetInsertBlock();
  llvm::BasicBlock *start = newBlock("atomic"), *loop = newBlock("atomic.again"),
                   *swap = newBlock("atomic.swap"), *after = newBlock("atomic.end");
  if (predicate)
    builder.CreateCondBr(predicate, start, after);
  else
    builder.CreateBr(start);
  builder.SetInsertPoint(start);
  llvm::Value *first =
      lowering.assembly(type, llvm::formatv("ld{0}b{1} $0, [$1];", order.text(), bits).str(),
                        ("=" + letterOf(bits) + ",l,~{memory}").str(), {pointer});
  builder.CreateBr(loop);
  builder.SetInsertPoint(loop);
  auto *seen = builder.CreatePHI(type, 2);
  seen->addIncoming(first, start);
  llvm::Value *desired = next(seen);
  builder.CreateCondBr(builder.CreateICmpEQ(desired, seen), after, swap);
  builder.SetInsertPoint(swap);
  llvm::Value *found = atomicInstruction(lowering, order, llvm::formatv("cas.b{0}", bits).str(),
                                         pointer, {seen, desired}, nullptr);
  seen->addIncoming(found, swap);
  builder.CreateCondBr(builder.CreateICmpEQ(found, seen), after, loop);
  builder.SetInsertPoint(after);
  auto *result = builder.CreatePHI(type, 3);
  result->addIncoming(seen, loop);
  result->addIncoming(found, swap);
  if (predicate)
    result->addIncoming(llvm::ConstantInt::get(type, 0), before);
  return result;
}

// -- tl.atomic_load, tl.atomic_store, tl.global_timer ---------------------------------------------

LogicalResult lowerAtomicLoad(Lowering &lowering, Operation *op) {
  auto load = cast<tl::AtomicLoadOp>(op);
  const Type type = load.getType();
  const WordFormat words = wordsOf(Lowering::elementBytes(type), Lowering::elementBytes(type));
  Atomics atomics(lowering, op, {load.getSem().str(), load.getScope().str()});
  const llvm::ArrayRef<llvm::Value *> pointers = lowering.get(load.getPointer());
  atomics.emit(load.getMask(), /*hasLoops=*/false, [&](auto run, llvm::Value *predicate) {
    llvm::Value *pointer = pointers[run.front()];
    llvm::Type *word = words.registerType(lowering);
    std::string text = llvm::formatv("ld{0}b{1} $0, [${2}];", atomics.order().text(), words.bits,
                                     predicate ? 2 : 1)
                           .str();
    std::string constraints = words.constraintList("=");
    llvm::SmallVector<llvm::Value *> operands{pointer};
    if (predicate) {
      text = "@$3 " + text;
      constraints += ",0";
      operands = {llvm::ConstantInt::get(word, 0), pointer, predicate};
    }
    llvm::Value *loaded = lowering.assembly(
        word, text, constraints + (predicate ? ",l,b" : ",l") + ",~{memory}", operands);
    return unpackWords(lowering, loaded, type, 1, words);
  });
  return success();
}

LogicalResult lowerAtomicStore(Lowering &lowering, Operation *op) {
  auto store = cast<tl::AtomicStoreOp>(op);
  const Type type = getElementTypeOrSelf(store.getValue().getType());
  const WordFormat words = wordsOf(Lowering::elementBytes(type), Lowering::elementBytes(type));
  Atomics atomics(lowering, op, {store.getSem().str(), store.getScope().str()});
  const llvm::ArrayRef<llvm::Value *> pointers = lowering.get(store.getPointer());
  const llvm::ArrayRef<llvm::Value *> values = lowering.get(store.getValue());
  atomics.emit(store.getMask(), /*hasLoops=*/false, [&](auto run, llvm::Value *predicate) {
    Registers operands =
        packWords(lowering, values[values.size() == 1 ? 0 : run.front()], type, words);
    operands.push_back(pointers[run.front()]);
    std::string text = llvm::formatv("st{0}b{1} [$1], $0;", atomics.order().text(), words.bits);
    if (predicate) {
      text = "@$2 " + text;
      operands.push_back(predicate);
    }
    return Registers{lowering.assembly(
        lowering.builder().getVoidTy(), text,
        words.constraintList("") + (predicate ? ",l,b" : ",l") + ",~{memory}", operands)};
  });
  return success();
}

/// One thread looks at the clock, so that all threads take the same way.
LogicalResult lowerGlobalTimer(Lowering &lowering, Operation *op) {
  Atomics atomics(lowering, op, {"relaxed", "gpu"});
  atomics.emit({}, /*hasLoops=*/false, [&](auto, llvm::Value *) {
    return Registers{lowering.assembly(lowering.builder().getInt64Ty(), "mov.u64 $0, %globaltimer;",
                                       "=l,~{memory}", {})};
  });
  return success();
}

// -- tl.atomic_rmw --------------------------------------------------------------------------------

/// The operation of a PTX atomic, such as "add.noftz.f16"; empty where there is none.
std::string operationOf(llvm::StringRef kind, Type type, const GpuTarget &target) {
  const unsigned bits = 8 * tlg::elementBytes(type);
  if (kind == "fadd") {
    if (type.isF16() || (type.isBF16() && target.hasBf16Atomics))
      return type.isF16() ? "add.noftz.f16" : "add.noftz.bf16";
    return type.isF32() || type.isF64() ? llvm::formatv("add.f{0}", bits).str() : "";
  }
  if (bits < 32 || (kind != "xchg" && !type.isInteger()))
    return "";
  const llvm::StringRef name = llvm::StringSwitch<llvm::StringRef>(kind)
                                   .Case("add", "add.u")
                                   .Case("max", "max.s")
                                   .Case("min", "min.s")
                                   .Case("umax", "max.u")
                                   .Case("umin", "min.u")
                                   .Case("and", "and.b")
                                   .Case("or", "or.b")
                                   .Case("xor", "xor.b")
                                   .Case("xchg", "exch.b")
                                   .Default("");
  return name.empty() ? "" : name.str() + std::to_string(bits);
}

/// What a loop computes where PTX has no such atomic; null where the language has none either.
using NextValue = llvm::Value *(*)(llvm::IRBuilder<> &, llvm::Value *seen, llvm::Value *operand);

/// A sum of 16-bit floats in fp32, rounded once.
llvm::Value *narrowSum(llvm::IRBuilder<> &builder, llvm::Value *seen, llvm::Value *operand) {
  llvm::Value *sum = builder.CreateFAdd(builder.CreateFPExt(seen, builder.getFloatTy()),
                                        builder.CreateFPExt(operand, builder.getFloatTy()));
  return builder.CreateFPTrunc(sum, seen->getType());
}

/// The operand where it is a number and either more (or less) than what is there or that is none.
template <llvm::CmpInst::Predicate unorderedOrBetter>
llvm::Value *betterNumber(llvm::IRBuilder<> &builder, llvm::Value *seen, llvm::Value *operand) {
  llvm::Value *takes = builder.CreateAnd(builder.CreateFCmp(unorderedOrBetter, operand, seen),
                                         builder.CreateFCmpORD(operand, operand));
  return builder.CreateSelect(takes, operand, seen);
}

/// What `combine` makes of the integers that stand for the two (docs/algebra.md).
template <llvm::Value *(*combine)(llvm::IRBuilder<> &, llvm::Value *, llvm::Value *)>
llvm::Value *ofPayloads(llvm::IRBuilder<> &builder, llvm::Value *seen, llvm::Value *operand) {
  const numeric::Payload rule = payloadRuleOf(seen->getType());
  llvm::Value *next =
      combine(builder, embedFloat(builder, seen, rule), embedFloat(builder, operand, rule));
  return unembedFloat(builder, next, rule, seen->getType());
}

llvm::Value *add(llvm::IRBuilder<> &builder, llvm::Value *a, llvm::Value *b) {
  return builder.CreateAdd(a, b);
}

template <llvm::Intrinsic::ID id>
llvm::Value *extreme(llvm::IRBuilder<> &builder, llvm::Value *a, llvm::Value *b) {
  return builder.CreateBinaryIntrinsic(id, a, b);
}

NextValue loopOf(llvm::StringRef kind, Type type) {
  const bool isWide = type.isF32() || type.isF64();
  if (kind == "fadd" && type.isBF16())
    return narrowSum;
  if (kind == "fadd_payload")
    return ofPayloads<add>;
  if (kind == "fmax_payload")
    return ofPayloads<extreme<llvm::Intrinsic::smax>>;
  if (kind == "fmin_payload")
    return ofPayloads<extreme<llvm::Intrinsic::smin>>;
  if (kind == "fmax" && isWide)
    return betterNumber<llvm::CmpInst::FCMP_UGT>;
  if (kind == "fmin" && isWide)
    return betterNumber<llvm::CmpInst::FCMP_ULT>;
  return nullptr;
}

/// "red.relaxed.gpu.global.add.v4.f32 [pointer], {...};": neighbours added by one instruction, each
/// by itself atomic. fp16 and bf16 go in pairs, the words of the instruction.
Registers vectorSum(Lowering &lowering, const Atomics &atomics, Type type, llvm::Value *pointer,
                    llvm::ArrayRef<llvm::Value *> values, llvm::Value *predicate) {
  const int length = static_cast<int>(values.size());
  const WordFormat words{length * Lowering::elementBytes(type) / 4, 32};
  const bool hasResult = atomics.isResultUsed();
  int next = 0;
  const auto list = [&] {
    std::string text;
    for (int i = 0; i < words.count; ++i)
      text += llvm::formatv("{0}${1}", i == 0 ? "" : ", ", next++).str();
    return words.count == 1 ? text : "{" + text + "}";
  };
  std::string text = (hasResult ? "atom" : "red") + atomics.order().text() + "add";
  text += type.isF32() ? "" : ".noftz";
  text += words.count == 1 ? "" : llvm::formatv(".v{0}", words.count).str();
  text += type.isF32() ? ".f32 " : type.isF16() ? ".f16x2 " : ".bf16x2 ";
  std::string constraints;
  Registers operands;
  if (hasResult) {
    text += list() + ", ";
    constraints = words.constraintList("=") + ",";
    if (predicate) {
      for (int i = 0; i < words.count; ++i) {
        constraints += llvm::formatv("{0},", i).str();
        operands.push_back(lowering.i32(0));
      }
      next += words.count;
    }
  }
  text += llvm::formatv("[${0}], ", next++).str() + list() + ";";
  constraints += "l," + words.constraintList("");
  operands.push_back(pointer);
  llvm::append_range(operands, packWords(lowering, values, type, words));
  if (predicate) {
    text = llvm::formatv("@${0} ", next).str() + text;
    constraints += ",b";
    operands.push_back(predicate);
  }
  llvm::Value *old =
      lowering.assembly(hasResult ? words.structType(lowering) : lowering.builder().getVoidTy(),
                        text, constraints + ",~{memory}", operands);
  if (!hasResult)
    return {};
  return unpackWords(lowering, old, type, length, words);
}

LogicalResult lowerAtomicRmw(Lowering &lowering, Operation *op) {
  auto atomic = cast<tl::AtomicRmwOp>(op);
  llvm::IRBuilder<> &builder = lowering.builder();
  const Type type = getElementTypeOrSelf(atomic.getType());
  const std::string operation = operationOf(atomic.getKind(), type, lowering.target());
  const NextValue next = loopOf(atomic.getKind(), type);
  if (operation.empty() && !next)
    return op->emitError("atomic '")
           << atomic.getKind() << "' of " << type << " is not supported on the GPU";
  Atomics atomics(lowering, op, {atomic.getSem().str(), atomic.getScope().str()});
  const llvm::ArrayRef<llvm::Value *> pointers = lowering.get(atomic.getPointer());
  const llvm::ArrayRef<llvm::Value *> values = lowering.get(atomic.getValue());
  llvm::Type *element = lowering.elementType(type);
  const auto valueAt = [&](uint32_t reg) { return values[values.size() == 1 ? 0 : reg]; };
  atomics.emit(atomic.getMask(), operation.empty(), [&](auto run, llvm::Value *predicate) {
    llvm::Value *pointer = pointers[run.front()], *value = valueAt(run.front());
    const Order &order = atomics.order();
    if (operation.empty()) {
      llvm::Type *bits = builder.getIntNTy(element->getPrimitiveSizeInBits());
      llvm::Value *old =
          compareAndSwapLoop(lowering, order, pointer, bits, predicate, [&](llvm::Value *seen) {
            return toBits(lowering, next(builder, builder.CreateBitCast(seen, element), value));
          });
      return Registers{builder.CreateBitCast(old, element)};
    }
    if (run.size() > 1)
      return vectorSum(lowering, atomics, type, pointer, llvm::map_to_vector(run, valueAt),
                       predicate);
    const bool needsResult = atomics.isResultUsed() || atomic.getKind() == "xchg";
    llvm::Value *old = atomicInstruction(lowering, order, operation, pointer,
                                         {toBits(lowering, value)}, predicate, needsResult);
    return Registers{needsResult ? builder.CreateBitCast(old, element) : old};
  });
  return success();
}

// -- tl.atomic_cas --------------------------------------------------------------------------------

LogicalResult lowerAtomicCas(Lowering &lowering, Operation *op) {
  auto atomic = cast<tl::AtomicCasOp>(op);
  const Type type = getElementTypeOrSelf(atomic.getType());
  const int bits = 8 * Lowering::elementBytes(type);
  if (bits < 16)
    return op->emitError("atomic compare-and-swap of ")
           << type << " is not supported on the GPU, expected 16, 32 or 64 bits";
  Atomics atomics(lowering, op, {atomic.getSem().str(), atomic.getScope().str()});
  const llvm::ArrayRef<llvm::Value *> pointers = lowering.get(atomic.getPointer());
  const llvm::ArrayRef<llvm::Value *> expected = lowering.get(atomic.getCompare());
  const llvm::ArrayRef<llvm::Value *> desired = lowering.get(atomic.getValue());
  atomics.emit({}, /*hasLoops=*/false, [&](auto run, llvm::Value *predicate) {
    const uint32_t reg = run.front();
    llvm::Value *old = atomicInstruction(
        lowering, atomics.order(), llvm::formatv("cas.b{0}", bits).str(), pointers[reg],
        {toBits(lowering, expected[reg]), toBits(lowering, desired[reg])}, predicate);
    return Registers{lowering.builder().CreateBitCast(old, lowering.elementType(type))};
  });
  return success();
}

} // namespace

llvm::ArrayRef<LoweringRow> atomicsRows() {
  static constexpr LoweringRow kRows[] = {
      {"tl.atomic_cas", lowerAtomicCas},     {"tl.atomic_load", lowerAtomicLoad},
      {"tl.atomic_rmw", lowerAtomicRmw},     {"tl.atomic_store", lowerAtomicStore},
      {"tl.global_timer", lowerGlobalTimer},
  };
  return kRows;
}

} // namespace blockscope::gpu
