// The state of a kernel while it is lowered: values, threads, shared memory, positions.
#include "gpu_backend/lowering/lowering.h"

#include "core/ir/convert.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/layout/layout_queries.h"
#include "gpu_backend/lowering/debug_scopes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// The bits of `number` moved to where their bases say; bits of one shift move together.
llvm::Value *applyBases(llvm::IRBuilder<> &builder, llvm::ArrayRef<ElementBits> bases,
                        llvm::Value *number, llvm::Value *sum, ElementBits &known) {
  const auto add = [&](llvm::Value *part, ElementBits bits) {
    if (!sum)
      sum = part;
    else if ((known & bits) == 0)
      sum = builder.CreateAdd(sum, part, "", /*HasNUW=*/true, /*HasNSW=*/true);
    else
      sum = builder.CreateXor(sum, part);
    known |= bits;
  };
  for (size_t bit = 0; bit < bases.size();) {
    const ElementBits basis = bases[bit];
    if (basis == 0) {
      ++bit;
      continue;
    }
    if (!llvm::isPowerOf2_32(basis)) {
      llvm::Value *one = builder.CreateAnd(builder.CreateLShr(number, bit), 1);
      add(builder.CreateAnd(builder.CreateNeg(one), builder.getInt32(basis)), basis);
      ++bit;
      continue;
    }
    const int shift = static_cast<int>(llvm::Log2_32(basis)) - static_cast<int>(bit);
    uint32_t mask = 0;
    for (; bit < bases.size() && llvm::isPowerOf2_32(bases[bit]) &&
           static_cast<int>(llvm::Log2_32(bases[bit])) - static_cast<int>(bit) == shift;
         ++bit)
      mask |= 1U << bit;
    llvm::Value *part = builder.CreateAnd(number, builder.getInt32(mask));
    part = shift >= 0 ? builder.CreateShl(part, shift, "", true, true)
                      : builder.CreateLShr(part, -shift);
    add(part, shift >= 0 ? mask << shift : mask >> -shift);
  }
  return sum;
}

Bases along(const Bases &bases, const ShapeBits &shape, int dim) {
  Bases result;
  for (const ElementBits basis : bases)
    result.push_back(shape.coordinate(basis, dim));
  return result;
}

} // namespace

Lowering::Lowering(llvm::Module &module, llvm::Function &function, const GpuTarget &target,
                   const GpuOptions &options, GpuKernel &kernel)
    : module_(module), function_(function), target_(target), options_(options), kernel_(kernel),
      builder_(module.getContext()),
      debug_(options.lineInfo ? std::make_shared<DebugScopes>(module, function) : nullptr) {
  builder_.SetInsertPoint(llvm::BasicBlock::Create(context(), "entry", &function));
}

void Lowering::finish() {
  if (debug_)
    debug_->finish();
}

LogicalResult Lowering::lowerBlock(Block &block) {
  // A loop's body comes after itself, what follows a branch after one of several blocks or none.
  const bool isLoop = isa<scf::ForOp, scf::WhileOp>(block.getParentOp());
  const bool isBranch = isa<scf::IfOp>(block.getParentOp());
  const auto usesBefore = scratchUses_;
  const bool wasUnknown = isScratchUnknown_;
  const int requestsBefore = scratchRequests_;
  isScratchUnknown_ |= isLoop;
  for (Operation &op : block.without_terminator())
    if (failed(lower(&op)))
      return failure();
  if ((isLoop || isBranch) && scratchRequests_ == requestsBefore) {
    scratchUses_ = usesBefore;
    isScratchUnknown_ = wasUnknown;
  } else if (isLoop) {
    isScratchUnknown_ = true;
  } else if (isBranch) {
    llvm::for_each(usesBefore, [&](const ScratchUse &use) { noteUse(use); });
    isScratchUnknown_ |= wasUnknown;
  }
  return success();
}

LogicalResult Lowering::lower(Operation *op) {
  const LowerFunction function = findLowering(op->getName().getStringRef());
  if (!function)
    return op->emitError("'" + op->getName().getStringRef() +
                         "' is not supported on the GPU yet; it runs on the CPU");
  setLocation(op->getLoc());
  Operation *outer = std::exchange(current_, op);
  const LogicalResult result = function(*this, op);
  current_ = outer;
  return result;
}

void Lowering::setLocation(Location location) {
  if (debug_)
    builder_.SetCurrentDebugLocation(debug_->at(fromMlirLocation(location)));
}

// -- values ---------------------------------------------------------------------------------------

llvm::ArrayRef<llvm::Value *> Lowering::get(Value value) const {
  const auto found = values_.find(value);
  assert(found != values_.end() && "value is used before it is lowered");
  return found->second;
}

llvm::Value *Lowering::scalar(Value value) const { return get(value).front(); }

void Lowering::set(Value value, Registers registers) {
  assert(static_cast<int>(registers.size()) == registerCount(value.getType()) &&
         "one LLVM value a register");
  values_[value] = std::move(registers);
}

int Lowering::registerCount(Type type) {
  return tlg::hasLayout(type) ? tlg::layoutOf(type).registerCount() : 1;
}

llvm::Type *elementType(Type type, llvm::LLVMContext &context) {
  type = getElementTypeOrSelf(type);
  if (auto pointer = dyn_cast<tl::PtrType>(type))
    return llvm::PointerType::get(context, pointer.getAddressSpace());
  if (type.isF16())
    return llvm::Type::getHalfTy(context);
  if (type.isBF16())
    return llvm::Type::getBFloatTy(context);
  if (type.isF32())
    return llvm::Type::getFloatTy(context);
  if (type.isF64())
    return llvm::Type::getDoubleTy(context);
  if (auto integer = dyn_cast<IntegerType>(type))
    return llvm::Type::getIntNTy(context, integer.getWidth());
  return llvm::Type::getInt8Ty(context); // fp8
}

llvm::Type *memoryType(Type type, llvm::LLVMContext &context) {
  llvm::Type *element = elementType(type, context);
  return element->isIntegerTy(1) ? llvm::Type::getInt8Ty(context) : element;
}

llvm::Type *Lowering::elementType(Type type) const {
  return gpu::elementType(type, builder_.getContext());
}

llvm::Type *Lowering::memoryType(Type type) const {
  return gpu::memoryType(type, builder_.getContext());
}

int Lowering::elementBytes(Type type) { return tlg::elementBytes(type); }

// -- threads --------------------------------------------------------------------------------------

llvm::Value *Lowering::threadId() {
  if (!threadId_) { // in the entry block, so that every use is after it
    llvm::IRBuilder<>::InsertPointGuard guard(builder_);
    llvm::BasicBlock &entry = function_.getEntryBlock();
    builder_.SetInsertPoint(&entry, entry.begin());
    builder_.SetCurrentDebugLocation(llvm::DebugLoc());
    auto *call = builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {});
    call->addRangeRetAttr(
        llvm::ConstantRange(llvm::APInt(32, 0), llvm::APInt(32, 32 * numWarps())));
    threadId_ = call;
    laneId_ = builder_.CreateAnd(threadId_, 31, "lane");
    warpId_ = builder_.CreateLShr(threadId_, 5, "warp");
  }
  return threadId_;
}

llvm::Value *Lowering::laneId() { return threadId(), laneId_; }
llvm::Value *Lowering::warpId() { return threadId(), warpId_; }

llvm::Value *Lowering::uniformWarpId() {
  if (!uniformWarpId_) {
    auto *warp = llvm::cast<llvm::Instruction>(warpId());
    llvm::IRBuilder<>::InsertPointGuard guard(builder_);
    builder_.SetInsertPoint(warp->getParent(), std::next(warp->getIterator()));
    builder_.SetCurrentDebugLocation(llvm::DebugLoc());
    uniformWarpId_ = shuffle(warp, i32(0));
  }
  return uniformWarpId_;
}

llvm::Value *Lowering::threadElement(const LinearLayout &layout) {
  ElementBits known = 0;
  llvm::Value *sum = applyBases(builder_, layout.lanes, laneId(), nullptr, known);
  sum = applyBases(builder_, layout.warps, warpId(), sum, known);
  return sum ? sum : i32(0);
}

llvm::Value *Lowering::combined(llvm::ArrayRef<ElementBits> bases, llvm::Value *number) {
  ElementBits known = 0;
  llvm::Value *sum = applyBases(builder_, bases, number, nullptr, known);
  return sum ? sum : i32(0);
}

Registers Lowering::coordinates(RankedTensorType type, int dim) {
  const LinearLayout layout = tlg::layoutOf(type);
  const ShapeBits shape(type.getShape());
  LinearLayout one;
  one.registers = along(layout.registers, shape, dim);
  one.lanes = along(layout.lanes, shape, dim);
  one.warps = along(layout.warps, shape, dim);
  llvm::Value *base = threadElement(one);
  ElementBits threadBits = 0;
  for (const Bases &bases : {one.lanes, one.warps})
    for (const ElementBits basis : bases)
      threadBits |= basis;
  Registers result;
  llvm::DenseMap<ElementBits, llvm::Value *> made; // the same coordinate is one value
  for (int reg = 0; reg < one.registerCount(); ++reg) {
    const ElementBits offset = one.registerElement(reg);
    llvm::Value *&value = made[offset];
    if (!value)
      value = (offset & threadBits) == 0 ? builder_.CreateAdd(base, i32(offset), "", true, true)
                                         : builder_.CreateXor(base, i32(offset));
    result.push_back(value);
  }
  return result;
}

llvm::Value *Lowering::ownsElements(const LinearLayout &layout) {
  const InputBits free = freeBits(layout);
  const uint32_t copies = free.lanes | (free.warps << 5); // bits of the thread number
  if (copies == 0)
    return nullptr;
  return builder_.CreateICmpEQ(builder_.CreateAnd(threadId(), i32(copies)), i32(0));
}

llvm::Value *Lowering::readAtEntry(unsigned intrinsic) {
  const llvm::IRBuilder<>::InsertPointGuard guard(builder_);
  llvm::BasicBlock &entry = function_.getEntryBlock();
  builder_.SetInsertPoint(&entry, entry.begin());
  builder_.SetCurrentDebugLocation(llvm::DebugLoc());
  return builder_.CreateIntrinsic(intrinsic, {});
}

llvm::Value *Lowering::clusterRank() {
  if (numCtas() == 1)
    return i32(0);
  if (!clusterRank_) {
    auto *call = llvm::cast<llvm::CallInst>(
        readAtEntry(llvm::Intrinsic::nvvm_read_ptx_sreg_cluster_ctarank));
    call->addRangeRetAttr(llvm::ConstantRange(llvm::APInt(32, 0), llvm::APInt(32, numCtas())));
    clusterRank_ = call;
  }
  return clusterRank_;
}

/// A cluster lies along x: it is there one program.
llvm::Value *Lowering::programId(int axis) {
  static constexpr llvm::Intrinsic::ID kIds[] = {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x,
                                                 llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
                                                 llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z};
  return builder_.CreateIntrinsic(
      axis == 0 && numCtas() > 1 ? llvm::Intrinsic::nvvm_read_ptx_sreg_clusterid_x : kIds[axis],
      {});
}

llvm::Value *Lowering::isFirstThread() { return builder_.CreateICmpEQ(threadId(), i32(0)); }

void Lowering::barrier() {
  builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all, {i32(0)});
  forgetScratch();
}

void Lowering::clusterBarrier() {
  builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cluster_arrive_aligned, {});
  builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cluster_wait_aligned, {});
  forgetScratch();
}

void Lowering::forgetScratch() {
  llvm::erase_if(scratchUses_, [&](const ScratchUse &use) { return use.op != current_; });
  isScratchUnknown_ = false;
}

namespace {

/// Calls `shuffle32` on each 32-bit piece of a value of any width.
llvm::Value *inPieces(llvm::IRBuilder<> &builder, llvm::Value *value,
                      llvm::function_ref<llvm::Value *(llvm::Value *)> shuffle32) {
  llvm::Type *type = value->getType();
  llvm::Value *bits = value;
  if (type->isPointerTy())
    bits = builder.CreatePtrToInt(bits, builder.getInt64Ty());
  else if (!type->isIntegerTy())
    bits = builder.CreateBitCast(bits, builder.getIntNTy(type->getPrimitiveSizeInBits()));
  const unsigned width = bits->getType()->getIntegerBitWidth();
  if (width <= 32) {
    bits = shuffle32(builder.CreateZExt(bits, builder.getInt32Ty()));
    bits = builder.CreateTrunc(bits, builder.getIntNTy(width));
  } else {
    llvm::Value *low = shuffle32(builder.CreateTrunc(bits, builder.getInt32Ty()));
    llvm::Value *high =
        shuffle32(builder.CreateTrunc(builder.CreateLShr(bits, 32), builder.getInt32Ty()));
    bits = builder.CreateOr(builder.CreateShl(builder.CreateZExt(high, builder.getInt64Ty()), 32),
                            builder.CreateZExt(low, builder.getInt64Ty()));
  }
  if (type->isPointerTy())
    return builder.CreateIntToPtr(bits, type);
  return type->isIntegerTy() ? bits : builder.CreateBitCast(bits, type);
}

} // namespace

llvm::Value *Lowering::shuffleXor(llvm::Value *value, int laneMask) {
  return inPieces(builder_, value, [&](llvm::Value *piece) -> llvm::Value * {
    return builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, {},
                                    {i32(-1), piece, i32(laneMask), i32(31)});
  });
}

llvm::Value *Lowering::shuffle(llvm::Value *value, llvm::Value *lane) {
  return inPieces(builder_, value, [&](llvm::Value *piece) -> llvm::Value * {
    return builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_idx_i32, {},
                                    {i32(-1), piece, lane, i32(31)});
  });
}

// -- shared memory --------------------------------------------------------------------------------

llvm::Value *Lowering::sharedPointer(llvm::Value *offsetBytes) {
  if (!shared_) {
    auto *type = llvm::ArrayType::get(builder_.getInt8Ty(), 0);
    shared_ = new llvm::GlobalVariable(module_, type, /*isConstant=*/false,
                                       llvm::GlobalValue::ExternalLinkage, nullptr, "shared_memory",
                                       nullptr, llvm::GlobalValue::NotThreadLocal, kSharedSpace);
    shared_->setAlignment(llvm::Align(1024));
  }
  return builder_.CreateGEP(builder_.getInt8Ty(), shared_, offsetBytes);
}

llvm::Value *Lowering::pointerOfCta(llvm::Value *cta, llvm::Value *shared) {
  return builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_mapa_shared_cluster, {shared, cta});
}

/// The first bytes that nobody may be reading.
int64_t Lowering::freeScratch(int64_t sizeBytes) const {
  int64_t begin = 0;
  for (const ScratchUse &use : scratchUses_)
    if (use.begin < begin + sizeBytes && begin < use.end)
      begin = llvm::alignTo(use.end, 16);
  return begin;
}

void Lowering::reserveShared(SharedPlaces places) {
  places_ = std::move(places);
  scratchBase_ = places_.sizeBytes();
}

int64_t Lowering::scratchOffset(int64_t sizeBytes) {
  // Small ops use these bytes one after another, or those that a large one needs anyway: there is
  // no barrier before them. An op that runs once can wait at a barrier for bytes of buffers: bytes
  // beside them, as for a tile of 64 x 64 in fp16, may take the multiprocessor a CTA.
  constexpr int64_t kTurnBytes = 8192, kTurnBytesOnce = 2048;
  const bool isOnce = !current_->getParentOfType<LoopLikeOpInterface>();
  const int64_t free =
      sizeBytes > (isOnce ? kTurnBytesOnce : kTurnBytes) ? places_.freeBytes(current_) : 0;
  if (free >= std::min(sizeBytes, scratchBase_) && free != 0) {
    barrier(); // their readers, and those of the scratch above them
    largeBytes_ = std::max(largeBytes_, sizeBytes);
    noteScratch(0, sizeBytes - scratchBase_);
    return 0;
  }
  int64_t begin = freeScratch(sizeBytes);
  if (isScratchUnknown_ || begin + sizeBytes > std::max(scratchBytes_, kTurnBytes)) {
    if (isScratchUnknown_ || begin != 0)
      barrier();
    begin = freeScratch(sizeBytes);
  }
  noteScratch(begin, begin + sizeBytes);
  scratchBytes_ = std::max(scratchBytes_, begin + sizeBytes);
  return scratchBase_ + begin;
}

void Lowering::noteScratch(int64_t begin, int64_t end) {
  ++scratchRequests_;
  if (end <= begin)
    return;
  noteUse({begin, end, current_});
}

void Lowering::noteUse(const ScratchUse &use) {
  scratchUses_.insert(
      llvm::lower_bound(scratchUses_, use,
                        [](const ScratchUse &a, const ScratchUse &b) { return a.begin < b.begin; }),
      use);
}

// -- code -----------------------------------------------------------------------------------------

void Lowering::onlyIf(llvm::Value *condition, llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  auto *then = llvm::BasicBlock::Create(context(), "", &function_);
  auto *after = llvm::BasicBlock::Create(context(), "", &function_);
  builder_.CreateCondBr(condition, then, after);
  builder_.SetInsertPoint(then);
  body();
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
}

llvm::Value *Lowering::assembly(llvm::Type *result, llvm::StringRef text,
                                llvm::StringRef constraints, llvm::ArrayRef<llvm::Value *> operands,
                                bool hasSideEffects) {
  llvm::SmallVector<llvm::Type *> types;
  for (llvm::Value *operand : operands)
    types.push_back(operand->getType());
  auto *type = llvm::FunctionType::get(result, types, /*isVarArg=*/false);
  auto *code = llvm::InlineAsm::get(type, text, constraints, hasSideEffects);
  return builder_.CreateCall(type, code, operands);
}

FailureOr<Registers> Lowering::inlineRegion(Region &region,
                                            llvm::ArrayRef<llvm::Value *> arguments) {
  Block &block = region.front();
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    set(argument, value);
  if (failed(lowerBlock(block)))
    return failure();
  Registers results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(scalar(value));
  return results;
}

} // namespace blockscope::gpu
